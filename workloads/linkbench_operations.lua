-- LinkBench-like social graph: the ten operations. Random values are drawn before an operation
-- begins, so that a retry repeats it.

local graph = require("linkbench_common")

local operations = {}

local COLUMNS = "id1, id2, link_type, visibility, data, time, version"
-- The values of a new link, in the order of the columns.
local LINK = ":id1, :id2, :link_type, 1, :data, :time, 0"
local function list(after)
   local text = "SELECT " .. COLUMNS .. " FROM linktable%s WHERE id1 = :id1 AND " ..
      "link_type = :link_type AND time >= 0 AND time <= :until AND visibility = 1 " ..
      "ORDER BY time DESC LIMIT {list_limit}" .. after
   return {mysql = text:format(" FORCE INDEX (id1_type)"), any = text:format("")}
end
-- Selects by family.
local function either(mysql, others)
   return {mysql = mysql, any = others}
end

-- Statements as data: the text, and the parameters that are not whole numbers.
templates = {
   get_links_list = {list("")},
   get_more_links = {list(" OFFSET 1")},
   count_link = {"SELECT count FROM counttable WHERE id = :id AND link_type = :link_type"},
   -- With as many ids as in `{ids}`.
   multiget_link = {"SELECT " .. COLUMNS .. " FROM linktable WHERE id1 = :id1 AND " ..
      "link_type = :link_type AND id2 IN ({ids})"},
   get_node = {"SELECT id, type, version, time, data FROM nodetable WHERE id = :id"},
   insert_link = {either(
      "INSERT INTO linktable (" .. COLUMNS .. ") VALUES (" .. LINK .. ") " ..
         "ON DUPLICATE KEY UPDATE visibility = 1",
      "INSERT INTO linktable (" .. COLUMNS .. ") VALUES (" .. LINK .. ") " ..
         "ON CONFLICT (link_type, id1, id2) DO NOTHING"), data = "text"},
   update_link = {"UPDATE linktable SET visibility = 1, data = :data, time = :time, " ..
      "version = 0 WHERE id1 = :id1 AND id2 = :id2 AND link_type = :link_type", data = "text"},
   lock_link = {"SELECT visibility FROM linktable WHERE id1 = :id1 AND id2 = :id2 AND " ..
      "link_type = :link_type{for_update}"},
   hide_link = {"UPDATE linktable SET visibility = 0 WHERE id1 = :id1 AND id2 = :id2 AND " ..
      "link_type = :link_type"},
   count_more = {either(
      "INSERT INTO counttable (id, link_type, count, time, version) VALUES " ..
         "(:id, :link_type, 1, :time, 0) " ..
         "ON DUPLICATE KEY UPDATE count = count + 1, version = version + 1, time = :time",
      "INSERT INTO counttable (id, link_type, count, time, version) VALUES " ..
         "(:id, :link_type, 1, :time, 0) " ..
         "ON CONFLICT (id, link_type) DO UPDATE SET count = counttable.count + 1, " ..
         "version = counttable.version + 1, time = :time")},
   count_less = {{
      mysql = "INSERT INTO counttable (id, link_type, count, time, version) VALUES " ..
         "(:id, :link_type, 0, :time, 0) ON DUPLICATE KEY UPDATE " ..
         "count = IF(count = 0, 0, count - 1), version = version + 1, time = :time",
      postgres = "INSERT INTO counttable (id, link_type, count, time, version) VALUES " ..
         "(:id, :link_type, 0, :time, 0) ON CONFLICT (id, link_type) DO UPDATE SET count = " ..
         "GREATEST(counttable.count - 1, 0), version = counttable.version + 1, time = :time",
      sqlite = "INSERT INTO counttable (id, link_type, count, time, version) VALUES " ..
         "(:id, :link_type, 0, :time, 0) ON CONFLICT (id, link_type) DO UPDATE SET count = " ..
         "MAX(counttable.count - 1, 0), version = counttable.version + 1, time = :time"}},
   add_node = {"INSERT INTO nodetable (type, version, time, data) VALUES " ..
      "(:type, 1, :time, :data)", data = "long text"},
   update_node = {"UPDATE nodetable SET version = 2, time = :time, data = :data WHERE " ..
      "id = :id AND type = :type", data = "long text"},
   delete_node = {"DELETE FROM nodetable WHERE id = :id AND type = :type"},
}
template_words = {list_limit = 10000, ids = ":other1, :other2"}

local random, sizes, shuffles, sums, family, history, history_pct
local bodies, inputs = {}, {}
operations.bodies, operations.inputs = bodies, inputs

-- The statements for the reading connection.
local READS = {get_links_list = true, get_more_links = true, count_link = true, get_node = true}

-- The statements of a session's connections, created at first use.
function operations.statements(writer, reader)
   local words, statements, multigets = {list_limit = sizes.list_limit}, {}, {}
   -- The statement for this number of ids.
   function statements.multiget(count)
      local found = multigets[count]
      if not found then
         local template = templates.multiget_link
         local ids = {}
         for i = 1, count do
            ids[i] = ":other" .. i
         end
         found = dyno.statement(reader, template[1], template, {ids = table.concat(ids, ", ")})
         multigets[count] = found
      end
      return found
   end
   for name, template in pairs(templates) do
      if name ~= "multiget_link" then
         local con = READS[name] and reader or writer
         statements[name] = dyno.statement(con, template[1], template, words)
      end
   end
   return statements
end

-- Who is chosen ---------------------------------------------------------------------------------

-- Zipf's exponents, and the percentage of accesses that follow the number of links.
local laws

local function set_laws()
   local function law(exponent, correlated)
      return {zipf = dyno.zipf(sizes.nodes, exponent), correlated = correlated}
   end
   laws = {
      read_links = law(0.8, 0.5),
      -- LinkBench reads the wrong setting.
      write_links = sizes.reference and law(0.8, 0.5) or law(0.741, 5),
      read_node = law(0.625),
      update_node = law(0.606),
   }
end

local function linked_id(law)
   local index = random:zipf(law.zipf) - 1
   local shuffle = random:chance(law.correlated) and shuffles.links or shuffles.uncorrelated
   return sizes.first + shuffle:at(index)
end

local function node_id(law)
   return sizes.first + shuffles.nodes:at(random:zipf(law.zipf) - 1)
end

local function any_type()
   return random:uniform(0, sizes.types - 1)
end

-- The largest distance of the other end after id1 for which the share `known` of the draws hits a
-- loaded link.
local function reach(id1, type_number, known)
   local degree = graph.degree(shuffles.links:from(id1 - sizes.first), sizes.nodes)
   return math.max(1, math.ceil(graph.links_of_type(degree, type_number, sizes) / known))
end

local function link_choice(law, known)
   local id1, type_number = linked_id(law), any_type()
   local id2 = id1 + random:uniform(0, reach(id1, type_number, known) - 1)
   return {id1 = id1, id2 = id2, link_type = graph.FIRST_TYPE + type_number}
end

local function text(median, most, repeats)
   local size = math.min(math.floor(random:lognormal(median, 1)), most)
   return random:text(size, size, repeats)
end

-- Reading links ---------------------------------------------------------------------------------

-- Truncated lists, in a ring buffer of this size.
local HISTORY = 2048

function inputs.get_links_list()
   if #history > 0 and random:chance(history_pct) then
      local old = history[random:uniform(1, #history)]
      return {id1 = old.id1, link_type = old.link_type, time = old.time, more = true}
   end
   return {id1 = linked_id(laws.read_links), link_type = graph.FIRST_TYPE + any_type(),
           place = random:uniform(1, HISTORY)}
end

-- After the newest time that Lua numbers represent exactly.
local ALWAYS = 9007199254740991

function bodies.get_links_list(s, list)
   local statement = list.more and s.get_more_links or s.get_links_list
   local result = statement:execute(list.id1, list.link_type, list.time or ALWAYS)
   if not list.more and result.nrows >= sizes.list_limit and history_pct > 0 then
      local last
      local row = result:fetch_row()
      while row do
         last, row = row, result:fetch_row()
      end
      local cut = {id1 = list.id1, link_type = list.link_type, time = tonumber(last[6])}
      history[#history < HISTORY and #history + 1 or list.place] = cut
   end
   result:free()
end

function inputs.count_link()
   return {id1 = linked_id(laws.read_links), link_type = graph.FIRST_TYPE + any_type()}
end

function bodies.count_link(s, link)
   s.count_link:row(link.id1, link.link_type)
end

-- From 1 to 127, geometric: 2.6 on average.
local function multiget_size()
   local size
   repeat
      size = 1 + math.floor(math.log(1 - random:real()) / math.log(1 - 0.382))
   until size < 128
   return size
end

function inputs.multiget_link()
   local id1, type_number = linked_id(laws.read_links), any_type()
   local range, count = reach(id1, type_number, 0.5), multiget_size()
   local ids, chosen = {}, {}
   for i = 1, count do
      local id2 = id1 + i - 1
      if range > count then
         repeat
            id2 = id1 + random:uniform(0, range - 1)
         until not chosen[id2]
         chosen[id2] = true
      end
      ids[i] = id2
   end
   return {id1 = id1, link_type = graph.FIRST_TYPE + type_number, ids = ids}
end

function bodies.multiget_link(s, link)
   s.multiget(#link.ids):execute(link.id1, link.link_type, unpack(link.ids)):free()
end

-- Writing links ---------------------------------------------------------------------------------

local function written_link(known)
   local link = link_choice(laws.write_links, known)
   link.data = text(sysbench.opt.link_bytes, graph.LINK_BYTES_MAX, graph.LINK_REPEATS)
   link.time = graph.milliseconds()
   return link
end

function inputs.add_link()
   return written_link(0.05)
end

function inputs.update_link()
   return written_link(0.9)
end

function inputs.delete_link()
   local link = link_choice(laws.write_links, 0.9)
   link.time = graph.milliseconds()
   return link
end

-- Inserts a link, or locks the existing one. Returns whether it is new, and whether it was visible
-- before.
local function insert_or_lock(s, link)
   local changed = s.insert_link:change(link.id1, link.id2, link.link_type, link.data, link.time)
   if changed == 1 then
      return true, false
   elseif family == "mysql" then
      -- Two if the link became visible, zero if it was visible.
      return false, changed == 0
   end
   local visibility = s.lock_link:row(link.id1, link.id2, link.link_type)
   return false, visibility == "1"
end

local function write_link(s, link)
   local new, visible = insert_or_lock(s, link)
   if not visible then
      s.count_more:execute(link.id1, link.link_type, link.time)
      sums.visible:add(1)
   end
   if new then
      sums.links:add(1)
   else
      s.update_link:execute(link.data, link.time, link.id1, link.id2, link.link_type)
   end
end
bodies.add_link, bodies.update_link = write_link, write_link

function bodies.delete_link(s, link)
   if s.lock_link:row(link.id1, link.id2, link.link_type) == "1" then
      s.hide_link:execute(link.id1, link.id2, link.link_type)
      s.count_less:execute(link.id1, link.link_type, link.time)
      sums.visible:add(-1)
   end
end

-- Nodes -----------------------------------------------------------------------------------------

local function node_data()
   return text(sysbench.opt.node_bytes, graph.NODE_BYTES_MAX, graph.NODE_REPEATS)
end

function inputs.get_node()
   return {id = node_id(laws.read_node)}
end

function bodies.get_node(s, node)
   s.get_node:row(node.id)
end

function inputs.add_node()
   return {data = node_data(), time = os.time()}
end

function bodies.add_node(s, node)
   s.add_node:execute(graph.NODE_TYPE, node.time, node.data)
   sums.nodes:add(1)
end

function inputs.update_node()
   return {id = node_id(laws.update_node), data = node_data(), time = os.time()}
end

function bodies.update_node(s, node)
   s.update_node:execute(node.time, node.data, node.id, graph.NODE_TYPE)
end

function inputs.delete_node()
   return {id = random:uniform(sizes.first, sizes.last)}
end

function bodies.delete_node(s, node)
   sums.nodes:add(-s.delete_node:change(node.id, graph.NODE_TYPE))
end

-- Prepares a session for a connection.
function operations.begin(con, its_sizes, its_sums)
   random, sizes, sums = dyno.random, its_sizes, its_sums
   family = dyno.family(con)
   shuffles = graph.shuffles(sizes)
   history, history_pct = {}, sysbench.opt.history_pct
   set_laws()
end

return operations
