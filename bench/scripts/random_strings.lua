-- The cost of random strings and numbers: a given number of each per event.

sysbench.cmdline.options = {
   texts = {"Texts of 119 characters per event", 1},
   numbers = {"Numbers per event", 10},
}

local pattern = "###########-###########-###########-###########-###########-" ..
   "###########-###########-###########-###########-###########"

function event()
   for _ = 1, sysbench.opt.texts do
      sysbench.rand.string(pattern)
   end
   for _ = 1, sysbench.opt.numbers do
      sysbench.rand.default(1, 1000000)
   end
end
