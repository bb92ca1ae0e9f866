#!/usr/bin/env sysbench
-- Counts the rows of sbtest1 in several small ranges of the indexed column k in one SELECT. Each
-- session draws its ranges from a separate part of the range.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = {"Ranges of k in one SELECT", 10}
sysbench.cmdline.options.delta = {"Difference between the last and the first value of a range", 5}

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
   local ranges = string.rep("k BETWEEN ? AND ?", sysbench.opt.number_of_ranges, " OR ")
   stmt = con:prepare("SELECT count(k) FROM sbtest1 WHERE " .. ranges)
   params = {}
   for i = 1, 2 * sysbench.opt.number_of_ranges do
      params[i] = stmt:bind_create(sysbench.sql.type.INT)
   end
   stmt:bind_param(unpack(params))
end

function event()
   local first = rlen * sysbench.tid + 1
   local last = first + math.max(rlen - 1, 0)
   for i = 1, 2 * sysbench.opt.number_of_ranges, 2 do
      local k = sysbench.rand.default(first, last)
      params[i]:set(k)
      params[i + 1]:set(k + sysbench.opt.delta)
   end
   stmt:execute()
   if check_reconnect then check_reconnect() end
end
