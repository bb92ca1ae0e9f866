-- run: --events=1 run
-- run: prepare
function prepare() os.exit(4) end
function event() os.exit(3) end
