#!/usr/bin/env sysbench
-- Rows of sbtest1 by several values of the indexed column k in one SELECT. Each session draws its
-- values from a separate part of the range.

require("oltp_common")

sysbench.cmdline.options.random_points = {"Values of k in one SELECT", 10}

local function one_table()
   assert(sysbench.opt.tables == 1, "this benchmark does not support --tables > 1")
end

if dyno then
   dyno.option.check(function()
      if sysbench.cmdline.command ~= "run" then
         one_table()
      end
   end)
end

oltp_cleanup = cleanup
function cleanup()
   one_table()
   oltp_cleanup()
end

function prepare()
   one_table()
   cmd_prepare()
end

-- Each session draws from a share of the values of k.
function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   rlen = sysbench.opt.table_size / sysbench.opt.threads
   prepare_statements()
end

function thread_done()
   close_statements()
   con:disconnect()
end

function close_statements()
   stmt:close()
end

function prepare_statements()
   local places = string.rep("?", sysbench.opt.random_points, ", ")
   stmt = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. places .. ")")
   params = {}
   for i = 1, sysbench.opt.random_points do
      params[i] = stmt:bind_create(sysbench.sql.type.INT)
   end
   stmt:bind_param(unpack(params))
end

function event()
   local first = rlen * sysbench.tid + 1
   local last = first + math.max(rlen - 1, 0)
   for i = 1, sysbench.opt.random_points do
      params[i]:set(sysbench.rand.default(first, last))
   end
   stmt:execute()
   if check_reconnect then check_reconnect() end
end
