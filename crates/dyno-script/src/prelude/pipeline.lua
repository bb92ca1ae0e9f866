-- Pipelines of a connection, and column names.
local P = ...
local ffi = P.ffi
local C = ffi.C
local type, error, pcall = type, error, pcall
local Connection, length = P.Connection, P.length
local must_be_open, raise, answer = P.must_be_open, P.raise, P.answer

local DONE = 2

-- Makes names() available for the results of query() from now on.
function Connection:keep_names()
  must_be_open(self)
  C.dyno_keep_names(self.id)
end

-- The column names of result `number`, default 1, of the last query().
function Connection:names(number)
  must_be_open(self)
  local names = {}
  repeat
    local text = C.dyno_column_name(self.id, (number or 1) - 1, #names, length)
    if text ~= nil then
      names[#names + 1] = ffi.string(text, length[0])
    end
  until text == nil
  return names
end

-- Starts a pipeline: statements that are sent together and answered in order. Until it ends they
-- return nothing; then the first result is current, and next_result() steps on.
function Connection:start_pipeline()
  must_be_open(self)
  local code = C.dyno_start_pipeline(self.id)
  if code ~= DONE then
    return raise(self, code, "<pipeline>")
  end
end

function Connection:end_pipeline()
  must_be_open(self)
  return answer(self, C.dyno_end_pipeline(self.id), "<pipeline>")
end

-- Discards the queued statements.
function Connection:drop_pipeline()
  if self.id then
    C.dyno_drop_pipeline(self.id)
  end
end

-- Runs the function's statements as a pipeline.
function Connection:pipeline(statements)
  if type(statements) ~= "function" then
    error("pipeline(): expected a function that executes statements", 2)
  end
  self:start_pipeline()
  local done, err = pcall(statements, self)
  if not done then
    self:drop_pipeline()
    error(err, 0)
  end
  return self:end_pipeline()
end
