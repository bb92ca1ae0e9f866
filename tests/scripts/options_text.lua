sysbench.cmdline.options = "text"
