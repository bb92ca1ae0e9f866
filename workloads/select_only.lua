-- pgbench's "select-only" transaction: see pgbench_common.lua.
require("pgbench_common")

sysbench.cmdline.options.mix[2] = "select_only@1"
