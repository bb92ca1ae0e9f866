-- An SQL file as a workload: `dyno run queries.sql`. The file is read here, each transaction
-- becomes a Lua function, and the variables of a statement become its parameters. Scripts for
-- pgbench (`\set`, `\sleep`, `\if`, `\gset`, `\startpipeline`) run unchanged.
--
-- Returns a function that takes the file's text and name and declares everything.

local expression = require("sql_file_expression")
local execution = require("sql_file_execution")

local TRIES = 10
-- Sent as text: servers do not prepare them, or preparing them gains nothing.
local CONTROL = {BEGIN = true, START = true, COMMIT = true, ["END"] = true, ROLLBACK = true,
                 SAVEPOINT = true, RELEASE = true, SET = true, ABORT = true}
local SECTIONS = {prepare = true, cleanup = true, check = true}

local file, transactions, sections, options

local function fail(line, text, ...)
   error(("%s:%d: %s"):format(file, line, text:format(...)), 0)
end

-- Reading ----------------------------------------------------------------------------------------

-- The end of the quoted text or comment that begins at `at`; nil if none begins there.
local function skip(text, at)
   local two = text:sub(at, at + 1)
   local one = two:sub(1, 1)
   -- Elsewhere it is a PostgreSQL operator.
   local is_line = one == "#" and ("\n" .. text:sub(1, at - 1)):match("\n[ \t]*$")
   if two == "--" or is_line then
      return text:find("\n", at, true) or #text
   elseif two == "/*" then
      local _, to = text:find("*/", at + 2, true)
      return to or #text
   elseif one == "'" or one == '"' or one == "`" then
      return text:find(one, at + 1, true) or #text
   elseif one == "$" then
      local tag = text:match("^%$[%a_]*[%w_]*%$", at)
      if tag then
         local _, to = text:find(tag, at + #tag, true)
         return to or #text
      end
   end
end

local function line_of(text, at)
   local _, breaks = text:sub(1, at - 1):gsub("\n", "")
   return breaks + 1
end

-- The statement that begins at `at`: its text with `?` for variables, their names, its end, and the
-- use of its rows: `\gset` and `\aset` replace the semicolon.
local function read_statement(text, at)
   local parts, names, from = {}, {}, at
   local more = {combined = false}
   local first = at
   while at <= #text do
      local char = text:sub(at, at)
      local to = skip(text, at)
      if to then
         if text:sub(at, at + 1) == "--" or char == "#" then
            parts[#parts + 1] = text:sub(from, at - 1)
            from = to + 1
         end
         at = to + 1
      elseif char == ";" then
         parts[#parts + 1] = text:sub(from, at - 1)
         return table.concat(parts), names, at + 1, more
      elseif text:find("^\\;", at) then
         parts[#parts + 1] = text:sub(from, at - 1) .. ";"
         more.combined = true
         at = at + 2
         from = at
      elseif text:find("^\\[ga]set%f[^%w_]", at) then
         parts[#parts + 1] = text:sub(from, at - 1)
         local which, prefix, to = text:match("^\\([ga])set[ \t]*([%w_]*)[ \t\r]*()", at)
         if to <= #text and text:sub(to, to) ~= "\n" then
            fail(line_of(text, at), "\\%sset [PREFIX] is expected", which)
         end
         more.into, more.prefix, more.into_line = which, prefix, line_of(text, at)
         return table.concat(parts), names, to, more
      elseif char == "\\" and text:sub(1, at - 1):match("\n%s*$") then
         fail(line_of(text, first), "the statement has no ; at its end")
      elseif char == "?" then
         fail(line_of(text, at), "a ? outside of quotes: variables are written :name")
      elseif char == ":" and text:sub(at + 1, at + 1) == ":" then
         at = at + 2
      elseif char == ":" and text:match("^[%a_]", at + 1) then
         local name = text:match("^[%w_]+", at + 1)
         parts[#parts + 1] = text:sub(from, at - 1) .. "?"
         names[#names + 1] = name
         at = at + 1 + #name
         from = at
      else
         at = at + 1
      end
   end
   fail(line_of(text, first), "the statement has no ; at its end")
end

-- The handlers of `\set`, `\option` and so on.
local commands = {}

function commands.set(line, rest, into)
   local name, text = rest:match("^([%a_][%w_]*)%s+(.+)$")
   if not name then
      fail(line, "\\set NAME EXPRESSION is expected")
   end
   if expression.keywords[name] then
      fail(line, "%s cannot be the name of a variable", name)
   end
   local code, variables = expression(text, function(why) fail(line, "%s", why) end)
   into[#into + 1] = {kind = "set", name = name, code = code, names = variables, line = line}
end

function commands.sleep(line, rest, into)
   local amount, unit = rest:match("^(:?[%w_]+)%s*(%a*)$")
   local scale = ({s = 1, [""] = 1, ms = 1e-3, us = 1e-6})[unit or "?"]
   if not amount or not scale then
      fail(line, "\\sleep NUMBER [us|ms|s] is expected")
   end
   local code, variables = expression(amount, function(why) fail(line, "%s", why) end)
   into[#into + 1] = {kind = "sleep", code = code, scale = scale, names = variables, line = line}
end

commands["if"] = function(line, rest, into)
   local code, variables = expression(rest, function(why) fail(line, "%s", why) end)
   into[#into + 1] = {kind = "if", code = code, names = variables, line = line}
end

function commands.elif(line, rest, into)
   local code, variables = expression(rest, function(why) fail(line, "%s", why) end)
   into[#into + 1] = {kind = "elseif", code = code, names = variables, line = line}
end

commands["else"] = function(line, _, into)
   into[#into + 1] = {kind = "else", names = {}, line = line}
end

function commands.endif(line, _, into)
   into[#into + 1] = {kind = "end", names = {}, line = line}
end

function commands.option(line, rest)
   local name, default, help = rest:match("^([%a_][%w_]*)%s+(%S+)%s*(.*)$")
   if not name then
      fail(line, "\\option NAME DEFAULT [WHAT IT IS] is expected")
   end
   options[name] = {help ~= "" and help or "a variable of " .. file, tonumber(default) or default}
end

for _, which in ipairs({"gset", "aset"}) do
   commands[which] = function(line)
      fail(line, "\\%s stands behind a statement, in the place of its ;", which)
   end
end

for _, word in ipairs({"startpipeline", "syncpipeline", "endpipeline"}) do
   commands[word] = function(line, rest, into)
      if rest ~= "" then
         fail(line, "\\%s takes nothing", word)
      end
      into[#into + 1] = {kind = word, names = {}, line = line}
   end
end

local function begin_transaction(line, name, weight)
   if transactions[name] then
      fail(line, "there are two transactions called %s", name)
   end
   local new = {name = name, weight = weight, items = {}, line = line}
   transactions[#transactions + 1], transactions[name] = new, new
   return new.items
end

-- Begins a part of the file and returns the list for its items.
local function begin_part(line, word, rest)
   if word == "transaction" then
      local name, weight = rest:match("^([%w_.-]+)%s*@?([%d.]*)$")
      weight = weight == "" and 1 or tonumber(weight)
      if not name or not weight then
         fail(line, "\\transaction NAME [WEIGHT] is expected")
      end
      return begin_transaction(line, name, weight)
   end
   sections[word] = sections[word] or {line = line}
   return sections[word]
end

local function read(text)
   local at, into = 1, nil
   while true do
      at = text:find("%S", at)
      if not at then
         return
      end
      local line = line_of(text, at)
      if text:sub(at, at) == "\\" then
         local word, rest, to = text:match("^\\([%a]+)[ \t]*([^\n]*)()", at)
         rest = (rest or ""):gsub("%s+$", "")
         if word == "transaction" or SECTIONS[word] then
            into = begin_part(line, word, rest)
         elseif word and commands[word] then
            into = into or word == "option" or begin_transaction(line, "transaction", 1)
            commands[word](line, rest, into)
            into = into ~= true and into or nil
         else
            fail(line, "\\%s is not known: set, gset, aset, sleep, if, elif, else, endif, " ..
                 "startpipeline, syncpipeline, endpipeline, option, transaction, prepare, " ..
                 "cleanup and check are", word or "")
         end
         at = to
      elseif text:find("^%-%-", at) or text:find("^/%*", at) then
         at = skip(text, at) + 1
      else
         into = into or begin_transaction(line, "transaction", 1)
         local sql, names, to, more = read_statement(text, at)
         sql = sql:gsub("%s+$", "")
         if sql ~= "" then
            into[#into + 1] = {kind = "sql", sql = sql, names = names, line = line,
                               combined = more.combined, into = more.into, prefix = more.prefix}
         elseif more.into then
            commands[more.into .. "set"](more.into_line)
         end
         at = to
      end
   end
end

-- Every variable must have a value before it is used. The variables set by a `\gset` are only known
-- after its statement was answered: those after it are checked when they are used.
local function check_variables(items, known)
   known = setmetatable({client_id = true}, {__index = known})
   local unsure = false
   for _, item in ipairs(items) do
      for _, name in ipairs(item.names) do
         if name == "scale" and not known.scale then
            options.scale = {"pgbench's scale, as :scale", 1}
            known.scale = true
         elseif not known[name] and unsure then
            item.unsure = true
         elseif not known[name] then
            fail(item.line, ":%s has no value here; \\set it before, or declare it: \\option %s " ..
                 "DEFAULT WHAT IT IS", name, name)
         end
      end
      if item.kind == "set" then
         known[item.name] = true
      end
      unsure = unsure or item.into ~= nil
   end
end

-- Pipelines must begin and end within a transaction, and their results are only available after
-- them.
local function check_pipelines(transaction)
   local begun
   for _, item in ipairs(transaction.items) do
      if item.kind == "startpipeline" then
         if begun then
            fail(item.line, "a pipeline has begun in line %d", begun)
         end
         begun = item.line
      elseif item.kind == "endpipeline" or item.kind == "syncpipeline" then
         if not begun then
            fail(item.line, "no pipeline has begun: \\startpipeline does that")
         end
         begun = item.kind == "syncpipeline" and begun or nil
      elseif begun and item.into then
         fail(item.line, "\\%sset cannot stand in a pipeline, whose results come at its end",
              item.into)
      elseif begun and item.combined then
         fail(item.line, "\\; cannot stand in a pipeline: statements are sent together anyway")
      end
   end
   if begun then
      fail(begun, "the pipeline has no \\endpipeline")
   end
end

-- Running ----------------------------------------------------------------------------------------

-- The transaction as a Lua function of (values, done, run, items, functions): random values are
-- drawn once, however often the transaction is tried.
local function compile(transaction)
   local lines, depth, current = {}, 0, 1
   for i = 1, transaction.items[#transaction.items].line do
      lines[i] = ""
   end
   -- On the same line as in the file, so that Lua's messages name that line.
   local function add(text, ...)
      lines[current] = lines[current] .. " " .. text:format(...)
   end
   -- An inner function, since LuaJIT does not compile a chunk, which is vararg.
   add("return function(v, done, run, items, f, dyno)")
   for i, item in ipairs(transaction.items) do
      current = item.line
      if item.unsure and item.kind ~= "elseif" then
         add("run:need(items[%d])", i)
      end
      if item.kind == "sql" then
         item.control = CONTROL[(item.sql:match("^%a+") or ""):upper()] and #item.names == 0
         -- PostgreSQL's synonym for COMMIT.
         item.sql = item.sql:upper() == "END" and "COMMIT" or item.sql
         local other = item.control or item.into or item.combined
         add("run:%s(items[%d])", other and "execute_other" or "execute", i)
      elseif item.kind == "set" then
         add("if done[%d] ~= done.event then v.%s = %s; done[%d] = done.event end", i, item.name,
             item.code, i)
      elseif item.kind:find("pipeline$") then
         add("run:pipeline(items[%d])", i)
      elseif item.kind == "sleep" then
         add("dyno.sleep((%s) * %g)", item.code, item.scale)
      elseif item.kind == "if" or item.kind == "elseif" then
         add("%s f.truth(%s) then", item.kind, item.code)
      else
         add("%s", item.kind)
      end
      depth = depth + (item.kind == "if" and 1 or item.kind == "end" and -1 or 0)
      if depth < 0 or depth == 0 and (item.kind == "else" or item.kind == "elseif") then
         fail(item.line, "there is no \\if before it")
      end
   end
   if depth > 0 then
      fail(transaction.line, "an \\if of transaction %s has no \\endif", transaction.name)
   end
   local body, why = loadstring(table.concat(lines, "\n") .. " end", "@" .. file)
   if not body then
      fail(transaction.line, "transaction %s cannot be compiled: %s", transaction.name, why)
   end
   return body()
end

-- The statements of a section, with the options' values inserted.
local function run_section(section, each)
   local connection = sysbench.sql.driver():connect()
   for _, item in ipairs(section) do
      if item.kind ~= "sql" then
         fail(item.line, "only statements can stand in prepare, cleanup and check")
      end
      local index = 0
      local sql = item.sql:gsub("%?", function()
         index = index + 1
         local value = sysbench.opt[item.names[index]]
         return type(value) == "number" and ("%.17g"):format(value) or tostring(value)
      end)
      each(connection, sql, item)
   end
   connection:disconnect()
end

local function check()
   local conditions = dyno.conditions()
   run_section(sections.check, function(connection, sql, item)
      local found = connection:query_row(sql)
      conditions:hold(found == nil or tonumber(found) == 0, ("%s:%d: %s"):format(file, item.line,
         found == nil and "no rows" or found .. ", must be nothing or 0"))
   end)
   conditions:finish()
end

local function declare_commands()
   local function plain(name)
      return function()
         run_section(sections[name], function(connection, sql) connection:query(sql) end)
      end
   end
   local declared = {}
   if sections.prepare then declared.prepare = {plain("prepare")} end
   if sections.cleanup then declared.cleanup = {plain("cleanup")} end
   if sections.check then declared.check = {check} end
   sysbench.cmdline.commands = declared
end

return function(text, name)
   file, transactions, sections, options = name, {}, {}, {}
   read(text)
   if #transactions == 0 then
      error(file .. ": there is no statement to run", 0)
   end
   local cards = {}
   for _, transaction in ipairs(transactions) do
      if #transaction.items == 0 then
         fail(transaction.line, "transaction %s is empty", transaction.name)
      end
      check_variables(transaction.items, options)
      check_pipelines(transaction)
      transaction.body = compile(transaction)
      transaction.done = {event = 0}
      transaction.operation = dyno.operation(transaction.name, {tries = TRIES})
      if transaction.weight > 0 then
         cards[#cards + 1] = {transaction, transaction.weight}
      end
   end
   if #cards == 0 then
      error(file .. ": no transaction has a weight above 0", 0)
   end
   for _, section in pairs(sections) do
      check_variables(section, options)
   end
   sysbench.cmdline.options = options
   declare_commands()

   local choose = dyno.choice(cards)
   local functions = expression.functions

   local con, run, values

   function thread_init(tid)
      con = sysbench.sql.driver():connect()
      values = {client_id = tid}
      for option in pairs(options) do
         values[option] = sysbench.opt[option]
      end
      run = execution(con, values, fail)
   end

   function thread_done()
      con:disconnect()
   end

   function event()
      local transaction = #cards == 1 and cards[1][1] or choose(dyno.random)
      -- Drawn values are marked with this number, so that nothing needs to be cleared.
      local done = transaction.done
      done.event = done.event + 1
      transaction.operation:run(con, transaction.body, values, done, run, transaction.items,
         functions, dyno)
   end
end
