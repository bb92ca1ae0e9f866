-- Tables of a session over tables that all sessions of a worker share. A session sees the shared
-- entries, and stores only those that it writes itself: with a copy of each in ten thousand
-- sessions, they would take half of the memory. A script sees one table without a metatable, except
-- that it cannot remove a shared entry.
local P = ...
local getmetatable, setmetatable, rawget, rawset = getmetatable, setmetatable, rawget, rawset
local pairs, next = pairs, next

-- Copies all entries of a table into another, and returns that.
function P.copy_into(target, source)
  for name, value in pairs(source) do
    target[name] = value
  end
  return target
end

-- The shared tables, by the metatables of the tables over them.
local shared_by_meta = {}

local function shared_below(t)
  local meta = getmetatable(t)
  return meta and shared_by_meta[meta]
end

-- A function that lays a session's table over this one.
function P.layer_over(shared)
  local meta = { __index = shared }
  shared_by_meta[meta] = shared
  return function(own)
    return setmetatable(own, meta)
  end
end

local function merged(own, shared)
  return P.copy_into(P.copy_into({}, shared), own)
end

-- Lua's functions of these names, for scripts. Their last calls are tail calls, so that errors name
-- the script's line.
P.whole_tables = {
  pairs = function(t)
    local shared = shared_below(t)
    return pairs(shared and merged(t, shared) or t)
  end,
  next = function(t, key)
    local shared = shared_below(t)
    return next(shared and merged(t, shared) or t, key)
  end,
  rawget = function(t, key)
    local shared = shared_below(t)
    if shared and rawget(t, key) == nil then
      return shared[key]
    end
    return rawget(t, key)
  end,
  getmetatable = function(t)
    if shared_below(t) then
      return nil
    end
    return getmetatable(t)
  end,
  -- A script's own metatable does not know the shared entries: they are copied.
  setmetatable = function(t, meta)
    local shared = shared_below(t)
    if shared then
      for name, value in pairs(shared) do
        if rawget(t, name) == nil then
          rawset(t, name, value)
        end
      end
    end
    return setmetatable(t, meta)
  end,
}
