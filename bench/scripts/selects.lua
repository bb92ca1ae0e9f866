-- Events of `selects` point selects on a table of oltp_read_write: their cost is known exactly.

sysbench.cmdline.options = {
  selects = {"Point selects per event", 33},
  table_size = {"Rows of sbtest1", 10000},
}

local con, select, id

function thread_init()
  con = sysbench.sql.driver():connect()
  select = con:prepare("SELECT c FROM sbtest1 WHERE id = ?")
  id = select:bind_create(sysbench.sql.type.INT)
  select:bind_param(id)
end

function event()
  for _ = 1, sysbench.opt.selects do
    id:set(sysbench.rand.uniform(1, sysbench.opt.table_size))
    select:execute()
  end
end

function thread_done()
  con:disconnect()
end
