-- Many tables: which session creates and drops what, in what order, and when they stop.

local many = require("many_tables_common")

local steps = {}

-- Groups of schemas taken by sessions; and the first schema that is left to drop.
local function taken()
   return dyno.shared("groups_taken")
end

local function first_there()
   return dyno.shared("first_there")
end

-- Sessions with nothing more to create or drop: the groups they took are complete.
local function through()
   return dyno.shared("through")
end

-- A group's schemas belong to one session: those of a tablespace.
local function group_size(sizes)
   return math.max(sizes.share, 1)
end

-- A function that returns the first and last schema of the next group, nil at the end or when it is
-- time to stop. Any free session takes the next group, so that those taken are always the first
-- ones.
local function take_groups(sizes, from, to)
   local began, size, groups = nil, group_size(sizes), taken()
   return function()
      -- After the first group, so that each session has at least one.
      began = began or dyno.now()
      if sizes.stop_after > 0 and dyno.now() - began >= sizes.stop_after then
         return nil
      end
      local first = (groups:add(1) - 1) * size + 1
      if first <= to then
         return math.max(first, from), math.min(first + size - 1, to)
      end
   end
end

-- A function that returns the next item of the lists that `fill` creates for each group.
local function queue_of(take, fill)
   local queue, place = {}, 0
   return function()
      place = place + 1
      if place > #queue then
         local first, last = take()
         if not first then
            return nil
         end
         queue, place = fill(first, last), 1
      end
      return queue[place]
   end
end

-- Making ----------------------------------------------------------------------------------------

-- Adds the steps before the tables of a schema.
local function add_schema(plan, family, sizes, schema)
   if family ~= "sqlite" then
      plan[#plan + 1] = {"schema", schema}
   end
   if sizes.share > 0 and (schema - 1) % sizes.share == 0 then
      plan[#plan + 1] = {"tablespace", schema}
   end
end

local function add_tables(plan, sizes, schema)
   for number = 1, sizes.tables do
      plan[#plan + 1] = {"table", schema, number}
   end
end

-- All of a session's schemas, then their tables in random order.
local function shuffled(family, sizes, tid, sessions)
   local plan, tables, size = {}, {}, group_size(sizes)
   for schema = 1, sizes.schemas do
      if math.floor((schema - 1) / size) % sessions == tid then
         add_schema(plan, family, sizes, schema)
         add_tables(tables, sizes, schema)
      end
   end
   for _, made in ipairs(dyno.stream("many_tables", "order", tid):shuffle(tables)) do
      plan[#plan + 1] = made
   end
   local place = 0
   return function()
      place = place + 1
      return plan[place]
   end
end

-- A function that returns what a session creates next, {what, schema, table}, nil at the end. One
-- session creates all schemas of a tablespace, so that it exists before its tables.
function steps.making(family, sizes, tid, sessions)
   if sysbench.opt.order == "shuffled" then
      return shuffled(family, sizes, tid, sessions)
   end
   return queue_of(take_groups(sizes, 1, sizes.schemas), function(first, last)
      local plan = {}
      for schema = first, last do
         add_schema(plan, family, sizes, schema)
         add_tables(plan, sizes, schema)
      end
      return plan
   end)
end

-- Dropping --------------------------------------------------------------------------------------

-- Sets the first existing schema, before sessions drop.
function steps.drop_from(sizes, schema)
   first_there():set(schema)
   taken():set(math.floor((schema - 1) / group_size(sizes)))
end

-- A function that returns the next schema that a session drops, nil at the end.
function steps.dropping(sizes)
   local take = take_groups(sizes, first_there():get(), sizes.schemas - sizes.keep)
   return queue_of(take, function(first, last)
      local schemas = {}
      for schema = first, last do
         schemas[#schemas + 1] = schema
      end
      return schemas
   end)
end

-- How far they came -------------------------------------------------------------------------------

local function reached(sizes, last)
   return math.min(taken():get() * group_size(sizes), last)
end

-- A session has nothing more to do.
function steps.end_session()
   through():add(1)
   dyno.finish()
end

-- Fails if sessions ended for a reason other than --stop_after, perhaps within a schema.
function steps.must_be_through(phase)
   if through():get() < sysbench.opt.threads then
      error(("--phase %s ended before all sessions had finished: --time and --events must be 0. " ..
         "The tables can now only be dropped: dyno cleanup many_tables"):format(phase), 0)
   end
end

-- The number of schemas created, which are the first ones.
function steps.made(sizes)
   return sysbench.opt.order == "shuffled" and sizes.schemas or reached(sizes, sizes.schemas)
end

-- The last schema that was dropped; all before it are dropped too.
function steps.dropped(sizes)
   return reached(sizes, sizes.schemas - sizes.keep)
end

-- Reports where --stop_after ended it.
function steps.print_stop(what, count, all)
   print(("stopped after %g s: %d of %d schemas are %s, each whole"):format(
      sysbench.opt.stop_after, count, all, what))
end

return steps
