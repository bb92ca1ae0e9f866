-- Phases: the steps of a workload, which are separate runs.
local P = ...
local error, type = error, type

local FIELDS = {
  name = "string",
  options = "table",
  time = "number",
  events = "number",
  warmup = "number",
  rate = "number",
  before = "table",
  undo = "string",
  unit = "string",
  per_event = "number",
}
local VALUES = { number = true, string = true, boolean = true }

local function check(phase, number)
  -- A single command is a list of one.
  if type(phase) == "table" and type(phase.before) == "string" then
    phase.before = { phase.before }
  end
  local what = P.check_entry("phases", "phase", FIELDS, phase, number)
  local commands = phase.before or {}
  for place = 1, #commands do
    if type(commands[place]) ~= "string" then
      error(what .. ": 'before' must be a command's name or a list of names", 0)
    end
  end
  for name, value in P.whole_tables.pairs(phase.options or {}) do
    if type(name) ~= "string" or not VALUES[type(value)] then
      error(what .. ": 'options' must map names to numbers, strings or booleans", 0)
    end
  end
  if phase.undo and #commands == 0 then
    error(what .. ": 'undo' needs a command in 'before' to undo", 0)
  end
  local rate = phase.rate or 0
  if not (rate >= 0 and rate <= 1e9) then
    error(what .. ": 'rate' must be from 0 to 1e9", 0)
  end
  local time, events, warmup = phase.time or 0, phase.events or 0, phase.warmup or 0
  if time < 0 or warmup < 0 or events < 0 or events % 1 ~= 0 then
    error(what .. ": 'time', 'events' (a whole number) and 'warmup' cannot be below 0", 0)
  end
end

-- The result of the script's `phases()`, checked; nil if it returns nothing.
function P.check_phases(answer)
  if answer == nil then
    return nil
  elseif type(answer) ~= "table" or #answer == 0 then
    error("phases() must return a list of phases", 0)
  end
  local known = {}
  for number = 1, #answer do
    check(answer[number], number)
    local name = answer[number].name
    if known[name] then
      error(("phases(): there are two '%s'"):format(name), 0)
    end
    known[name] = true
  end
  return answer
end
