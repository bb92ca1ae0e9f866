-- pgbench's "select-only" without the check of the tables, which the null server does not have.

require("pgbench_common")
sysbench.cmdline.options.mix[2] = "select_only@1"
init = nil
