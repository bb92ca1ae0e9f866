-- run: --events=2 --time=0 run
function init() return false end
function thread_init() return false end
function event() end
function thread_done() return false end
function done() return false end
