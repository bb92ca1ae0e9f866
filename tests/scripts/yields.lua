function event() coroutine.yield() end
