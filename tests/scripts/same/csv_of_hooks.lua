-- run: --events=3 --time=0 run
function event() end
function sysbench.hooks.report_cumulative(stat)
   for _, name in ipairs {"events", "reads", "writes", "other", "errors", "reconnects"} do
      print(name, stat[name])
   end
end
