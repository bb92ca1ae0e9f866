print("top", sysbench.tid, sysbench.cmdline.command, sysbench.opt)
