-- Phases: the steps of a workload, each a run of its own.
local P = ...
local error, type = error, type

local FIELDS = {
  name = "string",
  options = "table",
  time = "number",
  events = "number",
  warmup = "number",
  before = "string",
  undo = "string",
  unit = "string",
  per_event = "number",
}
local VALUES = { number = true, string = true, boolean = true }

local function check(phase, number)
  local what = P.check_entry("phases", "phase", FIELDS, phase, number)
  for name, value in P.pairs(phase.options or {}) do
    if type(name) ~= "string" or not VALUES[type(value)] then
      error(what .. ": 'options' must give numbers, texts or booleans by name", 0)
    end
  end
  if phase.undo and not phase.before then
    error(what .. ": 'undo' needs a command to take back, 'before'", 0)
  end
  local time, events, warmup = phase.time or 0, phase.events or 0, phase.warmup or 0
  if time < 0 or warmup < 0 or events < 0 or events % 1 ~= 0 then
    error(what .. ": 'time', 'events' (a whole number) and 'warmup' cannot be below 0", 0)
  end
end

-- What the script's `phases()` answered, checked; nil where it answers nothing.
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
