-- The `sysbench` table of a session.
local P = ...
local ffi = P.ffi
local C = ffi.C
local setmetatable, pairs, type = setmetatable, pairs, type

local VERSION = "1.1.0"

local RESTART_EVENT = 1
P.RESTART_EVENT = RESTART_EVENT

local errors = { NONE = 0, RESTART_EVENT = RESTART_EVENT }

local argument_types = {
  ARG_NULL = C.SB_ARG_TYPE_NULL,
  ARG_BOOL = C.SB_ARG_TYPE_BOOL,
  ARG_INT = C.SB_ARG_TYPE_INT,
  ARG_SIZE = C.SB_ARG_TYPE_SIZE,
  ARG_DOUBLE = C.SB_ARG_TYPE_DOUBLE,
  ARG_STRING = C.SB_ARG_TYPE_STRING,
  ARG_LIST = C.SB_ARG_TYPE_LIST,
  ARG_FILE = C.SB_ARG_TYPE_FILE,
  ARG_MAX = C.SB_ARG_TYPE_MAX,
}

-- Tables over those that all sessions share. The host sets their values before the first session.
local layers

local function make_layers()
  local env = function()
    return P.current_session().env
  end
  local cmdline = {
    argv = P.argv,
    command = P.command,
    script_path = P.script_path,
    PARALLEL_COMMAND = true,
    print_test_options = function()
      P.print_test_options(env().sysbench.cmdline.options)
    end,
    read_cmdline_options = function()
      return true
    end,
    command_defined = function(name)
      return P.command_entry(env(), name) ~= nil
    end,
    command_parallel = function(name)
      local _, parallel = P.command_entry(env(), name)
      return parallel or false
    end,
    call_command = function(name)
      local run = P.command_entry(env(), name)
      if not run then
        return false
      end
      return run() ~= false
    end,
  }
  P.copy_into(cmdline, argument_types)
  local sysbench = {
    version = VERSION,
    version_string = "sysbench " .. VERSION .. " (dyno)",
    error = errors,
    histogram = P.histogram,
    db = P.legacy_db,
    report_default = P.report_default,
    report_csv = P.report_csv,
    report_json = P.report_json,
  }
  return { cmdline = P.layer_over(cmdline), sysbench = P.layer_over(sysbench) }
end

function P.new_sysbench(session)
  layers = layers or make_layers()
  -- `rand` and `sql` are a session's own because events need them.
  return layers.sysbench {
    tid = session.tid,
    cmdline = layers.cmdline {},
    hooks = {},
    rand = P.rand,
    sql = P.new_sql(session),
  }
end

local function copy_list(list)
  local copy = {}
  for i = 1, #list do
    copy[i] = list[i]
  end
  return copy
end

-- A session's options: a separate table, initially with lists only, over the shared one.
local options, options_layer

function P.new_options()
  if options ~= P.options then
    options, options_layer = P.options, P.layer_over(P.options)
  end
  local own = {}
  for name, value in pairs(options) do
    if type(value) == "table" then
      own[name] = copy_list(value)
    end
  end
  return options_layer(own)
end

-- Options are lists of values or of lists.
local DEPTH_MAX = 3

local function is_same(a, b, depth)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  if depth > DEPTH_MAX or getmetatable(a) or getmetatable(b) then
    return false
  end
  for name, value in pairs(a) do
    if not is_same(value, b[name], depth + 1) then
      return false
    end
  end
  for name in pairs(b) do
    if a[name] == nil then
      return false
    end
  end
  return true
end

-- The options that the first session declared. Sessions that declare the same share the table.
local declared

function P.share_declared_options(cmdline)
  local own = cmdline and cmdline.options
  declared = declared or own
  if own ~= declared and is_same(own, declared, 1) then
    cmdline.options = declared
  end
end

local rand = {}

function rand.uniform_uint64()
  return C.sb_rand_uniform_uint64()
end

function rand.uniform_double()
  return C.sb_rand_uniform_double()
end

-- The numbers of the distributions in dyno_rand_wide().
local KIND = { default = 0, uniform = 1, gaussian = 2, special = 3, pareto = 4, zipfian = 5 }
-- The largest bound of sysbench's functions, and the largest exact integer.
local NARROW_MAX, WIDE_MAX = 2 ^ 32 - 1, 2 ^ 53

local function is_wide(bound)
  local kind = type(bound)
  return (kind == "number" or kind == "cdata") and not (bound <= NARROW_MAX)
end

-- Draws between bounds if one exceeds 32 bits: C functions would take them modulo 2^32.
local function wide(name, a, b)
  a, b = tonumber(a), tonumber(b)
  if not (a and b and a >= 0 and b >= 0 and a <= WIDE_MAX and b <= WIDE_MAX) then
    error(("sysbench.rand.%s: the bounds must be from 0 to 2^53, not %s and %s"):format(name,
      tostring(a), tostring(b)), 3)
  end
  return (C.dyno_rand_wide(KIND[name], a, b))
end

function rand.default(a, b)
  if is_wide(a) or is_wide(b) then
    return (wide("default", a, b))
  end
  return C.sb_rand_default(a, b)
end

function rand.uniform(a, b)
  if is_wide(a) or is_wide(b) then
    return (wide("uniform", a, b))
  end
  return C.sb_rand_uniform(a, b)
end

function rand.gaussian(a, b)
  if is_wide(a) or is_wide(b) then
    return (wide("gaussian", a, b))
  end
  return C.sb_rand_gaussian(a, b)
end

function rand.pareto(a, b)
  if is_wide(a) or is_wide(b) then
    return (wide("pareto", a, b))
  end
  return C.sb_rand_pareto(a, b)
end

function rand.zipfian(a, b)
  if is_wide(a) or is_wide(b) then
    return (wide("zipfian", a, b))
  end
  return C.sb_rand_zipfian(a, b)
end

function rand.unique()
  return C.sb_rand_unique()
end

-- Refuses bounds that a 32-bit function would take modulo 2^32.
function P.refuse_wide(name, a, b)
  if is_wide(a) or is_wide(b) then
    error(("%s: the bounds must be at most 2^32 - 1"):format(name), 3)
  end
end

-- One buffer for all strings of the state: nothing yields between filling and copying.
local buffer, capacity = ffi.new("char[?]", 4096), 4096
-- The length of the longest text parameter.
local TEXT_MAX = 2 ^ 28

local function room(size)
  if not (size <= TEXT_MAX) then
    error(("a text of %.0f characters is too long: at most %.0f"):format(size, TEXT_MAX), 3)
  end
  if size > capacity then
    buffer, capacity = ffi.new("char[?]", size * 2), size * 2
  end
  return buffer
end

function rand.string(format)
  local size = #format
  local target = room(size + 1)
  C.sb_rand_str(format, target)
  return ffi.string(target, size)
end

function rand.varstring(min_len, max_len)
  -- Written so that NaN is refused too.
  if not (min_len >= 0 and min_len <= max_len and max_len > 0 and max_len <= P.TEXT_BYTES_MAX) then
    error(("sysbench.rand.varstring: 0 <= min <= max and 0 < max <= %d are required"):format(
      P.TEXT_BYTES_MAX), 2)
  end
  local target = room(max_len + 1)
  return ffi.string(target, C.sb_rand_varstr(target, min_len, max_len))
end

-- 1.0.20's addition is in the metatable, so that pairs() only lists master's functions.
P.rand = setmetatable(rand, {
  __index = {
    special = function(a, b)
      if is_wide(a) or is_wide(b) then
        return (wide("special", a, b))
      end
      return C.sb_rand_special(a, b)
    end,
  },
})

local Histogram = {}
Histogram.__index = Histogram
Histogram.__tostring = function()
  return "<sb_histogram>"
end

function Histogram:update(value)
  C.sb_histogram_update(self.handle, value)
end

function Histogram:print()
  C.sb_histogram_print(self.handle)
end

P.histogram = {
  new = function(size, range_min, range_max)
    local handle = C.sb_histogram_new(size, range_min, range_max)
    if handle == nil then
      error("sysbench.histogram.new: a size from 2 to 8388608 and 0 < min < max are required", 2)
    end
    return setmetatable({ handle = ffi.gc(handle, C.sb_histogram_delete) }, Histogram)
  end,
}

local function per_second(value, stat)
  return stat.time_interval > 0 and value / stat.time_interval or 0
end

function P.report_default(stat)
  print(string.format(
    "[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) "
      .. "lat (ms,%u%%): %4.2f err/s %4.2f reconn/s: %4.2f",
    stat.time_total, stat.threads_running, per_second(stat.events, stat),
    per_second(stat.reads + stat.writes + stat.other, stat), per_second(stat.reads, stat),
    per_second(stat.writes, stat), per_second(stat.other, stat), P.percentile,
    stat.latency_pct * 1000, per_second(stat.errors, stat), per_second(stat.reconnects, stat)))
end

function P.report_csv(stat)
  print(string.format(
    "%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f",
    stat.time_total, stat.threads_running, per_second(stat.events, stat),
    per_second(stat.reads + stat.writes + stat.other, stat), per_second(stat.reads, stat),
    per_second(stat.writes, stat), per_second(stat.other, stat), stat.latency_pct * 1000,
    per_second(stat.errors, stat), per_second(stat.reconnects, stat)))
end

-- One array per run: `P.finish_report` closes it.
local json_open = false
function P.report_json(stat)
  io.write(json_open and ",\n" or "[\n")
  json_open = true
  io.write(string.format([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]],
    stat.time_total, stat.threads_running, per_second(stat.events, stat),
    per_second(stat.reads + stat.writes + stat.other, stat), per_second(stat.reads, stat),
    per_second(stat.writes, stat), per_second(stat.other, stat), stat.latency_pct * 1000,
    per_second(stat.errors, stat), per_second(stat.reconnects, stat)))
end

function P.finish_report()
  if json_open then
    io.write("\n]\n")
    json_open = false
  end
  io.flush()
end
