function event()
end

sysbench.hooks.report_cumulative = function(stat)
  local names = {}
  for name, value in pairs(stat) do
    assert(type(value) == "number", name)
    names[#names + 1] = name
  end
  table.sort(names)
  print(table.concat(names, " "))
  print("running", stat.threads_running, stat.events)
end
