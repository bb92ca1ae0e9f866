-- A script's reports about its run: facts, figures, warnings; and its prepared datasets.
local P = ...
local dyno = P.dyno
local error, type, tostring, tonumber = error, type, tostring, tonumber
local ipairs, pairs = ipairs, pairs
local setmetatable, table = setmetatable, table

-- Formats a value for the record.
local function text_of(value)
  if type(value) == "number" and value % 1 == 0 and value < 1e15 and value > -1e15 then
    return ("%.0f"):format(value)
  elseif type(value) == "boolean" then
    return value and "on" or "off"
  end
  return tostring(value)
end

local function check_name(what, name)
  if type(name) ~= "string" or not name:find("^[%w_.:-]+$") then
    error(what .. ": the name may contain only letters, digits and _ . : -", 3)
  end
end

-- If the host could not record it, the script is at fault.
local function kept(why)
  if why then
    error(why, 3)
  end
end

-- Records a fact about the run's conditions. With `varies`, it changes with every run and is not
-- compared.
function dyno.fact(name, value, varies)
  check_name("dyno.fact()", name)
  if value == nil then
    error("dyno.fact(): the value is missing", 2)
  end
  kept(P.tell_fact(name, text_of(value), varies and true or false))
end

local BETTER = { higher = true, lower = true, neither = true }

-- Records a figure computed from measurements. `better` is higher (the default), lower or neither.
function dyno.figure(name, value, unit, better)
  better = better or "higher"
  if type(name) ~= "string" or name == "" or #name > 60 or name:find("%c") then
    error("dyno.figure(): the name must be a string of at most 60 bytes", 2)
  elseif type(value) ~= "number" or value ~= value or value == 1 / 0 or value == -1 / 0 then
    error(("dyno.figure(): '%s' must be a number, not %s"):format(name, tostring(value)), 2)
  elseif not BETTER[better] then
    error("dyno.figure(): better must be higher, lower or neither, not '" ..
      tostring(better) .. "'", 2)
  end
  kept(P.tell_figure(name, value, unit and tostring(unit) or "", better))
end

-- Shows a warning immediately, and records it with the run. A whole sentence.
function dyno.warning(text)
  kept(P.tell_warning(tostring(text)))
  P.current_session().env.print("warning: " .. P.shown(tostring(text)))
end

-- The results of the measurement, in figures() and done(); nil before. Reports in done() come too
-- late for the result.
function dyno.measured()
  return P.measured
end

-- The seed of all streams, as text: it may exceed the exact range of numbers.
dyno.seed = P.seed

-- Steps of a load ---------------------------------------------------------------------------------

local Steps = {}
local steps_meta = { __index = Steps }

-- Reports the durations of a command's steps.
function dyno.steps()
  return setmetatable({ began = dyno.now() }, steps_meta)
end

-- Ends a step, which may have created this number of rows; the next begins.
function Steps:ended(what, rows)
  local now = dyno.now()
  local took = now - self.began
  local rate = rows and (" (%.0f/s)"):format(rows / (took > 0.001 and took or 0.001)) or ""
  self.began = now
  self[#self + 1] = ("%s %.1f s%s"):format(what, took, rate)
end

-- Adds a note to the report.
function Steps:note(text)
  self[#self + 1] = text
end

function Steps:tell()
  P.current_session().env.print(table.concat(self, ", "))
end

-- Datasets ----------------------------------------------------------------------------------------

local dataset = {}
dyno.dataset = dataset

local CREATE = "CREATE TABLE {table} (name VARCHAR(60) NOT NULL PRIMARY KEY, " ..
  "value VARCHAR(200) NOT NULL, place INT NOT NULL)"

local function table_of(call, name)
  if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") then
    error(("dyno.dataset.%s(): '%s' is not a workload's name"):format(call, tostring(name)), 3)
  end
  return { table = name .. "_dataset" }
end

-- The table that stores a dataset's description, as in tables_made(): `keep` replaces it.
function dataset.made(name)
  return { table_of("made", name).table, "name value place", may_exist = true }
end

-- Drops a dataset's description.
function dataset.forget(connection, name)
  connection:query(dyno.render(connection, "DROP TABLE IF EXISTS {table}",
    table_of("forget", name)))
end

-- Stores a description of the loaded data in an extra table, with a fingerprint over everything
-- that determines the rows, the list `data` of {name, value}. `beside` lists the rest, e.g. keys.
-- Their names are stored with the prefixes `dataset.` and `tables.`.
function dataset.keep(connection, name, data, beside)
  local words = table_of("keep", name)
  local lines, entries = { name }, { false }
  local function add(group, entry)
    check_name("dyno.dataset.keep()", entry[1])
    entries[#entries + 1] = { group .. entry[1], text_of(entry[2]) }
    return table.concat(entries[#entries], "=")
  end
  for _, entry in ipairs(data) do
    lines[#lines + 1] = add("dataset.", entry)
  end
  for _, entry in ipairs(beside or {}) do
    add("tables.", entry)
  end
  entries[1] = { "dataset.fingerprint", P.fingerprint(table.concat(lines, "\n")) }
  dataset.forget(connection, name)
  connection:query(dyno.render(connection, CREATE, words))
  for place, entry in ipairs(entries) do
    local value = entry[2]:sub(1, 200):gsub("\\", ""):gsub("'", "''")
    connection:query(dyno.render(connection, ("INSERT INTO {table} (name, value, place) VALUES " ..
      "('%s', '%s', %d)"):format(entry[1], value, place), words))
  end
  dyno.commit(connection)
end

-- A dataset's stored description: texts by name, and the names in order; nil if missing, or without
-- a database.
function dataset.read(connection, name)
  local words = table_of("read", name)
  if dyno.canned then
    return nil
  end
  local there = connection:query_row(dyno.render(connection, "{tables_named}", words))
  if tonumber(there) ~= 1 then
    return nil
  end
  local found = connection:query(dyno.render(connection,
    "SELECT name, value FROM {table} ORDER BY place", words))
  local values, names = {}, {}
  for i = 1, found.nrows do
    local row = found:fetch_row()
    names[i], values[row[1]] = row[1], row[2]
  end
  found:free()
  return values, names
end

-- Records a dataset's description as facts of the run, and returns it as dataset.read() does. Known
-- properties of the tables, such as {scale = 10}, must match it: the tables may have been
-- recreated.
function dataset.tell(connection, name, known_of)
  local values, names = dataset.read(connection, name)
  for what, value in pairs(known_of or {}) do
    local kept_value = values and values["dataset." .. what]
    if kept_value and kept_value ~= text_of(value) then
      dyno.fact("dataset.fingerprint", ("none: what is kept beside the tables is of others, " ..
        "with %s %s"):format(what, kept_value))
      return nil
    end
  end
  for _, known in ipairs(names or {}) do
    dyno.fact(known, values[known])
  end
  if not values and not dyno.canned then
    dyno.fact("dataset.fingerprint", "none: the tables do not tell what they are")
  end
  return values, names
end
