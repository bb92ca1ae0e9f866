-- Prepared statements and their parameters.
local P = ...
local ffi = P.ffi
local C = ffi.C
local WAIT = P.WAIT
local yield = coroutine.yield
local setmetatable, type, error, select, tostring = setmetatable, type, error, select, tostring
local TYPE, NO_RESULT = P.TYPE, P.NO_RESULT
local wait, raise, must_be_open, first_row = P.wait, P.raise, P.must_be_open, P.first_row

local PENDING, ROWS, DONE, FAILED = 0, 1, 2, 3
local KIND_INT, KIND_DOUBLE, KIND_BYTES = 0, 1, 2

local length = ffi.new("size_t[1]")

-- Parameters -------------------------------------------------------------------------------------

local function param_meta(methods)
  methods.is_param = true
  return {
    __index = methods,
    __tostring = function()
      return "<sql_param>"
    end,
  }
end

local function no_random_string()
  error("set_rand_str() needs a CHAR or VARCHAR parameter", 2)
end

local IntParam = { set_rand_str = no_random_string }

function IntParam:set(value)
  local slot = self.slot
  if value == nil then
    slot.is_null = 1
  else
    slot.int_value = value
    slot.is_null = 0
  end
end

local DoubleParam = { set_rand_str = no_random_string }

function DoubleParam:set(value)
  local slot = self.slot
  if value == nil then
    slot.is_null = 1
  else
    slot.double_value = value
    slot.is_null = 0
  end
end

local BytesParam = {}

function BytesParam:set(value)
  local slot = self.slot
  if value == nil then
    slot.is_null = 1
    return
  end
  if type(value) ~= "string" then
    value = tostring(value)
  end
  C.dyno_param_set_bytes(slot, value, #value)
end

function BytesParam:set_rand_str(format)
  C.dyno_param_rand_str(self.slot, format, #format)
end

local param_kinds = {}
for _, name in ipairs { "TINYINT", "SMALLINT", "INT", "BIGINT" } do
  param_kinds[TYPE[name]] = { kind = KIND_INT, meta = param_meta(IntParam) }
end
for _, name in ipairs { "FLOAT", "DOUBLE" } do
  param_kinds[TYPE[name]] = { kind = KIND_DOUBLE, meta = param_meta(DoubleParam) }
end
for _, name in ipairs { "CHAR", "VARCHAR" } do
  param_kinds[TYPE[name]] = { kind = KIND_BYTES, meta = param_meta(BytesParam) }
end

-- Statements -------------------------------------------------------------------------------------

local Statement = {}
local statement_meta = {
  __index = Statement,
  __tostring = function()
    return "<sql_statement>"
  end,
}

-- The collector's step in KiB before a statement is prepared on a session's second or later
-- connection: statements of the lost one use memory that it does not know of.
local STEP_ANEW = 16

-- Closes the collected statements of the connection on the server.
local function close_dropped(id)
  if id > 0 then
    collectgarbage("step", STEP_ANEW)
  end
  if C.dyno_statements_crowd() then
    collectgarbage()
    C.dyno_statements_collected()
  end
  local dropped = C.dyno_statement_dropped(id)
  while dropped >= 0 do
    wait(C.dyno_statement_close_dropped(id, dropped))
    dropped = C.dyno_statement_dropped(id)
  end
end

local function prepare_on_server(statement)
  local connection, params = statement.connection, statement.params
  close_dropped(connection.id)
  local count = params and #params or 0
  local kinds = ffi.new("uint32_t[?]", math.max(count, 1))
  for i = 1, count do
    kinds[i - 1] = params[i].kind
  end
  local code = wait(C.dyno_prepare(connection.id, statement.sql, #statement.sql, kinds, count))
  if code == FAILED then
    -- This kind of statement cannot be prepared.
    if P.error_kind() == "unsupported" then
      statement.emulated = true
      return
    end
    raise(connection, code, statement.sql)
  end
  statement.owned = ffi.gc(C.dyno_statement_new(connection.id), C.dyno_statement_free)
  -- The same as a number, which saves an allocation per execution.
  statement.handle = tonumber(ffi.cast("uintptr_t", statement.owned))
end

local function hand_over_params(statement)
  local params = statement.params
  if not params or statement.emulated then
    return
  end
  local slots = ffi.new("dyno_param *[?]", math.max(#params, 1))
  for i = 1, #params do
    slots[i - 1] = params[i].slot
  end
  C.dyno_statement_bind(statement.owned, slots, #params)
end

function Statement:bind_create(sql_type, max_len)
  local class = param_kinds[sql_type]
  if not class then
    error("Unsupported argument type: " .. tostring(sql_type), 2)
  end
  max_len = max_len or 0
  if not (max_len >= 0 and max_len <= P.TEXT_BYTES_MAX) then
    error(("bind_create(): the length must be from 0 to %d"):format(P.TEXT_BYTES_MAX), 2)
  end
  local slot = ffi.gc(C.dyno_param_new(class.kind, max_len), C.dyno_param_free)
  return setmetatable({ slot = slot, kind = class.kind, type = sql_type, max_len = max_len },
    class.meta)
end

function Statement:bind_param(...)
  local count = select("#", ...)
  if count == 0 then
    return nil
  end
  local params = { ... }
  for i = 1, count do
    if type(params[i]) ~= "table" or not params[i].is_param then
      error(("bind_param(): argument %d is not a parameter made by bind_create()"):format(i), 2)
    end
  end
  must_be_open(self.connection)
  self.params = params
  if not self.handle and not self.emulated then
    prepare_on_server(self)
  end
  hand_over_params(self)
  return 0
end

local function quote(text)
  return "'" .. text:gsub("'", "''") .. "'"
end

local mysql_escapes = {
  ["\0"] = "\\0", ["\n"] = "\\n", ["\r"] = "\\r", ["\\"] = "\\\\", ["'"] = "\\'", ["\26"] = "\\Z",
}

local function quote_mysql(text)
  return "'" .. text:gsub("[%z\n\r\\'\26]", mysql_escapes) .. "'"
end

local function literal(param, family)
  local slot = param.slot
  if slot.is_null ~= 0 then
    return "NULL"
  elseif param.kind == KIND_INT then
    return (tostring(slot.int_value):gsub("LL$", ""))
  elseif param.kind == KIND_DOUBLE then
    return ("%.17g"):format(slot.double_value)
  end
  local bytes = C.dyno_param_bytes(slot, length)
  local text = ffi.string(bytes, length[0])
  return family == "mysql" and quote_mysql(text) or quote(text)
end

-- The end of the quoted text that begins at `at`.
local function quote_end(sql, at, quote, escapes)
  at = at + 1
  while true do
    local found = sql:find(escapes and "[\\" .. quote .. "]" or quote, at)
    if not found then
      return #sql
    elseif sql:sub(found, found) == quote then
      return found
    end
    at = found + 2
  end
end

-- The end of the quoted text or comment that begins at `at`; nil if none begins there.
local function skipped(sql, at, mysql)
  local char, two = sql:sub(at, at), sql:sub(at, at + 1)
  if char == "'" or char == '"' or char == "`" then
    return quote_end(sql, at, char, mysql and char ~= "`")
  elseif two == "/*" then
    local _, to = sql:find("*/", at + 2, true)
    return to or #sql
  elseif mysql and char == "#" or two == "--" and (not mysql or sql:find("^%s", at + 2)) then
    return sql:find("\n", at, true) or #sql
  elseif char == "$" and not mysql then
    local tag = sql:match("^%$[%a_]*[%w_]*%$", at)
    local _, to = sql:find(tag or "", at + #(tag or " "), true)
    return tag and (to or #sql)
  end
end

-- The text between the parameters of a statement: a `?` in quotes or a comment is not a parameter.
local function pieces(sql, mysql)
  local parts, from, at = {}, 1, 1
  while true do
    local found = sql:find("[%?'\"`/#$%-]", at)
    if not found then
      parts[#parts + 1] = sql:sub(from)
      return parts
    end
    local to = skipped(sql, found, mysql)
    if not to and sql:sub(found, found) == "?" then
      parts[#parts + 1] = sql:sub(from, found - 1)
      from = found + 1
    end
    at = (to or found) + 1
  end
end

-- The statement as text, with its parameters inserted: for `--db-ps-mode=disable` and statements
-- that the server cannot prepare.
local function emulate(statement)
  local params, family = statement.params or {}, statement.connection.family
  local parts = statement.pieces
  if not parts then
    parts = pieces(statement.sql, family == "mysql")
    statement.pieces = parts
  end
  local out = { parts[1] }
  for i = 2, #parts do
    local param = params[i - 1]
    out[#out + 1] = param and literal(param, family) or "?"
    out[#out + 1] = parts[i]
  end
  return table.concat(out)
end

local function execute_slowly(statement)
  local connection = statement.connection
  must_be_open(connection)
  if not statement.sql then
    error("SQL API error: the statement is closed", 3)
  end
  if statement.emulated then
    return connection:query(emulate(statement))
  end
  prepare_on_server(statement)
  hand_over_params(statement)
  return statement:execute()
end

function Statement:execute()
  local handle = self.handle
  if not handle then
    return execute_slowly(self)
  end
  local code = C.dyno_execute(handle)
  if code == PENDING then
    code = yield(WAIT)
  end
  if code == ROWS then
    return self.result
  elseif code == DONE then
    if self.connection.unsettled then
      P.settle(self.connection, self.sql)
    end
    return NO_RESULT
  end
  return raise(self.connection, code, "<prepared statement>", self.sql)
end

-- Executes it and returns the fields of the first row; nothing without rows.
function Statement:execute_row()
  local handle = self.handle
  if not handle then
    if execute_slowly(self) == NO_RESULT then
      return nil
    end
    return first_row(self.connection.id)
  end
  local code = C.dyno_execute(handle)
  if code == PENDING then
    code = yield(WAIT)
  end
  if code == ROWS then
    return first_row(self.connection.id)
  elseif code == DONE then
    return nil
  end
  return raise(self.connection, code, "<prepared statement>", self.sql)
end

-- Executes it as text, with the parameters' values inserted.
function Statement:query()
  must_be_open(self.connection)
  return self.connection:query(emulate(self))
end

function Statement:next_result()
  return self.connection:next_result()
end

function Statement:more_results()
  return self.connection:more_results()
end

function Statement:close()
  local owned = self.owned
  self.handle, self.owned, self.sql = nil, nil, nil
  if owned and self.connection.id then
    wait(C.dyno_statement_close(owned))
  end
end

-- A statement that is prepared on the server unless `deferred`.
function P.new_statement(connection, sql, deferred)
  local statement = setmetatable({
    connection = connection,
    sql = sql,
    result = connection.result,
    emulated = P.emulate_prepared,
  }, statement_meta)
  if not statement.emulated and not deferred then
    prepare_on_server(statement)
  end
  return statement
end

-- Statements that end a transaction, also by starting another.
local ENDS = { ROLLBACK = true, COMMIT = true, BEGIN = true, START = true }

-- Clears the flag after a statement that ended a transaction left open by an ignored error.
function P.settle(connection, sql)
  local word, rest = sql:match("^%s*(%a+)(.*)")
  if word and ENDS[word:upper()] and not rest:find("^%s+[Tt][Oo]%s") then
    connection.unsettled = false
  end
end

-- Rolls back an open transaction that the repeated event might commit by accident.
function P.end_unsettled(connection)
  if connection and connection.unsettled and connection.id then
    connection.unsettled = false
    P.wait(C.dyno_recover(connection.id))
  end
end
