-- run: --events=2 --time=0 help
-- run: --events=2 --time=0 prepare
function event() end
