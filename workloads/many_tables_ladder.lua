-- Many tables: the phases of a run, and the ladder of increasing numbers of active tables.

local many = require("many_tables_common")

local ladder = {}

-- The default rungs, up to the number of tables.
local USUAL = {100, 1000, 10000, 30000, 100000, 300000, 1000000}

local function usual_rungs(sizes)
   local rungs, all = {}, sizes.schemas * sizes.tables
   for _, active in ipairs(USUAL) do
      if active < all and many.spread(sizes, active) then
         rungs[#rungs + 1] = active
      end
   end
   rungs[#rungs + 1] = all
   return rungs
end

local function asked_rungs(text)
   local rungs = {}
   for item in (text .. ","):gmatch("([^,]*),") do
      local active = item:match("^%s*(%d+)%s*$")
      active = tonumber(active)
      if not active or active < 1 or (rungs[#rungs] or 0) >= active then
         error(("--rungs must be increasing numbers of tables, such as 100,1000,10000, not " ..
            "'%s'"):format(text), 0)
      end
      rungs[#rungs + 1] = active
   end
   return rungs
end

-- A phase for each rung, which touches this number of tables as a separate run would.
local function rungs(sizes)
   local opt, list = sysbench.opt, {}
   if opt.active > 0 or opt.active_schemas > 0 or opt.active_tables > 0 then
      error("--phase ladder takes its active tables from --rungs, not from --active, " ..
         "--active-schemas and --active-tables", 0)
   end
   for _, active in ipairs(opt.rungs == "" and usual_rungs(sizes) or asked_rungs(opt.rungs)) do
      if active > sizes.schemas * sizes.tables and sizes.schemas < opt.schemas then
         error(("--rungs: %d active tables are more than the %d that were made, because of " ..
            "--stop-after"):format(active, sizes.schemas * sizes.tables), 0)
      end
      many.must_spread(sizes, active, "--rungs")
      list[#list + 1] = {
         name = ("active_%d"):format(active), time = opt.time, events = opt.events,
         warmup = opt.warmup_time, options = {phase = "touch", active = active},
      }
   end
   return list
end

-- Fails if an option does not apply to the request.
local function refuse(asked)
   local opt = sysbench.opt
   if opt.touchers > 0 and asked ~= "drop" and asked ~= "all" then
      error("--touchers is for --phase drop or all", 0)
   elseif opt.churn_every > 0 and (asked == "create" or asked == "drop") then
      error("--churn-every is for --phase touch, ladder or all", 0)
   elseif opt.rungs ~= "" and asked ~= "ladder" then
      error("--rungs is for --phase ladder", 0)
   elseif opt.events > 0 and asked ~= "touch" and asked ~= "ladder" then
      error("--events does not apply to create and drop: they have one event per table", 0)
   end
end

-- The phases for these sizes, as requested or for the existing tables. Creating and dropping run to
-- completion, or until --stop_after.
function ladder.phases(sizes)
   local opt, asked = sysbench.opt, sizes.phase
   refuse(asked)
   if asked == "touch" then
      return nil
   elseif asked == "ladder" then
      return rungs(sizes)
   end
   local list = {}
   for _, name in ipairs {"create", "touch", "drop"} do
      if asked == name or asked == "all" then
         list[#list + 1] = {name = name, options = {phase = name}}
      end
   end
   if asked == "all" then
      list[2].time, list[2].warmup = opt.time, opt.warmup_time
   end
   return list
end

return ladder
