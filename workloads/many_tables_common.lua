-- A schema for each customer, up to millions of tables: the options, each server's statements,
-- creating and dropping. See many_tables.lua.

local many = {}

sysbench.cmdline.options = {
   schemas = {"Number of schemas (databases on MySQL and MariaDB)", 100},
   tables = {"Tables in each schema", 10},
   schema_prefix = {"Prefix of the schemas' names; a number follows", "many_"},
   phase = {"What a run does: touch; ladder: touch more and more tables; create (instead of " ..
            "prepare); drop; all: create, touch and drop", "touch"},
   rungs = {"Number of tables touched in each step of the ladder, such as 100,1000,10000; " ..
            "empty: from 100 up to all", ""},
   stop_after = {"Create or drop no further schema after this many seconds; 0 for no limit", 0},
   active = {"Number of tables to touch, spread over as many schemas as possible; 0: all, or as " ..
             "--active-schemas and --active-tables say", 0},
   active_schemas = {"Number of schemas to touch; 0 for all", 0},
   active_tables = {"Number of tables to touch in each schema; 0 for all", 0},
   skew = {"Distribution of the touches: uniform; 80_20: a fifth of the schemas gets 80 " ..
           "percent; zipf: table r in proportion to 1 / r", "uniform"},
   mix = {"Work by weight: insert@1, select, count, alter, churn", "insert@1"},
   churn_every = {"Create and drop a table every so many seconds in an additional session; 0 " ..
                  "for never", 0},
   k_max = {"Maximum of the indexed column k", 10000},
   order = {"Create tables schema by schema (schema), or in random order (shuffled)", "schema"},
   keep = {"Number of schemas, from the last, that the phase drop keeps", 0},
   touchers = {"Additional sessions that touch the schemas that the phase drop keeps", 0},
   touch_rate = {"Touches per second of all --touchers together; 0: as fast as possible", 0},
   tablespaces = {"MySQL only: none; schema: a general tablespace per schema; a number: one for " ..
                  "this many schemas", "none"},
   pg_id = {"PostgreSQL only: identity, with a sequence per table; int: random ids", "identity"},
   max_retries = {"Retries after a deadlock", 10},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   mysql_table_options = {"Text to append to CREATE TABLE on MySQL and MariaDB",
                          "DEFAULT CHARSET=latin1"},
}

-- Options ---------------------------------------------------------------------------------------

local function prefix()
   local text = sysbench.opt.schema_prefix
   if not text:match("^[a-z][a-z0-9_]*$") or #text > 40 then
      error(("--schema-prefix must be of a to z, 0 to 9 and _, a letter first, at most 40, not " ..
         "'%s'"):format(text), 0)
   end
   return text
end

-- The number of schemas per tablespace; 0 without tablespaces.
local function tablespaces()
   local text = sysbench.opt.tablespaces
   if text == "none" or text == "schema" then
      return text == "schema" and 1 or 0
   end
   local number = text:match("^%d+$") and tonumber(text) or 0
   if number < 1 then
      error(("--tablespaces must be none, schema or a number from 1, not '%s'"):format(text), 0)
   end
   return number
end

-- Each has a counter of touches.
local TABLES_MAX = 10000000

-- Divides this number of active tables into schemas times tables per schema, over as many schemas
-- as possible; nil if they do not divide evenly.
function many.spread(sizes, active)
   for tables = 1, math.min(sizes.tables, active) do
      if active % tables == 0 and active / tables <= sizes.schemas then
         return active / tables, tables
      end
   end
end

-- The same, or fails.
function many.must_spread(sizes, active, option)
   local schemas, tables = many.spread(sizes, active)
   if not schemas then
      error(("%s: %d active tables cannot be spread evenly over schemas; there are %d schemas " ..
         "with %d tables each"):format(option, active, sizes.schemas, sizes.tables), 0)
   end
   return schemas, tables
end

-- Selects the number of active tables in --active.
local function choose_active(sizes)
   local opt = sysbench.opt
   local active = dyno.option.whole("active", 0, TABLES_MAX)
   if active > 0 then
      if opt.active_schemas > 0 or opt.active_tables > 0 then
         error("--active cannot be used with --active-schemas or --active-tables", 0)
      end
      sizes.active_schemas, sizes.active_tables = many.must_spread(sizes, active, "--active")
      sizes.active = active
   end
end

-- The values of the options, checked.
function many.sizes()
   local whole, one_of = dyno.option.whole, dyno.option.one_of
   local sizes = {
      prefix = prefix(),
      schemas = whole("schemas", 1, 1000000),
      tables = whole("tables", 1, 100000),
      share = tablespaces(),
      phase = one_of("phase", {"touch", "ladder", "create", "drop", "all"}),
   }
   if sizes.schemas * sizes.tables > TABLES_MAX then
      error(("--schemas times --tables must be at most %d, not %.0f"):format(TABLES_MAX,
         sizes.schemas * sizes.tables), 0)
   end
   sizes.active_schemas = whole("active_schemas", 0, sizes.schemas)
   sizes.active_tables = whole("active_tables", 0, sizes.tables)
   if sizes.active_schemas == 0 then
      sizes.active_schemas = sizes.schemas
   end
   if sizes.active_tables == 0 then
      sizes.active_tables = sizes.tables
   end
   sizes.active = sizes.active_schemas * sizes.active_tables
   choose_active(sizes)
   sizes.keep = whole("keep", 0, sizes.schemas - 1)
   sizes.touchers = whole("touchers", 0, 100000)
   local rate = sysbench.opt.touch_rate
   if rate < 0 or (rate > 0 and sizes.touchers == 0) then
      error("--touch-rate needs --touchers, and must be at least 0", 0)
   elseif sizes.touchers > 0 and sizes.keep == 0 then
      error("--touchers need schemas to --keep", 0)
   end
   sizes.stop_after = dyno.option.number("stop_after", 0, 31536000)
   if sizes.stop_after > 0 and sysbench.opt.order == "shuffled" then
      error("--stop-after needs --order schema, so that each created schema is complete", 0)
   end
   sizes.churn_every = dyno.option.number("churn_every", 0, 86400)
   one_of("skew", {"uniform", "80_20", "zipf"})
   one_of("order", {"schema", "shuffled"})
   one_of("pg_id", {"identity", "int"})
   whole("k_max", 1, 2147483647)
   whole("max_retries", 0, 1000)
   return sizes
end

-- Reduces the sizes to the schemas created before --stop_after.
function many.reduce(sizes, schemas)
   for _, name in ipairs {"active_schemas", "keep"} do
      if sysbench.opt[name] > schemas then
         error(("--%s %d: only %d of %d schemas were created, because of --stop-after"):format(name,
            sysbench.opt[name], schemas, sizes.schemas), 0)
      end
   end
   if sysbench.opt.active > schemas * sizes.tables then
      error(("--active %d: only %d tables were created, because of --stop-after"):format(
         sysbench.opt.active, schemas * sizes.tables), 0)
   end
   sizes.schemas = schemas
   sizes.active_schemas = math.min(sizes.active_schemas, schemas)
   sizes.active = sizes.active_schemas * sizes.active_tables
   choose_active(sizes)
end

-- Names -----------------------------------------------------------------------------------------

-- The name of a table, with its schema. SQLite has no schemas: there they are part of the name.
function many.table_name(family, sizes, schema, number)
   return ("%s%d%st%d"):format(sizes.prefix, schema, family == "sqlite" and "_" or ".", number)
end

-- Tablespaces -----------------------------------------------------------------------------------

function many.is_mariadb(con)
   local version = dyno.family(con) == "mysql" and con:query_row("SELECT VERSION()")
   return version and version:lower():find("mariadb", 1, true) ~= nil
end

-- Whether InnoDB creates files for the tables.
function many.has_files(con)
   return sysbench.opt.mysql_storage_engine:lower() == "innodb"
      and con:query_row("SELECT @@innodb_file_per_table") == "1"
end

-- Fails without tablespaces: MariaDB would accept the clause and ignore it.
function many.must_have_tablespaces(con, sizes)
   if sizes.share > 0 and (dyno.family(con) ~= "mysql" or many.is_mariadb(con)) then
      error("--tablespaces: only MySQL has general tablespaces, not this server", 0)
   end
end

local function tablespace(sizes, schema)
   return ("%sspace_%d"):format(sizes.prefix, math.ceil(schema / sizes.share))
end

-- Making ----------------------------------------------------------------------------------------

-- Statements as data.
templates = {
   create_table = {
      mysql = "CREATE TABLE {name} (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, " ..
         "k INT UNSIGNED NOT NULL DEFAULT 0, c VARCHAR(120) NOT NULL DEFAULT '', " ..
         "pad VARCHAR(60) NOT NULL DEFAULT '', KEY k_1 (k)) ENGINE={engine} {options}",
      postgres = "CREATE TABLE {name} (id {id_type} PRIMARY KEY, k INT NOT NULL DEFAULT 0, " ..
         "c VARCHAR(120) NOT NULL DEFAULT '', pad VARCHAR(60) NOT NULL DEFAULT '')",
      sqlite = "CREATE TABLE {name} (id INTEGER PRIMARY KEY, k INT NOT NULL DEFAULT 0, " ..
         "c VARCHAR(120) NOT NULL DEFAULT '', pad VARCHAR(60) NOT NULL DEFAULT '')",
   },
   create_index = "CREATE INDEX {index} ON {name} (k)",
   insert = "INSERT INTO {name} (k, c, pad) VALUES ({k}, '{c}', '{pad}')",
   -- For servers that do not number the rows.
   insert_with_id = "INSERT INTO {name} (id, k, c, pad) VALUES ({id}, {k}, '{c}', '{pad}')",
   select = "SELECT id, k, c, pad FROM {name} WHERE id = 1",
   count_tables = {
      any = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{schema}'",
      sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name GLOB " ..
         "'{schema}_t*'",
   },
   alter_table = "ALTER TABLE {name} ALTER COLUMN k SET DEFAULT {k}",
   drop_table = "DROP TABLE {name}",
   -- The workload's schemas, which match the pattern.
   all_schemas = {
      mysql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name REGEXP " ..
         "'^{prefix}[0-9]+$'",
      postgres = "SELECT COUNT(*) FROM pg_namespace WHERE nspname ~ '^{prefix}[0-9]+$'",
      -- It has no schemas.
      sqlite = "SELECT 0",
   },
   all_tables = {
      mysql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema REGEXP " ..
         "'^{prefix}[0-9]+$'",
      postgres = "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace " ..
         "WHERE relkind = 'r' AND nspname ~ '^{prefix}[0-9]+$'",
      sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name GLOB " ..
         "'{prefix}[0-9]*'",
   },
   -- The indexes on k.
   all_indexes = {
      mysql = "SELECT COUNT(*) FROM information_schema.statistics WHERE index_name = 'k_1' AND " ..
         "table_schema REGEXP '^{prefix}[0-9]+$'",
      postgres = "SELECT COUNT(*) FROM pg_index i JOIN pg_class c ON c.oid = indrelid JOIN " ..
         "pg_namespace n ON n.oid = relnamespace WHERE NOT indisprimary AND indisvalid AND " ..
         "nspname ~ '^{prefix}[0-9]+$'",
      sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name GLOB " ..
         "'{prefix}[0-9]*'",
   },
}
template_words = {name = "many_1.t1", index = "k_1", engine = "innodb", id = "1", k = "2",
                  id_type = "INT GENERATED BY DEFAULT AS IDENTITY",
                  options = "", c = "c", pad = "pad", schema = "many_1", prefix = "many_"}

-- The statements that create a table with its index.
local function table_statements(family, sizes, schema, number)
   local ids = {identity = "INT GENERATED BY DEFAULT AS IDENTITY", int = "BIGINT"}
   local words = {
      name = many.table_name(family, sizes, schema, number),
      index = "k_" .. number,
      id_type = ids[sysbench.opt.pg_id],
      engine = sysbench.opt.mysql_storage_engine,
      options = sysbench.opt.mysql_table_options,
   }
   if family == "sqlite" then
      words.index = ("%s%d_k_%d"):format(sizes.prefix, schema, number)
   elseif sizes.share > 0 then
      words.options = words.options .. " TABLESPACE " .. tablespace(sizes, schema)
   end
   local text = dyno.render(family, templates.create_table, words)
   if family == "mysql" then
      return {text}
   end
   return {text, dyno.render(family, templates.create_index, words)}
end

function many.make_schema(con, family, sizes, schema)
   if family ~= "sqlite" then
      con:query(("CREATE SCHEMA %s%d"):format(sizes.prefix, schema))
   end
end

function many.make_tablespace(con, sizes, schema)
   local name = tablespace(sizes, schema)
   con:query(("CREATE TABLESPACE %s ADD DATAFILE '%s.ibd' ENGINE=InnoDB"):format(name, name))
end

function many.make_table(con, family, sizes, schema, number)
   for _, statement in ipairs(table_statements(family, sizes, schema, number)) do
      con:query(statement)
   end
end

-- Dropping --------------------------------------------------------------------------------------

-- Tables named by one statement: PostgreSQL locks each until it ends.
local AT_ONCE = 100

-- The names of a schema's tables, in lists of at most AT_ONCE.
local function batches(family, sizes, schema)
   local lists = {}
   for first = 1, sizes.tables, AT_ONCE do
      local names = {}
      for number = first, math.min(first + AT_ONCE - 1, sizes.tables) do
         names[#names + 1] = many.table_name(family, sizes, schema, number)
      end
      lists[#lists + 1] = names
   end
   return lists
end

-- Drops a schema that has only the workload's tables. PostgreSQL fails if there is anything else;
-- see many_tables_guard.lua.
function many.drop_schema(con, family, sizes, schema)
   if family == "mysql" then
      con:query(("DROP SCHEMA IF EXISTS %s%d"):format(sizes.prefix, schema))
      return
   end
   for _, names in ipairs(batches(family, sizes, schema)) do
      if family == "postgres" then
         con:query("DROP TABLE IF EXISTS " .. table.concat(names, ", "))
      else
         for _, name in ipairs(names) do
            con:query("DROP TABLE IF EXISTS " .. name)
         end
      end
   end
   if family == "postgres" then
      con:query(("DROP SCHEMA IF EXISTS %s%d"):format(sizes.prefix, schema))
   end
end

-- Whether a schema is the last of its tablespace, which can then be dropped.
function many.ends_tablespace(sizes, schema, last)
   return sizes.share > 0 and (schema % sizes.share == 0 or schema == last)
end

function many.drop_tablespace(con, sizes, schema)
   local name = tablespace(sizes, schema)
   local there = con:query_row(("SELECT COUNT(*) FROM information_schema.files WHERE " ..
      "tablespace_name = '%s'"):format(name))
   if there ~= "0" then
      con:query("DROP TABLESPACE " .. name)
   end
end

-- Existing tables -------------------------------------------------------------------------------

-- The number of the workload's `schemas`, `tables` or `indexes`.
function many.count(con, sizes, what)
   local words = {prefix = sizes.prefix}
   return tonumber((con:query_row(dyno.render(con, templates["all_" .. what], words)))) or 0
end

-- The touches of each table in this run, by all sessions.
function many.counters(sizes)
   return dyno.shared("touches", sizes.schemas * sizes.tables)
end

-- The number of touches, and of touched tables.
function many.touches(sizes)
   local counters, touches, tables = many.counters(sizes), 0, 0
   for number = 1, sizes.schemas * sizes.tables do
      local count = counters:get(number)
      touches, tables = touches + count, tables + (count > 0 and 1 or 0)
   end
   return touches, tables
end

-- Whether this is a database, as opposed to the server of a calibration, which does not add up.
function many.is_database(con)
   return con:query_row("SELECT 1 + 1") == "2"
end

-- The rows of all tables in the schemas from `first` to `last`.
function many.count_rows(con, sizes, first, last)
   local family, rows = dyno.family(con), 0
   for schema = first, last do
      for _, names in ipairs(batches(family, sizes, schema)) do
         local parts = {}
         for place, name in ipairs(names) do
            parts[place] = "(SELECT COUNT(*) FROM " .. name .. ")"
         end
         rows = rows + (tonumber((con:query_row("SELECT " .. table.concat(parts, " + ")))) or 0)
      end
   end
   return rows
end

return many
