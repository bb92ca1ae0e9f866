#!/usr/bin/env sysbench
-- One insert of a row, as text, without a transaction. With --auto_inc=off the ids are random
-- numbers that do not repeat, and prepare leaves the tables empty to keep clear of them.

require("oltp_common")

function starts_empty()
   return not sysbench.opt.auto_inc
end

function prepare_statements()
   local opt = sysbench.opt
   if opt.auto_inc and opt.secondary and drv:name() == "sqlite" then
      error("SQLite numbers the rows of a primary key only: use --secondary=off or --auto_inc=off")
   end
end

function event()
   local t = get_table_num()
   local k = get_id()
   local c = sysbench.rand.string(c_value_template)
   local pad = sysbench.rand.string(pad_value_template)
   if not sysbench.opt.auto_inc then
      -- Into the range of a signed INTEGER.
      local id = sysbench.rand.unique() - 2147483648
      con:query(string.format("INSERT INTO sbtest%d (id, k, c, pad) VALUES (%d, %d, '%s', '%s')",
         t, id, k, c, pad))
   elseif drv:name() == "mysql" then
      -- 0 asks for the next number.
      con:query(string.format("INSERT INTO sbtest%d (id, k, c, pad) VALUES (0, %d, '%s', '%s')",
         t, k, c, pad))
   else
      con:query(string.format("INSERT INTO sbtest%d (k, c, pad) VALUES (%d, '%s', '%s')",
         t, k, c, pad))
   end
   check_reconnect()
end
