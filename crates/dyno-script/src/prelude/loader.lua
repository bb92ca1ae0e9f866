-- Loads rows created by a script, in the fastest way that the server allows.
local P = ...
local C = P.ffi.C
local dyno = P.dyno
local setmetatable, error, type, tostring = setmetatable, error, type, tostring

-- The number of waiting bytes at which rows are sent.
local PART = 1000000
-- The longest random text, equal to the longest text parameter.
local TEXT_MAX = 2 ^ 28

local Loader = {}
local loader_meta = { __index = Loader }

-- Begins to load a table. A session fills one loader at a time.
function dyno.loader(connection, table_name, columns)
  if type(table_name) ~= "string" or type(columns) ~= "table" or #columns == 0 then
    error("dyno.loader(): expected a connection, a table's name and a list of columns", 2)
  end
  return setmetatable({
    connection = connection,
    table_name = table_name,
    columns = columns,
    rows = 0,
  }, loader_meta)
end

-- The values of a row, in the order of the columns. Each function returns the loader.
function Loader:int(value)
  C.dyno_rows_int(value)
  return self
end

function Loader:cents(value)
  C.dyno_rows_cents(value)
  return self
end

function Loader:text(value)
  C.dyno_rows_text(value, #value)
  return self
end

-- A random text from a stream: see stream:text().
function Loader:random(stream, shortest, longest, compressible)
  local most = longest or shortest
  if not (shortest >= 0 and shortest <= most and most <= TEXT_MAX) then
    error(("random(): a text of %.0f to %.0f characters; at most %.0f, the lower bound first")
      :format(shortest, most, TEXT_MAX), 2)
  end
  C.dyno_rows_random(stream.raw, shortest, longest or shortest, compressible or 0)
  return self
end

function Loader:null()
  C.dyno_rows_null()
  return self
end

-- Completes the row.
function Loader:row()
  if C.dyno_rows_end() >= PART then
    self:flush()
  end
end

-- Sends the waiting rows.
function Loader:flush()
  local count = P.rows_prepare(self.table_name, self.columns)
  if count == 0 then
    return
  end
  local connection = self.connection
  P.must_be_open(connection)
  local code = P.wait(C.dyno_bulk_load(connection.id))
  if code ~= 1 and code ~= 2 then
    P.raise(connection, code, "<load of " .. self.table_name .. ">")
  end
  local taken = C.dyno_affected(connection.id)
  if taken ~= count then
    error(("%s took %g of %g rows"):format(self.table_name, taken, tonumber(count)), 0)
  end
  self.rows = self.rows + taken
  P.load_progress(taken)
end

-- Sends the rest and returns the total number of rows.
function Loader:finish()
  self:flush()
  return self.rows
end
