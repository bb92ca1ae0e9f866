-- Foreign keys on loaded tables.

local keys = {}

-- Fails if a row refers to a missing parent.
local function must_have_parents(con, child, columns, parent, to)
   local on, given = {}, {}
   local names = to:gmatch("[%w_]+")
   for column in columns:gmatch("[%w_]+") do
      on[#on + 1] = ("c.%s = p.%s"):format(column, names())
      -- A partly null key refers to nothing.
      given[#given + 1] = ("c.%s IS NOT NULL"):format(column)
   end
   local orphans = ("FROM %s c LEFT JOIN %s p ON %s WHERE p.%s IS NULL AND %s"):format(child,
      parent, table.concat(on, " AND "), to:match("[%w_]+"), table.concat(given, " AND "))
   local count = tonumber((con:query_row("SELECT COUNT(*) " .. orphans)))
   if count > 0 then
      local values = columns:gsub("[%w_]+", "c.%0")
      local example = con:query_row(("SELECT CONCAT_WS(', ', %s) %s LIMIT 1"):format(values,
         orphans))
      error(("%d rows of %s have no row of %s that they refer to, for instance (%s) = (%s): " ..
         "clean the tables up and prepare them again"):format(count, child, parent, columns,
         example), 0)
   end
end

-- Adds keys, each {child, columns, parent, columns} and an optional name. MySQL and MariaDB would
-- copy the child's table to check the rows one by one, which takes minutes where a join takes
-- seconds: there, keys are added unchecked after a query for rows without a parent.
function keys.add(con, references)
   local unchecked = dyno.family(con) == "mysql"
   if unchecked then
      con:query("SET SESSION foreign_key_checks = 0")
   end
   for _, reference in ipairs(references) do
      local child, columns, parent, to, name = unpack(reference)
      con:query(("ALTER TABLE %s ADD %sFOREIGN KEY (%s) REFERENCES %s (%s)"):format(child,
         name and ("CONSTRAINT %s "):format(name) or "", columns, parent, to))
   end
   if unchecked then
      con:query("SET SESSION foreign_key_checks = 1")
      for _, reference in ipairs(references) do
         must_have_parents(con, unpack(reference, 1, 4))
      end
   end
end

return keys
