-- The transactions of tpcc without the look at what the tables hold, which the null server has not.

require("tpcc")
init = nil
