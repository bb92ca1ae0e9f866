-- run: args
-- run: plain
-- run: nothing
-- run: text
-- run: run
-- run: fails
-- run: calls
sysbench.cmdline.commands = {
   args = {function() print("parallel") end, sysbench.cmdline.PARALLEL_COMMAND},
   plain = {function() return 1 end},
   nothing = {nil},
   text = "bad",
   run = {function() print("own run") end},
   fails = {function() error("it fails") end},
   calls = {function()
      local cmdline = sysbench.cmdline
      print(cmdline.command_defined("plain"), cmdline.command_defined("nothing"))
      print(cmdline.command_parallel("args"), cmdline.command_parallel("plain"))
      print(cmdline.call_command("plain"), cmdline.command)
   end},
}
