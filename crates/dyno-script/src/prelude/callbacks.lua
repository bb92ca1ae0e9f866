-- Callbacks that Dyno has and sysbench does not: functions of `dyno.callbacks`, or if that is
-- empty, globals with these names.
local P = ...
local setmetatable, ipairs, type, error = setmetatable, ipairs, type, error
local rawget, rawset, tostring, next = rawget, rawset, tostring, next

local CALLBACKS = { "roles", "phases", "phases_there", "ledger", "full_ledger", "figures",
  "tables_made", "creates_tables" }
local meta = {
  __newindex = function(callbacks, name, value)
    for _, known in ipairs(CALLBACKS) do
      if name == known and type(value) == "function" then
        rawset(callbacks, name, value)
        return
      elseif name == known then
        error(("dyno.callbacks.%s must be a function, not %s"):format(name, type(value)), 2)
      end
    end
    error(("unknown callback dyno.callbacks.%s; expected one of: %s"):format(tostring(name),
      table.concat(CALLBACKS, ", ")), 2)
  end,
}

function P.new_callbacks()
  return setmetatable({}, meta)
end

setmetatable(P.dyno, {
  __index = function(_, name)
    return name == "callbacks" and P.current_session().callbacks or nil
  end,
})

-- A callback, or another optional function of a script.
function P.find_function(session, name)
  if name == "check_options" then
    return session.option_checks and P.check_options or nil
  end
  for _, known in ipairs(CALLBACKS) do
    if name == known and next(session.callbacks) then
      return session.callbacks[name]
    end
  end
  return rawget(session.env, name)
end
