-- pgbench's "select-only" without the look at what the tables hold, which the null server has not.

require("pgbench_common")
sysbench.cmdline.options.mix[2] = "select_only@1"
init = nil
