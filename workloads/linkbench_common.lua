-- LinkBench-like social graph: options, numbers of links, shuffles, tables. See linkbench.lua.

local graph = {}

sysbench.cmdline.options = {
   startid = {"Number of the first node", 1},
   maxid = {"Number of the last node plus 1: 1,000,000 nodes take about 1.1 GB; LinkBench " ..
            "uses 10000001", 100001},
   link_types = {"Number of link types", 2},
   profile = {"standard; reference: repeat LinkBench's own faults in the load and in the writes",
              "standard"},
   mix = {"standard: the published shares; or operations by weight: get_node@9,add_link@1",
          "standard"},
   list_limit = {"Maximum number of links in a list", 10000},
   history_pct = {"Percentage of lists that continue where an earlier one was cut off", 0.3},
   node_bytes = {"Median size of a node's data in bytes", 128},
   link_bytes = {"Median size of a link's data in bytes, at most 255", 8},
   partitions = {"Partitions of linktable by id1 on MySQL, MariaDB and PostgreSQL; 0 for none; " ..
                 "auto: 16 on MySQL and MariaDB", "auto"},
   connections = {"Connections per session: 2, one to write and one to read, as LinkBench's " ..
                  "requesters; or 1", 2},
   max_retries = {"Retries of an operation after a deadlock", 10},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   mysql_table_options = {"Text to append to CREATE TABLE on MySQL and MariaDB",
                          "DEFAULT CHARSET=latin1"},
}

graph.NODE_TYPE = 2048
-- The first type of links.
graph.FIRST_TYPE = 123456789
-- The shares of repeated bytes in texts.
graph.NODE_REPEATS, graph.LINK_REPEATS = 0.37, 0.775
graph.LINK_BYTES_MAX, graph.NODE_BYTES_MAX = 255, 65535

-- Options ---------------------------------------------------------------------------------------

-- The values of the options, checked.
function graph.sizes()
   local opt, whole, number = sysbench.opt, dyno.option.whole, dyno.option.number
   local first = whole("startid", 1, 2 ^ 52)
   local last = whole("maxid", 2, 2 ^ 52)
   if last <= first then
      error(("--maxid must be above --startid, which is %.0f, not %.0f: there would be no nodes")
         :format(first, last), 0)
   end
   local profile = dyno.option.one_of("profile", {"standard", "reference"})
   if opt.partitions ~= "auto" and not opt.partitions:match("^%d%d?%d?$") then
      error(("--partitions must be auto or a number from 0 to 999, not '%s'")
         :format(opt.partitions), 0)
   end
   number("history_pct", 0, 100)
   number("node_bytes", 0, 10000)
   number("link_bytes", 0, graph.LINK_BYTES_MAX)
   whole("connections", 1, 2)
   whole("max_retries", 0, 1000)
   return {
      first = first,
      nodes = last - first,
      last = last - 1,
      types = whole("link_types", 1, 1000),
      list_limit = whole("list_limit", 1, 10000000),
      reference = profile == "reference",
   }
end

-- Shuffles --------------------------------------------------------------------------------------

local Shuffle = {}

-- An invertible permutation of 0 to size - 1, the same in every run: indices that differ by a
-- multiple of the number of groups form a group, within which they are rotated.
local function shuffle(size, key)
   local groups = math.min(1024, math.floor(math.sqrt(size)))
   local moved, members, state = {}, {}, key
   for g = 0, groups - 1 do
      state = state * 16807 % 2147483647
      members[g] = math.floor((size - g - 1) / groups) + 1
      moved[g] = math.floor(state / 2147483647 * members[g])
   end
   return setmetatable({groups = groups, moved = moved, members = members}, {__index = Shuffle})
end

function Shuffle:at(index)
   local g = index % self.groups
   return ((index - g) / self.groups + self.moved[g]) % self.members[g] * self.groups + g
end

-- The inverse of at().
function Shuffle:from(place)
   local g = place % self.groups
   return ((place - g) / self.groups - self.moved[g]) % self.members[g] * self.groups + g
end

-- For the numbers of links and the accesses that correlate with them, for the other accesses, and
-- for nodes.
function graph.shuffles(sizes)
   return {links = shuffle(sizes.nodes, 20343988), uncorrelated = shuffle(sizes.nodes, 53238253),
           nodes = shuffle(sizes.nodes, 47665653)}
end

-- Links -----------------------------------------------------------------------------------------

-- The distribution of links per node: 45.3 % have none, and of the others the share with d or more
-- is proportional to (1 + (d - 1) / SCALE) ^ -SHAPE, up to the maximum. Both are fitted to the
-- published mean of 4.097, and to the effect of LinkBench's fault on it.
local LINKED, SCALE, SHAPE, MOST = 0.547, 0.7285, 1.0611, 961963

-- The number of links of the node with this rank.
function graph.degree(rank, nodes)
   local above = (rank + 0.5) / nodes
   if above >= LINKED then
      return 0
   end
   return math.min(math.ceil(SCALE * ((LINKED / above) ^ (1 / SHAPE) - 1)), MOST)
end

-- The number of a node's links with this type, from 0 on.
function graph.links_of_type(degree, type_number, sizes)
   local each = math.floor(degree / sizes.types)
   local left = degree - each * sizes.types
   if sizes.reference then
      -- LinkBench forgets to multiply: too many links.
      left = degree - each
   end
   return type_number < left and each + 1 or each
end

-- The number of links, and of rows of counttable, that the load creates.
function graph.loaded(sizes)
   local links, counts = 0, 0
   for rank = 0, sizes.nodes - 1 do
      local degree = graph.degree(rank, sizes.nodes)
      if degree == 0 then
         break
      end
      for type_number = 0, sizes.types - 1 do
         local of_type = graph.links_of_type(degree, type_number, sizes)
         links, counts = links + of_type, counts + (of_type > 0 and 1 or 0)
      end
   end
   return links, counts
end

-- Milliseconds since 1970, monotonic within a session.
local offset
function graph.milliseconds()
   offset = offset or os.time() - dyno.now()
   return math.floor((offset + dyno.now()) * 1000)
end

-- Tables ----------------------------------------------------------------------------------------

graph.tables = {"linktable", "counttable", "nodetable", "linkbench_settings"}

local TYPES = {
   mysql = {id = "BIGINT UNSIGNED", number = "INT UNSIGNED", flag = "TINYINT",
            data = "MEDIUMTEXT", auto = "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT"},
   postgres = {id = "BIGINT", number = "BIGINT", flag = "SMALLINT", data = "TEXT",
               auto = "BIGINT GENERATED BY DEFAULT AS IDENTITY"},
   sqlite = {id = "INTEGER", number = "INTEGER", flag = "INTEGER", data = "TEXT",
             auto = "INTEGER"},
}

local LINKS = "id1 {id} NOT NULL DEFAULT 0, id2 {id} NOT NULL DEFAULT 0, " ..
   "link_type {id} NOT NULL DEFAULT 0, visibility {flag} NOT NULL DEFAULT 0, " ..
   "data VARCHAR(255) NOT NULL DEFAULT '', time {id} NOT NULL DEFAULT 0, " ..
   "version {number} NOT NULL DEFAULT 0"
local COUNTS = "id {id} NOT NULL, link_type {id} NOT NULL, count {number} NOT NULL, " ..
   "time {id} NOT NULL, version {id} NOT NULL"
local NODES = "id {auto}, type {number} NOT NULL, version {id} NOT NULL, " ..
   "time {number} NOT NULL, data {data} NOT NULL"
local SETTINGS = "startid {id} NOT NULL, maxid {id} NOT NULL, link_types {id} NOT NULL, " ..
   "profile VARCHAR(20) NOT NULL"

-- Name, columns, key.
local DEFINITIONS = {
   {"linktable", LINKS, "link_type, id1, id2"},
   {"counttable", COUNTS, "id, link_type"},
   {"nodetable", NODES, "id"},
   {"linkbench_settings", SETTINGS},
}

local function partitions(family)
   local asked = sysbench.opt.partitions
   if asked == "auto" then
      return family == "mysql" and 16 or 0
   elseif family == "sqlite" and tonumber(asked) > 0 then
      error("--partitions: SQLite has none", 0)
   end
   return tonumber(asked)
end

local function suffix(family, name, parts)
   local text = ""
   if family == "mysql" then
      text = (" ENGINE=%s %s"):format(sysbench.opt.mysql_storage_engine,
         sysbench.opt.mysql_table_options)
   elseif family == "sqlite" and (name == "linktable" or name == "counttable") then
      text = " WITHOUT ROWID"
   end
   if name == "linktable" and parts > 0 then
      text = text .. (family == "mysql" and (" PARTITION BY KEY (id1) PARTITIONS " .. parts)
         or " PARTITION BY HASH (id1)")
   end
   return text
end

-- Creates the tables. PostgreSQL gets its keys after the rows.
function graph.create(con)
   local family = dyno.family(con)
   local parts = partitions(family)
   for _, definition in ipairs(DEFINITIONS) do
      local name, columns, key = unpack(definition)
      if key and family ~= "postgres" then
         columns = columns .. ", PRIMARY KEY (" .. key .. ")"
      end
      con:query(dyno.render(con, ("CREATE TABLE %s (%s)%s"):format(name, columns,
         suffix(family, name, parts)), TYPES[family]))
   end
   if family == "postgres" then
      for part = 0, parts - 1 do
         con:query(("CREATE TABLE linktable_%d PARTITION OF linktable FOR VALUES WITH " ..
            "(MODULUS %d, REMAINDER %d)"):format(part, parts, part))
      end
   end
end

-- The tables that prepare creates, with their columns.
function graph.tables_made()
   local made = {dyno.dataset.made("linkbench")}
   for _, definition in ipairs(DEFINITIONS) do
      made[#made + 1] = {definition[1], dyno.column_names(definition[2])}
   end
   return made
end

-- Keys and the index of lists, once the rows are loaded; and statistics.
function graph.finish(con, sizes)
   local family = dyno.family(con)
   if family == "postgres" then
      for _, definition in ipairs(DEFINITIONS) do
         if definition[3] then
            con:query(("ALTER TABLE %s ADD PRIMARY KEY (%s)"):format(definition[1], definition[3]))
         end
      end
      con:query(("ALTER TABLE nodetable ALTER COLUMN id RESTART WITH %.0f")
         :format(sizes.last + 1))
   end
   con:query(dyno.render(con, {
      postgres = "CREATE INDEX id1_type ON linktable (id1, link_type, visibility, time DESC, " ..
         "id2, version) INCLUDE (data)",
      any = "CREATE INDEX id1_type ON linktable (id1, link_type, visibility, time, id2, " ..
         "version, data)",
   }))
   for _, name in ipairs(family == "sqlite" and {} or graph.tables) do
      con:query((family == "postgres" and "VACUUM ANALYZE " or "ANALYZE TABLE ") .. name)
   end
   if family == "sqlite" then
      con:query("ANALYZE")
   end
   con:query(("INSERT INTO linkbench_settings (startid, maxid, link_types, profile) VALUES " ..
      "(%.0f, %.0f, %.0f, '%s')"):format(sizes.first, sizes.last + 1, sizes.types,
      sysbench.opt.profile))
   dyno.commit(con)
end

-- The version of the row generator: changes when the same options produce other rows.
local GENERATOR = 1

-- Stores a description of the loaded data.
function graph.keep(con, sizes)
   local opt, family = sysbench.opt, dyno.family(con)
   local links, counts = graph.loaded(sizes)
   local beside = {{"partitions", partitions(family)}}
   if family == "mysql" then
      beside[2] = {"engine", opt.mysql_storage_engine}
      beside[3] = {"options", opt.mysql_table_options}
   end
   dyno.dataset.keep(con, "linkbench", {
      {"generator", GENERATOR}, {"seed", dyno.seed}, {"startid", sizes.first},
      {"maxid", sizes.last + 1}, {"link_types", sizes.types}, {"profile", opt.profile},
      {"node_bytes", opt.node_bytes}, {"link_bytes", opt.link_bytes},
      {"rows", ("nodes %.0f, links %.0f, counts %.0f"):format(sizes.nodes, links, counts)},
   }, beside)
end

-- Fails unless the tables were prepared with the current options. False on the server of a
-- calibration, which has no data and answers every query alike.
function graph.must_fit(con, sizes)
   local first, max, types, profile = con:query_row(
      "SELECT startid, maxid, link_types, profile FROM linkbench_settings")
   if not first then
      error("the tables are not completely loaded: dyno cleanup linkbench, then dyno prepare " ..
         "linkbench", 0)
   elseif not tonumber(first) then
      return false
   end
   local text = "--startid %s --maxid %s --link-types %s --profile %s"
   local found = text:format(first, max, types, profile)
   local asked = text:format(("%.0f"):format(sizes.first), ("%.0f"):format(sizes.last + 1),
      ("%.0f"):format(sizes.types), sysbench.opt.profile)
   if found ~= asked then
      error(("the tables were prepared with %s, not with %s: give the same options to every " ..
         "command, or prepare again"):format(found, asked), 0)
   end
   return true
end

function graph.drop(con)
   for number = #graph.tables, 1, -1 do
      con:query("DROP TABLE IF EXISTS " .. graph.tables[number])
   end
   dyno.dataset.forget(con, "linkbench")
end

return graph
