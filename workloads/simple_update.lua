-- pgbench's "simple-update" transaction: see pgbench_common.lua.
require("pgbench_common")

sysbench.cmdline.options.mix[2] = "simple_update@1"
