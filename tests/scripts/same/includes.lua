-- run: --events=1 --time=0 run
-- run:
local folder = debug.getinfo(1).source:match("^@(.*)/") or "."
dofile(folder .. "/part.inc")
print(part)
assert(loadfile(folder .. "/part.inc"))()
print(part)
function event() end
