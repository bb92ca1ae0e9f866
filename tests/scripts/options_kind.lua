sysbench.cmdline.options = {x = {"X", 1, 99}}
