#!/usr/bin/env sysbench
-- One delete by id, without a transaction. Deleted rows are not replaced, so during the run more
-- and more deletes find nothing.

require("oltp_common")

local rand = sysbench.rand

function prepare_statements()
   prepare_for_each_table("deletes")
end

function event()
   local opt = sysbench.opt
   local t = rand.uniform(1, opt.tables)
   param[t].deletes[1]:set(rand.default(1, opt.table_size))
   stmt[t].deletes:execute()
   if check_reconnect then check_reconnect() end
end
