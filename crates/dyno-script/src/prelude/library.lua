-- Session-specific versions of libraries that would otherwise interfere between sessions.
local P = ...
local ffi = P.ffi
local C = ffi.C
local error, pcall, tostring = error, pcall, tostring

-- Splits C declarations at the semicolons outside braces.
local function each_declaration(source)
  local depth, from, at = 0, 1, 1
  return function()
    while at <= #source do
      local c = source:sub(at, at)
      depth = depth + (c == "{" and 1 or c == "}" and -1 or 0)
      at = at + 1
      if c == ";" and depth == 0 then
        local declaration = source:sub(from, at - 1)
        from = at
        return declaration
      end
    end
  end
end

-- All sessions of a worker declare in one state, and some repeat sysbench's declarations: known
-- declarations are skipped.
local declared = {}
function P.cdef(source, ...)
  if declared[source] then
    return
  end
  local ok, message = pcall(ffi.cdef, source, ...)
  if not ok then
    if not tostring(message):find("attempt to redefine", 1, true) then
      error(message, 2)
    end
    for declaration in each_declaration(source) do
      ok, message = pcall(ffi.cdef, declaration, ...)
      if not ok and not tostring(message):find("attempt to redefine", 1, true) then
        error(message, 2)
      end
    end
  end
  declared[source] = true
end

-- math with the session's stream, so that sessions differ and a seed is reproducible.
local session_math = P.copy_into({}, math)
P.session_math = session_math
session_math.randomseed = function() end
session_math.random = function(low, high)
  if low == nil then
    return C.sb_rand_uniform_double()
  end
  if high == nil then
    low, high = 1, low
  end
  low, high = math.floor(low), math.floor(high)
  if low > high then
    error("bad argument to 'random' (interval is empty)", 2)
  end
  if high - low < 4294967295 then
    return low + C.dyno_random_below(high - low + 1)
  end
  return low + math.floor(C.sb_rand_uniform_double() * (high - low + 1))
end
