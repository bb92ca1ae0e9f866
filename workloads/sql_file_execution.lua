-- How the statements of a file of SQL are executed: with variables as parameters, in pipelines, and
-- with variables that are set from rows.
--
-- Returns a function that takes a session's connection, its variables, and what to fail with.

return function(con, values, fail)
   -- Statements wait in a pipeline.
   local piping = false

   -- Fails where a variable has no value, which no \gset has given it.
   local function need(item)
      for _, name in ipairs(item.names) do
         if values[name] == nil then
            fail(item.line, ":%s has no value here: no column of a \\gset or \\aset before it is " ..
                 "called so", name)
         end
      end
   end

   -- A parameter's kind: 1 for whole numbers, 2 for others, 3 for text.
   local function kind_of(value)
      return type(value) == "string" and 3 or value % 1 == 0 and 1 or 2
   end

   -- A function that gives the variables' values to the parameters, unless one is of another kind.
   -- Written out, since a loop of one turn or two keeps the JIT compiler from what is around it.
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

   -- Prepares the statement of an item for variables of the kinds that they have now.
   local function prepare(item)
      -- Nothing is prepared within a pipeline: the first time it has two parts.
      if piping then
         con:end_pipeline()
      end
      local types, params, kinds = sysbench.sql.type, {}, {}
      local statement = con:prepare(item.sql)
      for i, name in ipairs(item.names) do
         kinds[i] = kind_of(values[name])
         params[i] = kinds[i] == 1 and statement:bind_create(types.BIGINT)
            or kinds[i] == 2 and statement:bind_create(types.DOUBLE)
            or statement:bind_create(types.VARCHAR, 4000)
      end
      if #params > 0 then
         statement:bind_param(unpack(params))
      end
      if piping then
         con:start_pipeline()
      end
      item.statement, item.prepared_on = statement, con.id
      item.bind = new_binder(item.names, params, kinds)
      item.bind(values)
   end

   -- The statement of an item, with the variables' values as its parameters.
   local function bound(item)
      if item.prepared_on ~= con.id or not item.bind(values) then
         prepare(item)
      end
      return item.statement
   end

   -- Statements that were combined by \; go out as one text.
   local function combined(item)
      if con.family ~= "pgsql" then
         fail(item.line, "statements that are combined by \\; need PostgreSQL")
      end
      local index = 0
      return con:query((item.sql:gsub("%?", function()
         index = index + 1
         local value = values[item.names[index]]
         if type(value) == "string" then
            return "'" .. value:gsub("'", "''") .. "'"
         end
         return ("%.17g"):format(value)
      end)))
   end

   -- Text of a row as a variable: NULL is empty, what looks like a number is one.
   local function variable(text)
      if text and (text:find("^[+-]?%d+$") or text:find("^[+-]?%d*%.?%d*[eE]?[+-]?%d+$")) then
         local number = tonumber(text)
         -- Doubles hold no greater whole numbers exactly.
         if number and math.abs(number) < 2^53 then
            return number
         end
      end
      return text or ""
   end

   -- Sets variables from the last row of a result; `names` are its columns.
   local function take(item, result, names)
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
         fail(item.line, "\\gset expects one row, and there are %s", rows == 0 and "none" or rows)
      end
      for i, name in ipairs(last and names or {}) do
         values[item.prefix .. name] = variable(last[i])
      end
   end

   -- Executes a statement and takes variables from its rows. What its columns are called is learnt
   -- from text, which goes out the first time.
   local function execute_into(item)
      local result
      if item.combined then
         con:keep_names()
         result = combined(item)
      elseif item.columns then
         result = bound(item):execute()
         return take(item, result, item.columns)
      else
         con:keep_names()
         result = bound(item):query()
         item.columns = con:names()
         return take(item, result, item.columns)
      end
      -- \gset takes the last one's row, \aset those of all.
      local number = 1
      while true do
         local names, more = con:names(number), con:more_results()
         if item.into == "a" or not more then
            take(item, result, names)
         end
         if not more then
            return
         end
         result, number = con:next_result(), number + 1
      end
   end

   -- Executes the statement of an item, as most are.
   local function execute(item)
      local result = bound(item):execute()
      result:free()
   end

   -- Executes one that is to set variables, several that are one text, or one that is not prepared.
   local function execute_other(item)
      if item.control then
         con:query(item.sql)
      elseif item.into then
         execute_into(item)
      else
         local result = combined(item)
         while con:more_results() do
            result = con:next_result()
         end
         if result ~= nil then
            result:free()
         end
      end
   end

   -- Begins a pipeline, ends it, or both.
   local function pipeline(item)
      if item.kind == "startpipeline" then
         -- One that an error has cut off.
         if piping then
            con:drop_pipeline()
         end
         con:start_pipeline()
         piping = true
         return
      end
      piping = false
      con:end_pipeline()
      if item.kind == "syncpipeline" then
         con:start_pipeline()
         piping = true
      end
   end

   return {execute = execute, execute_other = execute_other, pipeline = pipeline, need = need}
end
