#!/usr/bin/env sysbench
-- One row by its id, without a transaction.

require("oltp_common")

-- Everything that an event needs, looked up once: what is measured here is mostly the way to the
-- server and back, so the script must not be in it.
local uniform, default = sysbench.rand.uniform, sysbench.rand.default
local tables, table_size, reconnects
local statements, ids = {}, {}

function prepare_statements()
   prepare_point_selects()
   tables, table_size = sysbench.opt.tables, sysbench.opt.table_size
   reconnects = sysbench.opt.reconnect > 0
   for t = 1, tables do
      statements[t], ids[t] = stmt[t].point_selects, param[t].point_selects[1]
   end
end

function event()
   local t = uniform(1, tables)
   ids[t]:set(default(1, table_size))
   statements[t]:execute()
   if reconnects then
      check_reconnect()
   end
end
