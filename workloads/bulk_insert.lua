#!/usr/bin/env sysbench
-- Inserts many rows per statement, each session into a separate table. An event adds a row to a
-- statement, which is sent when it is full. So events per second are rows, and queries per second
-- are statements.

function prepare()
   local con = sysbench.sql.driver():connect()
   for t = 1, sysbench.opt.threads do
      print(string.format("Creating table 'sbtest%d'...", t))
      con:query(string.format([[
CREATE TABLE IF NOT EXISTS sbtest%d (
  id INTEGER NOT NULL,
  k INTEGER DEFAULT '0' NOT NULL,
  PRIMARY KEY (id))]], t))
   end
   con:disconnect()
end

function tables_made()
   local made = {}
   for t = 1, sysbench.opt.threads do
      made[t] = {"sbtest" .. t, "id k", may_exist = true}
   end
   return made
end

cursize = 0 -- The last id of this session.

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
end

function event()
   if cursize == 0 then
      con:bulk_insert_init(string.format("INSERT INTO sbtest%d VALUES", sysbench.tid + 1))
   end
   cursize = cursize + 1
   con:bulk_insert_next(string.format("(%d,%d)", cursize, cursize))
end

function thread_done()
   con:bulk_insert_done()
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for t = 1, sysbench.opt.threads do
      print(string.format("Dropping table 'sbtest%d'...", t))
      con:query("DROP TABLE IF EXISTS sbtest" .. t)
   end
   con:disconnect()
end
