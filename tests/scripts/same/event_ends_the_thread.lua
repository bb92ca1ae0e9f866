-- run: --events=8 --time=0 run
-- run: --events=8 --time=0 --threads=3 run
-- Any true value ends the thread, and that event is not counted.
function event() return 1 end
