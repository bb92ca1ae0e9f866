-- `sysbench.sql`: drivers, connections, results. Statements are in statement.lua.
--
-- Calls that reach the server return 0 if the answer is pending; the session then yields and is
-- resumed with the outcome's number.
local P = ...
local ffi = P.ffi
local C = ffi.C
local WAIT = P.WAIT
local yield = coroutine.yield
local setmetatable, type, error, select, tostring = setmetatable, type, error, select, tostring

local PENDING, ROWS, DONE, FAILED, CLOSED = 0, 1, 2, 3, 5

local TYPE = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
  DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
local ERROR = { NONE = 0, IGNORABLE = 1, FATAL = 2 }

-- The result of a statement without a result set: equal to nil as in sysbench, but using it is an
-- error of the script and does not crash the process.
local NO_RESULT = ffi.cast("sql_result *", nil)
local no_result_methods = {
  free = function() end,
}
ffi.metatype("struct dyno_no_result", {
  __index = function(_, name)
    local method = no_result_methods[name]
    if method then
      return method
    end
    error("the statement returned no result set, so it has no '" .. tostring(name) .. "'", 2)
  end,
  __tostring = function()
    return "<sql_result>"
  end,
})

local length = ffi.new("size_t[1]")

local function error_message()
  local text = C.dyno_error_message(length)
  return ffi.string(text, length[0])
end

-- The kind of the error, according to the driver.
local function error_kind()
  local text = C.dyno_error_kind(length)
  return ffi.string(text, length[0])
end

-- Results ----------------------------------------------------------------------------------------

local Result = {}

local result_fields = {
  nrows = function(result)
    return C.dyno_result_rows(result.connection.id)
  end,
  nfields = function(result)
    return C.dyno_result_columns(result.connection.id)
  end,
}

local function result_index(result, name)
  local method = Result[name]
  if method then
    return method
  end
  local field = result_fields[name]
  return field and field(result)
end

local result_meta = {
  __index = result_index,
  __tostring = function()
    return "<sql_result>"
  end,
}

local function read_fields(count)
  local row = {}
  for i = 1, count do
    local text = C.dyno_field(i - 1, length)
    if text ~= nil then
      row[i] = ffi.string(text, length[0])
    end
  end
  return row
end

-- Functions that return this number of fields as values, without a list, which would be allocated
-- and collected for each row.
local CELLS = 64
local cells = ffi.new("struct dyno_cell[?]", CELLS)

local function new_reader(count)
  local lines, names = { "local cells, text_of = ...", "return function()" }, {}
  for i = 1, count do
    names[i] = "f" .. i
    lines[#lines + 1] = ("local f%d\ndo\nlocal cell = cells[%d]\n" ..
      "if cell.text ~= nil then f%d = text_of(cell.text, cell.len) end\nend"):format(i, i - 1, i)
  end
  lines[#lines + 1] = "return " .. table.concat(names, ", ") .. "\nend"
  return assert(loadstring(table.concat(lines, "\n"), "=sql.lua"))(cells, ffi.string)
end

local readers = {}
for count = 0, CELLS do
  readers[count] = false
end

-- The fields of the first row of a connection's result, which is discarded; nothing without rows.
local function first_row(id)
  local count = C.dyno_first_row(id, cells, CELLS)
  if count < 0 then
    return nil
  elseif count > CELLS then
    return unpack(read_fields(count), 1, count)
  end
  local reader = readers[count]
  if not reader then
    reader = new_reader(count)
    readers[count] = reader
  end
  return reader()
end

function Result:fetch_row()
  local count = C.dyno_next_row(self.connection.id)
  if count < 0 then
    return nil
  end
  return read_fields(count)
end

function Result:free()
  C.dyno_free_result(self.connection.id)
end

-- Errors -----------------------------------------------------------------------------------------

-- The user lists kinds and codes.
local function is_ignorable(err)
  local ignored = P.ignored_errors
  return ignored.all or ignored[err.kind] or ignored[tostring(err.sql_errno)]
    or ignored[err.sql_state] or false
end

local function describe(connection, query)
  local errno, state = C.dyno_error_number(), ffi.string(C.dyno_error_state())
  connection.sql_errno = errno
  connection.sql_state = state
  connection.sql_errmsg = error_message()
  return {
    connection = connection,
    query = query,
    sql_errno = errno,
    sql_state = state,
    sql_errmsg = connection.sql_errmsg,
    kind = error_kind(),
    lost = C.dyno_error_lost() ~= 0,
  }
end

local function wait(code)
  if code == PENDING then
    code = yield(WAIT)
  end
  return code
end

-- A connection that was lost before a statement completed counts as a failed attempt to connect:
-- connections to a proxy that cannot reach its server are like this.
local function pause_before_reconnecting(connection)
  local completed = tonumber(C.sb_counter_val(0, C.SB_CNT_READ)
    + C.sb_counter_val(0, C.SB_CNT_WRITE) + C.sb_counter_val(0, C.SB_CNT_OTHER))
  local useless = completed == connection.completed and connection.useless + 1 or 0
  connection.completed, connection.useless = completed, useless
  if useless > 0 then
    P.sleep(C.dyno_reconnect_delay(useless))
  end
end

-- Tries to restore a lost connection until it succeeds or the run ends, which ends the pauses.
local function reconnect_until_done(connection)
  local failed = 0
  pause_before_reconnecting(connection)
  while not connection:try_reconnect() do
    failed = failed + 1
    P.sleep(C.dyno_reconnect_delay(failed))
  end
  C.sb_counter_inc(0, C.SB_CNT_RECONNECT)
end

local function hooks()
  local env = getfenv(0)
  local sysbench = env and env.sysbench
  return sysbench and sysbench.hooks or {}
end

-- Scripts that run another file, whose lines errors should name.
local READERS = { ["@sql_file.lua"] = true, ["@sql_file_execution.lua"] = true }

-- The level of the script's own line: the prelude's chunks are named `=…`, like C functions.
local function script_level()
  local level = 3
  local info = debug.getinfo(level, "S")
  while info and (info.source:sub(1, 1) == "=" or READERS[info.source]) do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return level - 1
end

-- Raises the error of the last operation; `statement` is the text behind a prepared `query`.
local function raise(connection, code, query, statement)
  local err = describe(connection, query)
  local lost = err.lost
  if err.sql_state == "" then
    connection.error = ERROR.FATAL
    error("SQL API error: " .. err.sql_errmsg, script_level())
  end
  local ignorable
  local work = connection.working
  if work then
    -- An operation retries the same work: only after errors that this may cure.
    ignorable = P.may_retry(work, err.kind) or P.ignored_errors.all
  else
    ignorable = is_ignorable(err)
  end
  ignorable = ignorable or (lost and P.reconnect_lost and P.repeats_events())
  if not ignorable then
    local ignore = hooks().sql_error_ignorable
    ignorable = ignore and ignore(err)
  end
  if not ignorable then
    -- If a script catches it, it is ignored too.
    C.sb_counter_inc(0, C.SB_CNT_ERROR)
    connection.error = ERROR.FATAL
    connection.refused = not lost
    P.log_fatal(connection.family, err, statement)
    local message = ("SQL error, errno = %d, state = '%s': %s"):format(
      err.sql_errno, err.sql_state, err.sql_errmsg)
    P.fatal = message
    error(message, script_level())
  end
  connection.error = ERROR.IGNORABLE
  if lost then
    if P.repeats_events() then
      reconnect_until_done(connection)
    end
  else
    C.sb_counter_inc(0, C.SB_CNT_ERROR)
    -- On MySQL the transaction continues. A script that catches the error may rely on that, and its
    -- before_restart_event may end it.
    connection.unsettled = true
    if work or connection.family ~= "mysql" then
      P.end_unsettled(connection)
    end
  end
  err.errcode = P.RESTART_EVENT
  error(err)
end

-- Connections ------------------------------------------------------------------------------------

local function must_be_open(connection)
  if not connection.id then
    P.log("ALERT", "attempt to use an already closed connection")
    error("SQL API error: the connection is closed", 3)
  end
end

local Connection = {}
local connection_meta = {
  __index = Connection,
  __tostring = function()
    return "<sql_connection>"
  end,
}

function Connection:query(sql)
  must_be_open(self)
  if type(sql) ~= "string" then
    error("query(): expected a string, not " .. type(sql), 2)
  end
  local code = C.dyno_query(self.id, sql, #sql)
  if code == PENDING then
    code = yield(WAIT)
  end
  if code == ROWS then
    return self.result
  elseif code == DONE then
    if self.unsettled then
      P.settle(self, sql)
    end
    return NO_RESULT
  end
  return raise(self, code, sql)
end

function Connection:query_row(sql)
  if self:query(sql) == NO_RESULT then
    return nil
  end
  return first_row(self.id)
end

function Connection:more_results()
  must_be_open(self)
  return C.dyno_more_results(self.id) ~= 0
end

-- The result of an operation that started with this code.
local function answer(connection, code, query)
  code = wait(code)
  if code == ROWS then
    return connection.result
  elseif code == DONE then
    return NO_RESULT
  end
  return raise(connection, code, query)
end

function Connection:next_result()
  must_be_open(self)
  if not self:more_results() then
    return nil
  end
  return answer(self, C.dyno_next_result(self.id), "")
end

function Connection:prepare(sql)
  must_be_open(self)
  -- PostgreSQL's statements are prepared once the types of their parameters are known.
  return P.new_statement(self, sql, self.family == "pgsql" and sql:find("?", 1, true))
end

function Connection:bulk_insert_init(prefix)
  must_be_open(self)
  C.dyno_bulk_begin(prefix, #prefix)
  self.bulk = true
end

local function flush_bulk(connection)
  local code = wait(C.dyno_bulk_flush(connection.id))
  if code == FAILED or code == CLOSED then
    return raise(connection, code, "<bulk insert>")
  end
end

function Connection:bulk_insert_next(values)
  if not self.bulk then
    P.log("ALERT", "attempt to call bulk_insert_next() before bulk_insert_init()")
    error("db_bulk_insert_next() failed", 2)
  end
  if C.dyno_bulk_add(values, #values) ~= 0 then
    flush_bulk(self)
    if C.dyno_bulk_add(values, #values) ~= 0 then
      error("a row is longer than the buffer of a bulk insert", 2)
    end
  end
  return true
end

function Connection:bulk_insert_done()
  if self.bulk then
    self.bulk = nil
    flush_bulk(self)
  end
  return true
end

function Connection:disconnect()
  if not self.id then
    P.log("ALERT", "attempt to close an already closed connection")
    return
  end
  C.dyno_disconnect(self.id)
  self.id = nil
end

function Connection:check_error(_, query)
  if self.error and self.error ~= ERROR.NONE then
    return raise(self, FAILED, query or "")
  end
end

function Connection:try_reconnect()
  if self.id then
    C.dyno_disconnect(self.id)
    self.id = nil
  end
  if wait(C.dyno_connect()) == FAILED then
    return false
  end
  self.id = C.dyno_connection_id()
  return true
end

function Connection:reconnect()
  if not self:try_reconnect() then
    return raise(self, FAILED, "")
  end
  self.error = ERROR.NONE
  C.sb_counter_inc(0, C.SB_CNT_RECONNECT)
  return ERROR.NONE
end

-- Drivers ----------------------------------------------------------------------------------------

local Driver = {}
local driver_meta = {
  __index = Driver,
  __tostring = function()
    return "<sql_driver>"
  end,
}

function Driver:name()
  return self.driver_name
end

function Driver:connect()
  if wait(C.dyno_connect()) == FAILED then
    P.log_fatal(self.driver_name, {
      sql_errno = C.dyno_error_number(),
      sql_state = ffi.string(C.dyno_error_state()),
      sql_errmsg = error_message(),
    })
    error("connection creation failed: " .. error_message(), 2)
  end
  local connection = setmetatable({
    id = C.dyno_connection_id(),
    driver = self,
    family = self.driver_name,
    error = ERROR.NONE,
    sql_errno = 0,
    sql_state = "",
    sql_errmsg = "",
    working = false,
    committing = false,
    -- The server has answered the last statement with an error.
    refused = false,
    -- An ignored error may have left a transaction open.
    unsettled = false,
  }, connection_meta)
  connection.result = setmetatable({ connection = connection, counter = 0 }, result_meta)
  return connection
end

local drivers = {}

local function driver(name)
  local configured = P.driver_name
  if not configured then
    if P.sysbench then
      P.log("FATAL", ("invalid database driver name: '%s'"):format(
        tostring(name or P.options.db_driver)))
      error("failed to initialize the DB driver", 2)
    end
    error("failed to initialize the DB driver: the run has no target (try --target URL)", 2)
  end
  if name ~= nil and name ~= configured then
    if P.sysbench and not P.families[name] then
      P.log("FATAL", ("invalid database driver name: '%s'"):format(tostring(name)))
      error("failed to initialize the DB driver", 2)
    end
    error(("failed to initialize the DB driver: the script asks for '%s', the target is '%s'")
      :format(tostring(name), configured), 2)
  end
  drivers[configured] = drivers[configured]
    or setmetatable({ driver_name = configured }, driver_meta)
  P.note_driver()
  return drivers[configured]
end

local sql = { driver = driver, type = TYPE, error = ERROR }

function P.new_sql(_)
  return sql
end

P.TYPE = TYPE
P.Connection, P.length, P.answer = Connection, length, answer
P.NO_RESULT = NO_RESULT
P.must_be_open = must_be_open
P.wait = wait
P.raise = raise
P.error_kind = error_kind
P.first_row = first_row
