#!/usr/bin/env sysbench
-- One row by its id, without a transaction.

local common = require("oltp_common")

-- Everything that an event needs, looked up once: this workload mostly measures the round trip to
-- the server, so the script must add little. Only if no function is replaced: otherwise events go
-- through execute_point_selects(), as in sysbench.
local uniform, default = sysbench.rand.uniform, sysbench.rand.default
local direct, reconnects, tables, table_size
local statements, ids = {}, {}
local own_event, own_prepare

function prepare_statements()
   local opt = sysbench.opt
   opt.point_selects = 1
   prepare_point_selects()
   direct = type(common) == "table" and common.is_unchanged() and event == own_event
      and prepare_statements == own_prepare
   if direct then
      tables, table_size, reconnects = opt.tables, opt.table_size, opt.reconnect ~= 0
      for t = 1, tables do
         statements[t], ids[t] = stmt[t].point_selects, param[t].point_selects[1]
      end
   end
end
own_prepare = prepare_statements

function event()
   if direct then
      local t = uniform(1, tables)
      ids[t]:set(default(1, table_size))
      statements[t]:execute()
      if reconnects then
         check_reconnect()
      end
   else
      execute_point_selects()
      if check_reconnect then check_reconnect() end
   end
end
own_event = event
