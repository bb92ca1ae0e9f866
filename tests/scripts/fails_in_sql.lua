local connection

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT * FROM absent")
end
