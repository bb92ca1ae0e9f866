-- Many tables: their disk space, whether they will fit, and their files. Files are examined if the
-- server's data directory can be read from this host.

local ffi = require("ffi")
local many = require("many_tables_common")

local space = {}

-- Queries for the tables' size in bytes and number of files, and for the dictionary's size.
local TAKEN = {
   mysql = "SELECT COALESCE(SUM(file_size), 0), COUNT(*) FROM information_schema.{tablespaces} " ..
      "WHERE name REGEXP '^{prefix}([0-9]+/|space_)'",
   postgres = "SELECT COALESCE(SUM(pg_relation_size(c.oid)), 0), COUNT(*) FROM pg_class c JOIN " ..
      "pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'i', 'S') AND " ..
      "nspname ~ '^{prefix}[0-9]+$'",
   sqlite = "SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM " ..
      "pragma_page_size()), 1",
}
local DICTIONARY = {
   mysql = "SELECT file_size FROM information_schema.{tablespaces} WHERE name = '{dictionary}'",
   postgres = "SELECT SUM(pg_total_relation_size(c.oid)) FROM pg_class c WHERE oid IN " ..
      "('pg_class'::regclass, 'pg_attribute'::regclass, 'pg_index'::regclass, " ..
      "'pg_depend'::regclass)",
}

local UNITS = {"kB", "MB", "GB", "TB"}

local function size_text(bytes)
   local unit = 0
   while bytes >= 1000 and unit < #UNITS do
      bytes, unit = bytes / 1000, unit + 1
   end
   return unit == 0 and ("%.0f B"):format(bytes) or ("%.3g %s"):format(bytes, UNITS[unit])
end

-- The result of a query that the user may lack the privilege for, or the server may not support.
local function ask(con, query)
   local asked, first, second = pcall(con.query_row, con, query)
   if asked then
      return first, second
   end
end

local function words(con, sizes)
   local maria = many.is_mariadb(con)
   return {prefix = sizes.prefix, dictionary = maria and "innodb_system" or "mysql",
           tablespaces = maria and "innodb_sys_tablespaces" or "innodb_tablespaces"}
end

-- The tables' size: `bytes` in `files`, and the `dictionary`'s bytes. Nil if unknown.
function space.measure(con, sizes)
   local family, known = dyno.family(con), words(con, sizes)
   local bytes, files = ask(con, dyno.render(con, TAKEN[family], known))
   local dictionary = DICTIONARY[family] and
      ask(con, dyno.render(con, DICTIONARY[family], known))
   return {bytes = tonumber(bytes), files = tonumber(files), dictionary = tonumber(dictionary)}
end

-- Files -----------------------------------------------------------------------------------------

-- The server's data directory, if it is on this host: then the path in the settings exists. For
-- SQLite it is the file itself.
local function directory(con)
   local family, path, own = dyno.family(con)
   if family == "mysql" then
      local database
      path, database = con:query_row("SELECT @@datadir, DATABASE()")
      own = ("%s/many_tables_settings.ibd"):format(database)
   elseif family == "postgres" then
      path = ask(con, "SHOW data_directory")
      path = path and path .. "/"
      own = ask(con, "SELECT pg_relation_filepath('many_tables_settings')")
   else
      local _
      _, _, path = con:query_row("PRAGMA database_list")
      own = ""
   end
   local file = path and own and io.open(path .. own, "rb")
   if file then
      file:close()
      return path, true
   end
   return path or "unknown", false
end

ffi.cdef("int statvfs(const char *path, uint64_t *found);")

-- The free bytes of the file system of a path; nil if unknown. On 64-bit Linux the second number is
-- the block size, the fifth the number of blocks available to all users.
local function free(path)
   local found = ffi.new("uint64_t[32]")
   local asked, failed = pcall(function() return ffi.C.statvfs(path, found) end)
   if jit.os == "Linux" and ffi.abi("64bit") and asked and failed == 0 then
      return tonumber(found[1]) * tonumber(found[4])
   end
end

-- The smallest size of a table with its index: the initial pages. Nil if options make it hard to
-- say.
local function least(con, sizes)
   local family = dyno.family(con)
   if family == "postgres" then
      -- The indexes' first pages, and a sequence.
      return sysbench.opt.pg_id == "identity" and 24576 or 16384
   elseif family == "sqlite" then
      return 2 * (tonumber((con:query_row("PRAGMA page_size"))) or 0)
   elseif not many.has_files(con) or sysbench.opt.mysql_table_options:lower():find("compress") then
      return nil
   end
   local page = tonumber((con:query_row("SELECT @@innodb_page_size"))) or 0
   -- In a shared file two root pages, else also the initial pages of each file.
   return page * (sizes.share > 0 and 2 or many.is_mariadb(con) and 5 or 7)
end

-- Fails if the tables certainly do not fit.
function space.must_suffice(con, sizes)
   if sizes.stop_after > 0 then
      -- Their final number is unknown.
      return
   end
   local path, here = directory(con)
   local each, room = least(con, sizes), here and free(path)
   local need = each and each * sizes.schemas * sizes.tables
   if need and room and need > room then
      error(("%.0f tables take %s at least, %s each, and where %s lies %s are free: make fewer " ..
         "--schemas or --tables, or make room"):format(sizes.schemas * sizes.tables,
         size_text(need), size_text(each), path, size_text(room)), 0)
   end
end

-- Reports the space used, and the space used before.
function space.report(con, sizes, before)
   local now = space.measure(con, sizes)
   if not now.bytes then
      print("disk: not known, because this user may not ask the server for it")
      return
   end
   local function pair(first, second)
      return first and ("%s, before %s"):format(size_text(second), size_text(first))
         or size_text(second)
   end
   local text = "disk: tables " .. pair(before and before.bytes, now.bytes)
   if dyno.family(con) ~= "sqlite" then
      text = ("%s, in %d file%s"):format(text, now.files, now.files == 1 and "" or "s")
   end
   if now.dictionary then
      text = text .. "; dictionary " .. pair(before and before.dictionary, now.dictionary)
   end
   local path, here = directory(con)
   local room = here and free(path)
   print(room and ("%s; free %s"):format(text, size_text(room)) or text)
end

-- The check ---------------------------------------------------------------------------------------

-- The number of expected tablespaces, and of existing ones.
local function count_shared(path, made)
   local found, expected = 0, 0
   for first = 1, made.schemas, made.share do
      local last = math.min(first + made.share - 1, made.schemas)
      local file = io.open(("%s%sspace_%d.ibd"):format(path, made.prefix,
         math.ceil(first / made.share)), "rb")
      if file then
         file:close()
         found = found + 1
      end
      expected = expected + (last > made.schemas - made.present and 1 or 0)
   end
   return found, expected
end

local function count_own(path, made)
   local found = 0
   for schema = 1, made.schemas do
      for number = 1, made.tables do
         local file = io.open(("%s%s%d/t%d.ibd"):format(path, made.prefix, schema, number), "rb")
         if file then
            file:close()
            found = found + 1
         end
      end
   end
   return found, made.present * made.tables
end

-- Counts the files of InnoDB's tablespaces, including those of dropped schemas.
function space.check(con, made, conditions)
   if dyno.family(con) ~= "mysql" then
      return
   elseif not many.has_files(con) then
      conditions:skip("tablespace files: not checked, because the tables have none of their own")
      return
   end
   local path, here = directory(con)
   if not here then
      conditions:skip(("tablespace files: not checked, because %s cannot be read on this host")
         :format(path))
      return
   end
   local count = made.share > 0 and count_shared or count_own
   conditions:equal("tablespace files", count(path, made))
end

return space
