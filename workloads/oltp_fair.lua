-- One OLTP transaction for comparisons between servers: the same statements, rows, draws, isolation
-- and amount of work on MySQL, MariaDB, PostgreSQL and SQLite. docs/workloads/oltp-fair.md.

sysbench.cmdline.options = {
   tables = {"Number of tables", 8},
   table_size = {"Rows of each table: an even number, at least 200", 10000},
   mix = {"Transactions by weight: read_write@1,read_only@4", "read_write@1"},
   isolation = {"Isolation level: read_committed or repeatable_read", "read_committed"},
   read_only_trx = {"Run read_only within BEGIN and COMMIT", true},
   keys = {"Distribution of the ids: uniform, zipfian or gaussian", "uniform"},
   zipf_exponent = {"Exponent of zipfian ids", 0.8},
   gaussian_parameter = {"Gaussian ids: standard deviations in half the range, 2 or more", 2.5},
   create_table_options = {"Text to append to CREATE TABLE", ""},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
}

local POINTS, RANGE = 10, 100
local C_PATTERN = ("###########-"):rep(9) .. "###########"
local PAD_PATTERN = ("###########-"):rep(4) .. "###########"
-- Rows per load, small enough to show progress.
local PART = 25000
-- How often a transaction may find its row replaced by another before it reports the row as
-- missing.
local COLLISIONS_MAX = 1000

-- Statements as data ----------------------------------------------------------------------------

-- Texts are compared byte by byte on every server, whatever the database's collation.
local function create(c, pad)
   return "CREATE TABLE fair{n} (id {int} NOT NULL PRIMARY KEY, k {int} NOT NULL, " ..
      "c " .. c .. " NOT NULL, pad " .. pad .. " NOT NULL){suffix}"
end

local IN_RANGE = "FROM fair{n} WHERE id BETWEEN :low AND :high"

-- By name: the text, and the parameters that are not whole numbers.
templates = {
   create = {{
      mysql = create("CHAR(120) CHARACTER SET ascii COLLATE ascii_bin",
         "CHAR(60) CHARACTER SET ascii COLLATE ascii_bin"),
      postgres = create('CHAR(120) COLLATE "C"', 'CHAR(60) COLLATE "C"'),
      sqlite = create("CHAR(120)", "CHAR(60)"),
   }},
   index = {"CREATE INDEX fair{n}_k ON fair{n} (k)"},
   -- SQLite has only one level, serialisable.
   isolation = {{
      mysql = "SET SESSION TRANSACTION ISOLATION LEVEL {level}",
      postgres = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}",
      sqlite = "PRAGMA read_uncommitted = 0",
   }},
   settle = {{
      mysql = "ANALYZE TABLE fair{n}",
      postgres = "VACUUM ANALYZE fair{n}",
      sqlite = "ANALYZE fair{n}",
   }},
   -- Whether the index exists.
   indexed = {{
      mysql = "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE " ..
         "table_schema = DATABASE() AND index_name = 'fair{n}_k'",
      postgres = "SELECT COUNT(to_regclass('fair{n}_k'))",
      sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'fair{n}_k'",
   }},
   -- All of the workload's tables.
   tables = {{
      mysql = "SELECT table_name FROM information_schema.tables WHERE table_schema = " ..
         "DATABASE() AND table_name REGEXP '^fair[0-9]+$'",
      postgres = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ " ..
         "'^fair[0-9]+$' AND pg_table_is_visible(oid)",
      sqlite = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB " ..
         "'fair[0-9]*' AND SUBSTR(name, 5) NOT GLOB '*[^0-9]*'",
   }},
   found = {"SELECT COUNT(*), " ..
      "COALESCE(SUM(CASE WHEN id < 1 OR id > {rows} THEN 1 ELSE 0 END), 0), " ..
      "COALESCE(SUM(CASE WHEN k < 1 OR (id % 2 = 0 AND k > {rows}) THEN 1 ELSE 0 END), 0), " ..
      "COALESCE(SUM(CASE WHEN LENGTH(c) <> 119 OR LENGTH(pad) <> 59 THEN 1 ELSE 0 END), 0), " ..
      "COALESCE(SUM(CASE WHEN id % 2 = 1 THEN k ELSE 0 END), 0) FROM fair{n}"},
   point = {"SELECT c FROM fair{n} WHERE id = :id"},
   range = {"SELECT c " .. IN_RANGE},
   sum = {"SELECT SUM(k) " .. IN_RANGE},
   order = {"SELECT c " .. IN_RANGE .. " ORDER BY c"},
   distinct = {"SELECT DISTINCT c " .. IN_RANGE .. " ORDER BY c"},
   update_k = {"UPDATE fair{n} SET k = k + 1 WHERE id = :id"},
   update_c = {"UPDATE fair{n} SET c = :c WHERE id = :id", c = "text"},
   delete = {"DELETE FROM fair{n} WHERE id = :id"},
   insert = {"INSERT INTO fair{n} (id, k, c, pad) VALUES (:id, :k, :c, :pad)",
      c = "text", pad = "text"},
}
template_words = {n = 1, level = "READ COMMITTED", suffix = "", rows = 10000}

local LEVELS = {read_committed = "READ COMMITTED", repeatable_read = "REPEATABLE READ"}

-- Options ---------------------------------------------------------------------------------------

-- The number of tables, and of rows per table.
local function size()
   local rows = dyno.option.whole("table_size", 2 * RANGE, 2000000000)
   if rows % 2 ~= 0 then
      error(("--table-size must be even, not %d: each kind of change uses half of the ids")
         :format(rows), 0)
   end
   return dyno.option.whole("tables", 1, 100000), rows
end

local function level()
   return LEVELS[dyno.option.one_of("isolation", {"read_committed", "repeatable_read"})]
end

-- The weights of the transactions, as a list for dyno.choice().
local function mix_cards()
   return dyno.option.weights("mix", {"read_write", "read_only"})
end

-- The distribution of ids, with a parameter that it can have.
local function keys()
   local opt, kind = sysbench.opt, dyno.option.one_of("keys", {"uniform", "zipfian", "gaussian"})
   if kind == "gaussian" and not (opt.gaussian_parameter >= 2) then
      error("--gaussian-parameter must be 2 or more", 0)
   elseif kind == "zipfian" and not (opt.zipf_exponent > 0) then
      error("--zipf-exponent must be above 0", 0)
   end
   return kind
end

-- A function that draws an id from 1 to `last`.
local function new_draw(random, last)
   local opt, kind = sysbench.opt, keys()
   if kind == "gaussian" then
      local parameter = opt.gaussian_parameter
      return function() return random:gaussian(1, last, parameter) end
   elseif kind == "zipfian" then
      -- Hot rows are scattered: neighbours would share pages, which favours some servers.
      local law = dyno.zipf(last, opt.zipf_exponent)
      return function() return dyno.permute(random:zipf(law) - 1, last, 1) + 1 end
   end
   return function() return random:uniform(1, last) end
end

dyno.option.check(function()
   size()
   level()
   mix_cards()
   keys()
end)

-- Tables ----------------------------------------------------------------------------------------

local function words(con, number)
   local suffix = " " .. sysbench.opt.create_table_options
   if dyno.family(con) == "mysql" then
      suffix = " ENGINE=" .. sysbench.opt.mysql_storage_engine .. suffix
   end
   return {n = number, suffix = suffix, level = level()}
end

local function execute(con, name, number)
   con:query(dyno.render(con, templates[name][1], words(con, number)))
end

local function load_rows(con, tid, sessions, tables, rows)
   local part = 0
   for number = 1, tables do
      for from = 1, rows, PART do
         if part % sessions == tid then
            dyno.progress(dyno.bulk_load(con, {
               table = "fair" .. number,
               table_number = number,
               columns = {"id", "k", "c", "pad"},
               generate = {{"sequence"}, {"uniform", 1, rows}, {"pattern", C_PATTERN},
                           {"pattern", PAD_PATTERN}},
               from = from,
               rows = math.min(PART, rows - from + 1),
            }))
         end
         part = part + 1
      end
   end
end

-- The version of the row generator: changes when the same options produce other rows.
local GENERATOR = 1

-- Stores a description of the loaded data: the same on all servers for the same seed.
local function keep(con, tables, rows)
   local mysql = dyno.family(con) == "mysql"
   dyno.dataset.keep(con, "oltp_fair", {{"generator", GENERATOR}, {"seed", dyno.seed},
      {"tables", tables}, {"table_size", rows}},
      mysql and {{"engine", sysbench.opt.mysql_storage_engine}} or nil)
end

local function prepare(tid)
   local tables, rows = size()
   local con, sessions = sysbench.sql.driver():connect(), sysbench.opt.threads
   if tid == 0 then
      dyno.load_total(tables * rows)
      for number = 1, tables do
         execute(con, "create", number)
      end
   end
   dyno.barrier()
   load_rows(con, tid, sessions, tables, rows)
   dyno.barrier()
   for number = 1 + tid, tables, sessions do
      execute(con, "index", number)
      execute(con, "settle", number)
   end
   dyno.barrier()
   if tid == 0 then
      keep(con, tables, rows)
   end
   con:disconnect()
end

-- The names of all tables, even if fewer are requested: no more than were completely loaded.
local function own_tables(con)
   -- Reading fails if the table is not the workload's. The check of its columns then reports it.
   local read, kept = pcall(dyno.dataset.read, con, "oltp_fair")
   local last = read and kept and tonumber(kept["dataset.tables"]) or math.huge
   local found, names = con:query(dyno.render(con, templates.tables[1])), {}
   for _ = 1, found.nrows do
      local name = found:fetch_row()[1]
      local number = tonumber(name:match("%d+"))
      if number <= last and name == ("fair%d"):format(number) then
         names[#names + 1] = name
      end
   end
   found:free()
   return names
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for _, name in ipairs(own_tables(con)) do
      con:query("DROP TABLE " .. name)
   end
   dyno.dataset.forget(con, "oltp_fair")
   con:disconnect()
end

function dyno.callbacks.tables_made()
   local made = {dyno.dataset.made("oltp_fair")}
   local function add(name)
      made[#made + 1] = {name, "id k c pad"}
   end
   if sysbench.cmdline.command ~= "cleanup" then
      for number = 1, (size()) do
         add("fair" .. number)
      end
      return made
   end
   local con = sysbench.sql.driver():connect()
   for _, name in ipairs(own_tables(con)) do
      add(name)
   end
   con:disconnect()
   return made
end

-- Fails unless a table is completely loaded: each session loads its parts in order, and the indexes
-- follow.
local function must_be_loaded(con, number, rows)
   local indexes = con:query_row(dyno.render(con, templates.indexed[1], {n = number}))
   local high = con:query_row("SELECT MAX(id) FROM fair" .. number)
   if indexes ~= "0" and high and tonumber(high) ~= rows then
      error(("fair%d has ids up to %s, not %d: give the --table-size that it was prepared with")
         :format(number, high, rows), 0)
   end
   local ends = {}
   for from = 1 + math.max(0, math.floor((rows - 1) / PART) - 999) * PART, rows, PART do
      ends[#ends + 1] = ("%.0f"):format(math.min(from + PART - 1, rows))
   end
   local there = con:query_row(("SELECT COUNT(*) FROM fair%d WHERE id IN (%s)"):format(number,
      table.concat(ends, ", ")))
   if indexes == "0" or tonumber(there) ~= #ends then
      error(("fair%d is not completely loaded: dyno cleanup oltp_fair, then dyno prepare " ..
         "oltp_fair"):format(number), 0)
   end
end

-- With other rows than stated, the run would do other work.
function init()
   local tables, rows = size()
   mix_cards()
   local con = sysbench.sql.driver():connect()
   local there = con:query(dyno.render(con, templates.tables[1])).nrows
   if there > 0 and there < tables then
      error(("there are %d tables instead of %d: give the --tables that were prepared"):format(
         there, tables), 0)
   end
   for number = 1, tables do
      must_be_loaded(con, number, rows)
   end
   dyno.dataset.tell(con, "oltp_fair")
   con:disconnect()
end

-- The check -------------------------------------------------------------------------------------

-- Sums over all tables: the invariants, and the values that the ledger compares.
local function read_tables(con)
   local tables, rows = size()
   local found = {rows = 0, ids = 0, k = 0, texts = 0, updated = 0}
   for number = 1, tables do
      local values = {con:query_row(dyno.render(con, templates.found[1],
         {n = number, rows = ("%d"):format(rows)}))}
      for place, name in ipairs({"rows", "ids", "k", "texts", "updated"}) do
         found[name] = found[name] + tonumber(values[place])
      end
   end
   return found
end

local function check()
   local tables, rows = size()
   local con = sysbench.sql.driver():connect()
   -- One snapshot for all of them, since others may write.
   con:query(dyno.render(con, "{snapshot}"))
   local found = read_tables(con)
   con:query("COMMIT")
   con:disconnect()
   local conditions = dyno.conditions()
   conditions:equal("rows", found.rows, tables * rows)
   conditions:equal("ids that are none of the tables'", found.ids, 0)
   conditions:equal("values of k that no statement made", found.k, 0)
   conditions:equal("texts of another length", found.texts, 0)
   conditions:finish()
end

sysbench.cmdline.commands = {
   prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}

-- The transactions ------------------------------------------------------------------------------

local operations = {
   read_write = dyno.operation("read_write"),
   read_only = dyno.operation("read_only", {read_only = true}),
}
-- Committed increments of k; the constant number of rows; and selects that returned too many or too
-- few rows, which no isolation level allows here.
local increments, unchanged = dyno.sum("increments"), dyno.sum("unchanged")
local wrong_reads = dyno.sum("wrong_reads")

-- Up to this number of rows the ledger always reads them.
local READ_WHOLE_MAX = 2000000

function dyno.callbacks.full_ledger()
   local con = sysbench.sql.driver():connect()
   local found = read_tables(con)
   con:disconnect()
   return {
      increments = {sum_of_k = found.updated},
      unchanged = {rows = found.rows},
      wrong_reads = {wrong_rows = 0},
   }
end

function dyno.callbacks.ledger()
   local tables, rows = size()
   if tables * rows <= READ_WHOLE_MAX then
      return dyno.callbacks.full_ledger()
   end
   return {wrong_reads = {wrong_rows = 0}}
end

local con, isolated, statements, random, single, next_kind, draw_id, draw_start
local tables, rows
-- The transaction's parameters: drawn before it begins, so that a retry repeats it.
local at, id = {}, {}
local new_c, insert_k, insert_c, insert_pad
local UPDATE_K, UPDATE_C, REPLACE = POINTS + 5, POINTS + 6, POINTS + 7
local RANGES = {"range", "sum", "order", "distinct"}

-- A new connection has the server's default level.
local function isolate()
   execute(con, "isolation")
   isolated = con.id
end

sysbench.hooks.before_restart_event = function()
   if con.id ~= isolated then
      isolate()
   end
end

function thread_init(tid)
   tables, rows = size()
   random = dyno.random
   local cards = mix_cards()
   single = #cards == 1 and cards[1][1]
   next_kind = dyno.choice(cards)
   draw_id, draw_start = new_draw(random, rows), new_draw(random, rows - RANGE + 1)
   con = sysbench.sql.driver():connect()
   isolate()
   if tid == 0 and dyno.family(con) == "sqlite" then
      print("note: SQLite is always serialisable, with one writer; --isolation has no effect")
   end
   statements = {}
   for number = 1, tables do
      statements[number] = {}
   end
end

function thread_done()
   con:disconnect()
end

local function statement(name, place)
   local of_table = statements[at[place]]
   local found = of_table[name]
   if not found then
      local template = templates[name]
      found = dyno.statement(con, template[1], template, {n = at[place]})
      of_table[name] = found
   end
   return found
end

local function expect(result, count)
   if result.nrows ~= count then
      wrong_reads:add(1)
   end
   result:free()
end

local function read()
   for place = 1, POINTS do
      expect(statement("point", place):execute(id[place]), 1)
   end
   for number, name in ipairs(RANGES) do
      local place = POINTS + number
      local from = id[place]
      local result = statement(name, place):execute(from, from + RANGE - 1)
      expect(result, name == "sum" and 1 or RANGE)
   end
end

-- An update changes nothing if another session has replaced the row since the statement began. The
-- transaction is then rolled back and repeated: a transaction that counts has done the same work on
-- every server.
local function read_write()
   read()
   if statement("update_k", UPDATE_K):change(id[UPDATE_K]) == 0
      or statement("update_c", UPDATE_C):change(new_c, id[UPDATE_C]) == 0
      or statement("delete", REPLACE):change(id[REPLACE]) == 0 then
      return dyno.ROLLBACK
   end
   statement("insert", REPLACE):execute(id[REPLACE], insert_k, insert_c, insert_pad)
   increments:add(1)
end

local function draw_reads()
   for place = 1, POINTS do
      at[place], id[place] = random:uniform(1, tables), draw_id()
   end
   for place = POINTS + 1, POINTS + #RANGES do
      at[place], id[place] = random:uniform(1, tables), draw_start()
   end
end

local function draw_writes()
   for place = UPDATE_K, REPLACE do
      at[place], id[place] = random:uniform(1, tables), draw_id()
   end
   -- Odd rows keep their k except for increments, so that their sum shows the number of increments;
   -- even rows are replaced.
   id[UPDATE_K] = id[UPDATE_K] - 1 + id[UPDATE_K] % 2
   id[REPLACE] = id[REPLACE] + id[REPLACE] % 2
   new_c = random:pattern(C_PATTERN)
   insert_k = random:uniform(1, rows)
   insert_c, insert_pad = random:pattern(C_PATTERN), random:pattern(PAD_PATTERN)
end

function event()
   draw_reads()
   if (single or next_kind(random)) == "read_only" then
      if sysbench.opt.read_only_trx then
         operations.read_only:transaction(con, read)
      else
         operations.read_only:run(con, read)
      end
      return
   end
   draw_writes()
   for _ = 1, COLLISIONS_MAX do
      if operations.read_write:transaction(con, read_write) ~= false then
         return
      end
   end
   error(("%d tries of a transaction changed nothing in row %d of fair%d, %d of fair%d or %d of " ..
          "fair%d: a row may be missing; run `dyno check oltp_fair`"):format(COLLISIONS_MAX,
      id[UPDATE_K], at[UPDATE_K], id[UPDATE_C], at[UPDATE_C], id[REPLACE], at[REPLACE]), 0)
end
