#!/usr/bin/env sysbench
-- Counts the rows of sbtest1 in several small ranges of the indexed column k in one SELECT. Each
-- session draws its ranges from a part of the range of its own.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = {"Ranges of k in one SELECT", 10}
sysbench.cmdline.options.delta = {"Last value of a range less its first", 5}

function prepare_statements()
   local ranges = string.rep("k BETWEEN ? AND ?", sysbench.opt.number_of_ranges, " OR ")
   local statement = con:prepare("SELECT count(k) FROM sbtest1 WHERE " .. ranges)
   local bounds = {}
   for i = 1, 2 * sysbench.opt.number_of_ranges do
      bounds[i] = statement:bind_create(sysbench.sql.type.INT)
   end
   statement:bind_param(unpack(bounds))
   stmt[1], param[1] = {ranges = statement}, {ranges = bounds}
   first_k, last_k = own_part_of_ids()
end

function event()
   local bounds = param[1].ranges
   for i = 1, #bounds, 2 do
      local k = sysbench.rand.default(first_k, last_k)
      bounds[i]:set(k)
      bounds[i + 1]:set(k + sysbench.opt.delta)
   end
   stmt[1].ranges:execute()
   check_reconnect()
end
