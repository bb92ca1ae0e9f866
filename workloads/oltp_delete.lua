#!/usr/bin/env sysbench
-- One delete by id, without a transaction. Rows that are gone stay gone, so as the run goes on
-- more and more deletes find nothing.

require("oltp_common")

function prepare_statements()
   prepare_deletes()
end

function event()
   execute_deletes()
   check_reconnect()
end
