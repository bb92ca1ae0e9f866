-- A schema for each customer, up to millions of tables: the cost of creating, touching and dropping
-- them. docs/workloads/many-tables.md says what it models and what not.

local many = require("many_tables_common")
local state = require("many_tables_state")
local law = require("many_tables_law")
local space = require("many_tables_space")
local steps = require("many_tables_steps")
local guard = require("many_tables_guard")
local ladder = require("many_tables_ladder")

local create_schema = dyno.operation("create_schema")
local create_tablespace = dyno.operation("create_tablespace")
local create_table = dyno.operation("create_table")
local first_touch = dyno.operation("first_touch")
local touch_again = dyno.operation("touch_again")
local count_tables = dyno.operation("count_tables", {read_only = true})
local alter_table = dyno.operation("alter_table")
local drop_table = dyno.operation("drop_table")
local drop_schema = dyno.operation("drop_schema")
local drop_tablespace = dyno.operation("drop_tablespace")
local WORK = {create_schema, create_tablespace, create_table, first_touch, touch_again,
              count_tables, alter_table, drop_table, drop_schema, drop_tablespace}

local tables_made, rows_inserted = dyno.sum("tables"), dyno.sum("rows")

local con, family, sizes
-- The tables' disk space before they were created or dropped.
local space_before

-- Making ----------------------------------------------------------------------------------------

local function make_table(schema, number)
   many.make_table(con, family, sizes, schema, number)
   tables_made:add(1)
end

-- Creating a table with its index is one operation, even if it takes two statements.
local function run_make_table(schema, number)
   local run = family == "mysql" and create_table.run or create_table.transaction
   run(create_table, con, make_table, schema, number)
end

local function make(step)
   local what, schema, number = unpack(step)
   if what == "schema" then
      create_schema:run(con, many.make_schema, con, family, sizes, schema)
   elseif what == "tablespace" then
      create_tablespace:run(con, many.make_tablespace, con, sizes, schema)
   else
      run_make_table(schema, number)
   end
end

local function print_progress(made, began)
   local took = dyno.now() - began
   print(("%.0f of %.0f tables in %.1f s (%.0f tables/s)"):format(made,
      sizes.schemas * sizes.tables, took, made / math.max(took, 0.001)))
end

-- Reports after creating all tables: the state, the disk space.
local function end_making(connection, before)
   local made = steps.made(sizes)
   if made < sizes.schemas then
      state.set_made(connection, made)
      steps.print_stop("made", made, sizes.schemas)
   end
   space.report(connection, sizes, before)
end

local function prepare(tid)
   sizes = many.sizes()
   con = sysbench.sql.driver():connect()
   family = dyno.family(con)
   local before
   if tid == 0 then
      before = space.measure(con, sizes)
      state.create(con, sizes)
   end
   dyno.barrier()
   local began, count = dyno.now(), dyno.shared("made")
   local printed = began
   for step in steps.making(family, sizes, tid, sysbench.opt.threads) do
      local what, schema, number = unpack(step)
      if what == "schema" then
         many.make_schema(con, family, sizes, schema)
      elseif what == "tablespace" then
         many.make_tablespace(con, sizes, schema)
      else
         many.make_table(con, family, sizes, schema, number)
         count:add(1)
      end
      if tid == 0 and dyno.now() - printed >= 10 then
         printed = dyno.now()
         print_progress(count:get(), began)
      end
   end
   dyno.barrier()
   if tid == 0 then
      print_progress(count:get(), began)
      end_making(con, before)
   end
   con:disconnect()
end

local function check()
   local checked = many.sizes()
   local connection = sysbench.sql.driver():connect()
   state.check(connection, checked)
   connection:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}

function cleanup()
   local connection = sysbench.sql.driver():connect()
   state.drop_all(connection)
   connection:disconnect()
end

dyno.callbacks.tables_made = state.made

-- Touching --------------------------------------------------------------------------------------

-- The weights of the operations, as a list for dyno.choice().
local function work_cards()
   local cards = dyno.option.weights("mix", {"insert", "select", "count", "alter", "churn"})
   for _, card in ipairs(cards) do
      if card[1] == "alter" and family == "sqlite" then
         error("--mix: SQLite cannot alter a column", 0)
      end
   end
   return cards
end

dyno.option.check(function()
   many.sizes()
   work_cards()
end)

local random, draw, counters, next_kind, own_schema, own_table
local works = {}

-- A function that draws a schema and a table.
local function new_draw(lowest, schemas)
   local tables, skew = sizes.active_tables, sysbench.opt.skew
   if skew == "zipf" then
      local zipf = dyno.zipf(schemas * tables, 1)
      return function()
         local place = dyno.permute(random:zipf(zipf) - 1, schemas * tables, 1)
         return lowest + math.floor(place / tables), place % tables + 1
      end
   end
   local hot = math.ceil(schemas / 5)
   return function()
      local low, high = 1, schemas
      if skew == "80_20" and hot < schemas then
         if random:chance(80) then
            high = hot
         else
            low = hot + 1
         end
      end
      return lowest + random:uniform(low, high) - 1, random:uniform(1, tables)
   end
end

local C_PATTERN = ("###########-"):rep(9) .. "###########"
local PAD_PATTERN = ("###########-"):rep(4) .. "###########"

local function insert(statement)
   con:query(statement)
   rows_inserted:add(1)
end

local function select_first(statement)
   con:query(statement):free()
end

-- Draws a table and returns whether this is its first touch in the run.
local function touch()
   local schema, number = draw()
   local count = counters:add(1, (schema - 1) * sizes.tables + number)
   return many.table_name(family, sizes, schema, number), count == 1 and first_touch or touch_again
end

-- The statements, with placeholders for the parts that vary between events.
local texts

local function prepare_texts()
   local words = {name = "%s", id = "%.0f", k = "%d", c = "%s", pad = "%s", schema = "%s"}
   texts = {}
   for _, name in ipairs {"insert", "insert_with_id", "select", "count_tables", "alter_table",
                          "drop_table"} do
      texts[name] = dyno.render(con, templates[name], words)
   end
   texts.has_ids = family == "postgres" and sysbench.opt.pg_id == "int"
end

function works.insert()
   local name, work = touch()
   local k = random:uniform(1, sysbench.opt.k_max)
   local c, pad = random:pattern(C_PATTERN), random:pattern(PAD_PATTERN)
   local statement
   if texts.has_ids then
      local id = random:uniform(1, 9007199254740991)
      statement = texts.insert_with_id:format(name, id, k, c, pad)
   else
      statement = texts.insert:format(name, k, c, pad)
   end
   work:run(con, insert, statement)
end

function works.select()
   local name, work = touch()
   work:run(con, select_first, texts.select:format(name))
end

function works.count()
   local schema = draw()
   count_tables:run(con, select_first, texts.count_tables:format(sizes.prefix .. schema))
end

local function query(statement)
   con:query(statement)
end

function works.alter()
   local schema, number = draw()
   local name = many.table_name(family, sizes, schema, number)
   alter_table:run(con, query, texts.alter_table:format(name, random:uniform(0, 9)))
end

local function drop_own()
   con:query(texts.drop_table:format(many.table_name(family, sizes, own_schema, own_table)))
   tables_made:add(-1)
end

function works.churn()
   run_make_table(own_schema, own_table)
   drop_table:run(con, drop_own)
end

-- The first touched schema, and their number: those that stay while others are dropped.
local function touched_schemas()
   if sizes.phase == "drop" then
      return sizes.schemas - sizes.keep + 1, sizes.keep
   end
   return 1, sizes.active_schemas
end

-- The schema and number of a session's private table.
local function own_place(tid)
   local lowest, schemas = touched_schemas()
   return lowest + tid % schemas, sizes.tables + 1 + tid
end

local function begin_touching(tid, is_database)
   local cards = work_cards()
   prepare_texts()
   counters, next_kind = many.counters(sizes), dyno.choice(cards)
   draw = new_draw(touched_schemas())
   own_schema, own_table = own_place(tid)
   local opens = true
   for _, card in ipairs(cards) do
      opens = opens and (card[1] == "insert" or card[1] == "select")
   end
   local alike = opens and sysbench.opt.skew == "uniform" and sizes.phase == "touch"
      and sizes.churn_every == 0
   if tid == 0 and is_database and family == "mysql" and alike then
      law.watch(con, sizes)
      return law.look
   end
end

-- Dropping --------------------------------------------------------------------------------------

local function drop(schema)
   many.drop_schema(con, family, sizes, schema)
   tables_made:add(-sizes.tables)
end

-- The remaining schemas, if the phase was ended early.
local function end_dropping(connection)
   local all, dropped = sizes.schemas - sizes.keep, steps.dropped(sizes)
   if dropped < all then
      state.set_present(connection, sizes.schemas - dropped)
      steps.print_stop("dropped", dropped, all)
   end
   space.report(connection, sizes, space_before)
end

-- The run ---------------------------------------------------------------------------------------

-- The number of rows before the run, nil if unknown; and whether it was read before.
local rows_before, rows_read

-- Prepares a run on the existing tables.
local function begin_with(connection, made)
   if sizes.phase == "touch" and made.present < made.schemas then
      error(("only %d of %d schemas are left after --phase drop: prepare again"):format(
         made.present, made.schemas), 0)
   end
   rows_before = made.rows
   if not rows_before then
      state.drop_leftovers(connection, made)
   end
   state.must_be_whole(connection, made)
   state.set_rows(connection, nil)
   if sizes.phase == "drop" then
      if sizes.keep > made.present then
         error(("--keep %d: only %d schemas are left by an earlier --phase drop"):format(
            sizes.keep, made.present), 0)
      elseif sizes.keep == made.present then
         error(("--keep %d: no more schemas are left to drop"):format(sizes.keep), 0)
      end
      guard.must_be_own(connection, made)
      sizes.share = made.share
      steps.drop_from(sizes, made.schemas - made.present + 1)
      state.set_present(connection, sizes.keep)
   end
end

function init()
   sizes = many.sizes()
   if sizes.phase == "ladder" or sizes.phase == "all" then
      error(("--phase %s needs several runs, which only dyno run makes"):format(sizes.phase), 0)
   end
   local connection = sysbench.sql.driver():connect()
   family = dyno.family(connection)
   work_cards()
   space_before = sizes.phase ~= "touch" and space.measure(connection, sizes)
   if sizes.phase == "create" then
      state.create(connection, sizes)
   else
      local made = state.must_fit(connection, sizes)
      if made then
         begin_with(connection, made)
      end
   end
   connection:disconnect()
end

-- The number of rows is not read before the run, which would open every table, but kept from the
-- last run.
function dyno.callbacks.ledger()
   local connection = sysbench.sql.driver():connect()
   local now = many.sizes()
   local found = {tables = {["tables in the catalogue"] = many.count(connection, now, "tables")}}
   if now.phase == "touch" then
      local rows = not rows_read and rows_before
      if not rows then
         rows = state.count_rows(connection, state.read(connection))
      end
      if rows_read then
         state.set_rows(connection, rows)
      end
      rows_read = true
      found.rows = {["rows of all tables"] = rows}
   end
   connection:disconnect()
   return found
end

local next_step, watch

function thread_init(tid)
   local opt, role = sysbench.opt, dyno.role()
   sizes, random = many.sizes(), dyno.random
   con = sysbench.sql.driver():connect()
   family = dyno.family(con)
   for _, work in ipairs(WORK) do
      work.tries = opt.max_retries + 1
   end
   if sizes.phase == "create" then
      next_step = steps.making(family, sizes, tid, opt.threads)
      return
   end
   local made = many.is_database(con) and state.must_fit(con, sizes) or nil
   sizes.share = made and made.share or 0
   if sizes.phase == "drop" and not (role and role.name == "toucher") then
      next_step = steps.dropping(sizes)
   else
      watch = begin_touching(tid, made ~= nil)
   end
end

function thread_done()
   if watch then
      law.report()
   end
   con:disconnect()
end

local function touch_event()
   if watch then
      watch()
   end
   works[next_kind(random)]()
end

local function step_event()
   local step = next_step()
   if not step then
      steps.end_session()
   elseif sizes.phase == "create" then
      make(step)
   else
      drop_schema:run(con, drop, step)
      if many.ends_tablespace(sizes, step, sizes.schemas) then
         drop_tablespace:run(con, many.drop_tablespace, con, sizes, step)
      end
   end
end

function event()
   if next_step then
      step_event()
   else
      touch_event()
   end
end

-- While some sessions drop, others may touch the rest; while some touch, another may create and
-- drop.
function dyno.callbacks.roles()
   local asked, rate = many.sizes(), sysbench.opt.touch_rate
   if asked.phase == "touch" and asked.churn_every > 0 then
      return {
         {name = "toucher", sessions = sysbench.opt.threads, event = touch_event},
         {name = "churner", sessions = 1, event = works.churn, background = true,
          rate = 1 / asked.churn_every},
      }
   elseif asked.phase ~= "drop" or asked.touchers == 0 then
      return nil
   end
   return {
      {name = "dropper", sessions = sysbench.opt.threads, event = step_event},
      {name = "toucher", sessions = asked.touchers, event = touch_event, background = true,
       rate = rate > 0 and rate or nil},
   }
end

function dyno.callbacks.creates_tables()
   local phase = sysbench.opt.phase
   return phase == "create" or phase == "all"
end

function dyno.callbacks.phases()
   return ladder.phases(many.sizes())
end

-- The ladder ends at the number of created tables.
function dyno.callbacks.phases_there()
   local found = many.sizes()
   if found.phase == "ladder" then
      local connection = sysbench.sql.driver():connect()
      state.must_fit(connection, found)
      connection:disconnect()
   end
   return ladder.phases(found)
end

-- The number of touches of tables, including the warm-up.
function dyno.callbacks.figures()
   if not sizes or sizes.phase ~= "touch" then
      return
   end
   local touches, touched = many.touches(sizes)
   local each = touches / sizes.active
   dyno.figure("touches", each, ("for each of %d active tables"):format(sizes.active), "neither")
   dyno.figure("tables touched", touched, ("of %d"):format(sizes.active), "neither")
   if each < 3 then
      dyno.warning("The tables are cold: with fewer than 3 touches of each table, the figures " ..
         "are mostly those of first opens.")
   end
end

-- The effect of creating and dropping on disk space.
function done()
   if sizes.phase == "touch" then
      return
   end
   local connection = sysbench.sql.driver():connect()
   if not many.is_database(connection) then
      return connection:disconnect()
   end
   steps.must_be_through(sizes.phase)
   if sizes.phase == "create" then
      end_making(connection, space_before)
   else
      end_dropping(connection)
   end
   connection:disconnect()
end
