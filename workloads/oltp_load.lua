-- How prepare of the OLTP workloads fills its tables under Dyno: with rows from Dyno's loader.
--
-- A row depends only on the seed, its table and its id, so the tables do not depend on who loads
-- which part. Therefore the ids are written and not left to the server, whose numbering depends on
-- the order of arrival (except for Redshift's identity columns).

local Loader = {}
Loader.__index = Loader

-- `drv`: the driver; `templates`: of the columns c and pad; `number_by_server`: no ids are written.
local function new(loader)
   return setmetatable(loader, Loader)
end

local function load_rows(loader, con, t, first, rows)
   local columns = {"id", "k", "c", "pad"}
   local generate = {
      {"sequence"},
      {"random", 1, sysbench.opt.table_size},
      {"pattern", loader.templates[1]},
      {"pattern", loader.templates[2]},
   }
   if loader.number_by_server then
      table.remove(columns, 1)
      table.remove(generate, 1)
   end
   dyno.bulk_load(con, {
      table = "sbtest" .. t,
      table_number = t,
      columns = columns,
      from = first,
      rows = rows,
      generate = generate,
      by_inserts = loader.by_inserts,
   })
   dyno.progress(rows)
end

-- After written ids, the next number must follow the last one.
local function set_sequence(loader, con, t)
   if loader.drv:name() == "pgsql" and sysbench.opt.auto_inc and not loader.number_by_server then
      con:query(string.format("SELECT setval(pg_get_serial_sequence('sbtest%d', 'id'), %d)",
         t, sysbench.opt.table_size))
   end
end

-- All rows of one table, by this session alone.
function Loader:load_table(con, t)
   load_rows(self, con, t, 1, sysbench.opt.table_size)
   set_sequence(self, con, t)
end

-- The number of rows per part: enough parts to keep all sessions busy to the end, but few, and
-- whole blocks of 1,000 rows, which the generator starts without extra cost.
local function rows_per_part(rows)
   local even = rows * sysbench.opt.tables / sysbench.opt.threads / 4
   return math.min(math.max(math.ceil(even / 1000), 1), 100) * 1000
end

-- With innodb_autoinc_lock_mode below 2, MariaDB's default, LOAD DATA locks a table with
-- AUTO_INCREMENT: sessions take separate tables, or share one by INSERTs, which do not.
local function loads_lock_tables(drv, con)
   if drv:name() ~= "mysql" or not sysbench.opt.auto_inc then
      return false
   end
   local _, mode = con:query_row("SHOW VARIABLES LIKE 'innodb_autoinc_lock_mode'")
   return mode ~= nil and mode ~= "2"
end

-- Loads all tables by all sessions, which must all call this. The parts are dealt in turn, the
-- first of every table, then the second of every table, so that sessions rarely meet in one table.
function Loader:load_together(con)
   local opt = sysbench.opt
   local rows = opt.table_size
   if sysbench.tid == 0 then
      dyno.load_total(rows * opt.tables)
   end
   dyno.barrier()
   local part = rows_per_part(rows)
   local locked = loads_lock_tables(self.drv, con)
   self.by_inserts = locked and opt.threads > opt.tables
   for n = 0, opt.tables * math.ceil(rows / part) - 1 do
      local t, first = n % opt.tables + 1, math.floor(n / opt.tables) * part + 1
      if ((locked and not self.by_inserts) and t - 1 or n) % opt.threads == sysbench.tid then
         if first == 1 then
            print(string.format("Inserting %d records into 'sbtest%d'", rows, t))
         end
         load_rows(self, con, t, first, math.min(part, rows - first + 1))
      end
   end
   dyno.barrier()
   for t = sysbench.tid + 1, rows > 0 and opt.tables or 0, opt.threads do
      set_sequence(self, con, t)
   end
end

return {new = new}
