-- Many tables: the created and the remaining tables, recorded in the table many_tables_settings;
-- the check; and the sums of the ledger.

local many = require("many_tables_common")
local space = require("many_tables_space")
local guard = require("many_tables_guard")

local state = {}

local COLUMNS = "prefix VARCHAR(40) NOT NULL, asked_count BIGINT NOT NULL, schema_count BIGINT " ..
   "NOT NULL, table_count BIGINT NOT NULL, share BIGINT NOT NULL, present BIGINT NOT NULL, " ..
   "row_count BIGINT"

-- The table of settings; its creator owns the schemas that it names.
function state.made()
   return {{"many_tables_settings", dyno.column_names(COLUMNS)}}
end

-- Records what will be created. Fails if something with such a name already exists.
function state.create(con, sizes)
   many.must_have_tablespaces(con, sizes)
   con:query(dyno.render(con, "CREATE TABLE many_tables_settings ({columns})",
      {columns = COLUMNS}))
   local what = dyno.family(con) == "sqlite" and "tables" or "schemas"
   if many.is_database(con) and many.count(con, sizes, what) > 0 then
      con:query("DROP TABLE many_tables_settings")
      error(("there are %s named %s1 and so on that are not this workload's: give another " ..
         "--schema-prefix, or drop them"):format(what, sizes.prefix), 0)
   end
   local suffices, why = pcall(space.must_suffice, con, sizes)
   if not suffices then
      con:query("DROP TABLE many_tables_settings")
      error(why, 0)
   end
   con:query(("INSERT INTO many_tables_settings (prefix, asked_count, schema_count, " ..
      "table_count, share, present, row_count) VALUES ('%s', %d, %d, %d, %d, %d, 0)"):format(
      sizes.prefix, sizes.schemas, sizes.schemas, sizes.tables, sizes.share, sizes.schemas))
   dyno.commit(con)
end

-- Creating tables ended after this number of schemas.
function state.set_made(con, schemas)
   con:query(("UPDATE many_tables_settings SET schema_count = %d, present = %d"):format(schemas,
      schemas))
   dyno.commit(con)
end

-- The recorded sizes: the created number of `asked` schemas, the `present` ones that remain, with
-- `rows` rows, nil if unknown. Returns nil if missing, and whether nothing is recorded.
function state.read(con)
   local prefix, asked, schemas, tables, share, present, rows = con:query_row(
      "SELECT prefix, asked_count, schema_count, table_count, share, present, row_count " ..
      "FROM many_tables_settings")
   -- The server of a calibration answers every query alike.
   if not tonumber(schemas) then
      return nil, prefix == nil
   end
   return {prefix = prefix, asked = tonumber(asked), schemas = tonumber(schemas),
           tables = tonumber(tables), share = tonumber(share), present = tonumber(present),
           rows = tonumber(rows)}
end

-- The recorded sizes, which must match the options. If --stop_after ended the creation, either
-- number of schemas matches, and the sizes are reduced to the created ones.
function state.must_fit(con, sizes)
   local made, empty = state.read(con)
   if empty then
      error("the tables are not completely created: dyno cleanup many_tables, then dyno prepare " ..
         "many_tables", 0)
   end
   local text = "--schemas %d --tables %d --schema-prefix %s"
   local asked = text:format(sizes.schemas, sizes.tables, sizes.prefix)
   local found = made and text:format(made.asked, made.tables, made.prefix)
   local there = made and text:format(made.schemas, made.tables, made.prefix)
   if found ~= asked and there ~= asked and made then
      error(("the tables were prepared with %s, not with %s: give the same options to every " ..
         "command, or prepare again"):format(found, asked), 0)
   end
   if made and made.schemas < sizes.schemas then
      many.reduce(sizes, made.schemas)
   end
   return made
end

function state.set_rows(con, rows)
   con:query("UPDATE many_tables_settings SET row_count = " ..
      (rows and ("%.0f"):format(rows) or "NULL"))
   dyno.commit(con)
end

-- The first schemas are dropped, and this number remains.
function state.set_present(con, present)
   con:query("UPDATE many_tables_settings SET present = " .. present)
   dyno.commit(con)
end

-- The rows of the remaining schemas.
function state.count_rows(con, made)
   return many.count_rows(con, made, made.schemas - made.present + 1, made.schemas)
end

-- Drops any tables left by the churn of a killed run. Its last statement may still run on the
-- server and drop one of them.
function state.drop_leftovers(con, made)
   for _, name in ipairs(guard.leftovers(con, made)) do
      con:query("DROP TABLE IF EXISTS " .. name)
   end
end

-- Fails unless all recorded tables exist.
function state.must_be_whole(con, made)
   local found, expected = many.count(con, made, "tables"), made.present * made.tables
   if found ~= expected then
      error(("there are %.0f tables instead of %.0f: creating or dropping them was interrupted, " ..
         "or somebody else changed them. Create them again: dyno cleanup many_tables, then " ..
         "dyno prepare many_tables"):format(found, expected), 0)
   end
end

-- Checks the tables, and fails at the end if something is wrong.
function state.check(con, sizes)
   local made, conditions = state.must_fit(con, sizes), dyno.conditions()
   local tables = made.present * made.tables
   if dyno.family(con) ~= "sqlite" then
      conditions:equal("schemas", many.count(con, made, "schemas"), made.present)
   end
   local began = dyno.now()
   local found = many.count(con, made, "tables")
   local took = dyno.now() - began
   conditions:equal("tables", found, tables)
   conditions:equal("indexes on k", many.count(con, made, "indexes"), tables)
   space.check(con, made, conditions)
   if found < tables then
      conditions:skip("rows: not counted, because tables are missing")
   elseif made.rows then
      conditions:equal("rows", state.count_rows(con, made), made.rows)
   else
      conditions:skip("rows: not compared, because the last run did not count them at its end")
   end
   if made.schemas < made.asked then
      print(("%d of %d schemas were made, because of --stop-after"):format(made.schemas,
         made.asked))
   end
   print(("counting the tables in the catalogue took %.3f s"):format(took))
   space.report(con, made)
   conditions:finish()
end

-- Whether the settings exist.
local function is_there(con)
   local found = con:query_row(dyno.render(con, {
      mysql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() " ..
         "AND table_name = 'many_tables_settings'",
      postgres = "SELECT COUNT(to_regclass('many_tables_settings'))",
      sqlite = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'many_tables_settings'",
   }))
   return found ~= "0"
end

-- Drops exactly the created tables, whatever the options say, or nothing.
function state.drop_all(con)
   if not is_there(con) then
      return
   end
   local family, made = dyno.family(con), state.read(con)
   if made then
      guard.must_be_own(con, made)
      state.drop_leftovers(con, made)
   end
   for schema = 1, made and made.schemas or 0 do
      many.drop_schema(con, family, made, schema)
      if many.ends_tablespace(made, schema, made.schemas) then
         many.drop_tablespace(con, made, schema)
      end
   end
   con:query("DROP TABLE many_tables_settings")
end

return state
