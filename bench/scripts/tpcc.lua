-- The transactions of tpcc without the check of the tables, which the null server does not have.

require("tpcc")
init = nil
