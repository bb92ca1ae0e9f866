-- run: --events=4 --time=0 run
x = 1
function init() x = 2 end
function thread_init() x = x + 10 end
function event() end
function done() print("main", x) end
