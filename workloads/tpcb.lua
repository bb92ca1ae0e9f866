-- pgbench's "tpcb-like" transaction: see pgbench_common.lua.
require("pgbench_common")

sysbench.cmdline.options.mix[2] = "tpcb@1"
