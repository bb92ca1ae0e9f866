-- Many tables: finds anything else in the workload's schemas, so that nothing else is dropped.
-- Takes a few queries of the catalog, however many tables there are.

local many = require("many_tables_common")

local guard = {}

-- At most this many names are printed.
local NAMED = 3

local COLUMNS = "('id', 'k', 'c', 'pad')"

-- Conditions and queries --------------------------------------------------------------------------

-- SQL conditions that a name is one of the workload's schemas, or a table in such a schema.
local is_schema, is_table = {}, {}

function is_schema.mysql(made, name)
   return ("(%s REGEXP '^%s[1-9][0-9]*$' AND CAST(SUBSTR(%s, %d) AS UNSIGNED) <= %d)"):format(name,
      made.prefix, name, #made.prefix + 1, made.schemas)
end

function is_table.mysql(made, name)
   return ("(%s REGEXP '^t[1-9][0-9]*$' AND CAST(SUBSTR(%s, 2) AS UNSIGNED) <= %d)"):format(name,
      name, made.tables)
end

function is_schema.postgres(made, name)
   return ("%s IN (SELECT '%s' || n FROM generate_series(1, %d) n)"):format(name, made.prefix,
      made.schemas)
end

function is_table.postgres(made, name)
   return ("%s IN (SELECT 't' || n FROM generate_series(1, %d) n)"):format(name, made.tables)
end

-- The numbers in a name on SQLite. It is a table's name if the numbers give the same name.
local function numbers(made, name)
   local rest = ("SUBSTR(%s, %d)"):format(name, #made.prefix + 1)
   return ("CAST(%s AS INTEGER)"):format(rest),
      ("CAST(SUBSTR(%s, INSTR(%s, '_t') + 2) AS INTEGER)"):format(rest, rest)
end

local function is_name(made, name)
   local schema, number = numbers(made, name)
   return ("LOWER(%s) = '%s' || %s || '_t' || %s AND %s BETWEEN 1 AND %d"):format(name, made.prefix,
      schema, number, schema, made.schemas), number
end

function is_table.sqlite(made, name)
   local condition, number = is_name(made, name)
   return ("(%s AND %s BETWEEN 1 AND %d)"):format(condition, number, made.tables)
end

-- Queries for tables with the workload's columns but higher numbers.
local further = {}

function further.mysql(made)
   return ("SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.columns WHERE " ..
      "%s AND table_name REGEXP '^t[1-9][0-9]*$' AND NOT %s GROUP BY table_schema, table_name " ..
      "HAVING COUNT(*) = 4 AND SUM(column_name IN %s) = 4"):format(
      is_schema.mysql(made, "table_schema"), is_table.mysql(made, "table_name"), COLUMNS)
end

function further.postgres(made)
   return ("SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = " ..
      "c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid WHERE %s AND c.relkind = 'r' " ..
      "AND c.relname ~ '^t[1-9][0-9]*$' AND NOT %s AND a.attnum > 0 AND NOT a.attisdropped " ..
      "GROUP BY n.nspname, c.relname HAVING COUNT(*) = 4 AND " ..
      "SUM(CASE WHEN a.attname IN %s THEN 1 END) = 4")
      :format(is_schema.postgres(made, "n.nspname"), is_table.postgres(made, "c.relname"), COLUMNS)
end

function further.sqlite(made)
   local condition, number = is_name(made, "m.name")
   return ("SELECT m.name FROM sqlite_master m, pragma_table_xinfo(m.name) p WHERE m.type = " ..
      "'table' AND %s AND %s > %d GROUP BY m.name HAVING COUNT(*) = 4 AND " ..
      "SUM(p.name IN %s) = 4"):format(condition, number, made.tables, COLUMNS)
end

-- Queries for anything that is not the workload's, except the `known` tables.
local others = {}

function others.mysql(con, made, known)
   local function schema(column)
      return is_schema.mysql(made, column)
   end
   local list = {
      ("SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE %s " ..
         "AND (table_type <> 'BASE TABLE' OR NOT %s AND CONCAT(table_schema, '.', table_name) " ..
         "NOT IN (%s))"):format(schema("table_schema"), is_table.mysql(made, "table_name"), known),
      ("SELECT CONCAT('column ', table_schema, '.', table_name, '.', column_name) FROM " ..
         "information_schema.columns WHERE %s AND column_name NOT IN %s"):format(
         schema("table_schema"), COLUMNS),
      ("SELECT CONCAT(LOWER(routine_type), ' ', routine_schema, '.', routine_name) FROM " ..
         "information_schema.routines WHERE %s"):format(schema("routine_schema")),
      ("SELECT CONCAT('event ', event_schema, '.', event_name) FROM information_schema.events " ..
         "WHERE %s"):format(schema("event_schema")),
      ("SELECT CONCAT('trigger ', trigger_schema, '.', trigger_name) FROM " ..
         "information_schema.triggers WHERE %s"):format(schema("event_object_schema")),
   }
   if not many.is_mariadb(con) then
      list[#list + 1] = ("SELECT CONCAT('foreign key ', constraint_name, ' of ', " ..
         "constraint_schema, '.', table_name) FROM information_schema.referential_constraints " ..
         "WHERE %s"):format(schema("unique_constraint_schema"))
      return list, made.share > 0 and ("SELECT REPLACE(t.name, '/', '.') FROM " ..
         "information_schema.innodb_tables t JOIN information_schema.innodb_tablespaces s ON " ..
         "s.space = t.space WHERE s.name REGEXP '^%sspace_[0-9]+$' AND NOT %s"):format(
         made.prefix, schema("SUBSTRING_INDEX(t.name, '/', 1)"))
   end
   -- MariaDB would open every table of the server to list the foreign keys of all engines.
   return list, ("SELECT CONCAT('foreign key ', SUBSTRING_INDEX(id, '/', -1), ' of ', " ..
      "REPLACE(for_name, '/', '.')) FROM information_schema.innodb_sys_foreign WHERE %s"):format(
      schema("SUBSTRING_INDEX(ref_name, '/', 1)"))
end

-- Objects in a schema depend on it in pg_depend. Sequences of identity columns belong to their
-- tables. Whatever else uses a table depends on it; a view does so through its rule.
local POSTGRES = {
   [[SELECT pg_describe_object(d.classid, d.objid, 0) FROM pg_namespace n JOIN pg_depend d ON
      d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid AND d.deptype = 'n'
      LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      WHERE {schema} AND (c.oid IS NULL OR NOT (c.relkind = 'r' AND
      ({table} OR n.nspname || '.' || c.relname IN ({known})) OR c.relkind = 'S' AND
      EXISTS (SELECT 1 FROM pg_depend o WHERE o.classid = 'pg_class'::regclass AND
      o.objid = c.oid AND o.deptype = 'i')))]],
   [[SELECT DISTINCT COALESCE((SELECT pg_describe_object('pg_class'::regclass, r.ev_class, 0)
      FROM pg_rewrite r WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid AND
      r.rulename = '_RETURN'), pg_describe_object(d.classid, d.objid, d.objsubid))
      FROM pg_depend d WHERE d.deptype = 'n' AND (d.refclassid = 'pg_class'::regclass AND
      d.refobjid IN (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE {schema}) OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (SELECT t.oid
      FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE {schema}))]],
   [[SELECT 'column ' || n.nspname || '.' || c.relname || '.' || a.attname FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE {schema} AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND
      a.attname NOT IN {columns}]],
   [[SELECT pg_describe_object('pg_trigger'::regclass, t.oid, 0) FROM pg_trigger t
      JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE {schema} AND NOT t.tgisinternal]],
   [[SELECT pg_describe_object('pg_rewrite'::regclass, r.oid, 0) FROM pg_rewrite r
      JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE {schema} AND c.relkind = 'r']],
}

function others.postgres(con, made, known)
   local words = {schema = is_schema.postgres(made, "n.nspname"), known = known,
                  table = is_table.postgres(made, "c.relname"), columns = COLUMNS}
   local list = {}
   for place, query in ipairs(POSTGRES) do
      list[place] = dyno.render(con, query, words)
   end
   return list
end

-- SQLite has no schemas. Only tables with the workload's names are dropped, with their triggers and
-- with the rows elsewhere whose foreign keys cascade.
function others.sqlite(_, made)
   local function own(column)
      return is_table.sqlite(made, column)
   end
   return {
      ("SELECT type || ' ' || name FROM sqlite_master WHERE type = 'view' AND %s OR type = " ..
         "'trigger' AND %s"):format(own("name"), own("tbl_name")),
      ("SELECT 'column ' || m.name || '.' || p.name FROM sqlite_master m, " ..
         "pragma_table_xinfo(m.name) p WHERE m.type = 'table' AND %s AND p.name NOT IN %s"):format(
         own("m.name"), COLUMNS),
      ("SELECT 'foreign key of ' || m.name FROM sqlite_master m, " ..
         "pragma_foreign_key_list(m.name) p WHERE m.type = 'table' AND %s"):format(
         own('p."table"')),
   }
end

-- The guard ---------------------------------------------------------------------------------------

-- The first column of a query's first rows, at most `most` if given.
local function names_of(con, query, most)
   local found, names = con:query(most and ("%s LIMIT %d"):format(query, most) or query), {}
   for i = 1, found.nrows do
      names[i] = found:fetch_row()[1]
   end
   found:free()
   return names
end

-- The tables left by the churn of a killed run, after which the number of rows is unknown.
function guard.leftovers(con, made)
   return made.rows and {} or names_of(con, further[dyno.family(con)](made))
end

-- Fails if dropping the recorded tables and schemas would drop or break anything else.
function guard.must_be_own(con, made)
   local known = {"''"}
   for _, name in ipairs(guard.leftovers(con, made)) do
      known[#known + 1] = ("'%s'"):format(name)
   end
   local queries, perhaps = others[dyno.family(con)](con, made, table.concat(known, ", "))
   local names, seen = {}, {}
   for _, query in ipairs(queries) do
      for _, name in ipairs(#names <= NAMED and names_of(con, query, NAMED + 1) or {}) do
         if not seen[name] then
            names[#names + 1], seen[name] = name, true
         end
      end
   end
   if perhaps and #names == 0 then
      -- Not every user may run this query. The server then refuses to drop what such a table uses.
      local asked, found = pcall(names_of, con, perhaps, NAMED + 1)
      names = asked and found or names
   end
   if #names > 0 then
      local more, one = #names > NAMED and ", …" or "", #names == 1
      error(("%s%s %s not this workload's. Dropping this workload's tables would drop or " ..
         "break %s. Nothing was dropped: move or drop %s yourself"):format(
         table.concat(names, ", ", 1, math.min(#names, NAMED)), more, one and "is" or "are",
         one and "it" or "them", one and "it" or "them"), 0)
   end
end

return guard
