-- run: prepare
-- run: cleanup
-- run: help
-- run: --a=7 help
sysbench.cmdline.options = {a = {"A number", 5}, ["b-c"] = {"A text"}, d = {"A list", {"x", "y"}}}
function prepare(...) print(select("#", ...)) return false end
function cleanup() error("not cleaned") end
function help() print("own help") sysbench.cmdline.print_test_options() end
function event() end
