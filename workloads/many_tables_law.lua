-- Many tables: compares the server's table cache with the expected miss rate. If all tables are
-- equally likely, a full cache of C tables misses max(0, 1 - C / A) of the touches of A tables.

local many = require("many_tables_common")

local law = {}

local TOLERANCE = 0.05
-- Touches per table before the cache counts as full.
local WARM = 2
-- The fewest touches for a comparison.
local ENOUGH = 1000

local con, sizes, active, began, looked

local function misses()
   local _, value = con:query_row("SHOW GLOBAL STATUS LIKE 'Table_open_cache_misses'")
   return tonumber(value)
end

-- The tables that the cache of a connection can hold. MySQL divides the number by its instances,
-- MariaDB does not.
local function capacity()
   local limit, instances, version = con:query_row(
      "SELECT @@table_open_cache, @@table_open_cache_instances, VERSION()")
   if version:lower():find("mariadb", 1, true) then
      instances = 1
   end
   return math.max(1, math.floor(tonumber(limit) / tonumber(instances)))
end

-- Begins to observe on one session's connection.
function law.watch(connection, its_sizes)
   con, sizes, active = connection, its_sizes, its_sizes.active
   began, looked = nil, dyno.now()
end

-- Checks once a second whether the cache is warm, and counts from then on.
function law.look()
   if began or dyno.now() - looked < 1 then
      return
   end
   looked = dyno.now()
   local touches = many.touches(sizes)
   if touches >= WARM * active then
      began = {touches = touches, misses = misses()}
   end
end

-- Reports the result, unless there were too few touches.
function law.report()
   local all = many.touches(sizes)
   if all < ENOUGH then
      return
   elseif not began or not began.misses then
      print("table cache: not compared with the law 1 - C / A, which holds once every table was " ..
         "touched twice or so")
      return
   end
   local touches = all - began.touches
   if touches < ENOUGH then
      print(("table cache: not compared with the law 1 - C / A: %d touches of warm tables are " ..
         "too few"):format(touches))
      return
   end
   local found, size = (misses() - began.misses) / touches, capacity()
   local expected = math.max(0, 1 - size / active)
   local agrees = math.abs(found - expected) <= TOLERANCE
   dyno.figure("table cache misses", found, "per touch", "neither")
   dyno.figure("by the law of the cache", expected, "per touch", "neither")
   print(("table cache: %.3f misses per touch; the law 1 - %d / %d says %.3f: %s"):format(found,
      size, active, expected, agrees and "they agree" or "they differ by more than 0.05, so " ..
      "other tables took room, such as the dictionary's own, or the cache's instances are " ..
      "filled unevenly"))
end

return law
