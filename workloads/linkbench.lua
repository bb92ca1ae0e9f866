-- LinkBench-like social graph: nodes, links and their counts, ten operations, in a closed loop or
-- at a rate. docs/workloads/linkbench.md says what it models and what not.

local graph = require("linkbench_common")
local load = require("linkbench_load")
local operations = require("linkbench_operations")
local checks = require("linkbench_check")

-- Name, published share in percent, implementation.
local KINDS = {
   {"get_links_list", 50.7119145, read_only = true},
   {"get_node", 12.9326683, read_only = true},
   {"add_link", 8.9886601, transaction = true},
   {"update_link", 8.0122125, transaction = true},
   {"update_node", 7.366437},
   {"count_link", 4.8863567, read_only = true},
   {"delete_link", 2.9907664, transaction = true},
   {"add_node", 2.5732789},
   {"delete_node", 1.0115914},
   {"multiget_link", 0.5261142, read_only = true},
}

local work, do_, names = {}, {}, {}
for i, kind in ipairs(KINDS) do
   local name = kind[1]
   names[i] = name
   work[name] = dyno.operation(name, {read_only = kind.read_only})
   do_[name] = kind.transaction and work[name].transaction or work[name].run
end
local sums = {nodes = dyno.sum("nodes"), links = dyno.sum("links"),
              visible = dyno.sum("visible_links")}

local function prepare(tid)
   local sizes, sessions = graph.sizes(), sysbench.opt.threads
   local con = sysbench.sql.driver():connect()
   if tid == 0 then
      if sizes.nodes >= 1000000 then
         print(("%.0f nodes take about %.0f GB, on SQLite half as much; --maxid makes them fewer")
            :format(sizes.nodes, sizes.nodes * 1.1 / 1000000))
      end
      dyno.load_total(load.row_count(sizes))
      graph.create(con)
   end
   dyno.barrier()
   load.rows(con, sizes, tid, sessions)
   dyno.barrier()
   if tid == 0 then
      graph.keep(con, sizes)
      graph.finish(con, sizes)
   end
   con:disconnect()
end

local function check()
   local sizes = graph.sizes()
   local con = sysbench.sql.driver():connect()
   graph.must_fit(con, sizes)
   checks.all(con, sizes)
   con:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}

function cleanup()
   local con = sysbench.sql.driver():connect()
   graph.drop(con)
   con:disconnect()
end

dyno.callbacks.tables_made = graph.tables_made

-- Up to this number of nodes the ledger always reads the tables; above, it does not.
local READ_WHOLE_MAX = 200000

function dyno.callbacks.full_ledger()
   local con = sysbench.sql.driver():connect()
   local found = checks.sums(con)
   con:disconnect()
   return found
end

function dyno.callbacks.ledger()
   return graph.sizes().nodes <= READ_WHOLE_MAX and dyno.callbacks.full_ledger() or {}
end

-- The weights of the operations, as a list for dyno.choice().
local function cards()
   return sysbench.opt.mix == "standard" and KINDS or dyno.option.weights("mix", names)
end

dyno.option.check(function()
   graph.sizes()
   cards()
end)

-- Whether a statement that changes nothing counts the rows that it found.
local function counts_found_rows(con)
   local touch = dyno.statement(con, "UPDATE linkbench_settings SET startid = startid")
   return dyno.family(con) == "mysql" and touch:change() > 0
end

function init()
   local sizes = graph.sizes()
   cards()
   local con = sysbench.sql.driver():connect()
   if graph.must_fit(con, sizes) and counts_found_rows(con) then
      error("linkbench recognises new links by the number of changed rows: remove found_rows=1 " ..
         "from the target", 0)
   end
   dyno.dataset.tell(con, "linkbench")
   dyno.fact("misses", "nodes without links of a type, nodes and links that are deleted already")
   con:disconnect()
end

-- The connection of each operation, by name.
local connections = {}
local writer, reader, statements, next_kind

function thread_init()
   local sizes, driver = graph.sizes(), sysbench.sql.driver()
   writer = driver:connect()
   reader = sysbench.opt.connections == 2 and driver:connect() or writer
   operations.begin(writer, sizes, sums)
   statements = operations.statements(writer, reader)
   for _, kind in ipairs(KINDS) do
      connections[kind[1]] = kind.read_only and reader or writer
      work[kind[1]].tries = sysbench.opt.max_retries + 1
   end
   next_kind = dyno.choice(cards())
end

function thread_done()
   writer:disconnect()
   if reader ~= writer then
      reader:disconnect()
   end
end

function event()
   local kind = next_kind(dyno.random)
   local input = operations.inputs[kind]()
   do_[kind](work[kind], connections[kind], operations.bodies[kind], statements, input)
end
