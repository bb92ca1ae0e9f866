#!/usr/bin/env sysbench
-- One update of a column without index, without a transaction.

require("oltp_common")

function prepare_statements()
   prepare_non_index_updates()
end

function event()
   execute_non_index_updates()
   if check_reconnect then check_reconnect() end
end
