-- LinkBench-like social graph: consistency conditions of the tables, and the ledger's sums.

local graph = require("linkbench_common")

local check = {}

local VISIBLE = "(SELECT id1, link_type, COUNT(*) links FROM linktable WHERE visibility = 1 " ..
   "GROUP BY id1, link_type) v"

-- Each condition with a query that counts violations.
local CONDITIONS = {
   {"counts are the numbers of visible links",
    "SELECT COUNT(*) FROM counttable c LEFT JOIN " .. VISIBLE .. " ON v.id1 = c.id AND " ..
    "v.link_type = c.link_type WHERE c.count <> COALESCE(v.links, 0)"},
   {"visible links are counted",
    "SELECT COUNT(*) FROM " .. VISIBLE .. " LEFT JOIN counttable c ON c.id = v.id1 AND " ..
    "c.link_type = v.link_type WHERE c.id IS NULL"},
   {"counts are not negative", "SELECT COUNT(*) FROM counttable WHERE count < 0"},
   {"links are visible or hidden",
    "SELECT COUNT(*) FROM linktable WHERE visibility NOT IN (0, 1)"},
   {"nodes come from the load or after it", "SELECT COUNT(*) FROM nodetable WHERE id < {first}"},
}

local function query_number(con, query)
   return tonumber((con:query_row(query))) or 0
end

-- Checks the tables in one snapshot, and fails at the end if a condition is violated.
function check.all(con, sizes)
   con:query(dyno.render(con, "{snapshot}"))
   local conditions = dyno.conditions()
   local loaded = graph.loaded(sizes)
   local links = query_number(con, "SELECT COUNT(*) FROM linktable")
   conditions:hold(links >= loaded, ("no link is lost: %.0f, at least %.0f"):format(links, loaded))
   local nodes = query_number(con, ("SELECT COUNT(*) FROM nodetable WHERE id BETWEEN %.0f AND %.0f")
      :format(sizes.first, sizes.last))
   conditions:hold(nodes <= sizes.nodes, ("nodes of the load: %.0f, at most %.0f"):format(nodes,
      sizes.nodes))
   for _, condition in ipairs(CONDITIONS) do
      local words = {first = ("%.0f"):format(sizes.first)}
      local wrong = query_number(con, dyno.render(con, condition[2], words))
      conditions:hold(wrong == 0, ("%s: %.0f violations"):format(condition[1], wrong))
   end
   con:query("COMMIT")
   conditions:finish()
end

-- The sums by name, and where each can be read.
function check.sums(con)
   local rows, visible = con:query_row("SELECT COUNT(*), SUM(visibility) FROM linktable")
   return {
      nodes = {["rows of nodetable"] = query_number(con, "SELECT COUNT(*) FROM nodetable")},
      links = {["rows of linktable"] = tonumber(rows)},
      visible_links = {
         ["visible rows of linktable"] = tonumber(visible) or 0,
         ["the counts"] = query_number(con, "SELECT SUM(count) FROM counttable"),
      },
   }
end

return check
