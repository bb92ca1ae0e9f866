sysbench.cmdline.options = {x = {}}
