-- A failure in the last function, on which nothing depends.
function event() end
function thread_done() error("thread_done fails") end
function sysbench.hooks.report_cumulative() error("the hook fails") end
function done() print("done") error("done fails") end
