-- Ten point selects in a pipeline, as a script would write them.
local QUERIES = 10

function thread_init()
  con = sysbench.sql.driver():connect()
  select = con:prepare("SELECT abalance FROM pgbench_accounts WHERE aid = ?")
  aid = select:bind_create(sysbench.sql.type.INT)
  select:bind_param(aid)
  queries = function()
    for _ = 1, QUERIES do
      aid:set(sysbench.rand.uniform(1, 100000))
      select:execute()
    end
  end
end

function thread_done()
  con:disconnect()
end

function event()
  con:pipeline(queries)
end
