-- run: help
-- run: prepare
function event() end
