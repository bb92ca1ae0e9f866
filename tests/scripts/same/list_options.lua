-- run: show
-- run: --list=a,,b --size=2M --whole=0x10 --flag=off show
-- run: --list= --size=3k --whole=-4 --flag show
-- run: --flag=perhaps show
-- run: --whole=5x show
-- run: show extra word
local cmdline = sysbench.cmdline
cmdline.options = {
   list = {"L", {"x", "y"}}, size = {"S", "1K", cmdline.ARG_SIZE}, flag = {"F", false},
   whole = {"W", 7, cmdline.ARG_INT}, text = {"T", "t"}, none = {"N", nil, cmdline.ARG_INT},
}
cmdline.commands = {show = {function()
   for _, name in ipairs {"size", "flag", "whole", "text", "none"} do
      print(name, type(sysbench.opt[name]), sysbench.opt[name])
   end
   print(#sysbench.opt.list, unpack(sysbench.opt.list))
end}}
