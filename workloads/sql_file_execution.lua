-- How the statements of a file of SQL are executed: with variables as parameters, in pipelines, and
-- with variables that are set from rows.
--
-- Returns a function that takes a session's connection, its variables, and what to fail with.

return function(con, values, fail)
   local statements = {}
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

   -- The statement of an item, with the variables' values as its parameters.
   local function bound(item)
      local kinds = ""
      for i, name in ipairs(item.names) do
         local value = values[name]
         kinds = kinds .. (type(value) == "string" and "s" or value % 1 == 0 and "i" or "d")
      end
      local known = statements[item]
      if not known or known.kinds ~= kinds or known.prepared_on ~= con.id then
         -- Nothing is prepared within a pipeline: the first time it has two parts.
         if piping then
            con:end_pipeline()
         end
         local types, params = sysbench.sql.type, {}
         local statement = con:prepare(item.sql)
         for i = 1, #kinds do
            local kind = kinds:sub(i, i)
            params[i] = kind == "i" and statement:bind_create(types.BIGINT)
               or kind == "d" and statement:bind_create(types.DOUBLE)
               or statement:bind_create(types.VARCHAR, 4000)
         end
         if #params > 0 then
            statement:bind_param(unpack(params))
         end
         known = {statement = statement, params = params, kinds = kinds, prepared_on = con.id}
         statements[item] = known
         if piping then
            con:start_pipeline()
         end
      end
      for i, name in ipairs(item.names) do
         known.params[i]:set(values[name])
      end
      return known.statement
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

   -- Executes the statement of an item.
   local function execute(item)
      if item.control then
         con:query(item.sql)
      elseif item.into then
         execute_into(item)
      elseif item.combined then
         local result = combined(item)
         while con:more_results() do
            result = con:next_result()
         end
         if result ~= nil then
            result:free()
         end
      elseif piping then
         bound(item):execute()
      else
         local result = bound(item):execute()
         result:free()
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

   return {execute = execute, pipeline = pipeline, need = need}
end
