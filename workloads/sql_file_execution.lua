-- Executes the statements of an SQL file: with variables as parameters, in pipelines, and with
-- variables set from rows.
--
-- Returns a function that takes a session's connection, its variables, and the function to fail
-- with.

local Execution = {}
Execution.__index = Execution

-- Fails if a variable has no value, because no \gset has set it.
function Execution:need(item)
   for _, name in ipairs(item.names) do
      if self.values[name] == nil then
         self.fail(item.line, ":%s has no value here: no column of a \\gset or \\aset before " ..
                   "it is called so", name)
      end
   end
end

-- A parameter's kind: 1 for whole numbers, 2 for others, 3 for text.
local function kind_of(value)
   return type(value) == "string" and 3 or value % 1 == 0 and 1 or 2
end

-- A function that assigns the variables' values to the parameters, unless one is of another kind.
-- The loop is unrolled: one of a few iterations prevents the JIT compiler from compiling its
-- surroundings.
local function new_binder(names, params, kinds)
   local lines = {"local kind_of, params = ..."}
   for i = 1, #names do
      lines[#lines + 1] = ("local p%d = params[%d]"):format(i, i)
   end
   lines[#lines + 1] = "return function(v)"
   for i, name in ipairs(names) do
      lines[#lines + 1] = ("if kind_of(v.%s) ~= %d then return false end p%d:set(v.%s)"):format(
         name, kinds[i], i, name)
   end
   lines[#lines + 1] = "return true end"
   return assert(loadstring(table.concat(lines, "\n"), "=sql_file"))(kind_of, params)
end

-- Prepares the statement of an item for variables of their current kinds.
function Execution:prepare(item)
   -- Nothing is prepared within a pipeline: the first time it is split in two.
   local piping = self.piping
   if piping then
      self.piping = false
      self.con:end_pipeline()
   end
   local types, params, kinds = sysbench.sql.type, {}, {}
   local statement = self.con:prepare(item.sql)
   for i, name in ipairs(item.names) do
      kinds[i] = kind_of(self.values[name])
      params[i] = kinds[i] == 1 and statement:bind_create(types.BIGINT)
         or kinds[i] == 2 and statement:bind_create(types.DOUBLE)
         or statement:bind_create(types.VARCHAR, 4000)
   end
   if #params > 0 then
      statement:bind_param(unpack(params))
   end
   if piping then
      self.con:start_pipeline()
      self.piping = true
   end
   item.statement, item.prepared_on = statement, self.con.id
   item.bind = new_binder(item.names, params, kinds)
   item.bind(self.values)
end

-- The statement of an item, with the variables' values as its parameters.
function Execution:bound(item)
   if item.prepared_on ~= self.con.id or not item.bind(self.values) then
      self:prepare(item)
   end
   return item.statement
end

-- Statements combined by \; are sent as one text.
function Execution:combined(item)
   if self.con.family ~= "pgsql" then
      self.fail(item.line, "statements that are combined by \\; need PostgreSQL")
   end
   local index = 0
   return self.con:query((item.sql:gsub("%?", function()
      index = index + 1
      local value = self.values[item.names[index]]
      if type(value) == "string" then
         return "'" .. value:gsub("'", "''") .. "'"
      end
      return ("%.17g"):format(value)
   end)))
end

-- Converts a text of a row to a variable: NULL becomes empty, numeric text a number.
local function variable(text)
   if text and (text:find("^[+-]?%d+$") or text:find("^[+-]?%d*%.?%d*[eE]?[+-]?%d+$")) then
      local number = tonumber(text)
      -- Doubles do not represent larger integers exactly.
      if number and math.abs(number) < 2^53 then
         return number
      end
   end
   return text or ""
end

-- Sets variables from the last row of a result; `names` are its columns.
function Execution:take(item, result, names)
   local rows = 0
   local last
   if result ~= nil then
      rows = tonumber(result.nrows)
      for _ = 1, rows do
         last = result:fetch_row()
      end
      result:free()
   end
   if item.into == "g" and rows ~= 1 then
      self.fail(item.line, "\\gset expects one row, and there are %s", rows == 0 and "none" or rows)
   end
   for i, name in ipairs(last and names or {}) do
      self.values[item.prefix .. name] = variable(last[i])
   end
end

-- Sets variables from the rows of combined statements: \gset from the last one's, \aset from all.
function Execution:take_all(item)
   local con = self.con
   con:keep_names()
   local result, number = self:combined(item), 1
   while true do
      local names, more = con:names(number), con:more_results()
      if item.into == "a" or not more then
         self:take(item, result, names)
      end
      if not more then
         return
      end
      result, number = con:next_result(), number + 1
   end
end

-- Executes a statement and sets variables from its rows. The column names come from a text
-- statement, which is sent the first time.
function Execution:execute_into(item)
   if item.combined then
      self:take_all(item)
   elseif item.columns then
      self:take(item, self:bound(item):execute(), item.columns)
   else
      self.con:keep_names()
      local result = self:bound(item):query()
      item.columns = self.con:names()
      self:take(item, result, item.columns)
   end
end

-- Executes the statement of an item, the common case.
function Execution:execute(item)
   local result = self:bound(item):execute()
   result:free()
end

-- Executes an item that sets variables, several as one text, or one that is not prepared.
function Execution:execute_other(item)
   local con = self.con
   if item.control then
      con:query(item.sql)
   elseif item.into then
      self:execute_into(item)
   else
      local result = self:combined(item)
      while con:more_results() do
         result = con:next_result()
      end
      if result ~= nil then
         result:free()
      end
   end
end

-- Begins a pipeline, ends it, or both.
function Execution:pipeline(item)
   local con = self.con
   if item.kind == "startpipeline" then
      -- A pipeline that an error has cut off.
      if self.piping then
         con:drop_pipeline()
      end
      con:start_pipeline()
      self.piping = true
      return
   end
   self.piping = false
   con:end_pipeline()
   if item.kind == "syncpipeline" then
      con:start_pipeline()
      self.piping = true
   end
end

return function(con, values, fail)
   return setmetatable({con = con, values = values, fail = fail, piping = false}, Execution)
end
