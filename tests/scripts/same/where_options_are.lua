-- run: --events=1 --time=0 run
-- run: --events=1 --time=0 --threads=2 help
print(type(sysbench.opt))
function init() print(type(sysbench.opt), sysbench.opt.threads, sysbench.opt.absent) end
function event() end
function help() print(sysbench.opt.threads, sysbench.tid) end
