-- Pipelines of a connection, and the names of columns.
local P = ...
local ffi = P.ffi
local C = ffi.C
local type, error, pcall = type, error, pcall
local Connection, length = P.Connection, P.length
local must_be_open, raise, answer = P.must_be_open, P.raise, P.answer

local DONE = 2

-- From now on names() knows the columns of results of query().
function Connection:keep_names()
  must_be_open(self)
  C.dyno_keep_names(self.id)
end

-- The names of the columns of result `number`, 1 unless given, of the last query().
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

-- Pipelines: statements of a connection that go out together and are answered in order. Until it
-- ends they answer nothing; then the first one's result is there, and next_result() steps on.
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

-- Forgets what waits.
function Connection:drop_pipeline()
  if self.id then
    C.dyno_drop_pipeline(self.id)
  end
end

-- The statements that the function executes, as a pipeline.
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
