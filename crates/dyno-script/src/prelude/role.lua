-- Roles: groups of sessions with a separate behaviour and pace; and numbers shared by all sessions
-- of a run.
local P = ...
local ffi = P.ffi
local C = ffi.C
local dyno = P.dyno
local error, type, tonumber, tostring, rawget = error, type, tonumber, tostring, rawget

local FIELDS = {
  name = "string",
  sessions = "number",
  event = "function",
  background = "boolean",
  rate = "number",
  rate_per_session = "number",
  arrivals = "string",
  skip_after = "number",
  unit = "string",
  per_event = "number",
}

local function whole(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0
end

-- Checks an entry of a list returned by a script's function: a table with a name, and only these
-- fields, with these types. Returns its name for messages.
function P.check_entry(list, kind, fields, entry, number)
  local what = ("%s(): %s %d"):format(list, kind, number)
  if type(entry) ~= "table" then
    error(what .. " is not a table", 0)
  end
  if type(entry.name) ~= "string" or not entry.name:find("^[%w_.:-]+$") then
    error(what .. ": the name may contain only letters, digits and _ . : -", 0)
  end
  what = ("%s(): '%s'"):format(list, entry.name)
  for field, value in P.whole_tables.pairs(entry) do
    if not fields[field] then
      error(("%s: there is no field '%s'"):format(what, tostring(field)), 0)
    elseif type(value) ~= fields[field] then
      error(("%s: '%s' must be a %s"):format(what, field, fields[field]), 0)
    end
  end
  return what
end

local function check(role, number)
  local what = P.check_entry("roles", "role", FIELDS, role, number)
  if not whole(role.sessions) then
    error(what .. ": 'sessions' must be a whole number", 0)
  elseif type(role.event) ~= "function" then
    error(what .. ": 'event' must be a function", 0)
  elseif role.rate and role.rate_per_session then
    error(what .. ": 'rate' and 'rate_per_session' exclude each other", 0)
  end
  local rate = role.rate or role.rate_per_session
  if rate and not (rate > 0 and rate <= 1e9) then
    error(what .. ": the rate must be above 0 and at most 1e9", 0)
  elseif role.arrivals and role.arrivals ~= "poisson" and role.arrivals ~= "constant" then
    error(what .. ": 'arrivals' must be poisson or constant", 0)
  elseif role.per_event and not (role.per_event > 0) then
    error(what .. ": 'per_event' must be above 0", 0)
  elseif role.skip_after and not (role.skip_after > 0) then
    error(what .. ": 'skip_after' must be above 0", 0)
  elseif (role.arrivals or role.skip_after) and not rate then
    error(what .. ": 'arrivals' and 'skip_after' need a rate", 0)
  end
end

-- The result of the script's `roles()`, checked, without roles for no sessions; nil if it returns
-- nothing.
function P.check_roles(answer)
  if answer == nil then
    return nil
  elseif type(answer) ~= "table" then
    error("roles() must return a list of roles", 0)
  end
  local list, known = {}, {}
  for number = 1, #answer do
    local role = answer[number]
    check(role, number)
    if known[role.name] then
      error(("roles(): there are two '%s'"):format(role.name), 0)
    end
    known[role.name] = true
    if role.sessions > 0 then
      list[#list + 1] = role
    end
  end
  if #list == 0 then
    error("roles(): no role has sessions", 0)
  end
  return list
end

-- Assigns a session's role.
function P.cast(session)
  local roles = P.plays_roles and P.find_function(session, "roles")
  local list = type(roles) == "function" and P.check_roles(roles())
  if not list then
    return
  end
  local first = 0
  for number = 1, #list do
    local role = list[number]
    if session.tid < first + role.sessions then
      session.event = role.event
      session.role = {
        name = role.name,
        member = session.tid - first,
        sessions = role.sessions,
      }
      return
    end
    first = first + role.sessions
  end
end

-- The role of the current session: its `name`, its number of `sessions`, and the index of this
-- session, `member`, from 0. Nil without roles.
function dyno.role()
  local session = P.current_session()
  return session and session.role
end

-- The session has finished its work.
function dyno.finish()
  error(P.STOP, 0)
end

-- Numbers shared by all sessions of the run, from 1 to `count`; initially 0.
local Shared = {}
local shared_meta = { __index = Shared }

function dyno.shared(name, count, across)
  if type(name) ~= "string" or not whole(count or 1) or count == 0 then
    error("dyno.shared(): expected a name and a count of at least 1", 2)
  end
  count = count or 1
  if across ~= nil and across ~= "each" and across ~= "sum" then
    error("dyno.shared(): across load generators, expected 'each' or 'sum'", 2)
  end
  local known, address = P.shared_numbers(name, count, across or "")
  if known > 2 ^ 53 then
    error(("dyno.shared(): sessions of several load generators cannot share '%s'; run the script "
      .. "on one"):format(name), 2)
  end
  if known == 0 then
    error(("dyno.shared(): no room for '%s' of %.0f numbers; a run has at most %.0f in total")
      :format(name, count, address), 2)
  end
  if known ~= count then
    error(("dyno.shared(): '%s' has %d numbers, not %d"):format(name, known, count), 2)
  end
  return setmetatable({ count = count, at = ffi.cast("int64_t *", address) }, shared_meta)
end

local function place(shared, index)
  index = index or 1
  if not (index >= 1 and index <= shared.count) then
    error("there is no such number", 3)
  end
  return shared.at + (index - 1)
end

-- Adds to a number and returns the new value.
function Shared:add(amount, index)
  return tonumber(C.dyno_shared_add(place(self, index), amount))
end

function Shared:get(index)
  return tonumber(C.dyno_shared_add(place(self, index), 0))
end

-- Replaces a number.
function Shared:set(value, index)
  C.dyno_shared_set(place(self, index), value)
end
