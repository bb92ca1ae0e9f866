-- run: --events=3 --time=0 run
local next_number
function event()
   next_number = next_number or coroutine.wrap(function()
      local i = 0
      while true do
         i = i + 1
         coroutine.yield(i)
      end
   end)
   print(next_number(), coroutine.running())
end
