-- Inserts rows into the table `ledger` one by one, with negative keys: positive keys belong to the
-- test.

sysbench.cmdline.options = {
   session_sql = {"What each session sets first", ""},
}

function thread_init()
   con = sysbench.sql.driver():connect()
   if sysbench.opt.session_sql ~= "" then
      con:query(sysbench.opt.session_sql)
   end
   rows = 0
end

function event()
   rows = rows + 1
   local key = -(sysbench.tid * 100000000 + rows)
   con:query(string.format("INSERT INTO ledger (id, v) VALUES (%d, 0)", key))
end
