-- Statements as data: one template, rendered for each family of servers, with typed parameters.
--
-- In a template `:name` or `?` is a parameter. Braces contain the parts that differ: `{for_update}`
-- and the other words below, or a word defined by the script.
local P = ...
local dyno = P.dyno
local TYPE = P.TYPE
local setmetatable, error, type, pairs, ipairs = setmetatable, error, type, pairs, ipairs

-- Money is in whole cents on the client, and exact in every server.
local WRITE_CENTS = { mysql = "(%s / 100)", pgsql = "(%s / 100.0)", sqlite = "%s" }
local WORDS = {
  mysql = {
    for_update = " FOR UPDATE", now = "NOW(6)", cents = "(? / 100)",
    first_row = " LIMIT 1", key = "BIGINT", int = "INT", small = "SMALLINT", time = "DATETIME(6)",
    money = "DECIMAL(14,2)", text = "VARCHAR", chars = "CHAR", options = "",
    snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    tables_named = "SELECT COUNT(*) FROM information_schema.tables WHERE " ..
      "table_schema = DATABASE() AND table_name = '{table}'",
  },
  pgsql = {
    for_update = " FOR UPDATE", now = "CURRENT_TIMESTAMP", cents = "(? / 100.0)",
    first_row = " LIMIT 1", key = "BIGINT", int = "INT", small = "SMALLINT", time = "TIMESTAMP",
    money = "DECIMAL(14,2)", text = "VARCHAR", chars = "CHAR", options = "",
    snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    tables_named = "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('{table}')",
  },
  sqlite = {
    for_update = "", now = "strftime('%Y-%m-%d %H:%M:%f', 'now')", cents = "?",
    first_row = " LIMIT 1", key = "INTEGER", int = "INTEGER", small = "INTEGER", time = "TEXT",
    money = "INTEGER", text = "VARCHAR", chars = "CHAR", options = "", snapshot = "BEGIN",
    tables_named = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '{table}'",
  },
}
-- `{cents column}` reads money as whole cents; `{cents :name}` writes it, `{cents}` does for `?`.
local READ_CENTS = {
  mysql = "CAST(%s * 100 AS SIGNED)",
  pgsql = "CAST(%s * 100 AS BIGINT)",
  sqlite = "%s",
}

local DRIVERS = {}
for driver, family in pairs(P.families) do
  DRIVERS[family] = driver
end

local function render(template, driver, own)
  local words = WORDS[driver]
  local text = template
  -- A word may expand to text with further words.
  for _ = 1, 4 do
    local changed
    text = text:gsub("{([^{}]*)}", function(word)
      changed = true
      local cents = word:match("^cents (.+)$")
      if cents then
        local written = cents:find("^:[%a_][%w_]*$")
        return (written and WRITE_CENTS or READ_CENTS)[driver]:format(cents)
      end
      local value = own and own[word]
      if value == nil then
        value = words[word]
      end
      if value == nil then
        error(("dyno.render(): unknown word {%s} in: %s"):format(word, template), 0)
      end
      return tostring(value)
    end)
    if not changed then
      return text
    end
  end
  error("dyno.render(): words refer to each other in: " .. template, 0)
end

-- The names of the columns, without keys, in a definition between the parentheses of CREATE TABLE:
-- for tables_made().
function dyno.column_names(definition)
  local names = {}
  for column in (definition:gsub("%b()", "") .. ","):gmatch("%s*([%w_]+%??)[^,]*,") do
    names[#names + 1] = column
  end
  return table.concat(names, " ")
end

-- The text of a template for a connection's server, or for a family (`mysql`, `postgres`,
-- `sqlite`). A template may be a table of texts by family. `own` contains the script's words.
function dyno.render(where, template, own)
  local driver = type(where) == "string" and DRIVERS[where] or where.family
  if not WORDS[driver] then
    error("dyno.render(): expected a connection, 'mysql', 'postgres' or 'sqlite'", 2)
  end
  if type(template) == "table" then
    local family = P.families[driver]
    template = template[family] or template.any
    if not template then
      error("dyno.render(): the template has no text for " .. family, 2)
    end
  end
  return render(template, driver, own)
end

-- Prepared statements of templates ----------------------------------------------------------------

local KINDS = {
  i = { TYPE.BIGINT },
  d = { TYPE.DOUBLE },
  s = { TYPE.VARCHAR, 4000 },
  t = { TYPE.VARCHAR, 65535 },
}
local LETTERS = { integer = "i", real = "d", text = "s", ["long text"] = "t" }

-- Replaces each named parameter of a text with `?`. Also returns the names in order of first use,
-- and the name used in each position. Quoted text and `::` are left unchanged.
local function positional(text)
  local names, numbers, places, out = {}, {}, {}, {}
  local from, at = 1, 1
  while true do
    local start = text:find("['\"`:]", at)
    if not start then
      break
    end
    local mark = text:sub(start, start)
    local name = mark == ":" and text:match("^[%a_][%w_]*", start + 1)
    if name then
      if not numbers[name] then
        names[#names + 1] = name
        numbers[name] = #names
      end
      places[#places + 1] = numbers[name]
      out[#out + 1] = text:sub(from, start - 1) .. "?"
      from = start + 1 + #name
      at = from
    elseif mark == ":" then
      at = start + (text:sub(start + 1, start + 1) == ":" and 2 or 1)
    else
      at = (text:find(mark, start + 1, true) or #text) + 1
    end
  end
  out[#out + 1] = text:sub(from)
  return table.concat(out), names, places
end

-- The letters of named parameters, given a table of those that are not whole numbers.
local function letters_of(names, places, given, text)
  local known, letters = {}, {}
  for number, name in ipairs(names) do
    local kind = given[name] or "integer"
    letters[number] = LETTERS[kind]
      or error(("dyno.statement(): parameter :%s must be integer, real, text or long text, not %s")
        :format(name, tostring(kind)), 3)
    known[name] = true
  end
  for name in pairs(given) do
    if type(name) == "string" and not known[name] then
      error(("dyno.statement(): there is no parameter :%s in: %s"):format(name, text), 3)
    end
  end
  local kinds = {}
  for place, number in ipairs(places) do
    kinds[place] = letters[number]
  end
  return table.concat(kinds)
end

local Statement = {}
local statement_meta = { __index = Statement }

local function prepare(self)
  local statement = self.connection:prepare(self.text)
  local count = #self.kinds
  if count > 0 then
    local params = {}
    for i = 1, count do
      local kind = KINDS[self.kinds:sub(i, i)]
      params[i] = statement:bind_create(kind[1], kind[2])
    end
    statement:bind_param(unpack(params))
    self.params = params
  end
  self.statement = statement
  self.prepared_on = self.connection.id
end

-- A function that executes a statement by a method of the prepared one, with the argument of each
-- number in these positions. It uses no list, which would prevent JIT compilation.
local function new_executor(places, method)
  local arguments, sets = {}, {}
  for place, number in ipairs(places) do
    arguments[number] = ", a" .. number
    sets[place] = ("  params[%d]:set(a%d)\n"):format(place, number)
  end
  local text = ("local prepare = ...\nreturn function(self%s)\n" ..
    "  if self.prepared_on ~= self.connection.id then prepare(self) end\n" ..
    "  local params = self.params\n%s  return self.statement:%s()\nend")
    :format(table.concat(arguments), table.concat(sets), method)
  return assert(loadstring(text, "=dialect.lua"))(prepare)
end

local executors = { execute = {}, execute_row = {} }
local function executor(places, method)
  local known, key = executors[method], table.concat(places, ",")
  known[key] = known[key] or new_executor(places, method)
  return known[key]
end

-- The text, the positions and the kinds of a statement with unnamed parameters.
local function unnamed(text, kinds)
  if kinds:find("[^idst]") then
    error("dyno.statement(): parameter kinds must be i, d, s or t, not '" .. kinds .. "'", 3)
  end
  local _, count = text:gsub("%?", "")
  if count ~= #kinds then
    error(("dyno.statement(): %d parameters, but %d kinds: %s"):format(count, #kinds, text), 3)
  end
  local places = {}
  for place = 1, count do
    places[place] = place
  end
  return text, places, kinds
end

-- A statement on a connection: prepared at first use, and again after the connection was lost.
-- `kinds` is a table of the parameters that are not whole numbers, by name: `real`, `text` (up to
-- 4,000 bytes) or `long text` (up to 65,535; the rest is cut off). With `?` parameters it has a
-- letter for each: `i`, `d`, `s` or `t`.
function dyno.statement(connection, template, kinds, own)
  local text, names, places = dyno.render(connection, template, own), nil, nil
  if type(kinds) == "string" then
    text, places, kinds = unnamed(text, kinds)
  else
    local whole = text
    text, names, places = positional(text)
    kinds = letters_of(names, places, kinds or {}, whole)
    if #names > 0 and whole:find("?", 1, true) then
      error("dyno.statement(): parameters must be all :name or all ?, in: " .. whole, 2)
    elseif #names == 0 then
      text, places, kinds = unnamed(text, kinds)
    end
  end
  return setmetatable({
    connection = connection,
    text = text,
    kinds = kinds,
    execute = executor(places, "execute"),
    row = executor(places, "execute_row"),
  }, statement_meta)
end

-- Statement:execute(...) executes it and returns the result, which equals nil without rows.
-- Statement:row(...) executes it and returns the values of the first row as texts; nothing without
-- rows. Named parameters are passed in order of first use, each once. Both are the executors for
-- its positions: see dyno.statement().

-- Executes it and returns all rows, each a list of texts.
function Statement:rows(...)
  local result, rows = self:execute(...), {}
  if result == P.NO_RESULT then
    return rows
  end
  local row = result:fetch_row()
  while row do
    rows[#rows + 1] = row
    row = result:fetch_row()
  end
  result:free()
  return rows
end

-- Executes it and returns the number of rows changed.
function Statement:change(...)
  self:execute(...)
  return P.ffi.C.dyno_affected(self.connection.id)
end

-- The statements in a script's global table `templates`, rendered for a family, by name: a comment
-- with the name, then the text.
function P.render_templates(index, family)
  local env = P.environment(index)
  local templates, own = env.templates, env.template_words
  if type(templates) ~= "table" then
    return nil
  end
  local names = {}
  for name in pairs(templates) do
    names[#names + 1] = name
  end
  table.sort(names)
  local lines = {}
  for _, name in ipairs(names) do
    local entry = templates[name]
    local text = dyno.render(family, type(entry) == "table" and entry[1] or entry, own)
    text = positional(text)
    lines[#lines + 1] = ("-- %s\n%s;"):format(name, text)
  end
  return table.concat(lines, "\n") .. "\n"
end
