-- The 0.5 API that 1.0.20 still offered: globals, and one implicit connection per session.
local P = ...
local ffi = P.ffi
local C = ffi.C

local function session_state()
  local env = getfenv(0)
  local state = rawget(env, "__dyno_legacy")
  if not state then
    state = {}
    rawset(env, "__dyno_legacy", state)
  end
  return state
end

local legacy = {}

function legacy.sb_rand(a, b) return P.rand.default(a, b) end
function legacy.sb_rand_uniform(a, b) return P.rand.uniform(a, b) end
function legacy.sb_rand_gaussian(a, b) return P.rand.gaussian(a, b) end
function legacy.sb_rand_special(a, b) return P.rand.special(a, b) end
function legacy.sb_rand_str(format) return P.rand.string(format) end
function legacy.sb_rand_uniq(a, b)
  if not a then
    return C.sb_rand_unique()
  end
  P.refuse_wide("sb_rand_uniq", a, b)
  return C.dyno_rand_unique_within(a, b)
end
function legacy.sb_rnd() return C.dyno_random_below(0) end

-- Functions with useless results return nothing: scripts print what they get.
function legacy.db_connect()
  local state = session_state()
  local driver = getfenv(0).sysbench.sql.driver()
  state.connection = driver:connect()
  rawset(getfenv(0), "db_driver", driver:name())
end

local function connection()
  if not session_state().connection then
    legacy.db_connect()
  end
  return session_state().connection
end

function legacy.db_disconnect()
  local state = session_state()
  if state.connection then
    state.connection:disconnect()
    state.connection = nil
  end
end

function legacy.db_query(sql)
  connection():query(sql)
end

function legacy.db_bulk_insert_init(prefix) connection():bulk_insert_init(prefix) end
function legacy.db_bulk_insert_next(values) connection():bulk_insert_next(values) end
function legacy.db_bulk_insert_done() connection():bulk_insert_done() end
function legacy.db_prepare(sql) return connection():prepare(sql) end

local STRING_SIZE = 256

local function bind_legacy(statement, values)
  local params = {}
  for i = 1, #values do
    local value = values[i]
    local sql_type = type(value) == "number" and P.TYPE.BIGINT or P.TYPE.VARCHAR
    local size = type(value) == "string" and math.max(#value, STRING_SIZE) or STRING_SIZE
    params[i] = statement:bind_create(sql_type, size)
  end
  statement:bind_param(unpack(params))
  return params
end

-- The table stays bound: each execution uses its current values.
function legacy.db_bind_param(statement, values)
  statement.legacy_values = values
  statement.legacy_params = bind_legacy(statement, values)
end

function legacy.db_bind_result() end

function legacy.db_execute(statement)
  local values, params = statement.legacy_values, statement.legacy_params
  for i = 1, params and #params or 0 do
    params[i]:set(values[i])
  end
  session_state().result = statement:execute()
  return session_state().result
end

function legacy.db_store_results() end
function legacy.db_free_results() end
function legacy.db_close(statement) statement:close() end

local constants = {
  DB_ERROR_NONE = 0,
  DB_ERROR_RESTART_TRANSACTION = 1,
  DB_ERROR_FAILED = 2,
  mysql_table_engine = "innodb",
  myisam_max_rows = 1000000,
}

P.legacy_db = {}
for name, value in pairs(legacy) do
  local bare = name:match("^db_(.+)")
  if bare then
    P.legacy_db[bare] = value
  end
end
for name, value in pairs(constants) do
  if name:find("^DB_ERROR") then
    P.legacy_db[name] = value
  end
end

function P.add_legacy(globals)
  P.copy_into(P.copy_into(globals, legacy), constants)
  globals.test = P.script_path
end

-- A script without an options table sees its options as globals too.
function P.export_legacy_options(env)
  if env.sysbench.cmdline.options ~= nil then
    return
  end
  for name, value in pairs(P.options) do
    if type(env[name]) ~= "function" then
      rawset(env, name, value)
    end
  end
end
