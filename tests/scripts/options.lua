#!/usr/bin/env sysbench
-- All types of options, and all kinds of commands.
local ARG = sysbench.cmdline
ARG.options = {
  ["my-number"] = { "A number", 5 },
  text = { "Some text", "abc" },
  flag = { "A switch", false },
  names = { "A list", { "a", "b" } },
  unset = { "No default" },
  whole = { "A whole number", 3, ARG.ARG_INT },
  size = { "A size", "1K", ARG.ARG_SIZE },
}

local function show()
  for _, name in ipairs { "my_number", "text", "flag", "unset", "whole", "size", "threads" } do
    local value = sysbench.opt[name]
    print(name, type(value), tostring(value))
  end
  print("names", table.concat(sysbench.opt.names, "+"))
end

ARG.commands = {
  show = { show },
  ["for-each"] = {
    function()
      -- One write, because threads share the stream.
      io.write("tid\t" .. sysbench.tid .. "\n")
    end,
    ARG.PARALLEL_COMMAND,
  },
  fails = {
    function()
      error("as asked")
    end,
  },
  ["each-fails"] = {
    function()
      error("as each was asked")
    end,
    ARG.PARALLEL_COMMAND,
  },
  declines = {
    function()
      return false
    end,
  },
}

function event()
end
