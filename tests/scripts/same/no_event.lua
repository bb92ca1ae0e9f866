-- run: run
-- run: prepare
-- run: cleanup
-- run: nonsense
-- run:
function init() print("init comes first") end
event = "not a function"
