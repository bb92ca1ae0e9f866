-- The Insert Benchmark: options, steps, tables, indexes. See insert_benchmark.lua.

local bench = {}

sysbench.cmdline.options = {
   rows = {"Rows that each client loads", 100000},
   write_rows = {"Rows that each client inserts and deletes in the write-heavy steps", 100000},
   variant = {"Version of the benchmark: 2026 or 2023, with its indexes, price and steps", "2026"},
   steps = {"Steps in order, or auto for all steps of the variant: i0, x, i1, i2; qr, qp or q " ..
            "with the background rows per second and client, e.g. qr100", "auto"},
   step = {"Run only this step, as one run", ""},
   tables = {"per_client: a table for each client; shared: one table for all", "per_client"},
   num_partitions = {"Partitions of each table, by primary key; 0 for none", 0},
   index_rows = {"Rows that all clients insert before the indexes are created; auto: 100, or " ..
                 "100000 in 2023", "auto"},
   num_secondary_indexes = {"Use the first N of the three secondary indexes; 0 for none", 3},
   rows_per_query = {"Rows that a query reads", 10},
   rows_per_commit = {"Rows of an INSERT; 0 for the default of each step", 0},
   query_threads = {"Query sessions per client, in the query steps", 1},
   deletes = {"Delete at the tail what is inserted at the head, once the indexes exist", true},
   data_min = {"Minimum length of a row's text", 10},
   data_max = {"Maximum length of a row's text, at most 4000", 20},
   random_pct = {"Percentage of three quarters of a text that is random", 50},
   min_key_every = {"Search for the lowest key again after this many deletes; 0: only once; " ..
                    "auto: 1000, or 0 in 2023", "auto"},
   htap_transaction_seconds = {"Add a reader per client that keeps transactions open this long, " ..
                               "in write and query steps; 0 for none", 0},
   check_plans = {"Refuse to measure queries whose plans do not use the intended indexes", true},
   settle = {"Seconds of rest before the first query step; auto: 60, plus one per million rows, " ..
             "at most 1200", "auto"},
   settle_flush = {"Make InnoDB flush all dirty pages during the rest: on, off, or auto: if the " ..
                   "user may set global variables", "auto"},
   settle_reset_binlog = {"Delete ALL binary logs of MySQL or MariaDB before the rest", false},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   mysql_table_options = {"Text to append to CREATE TABLE on MySQL and MariaDB", ""},
}

local STEPS = {
   ["2026"] = "i0,x,i1,i2,qr100,qp100,qr500,qp500,qr1000,qp1000",
   ["2023"] = "i0,x,i1,q100,q500,q1000",
}

-- Suffix, columns.
local INDEXES = {
   ["2026"] = {
      {"marketsegment", "productid, customerid, price"},
      {"registersegment", "cashregisterid, customerid, price"},
      {"pdc", "price, dateandtime, customerid"},
   },
   ["2023"] = {
      {"marketsegment", "price, customerid"},
      {"registersegment", "cashregisterid, price, customerid"},
      {"pdc", "price, dateandtime, customerid"},
   },
}

-- A number of rows, or auto.
local function whole_or_auto(name)
   local value = sysbench.opt[name]
   local number = tonumber(value)
   if value ~= "auto" and not (number and number >= 0 and number % 1 == 0) then
      error(("--%s must be auto or a whole number, not '%s'"):format(name, value), 0)
   end
end

-- Checks features that not every server has.
local function check_server()
   local opt = sysbench.opt
   local server = sysbench.sql.driver():name()
   if server == "sqlite" and opt.num_partitions > 0 then
      error("--num-partitions: SQLite has no partitions; leave the option out", 0)
   elseif server ~= "mysql" and opt.settle_reset_binlog then
      error("--settle-reset-binlog: only MySQL and MariaDB have binary logs; leave the option out",
         0)
   end
end

-- Checks the options.
function bench.check_options()
   local opt, whole, one_of = sysbench.opt, dyno.option.whole, dyno.option.one_of
   check_server()
   one_of("tables", {"per_client", "shared"})
   one_of("settle_flush", {"auto", "on", "off"})
   whole_or_auto("index_rows")
   whole_or_auto("min_key_every")
   whole("htap_transaction_seconds", 0, 1e6)
   whole("num_partitions", 0, 1000)
   if opt.num_partitions > bench.table_rows() then
      error(("--num-partitions: a table of %d rows cannot have %d partitions"):format(
         bench.table_rows(), opt.num_partitions), 0)
   end
   one_of("variant", {"2026", "2023"})
   whole("rows", 1, 1e10)
   whole("write_rows", 1, 1e10)
   whole("rows_per_commit", 0, 10000)
   whole("query_threads", 1, 1000)
   whole("num_secondary_indexes", 0, 3)
   whole("rows_per_query", 1, 100)
   whole("random_pct", 0, 100)
   whole("data_min", 0, 4000)
   whole("data_max", opt.data_min, 4000)
   if opt.settle ~= "auto" and not (tonumber(opt.settle) and tonumber(opt.settle) >= 0) then
      error(("--settle must be auto or a number of seconds, not '%s'"):format(opt.settle), 0)
   end
end

-- The number of tables.
function bench.tables()
   return sysbench.opt.tables == "shared" and 1 or sysbench.opt.threads
end

function bench.table_of(client)
   return sysbench.opt.tables == "shared" and 1 or client
end

-- The number of rows loaded per table.
function bench.table_rows()
   return sysbench.opt.rows * sysbench.opt.threads / bench.tables()
end

-- The number of rows a table gets right before its indexes.
function bench.index_rows()
   local rows = sysbench.opt.index_rows
   if rows == "auto" then
      rows = sysbench.opt.variant == "2023" and 100000 or 100
   end
   return math.ceil(tonumber(rows) / bench.tables())
end

-- The number of deletes between searches for the lowest key; 0 for a single search.
function bench.min_key_every()
   local every = sysbench.opt.min_key_every
   return every == "auto" and (sysbench.opt.variant == "2023" and 0 or 1000) or tonumber(every)
end

-- A step's properties: its kind (`load`, `index`, `write`, `query`), its rows per commit, its rows
-- per client, the background rate.
function bench.step(name)
   local opt = sysbench.opt
   local all = opt.variant == "2023"
   local large = all and opt.write_rows or opt.write_rows - math.floor(opt.write_rows / 5)
   local steps = {
      i0 = {kind = "load", batch = 100, rows = opt.rows},
      x = {kind = "index", batch = 100},
      i1 = {kind = "write", batch = 50, rows = large},
      i2 = {kind = "write", batch = 5, rows = math.floor(opt.write_rows / 5)},
   }
   local step = steps[name]
   if not step then
      local kind, rate = name:match("^(q[rp]?)([1-9]%d*)$")
      if not kind then
         error(("there is no step '%s': i0, x, i1, i2, or qr, qp, q with a rate, e.g. qr100")
            :format(name), 0)
      end
      step = {kind = "query", batch = 50, rate = tonumber(rate), points = kind == "qp"}
   end
   local ranges = step.kind == "query" and not step.points
   if opt.num_secondary_indexes == 0 and (ranges or step.kind == "index") then
      error(("--num-secondary-indexes=0: the step %s needs indexes; the steps i0, i1, i2 and qp " ..
         "do not"):format(name), 0)
   end
   if opt.rows_per_commit > 0 then
      step.batch = opt.rows_per_commit
   end
   -- At least one statement per second.
   if step.rate and step.batch > step.rate then
      step.batch = step.rate
   end
   step.name = name
   return step
end

-- The names of the steps, in order.
function bench.steps()
   local opt = sysbench.opt
   local names, auto = {}, opt.steps == "auto"
   for name in (auto and STEPS[opt.variant] or opt.steps):gmatch("[^,%s]+") do
      -- Without indexes only some are possible.
      if not auto or opt.num_secondary_indexes > 0 or name:find("^i") or name:find("^qp") then
         bench.step(name)
         names[#names + 1] = name
      end
   end
   if #names == 0 then
      error("--steps: name at least one step", 0)
   end
   return names
end

dyno.option.check(function()
   bench.check_options()
   if sysbench.cmdline.command == "prepare" then
      bench.steps()
   end
end)

function bench.settle_seconds()
   local opt = sysbench.opt
   if opt.settle ~= "auto" then
      return tonumber(opt.settle)
   end
   return math.min(1200, 60 + math.floor(opt.rows * opt.threads / 1e6))
end

-- The first key of a partition, from 0; 0 for the first.
local function bound(partition)
   return math.floor(bench.table_rows() * partition / sysbench.opt.num_partitions)
end

local function partitions_of_mysql()
   local count, list = sysbench.opt.num_partitions, {}
   for partition = 0, count - 1 do
      list[#list + 1] = ("PARTITION p%d VALUES LESS THAN %s"):format(partition,
         partition == count - 1 and "MAXVALUE" or ("(%d)"):format(bound(partition + 1)))
   end
   return (" PARTITION BY RANGE (transactionid) (%s)"):format(table.concat(list, ", "))
end

local function make_partitions_of_postgres(con, number)
   local count = sysbench.opt.num_partitions
   for partition = 0, count - 1 do
      con:query(("CREATE TABLE pi%d_p%d PARTITION OF pi%d FOR VALUES FROM (%d) TO (%s)"):format(
         number, partition, number, bound(partition),
         partition == count - 1 and "MAXVALUE" or bound(partition + 1)))
   end
end

local COLUMNS = "transactionid {id}, dateandtime {date}, cashregisterid {int} NOT NULL, " ..
   "customerid {int} NOT NULL, productid {int} NOT NULL, price {price} NOT NULL, data {text}(4000)"

-- The name of the dataset in which prepare records the number of tables.
bench.RECORD = "insert_benchmark"

-- The recorded number of tables, or else the number by the options.
function bench.kept_tables(con)
   local kept = dyno.dataset.read(con, bench.RECORD)
   return kept and tonumber(kept["dataset.tables"]) or bench.tables()
end

-- The clients' tables with their columns: for a cleanup, those that prepare created.
function bench.tables_made()
   local count, made = bench.tables(), {dyno.dataset.made(bench.RECORD)}
   if sysbench.cmdline.command == "cleanup" then
      local con = sysbench.sql.driver():connect()
      -- Reading fails if the table is not the workload's. The check of its columns then reports it.
      local read, kept = pcall(bench.kept_tables, con)
      con:disconnect()
      count = read and kept or count
   end
   for number = 1, count do
      made[#made + 1] = {"pi" .. number, dyno.column_names(COLUMNS)}
   end
   return made
end

function bench.create(con, number)
   local family, opt = dyno.family(con), sysbench.opt
   local price = opt.variant == "2023" and {mysql = "FLOAT", postgres = "REAL", sqlite = "REAL"}
      or {mysql = "INT", postgres = "INT", sqlite = "INTEGER"}
   local suffix = family == "mysql" and (" ENGINE=%s %s"):format(opt.mysql_storage_engine,
      opt.mysql_table_options) or ""
   if opt.num_partitions > 0 then
      suffix = suffix .. (family == "mysql" and partitions_of_mysql()
         or " PARTITION BY RANGE (transactionid)")
   end
   local words = {
      n = number,
      id = ({mysql = "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", postgres =
         "BIGSERIAL PRIMARY KEY", sqlite = "INTEGER PRIMARY KEY AUTOINCREMENT"})[family],
      date = ({mysql = "DATETIME", postgres = "TIMESTAMP", sqlite = "INTEGER"})[family],
      price = price[family],
      suffix = suffix,
   }
   con:query(dyno.render(con, ("CREATE TABLE pi{n} (%s){suffix}"):format(COLUMNS), words))
   if family == "postgres" then
      if opt.num_partitions > 0 then
         make_partitions_of_postgres(con, number)
      end
      -- Otherwise each row of each client would access the sequence.
      con:query(("ALTER SEQUENCE pi%d_transactionid_seq CACHE 1000"):format(number))
   end
end

function bench.index_name(con, number, suffix)
   return dyno.family(con) == "mysql" and suffix or ("pi%d_%s"):format(number, suffix)
end

-- All possible secondary indexes.
function bench.all_indexes()
   return INDEXES[sysbench.opt.variant]
end

-- The secondary indexes to create.
function bench.indexes()
   local list = {}
   for number = 1, sysbench.opt.num_secondary_indexes do
      list[number] = bench.all_indexes()[number]
   end
   return list
end

function bench.has_index(con, number, index)
   local name = bench.index_name(con, number, index[1])
   local family = dyno.family(con)
   if family == "mysql" then
      return bench.number(con, "SELECT COUNT(*) FROM information_schema.statistics WHERE " ..
         "table_schema = DATABASE() AND table_name = 'pi%d' AND index_name = '%s'", number,
         name) > 0
   elseif family == "postgres" then
      return bench.number(con, "SELECT COUNT(*) FROM pg_class WHERE relkind IN ('i', 'I') " ..
         "AND oid = to_regclass('%s')", name) > 0
   end
   return bench.number(con, "SELECT COUNT(*) FROM sqlite_schema WHERE name = '%s'", name) > 0
end

-- Placeholders for this number of uniquely named parameters.
function bench.marks(count)
   local marks = {}
   for i = 1, count do
      marks[i] = ":key" .. i
   end
   return table.concat(marks, ", ")
end

-- A function that runs a statement with this number of keys. It uses no list, which would prevent
-- JIT compilation.
function bench.by_keys(count)
   local text = ("return function(statement, key) return statement:rows(%skey()) end"):format(
      ("key(), "):rep(count - 1))
   return assert(loadstring(text, "=insert_benchmark_common.lua"))()
end

-- The words for a table in templates.
function bench.words(number)
   local rows = sysbench.opt.rows_per_query
   return {n = number, limit = rows, keys = bench.marks(rows)}
end

-- Creates the secondary indexes of a client's table: in one statement if the server can.
function bench.index(con, number)
   local engine = sysbench.opt.mysql_storage_engine:lower()
   local together = {}
   for _, index in ipairs(bench.indexes()) do
      local name = bench.index_name(con, number, index[1])
      if dyno.family(con) == "mysql" and engine ~= "rocksdb" then
         together[#together + 1] = ("ADD INDEX %s (%s)"):format(name, index[2])
      else
         con:query(("CREATE INDEX %s ON pi%d (%s)"):format(name, number, index[2]))
      end
   end
   if #together > 0 then
      con:query(("ALTER TABLE pi%d %s"):format(number, table.concat(together, ", ")))
   end
end

-- One column of one row, as a number; nil without rows.
function bench.number(con, query, ...)
   return tonumber((con:query_row(query:format(...))))
end

return bench
