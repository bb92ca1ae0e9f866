-- A script's options, checked when they are used or before; and the results of a script's `check`.
local P = ...
local dyno = P.dyno
local error, type, tonumber, tostring = error, type, tonumber, tostring
local setmetatable, ipairs, table = setmetatable, ipairs, table

local option = {}
dyno.option = option

-- The value of an option of the current session.
local function value_of(call, name)
  local session = P.current_session()
  local sysbench = session and session.env.sysbench
  local value = sysbench and sysbench.opt and sysbench.opt[name]
  if value == nil then
    error(("dyno.option.%s(): there is no option '%s'"):format(call, tostring(name)), 3)
  end
  return value
end

-- Formats a number for display; texts are unchanged.
local function text_of(value)
  if type(value) ~= "number" then
    return ("'%s'"):format(tostring(value))
  end
  return value % 1 == 0 and ("%.0f"):format(value) or ("%.14g"):format(value)
end

local function bounds(low, high)
  if high then
    return ("from %s to %s"):format(text_of(low), text_of(high))
  end
  return ("from %s on"):format(text_of(low))
end

local function within(name, given, low, high, kind)
  local value = tonumber(given)
  -- NaN is not within any bounds.
  if value and value >= low and value <= (high or value) and
    (kind == "number" or value % 1 == 0) then
    return value
  end
  error(("--%s must be a %s %s, not %s"):format(name, kind, bounds(low, high), text_of(given)), 0)
end

-- The value, which must be a whole number from `low` to `high`, or at least `low`.
function option.whole(name, low, high)
  return within(name, value_of("whole", name), low, high, "whole number")
end

-- The same for any number.
function option.number(name, low, high)
  return within(name, value_of("number", name), low, high, "number")
end

local function listed(choices)
  if #choices == 1 then
    return choices[1]
  end
  return table.concat(choices, ", ", 1, #choices - 1) .. " or " .. choices[#choices]
end

-- The value, which must be in a list of texts.
function option.one_of(name, choices)
  local value = value_of("one_of", name)
  for _, choice in ipairs(choices) do
    if value == choice then
      return value
    end
  end
  error(("--%s must be %s, not %s"):format(name, listed(choices), text_of(value)), 0)
end

-- Names with weights, `insert@9,select@1`, as a list for dyno.choice(). Each must be in `names`;
-- the default weight is 1, and names with weight 0 are left out.
function option.weights(name, names)
  local text, known, cards = value_of("weights", name), {}, {}
  for _, each in ipairs(names) do
    known[each] = true
  end
  for entry in text:gmatch("[^,]+") do
    local word, at, digits = entry:match("^%s*([%w_]+)(@?)([%d.]*)%s*$")
    local weight = at == "" and digits == "" and 1 or tonumber(digits)
    if not known[word] or not weight or (at == "" and digits ~= "") then
      error(("--%s: '%s' must be %s, optionally with @ and a weight"):format(name, entry,
        listed(names)), 0)
    elseif weight > 0 then
      cards[#cards + 1] = { word, weight }
    end
  end
  if #cards == 0 then
    error(("--%s leaves nothing to do; write for example %s@1"):format(name, names[1]), 0)
  end
  return cards
end

-- Registers a function that checks the options. Dyno calls it before a command connects; its error
-- refuses the command line.
function option.check(check)
  if type(check) ~= "function" then
    error("dyno.option.check(): expected a function", 2)
  end
  local session = P.current_session()
  local checks = session.option_checks or {}
  checks[#checks + 1] = check
  session.option_checks = checks
end

-- Calls the registered functions.
function P.check_options()
  for _, check in ipairs(P.current_session().option_checks) do
    check()
  end
end

-- Conditions ------------------------------------------------------------------------------------

local Conditions = {}
local conditions_meta = { __index = Conditions }

-- The results of a check, reported line by line; with `only_failed` only failures.
function dyno.conditions(options)
  local only_failed = options and options.only_failed or false
  return setmetatable({ all = 0, failed = 0, only_failed = only_failed }, conditions_meta)
end

local function print_line(word, text)
  P.current_session().env.print(("%-8s%s"):format(word, text))
end

-- Checks a condition.
function Conditions:hold(good, text)
  self.all = self.all + 1
  self.failed = self.failed + (good and 0 or 1)
  if not (good and self.only_failed) then
    print_line(good and "ok" or "FAILED", text)
  end
end

-- Checks that a number has the expected value.
function Conditions:equal(what, found, expected)
  self:hold(found == expected, ("%s: %.0f, expected %.0f"):format(what, found, expected))
end

-- Reports what could not be checked, and why.
function Conditions:skip(text)
  print_line("-", text)
end

-- Fails if a condition failed.
function Conditions:finish()
  if self.failed > 0 then
    error(("%d of %d conditions failed"):format(self.failed, self.all), 0)
  end
end
