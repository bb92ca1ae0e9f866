#!/usr/bin/env sysbench
-- The classic transaction: reads by id and by range, two updates, a delete and an insert.

require("oltp_common")

function prepare_statements()
   if not sysbench.opt.skip_trx then
      prepare_begin()
   end
   prepare_point_selects()
   if sysbench.opt.range_selects then
      prepare_range_selects()
   end
   prepare_index_updates()
   prepare_non_index_updates()
   prepare_delete_inserts()
end

function event()
   if not sysbench.opt.skip_trx then
      begin()
   end
   execute_point_selects()
   if sysbench.opt.range_selects then
      execute_range_selects()
   end
   execute_index_updates()
   execute_non_index_updates()
   execute_delete_inserts()
   if not sysbench.opt.skip_trx then
      commit()
   end
   check_reconnect()
end
