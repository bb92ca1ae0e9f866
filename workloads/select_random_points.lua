#!/usr/bin/env sysbench
-- Rows of sbtest1 by several values of the indexed column k in one SELECT. Each session draws
-- its values from a part of the range of its own.

require("oltp_common")

sysbench.cmdline.options.random_points = {"Values of k in one SELECT", 10}

function prepare_statements()
   local places = string.rep("?", sysbench.opt.random_points, ", ")
   local statement = con:prepare(
      "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. places .. ")")
   local values = {}
   for i = 1, sysbench.opt.random_points do
      values[i] = statement:bind_create(sysbench.sql.type.INT)
   end
   statement:bind_param(unpack(values))
   stmt[1], param[1] = {points = statement}, {points = values}
   first_k, last_k = own_part_of_ids()
end

function event()
   local values = param[1].points
   for i = 1, #values do
      values[i]:set(sysbench.rand.default(first_k, last_k))
   end
   stmt[1].points:execute()
   check_reconnect()
end
