-- run:
-- run: prepare
print(_VERSION, table.getn {1, 2}, unpack {1, 2}, loadstring("return 3")(), setfenv ~= nil)
print(bit.band(7, 2), jit ~= nil, newproxy ~= nil, math.mod, string.gfind, _G._G == _G)
print(rawget(_G, "print") ~= nil, type(ffi), package.loaded.ffi ~= nil)
print(pcall(error, {1}), select("#", pcall(error)))
local names = {}
for _, t in ipairs {sysbench.cmdline, sysbench.sql, sysbench.sql.type, sysbench.db} do
   for name in pairs(t) do names[#names + 1] = name end
end
table.sort(names)
print(table.concat(names, " "))
function prepare() print(sysbench.tid) end
