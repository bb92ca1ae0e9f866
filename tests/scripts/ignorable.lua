local connection
local events = 0

function thread_init()
  connection = sysbench.sql.driver():connect()
end

sysbench.hooks.sql_error_ignorable = function(err)
  print("ignorable", err.sql_errno, err.sql_state, err.query, err.connection == connection)
  return true
end

sysbench.hooks.before_restart_event = function(err)
  print("again", err.errcode == sysbench.error.RESTART_EVENT)
end

function event()
  events = events + 1
  if events == 2 then
    connection:query("SELECT * FROM absent")
  end
  connection:query("SELECT 1")
end
