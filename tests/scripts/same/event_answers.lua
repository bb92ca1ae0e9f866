-- run: --events=20 --time=0 run
local n = 0
function event()
   n = n + 1
   if n == 3 then return false end
   if n == 6 then return true end
end
