local connection

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT 1")
end

sysbench.hooks.report_intermediate = sysbench.report_csv
sysbench.hooks.report_cumulative = sysbench.report_json
