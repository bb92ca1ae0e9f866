#!/usr/bin/env sysbench
-- One insert of a row, as text, without a transaction. With --auto_inc=off the ids are random
-- numbers that do not repeat, and prepare leaves the tables empty to avoid collisions.

require("oltp_common")

sysbench.cmdline.commands.prepare = {
   function()
      if not sysbench.opt.auto_inc then
         sysbench.opt.table_size = 0
      end
      cmd_prepare()
   end,
   sysbench.cmdline.PARALLEL_COMMAND,
}

function prepare_statements()
   local opt = sysbench.opt
   if opt.auto_inc and opt.secondary and drv:name() == "sqlite" then
      error("SQLite numbers the rows of a primary key only: use --secondary=off or --auto-inc=off")
   end
end

function event()
   local opt, rand = sysbench.opt, sysbench.rand
   local t = rand.uniform(1, opt.tables)
   local k = rand.default(1, opt.table_size)
   local c, pad = get_c_value(), get_pad_value()
   if not opt.auto_inc then
      -- Into the range of a signed INTEGER.
      local id = rand.unique() - 2147483648
      con:query(string.format("INSERT INTO sbtest%d (id, k, c, pad) VALUES (%d, %d, '%s', '%s')",
         t, id, k, c, pad))
   elseif drv:name() == "mysql" then
      -- 0 requests the next number.
      con:query(string.format("INSERT INTO sbtest%d (id, k, c, pad) VALUES (0, %d, '%s', '%s')",
         t, k, c, pad))
   else
      con:query(string.format("INSERT INTO sbtest%d (k, c, pad) VALUES (%d, '%s', '%s')",
         t, k, c, pad))
   end
   if check_reconnect then check_reconnect() end
end
