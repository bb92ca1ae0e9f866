#!/usr/bin/env sysbench
-- A transaction that reads: single rows by id, then ranges of rows.

require("oltp_common")

function prepare_statements()
   if not sysbench.opt.skip_trx then
      prepare_begin("read only")
   end
   prepare_point_selects()
   if sysbench.opt.range_selects then
      prepare_range_selects()
   end
end

function event()
   if not sysbench.opt.skip_trx then
      begin()
   end
   execute_point_selects()
   if sysbench.opt.range_selects then
      execute_range_selects()
   end
   if not sysbench.opt.skip_trx then
      commit()
   end
   check_reconnect()
end
