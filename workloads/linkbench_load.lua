-- LinkBench-like social graph: the initial rows. Nodes are divided into parts with separate
-- streams, so that the rows do not depend on who loads them.

local graph = require("linkbench_common")

local load = {}

-- Nodes per part.
local PART = 2048

-- Calls act(id, stream) for the nodes in a session's parts.
local function each_node(what, sizes, tid, sessions, act)
   -- The last part first, as in LinkBench.
   local last = math.floor((sizes.nodes - 1) / PART)
   for part = last, 0, -1 do
      if part % sessions == tid then
         local stream = dyno.stream("linkbench", what, part)
         for place = part * PART, math.min((part + 1) * PART, sizes.nodes) - 1 do
            act(sizes.first + place, stream, place)
         end
      end
   end
end

local function nodes(con, sizes, tid, sessions)
   local rows = dyno.loader(con, "nodetable", {"id", "type", "version", "time", "data"})
   local now, median = os.time(), sysbench.opt.node_bytes
   each_node("nodes", sizes, tid, sessions, function(id, stream)
      local size = math.min(math.floor(stream:lognormal(median, 1)), graph.NODE_BYTES_MAX)
      rows:int(id):int(graph.NODE_TYPE):int(1):int(now)
      rows:random(stream, size, size, graph.NODE_REPEATS):row()
   end)
   rows:finish()
end

local function links(con, sizes, tid, sessions)
   local rows = dyno.loader(con, "linktable",
      {"id1", "id2", "link_type", "visibility", "data", "time", "version"})
   local shuffle, median = graph.shuffles(sizes).links, sysbench.opt.link_bytes
   -- Over the previous fifty days.
   local newest = graph.milliseconds()
   each_node("links", sizes, tid, sessions, function(id, stream, place)
      local degree = graph.degree(shuffle:from(place), sizes.nodes)
      for type_number = 0, sizes.types - 1 do
         for j = 0, graph.links_of_type(degree, type_number, sizes) - 1 do
            local size = math.min(math.floor(stream:lognormal(median, 1)), graph.LINK_BYTES_MAX)
            rows:int(id):int(id + j):int(graph.FIRST_TYPE + type_number):int(1)
            rows:random(stream, size, size, graph.LINK_REPEATS)
            rows:int(newest - stream:uniform(0, 4294967295)):int(0):row()
         end
      end
   end)
   rows:finish()
end

local function counts(con, sizes, tid, sessions)
   local rows = dyno.loader(con, "counttable", {"id", "link_type", "count", "time", "version"})
   local shuffle, now = graph.shuffles(sizes).links, graph.milliseconds()
   each_node("counts", sizes, tid, sessions, function(id, _, place)
      local degree = graph.degree(shuffle:from(place), sizes.nodes)
      for type_number = 0, sizes.types - 1 do
         local count = graph.links_of_type(degree, type_number, sizes)
         if count > 0 then
            rows:int(id):int(graph.FIRST_TYPE + type_number):int(count):int(now):int(0):row()
         end
      end
   end)
   rows:finish()
end

-- Loads the rows of session `tid`.
function load.rows(con, sizes, tid, sessions)
   nodes(con, sizes, tid, sessions)
   links(con, sizes, tid, sessions)
   counts(con, sizes, tid, sessions)
end

-- The total number of rows.
function load.row_count(sizes)
   local link_rows, count_rows = graph.loaded(sizes)
   return sizes.nodes + link_rows + count_rows
end

return load
