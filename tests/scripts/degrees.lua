-- Prints how many links linkbench would load, with the correct split over types and with the
-- faulty one.

local graph = require("linkbench_common")

local function degrees()
   local sizes = graph.sizes()
   local linked = 0
   while graph.degree(linked, sizes.nodes) > 0 do
      linked = linked + 1
   end
   sizes.reference = false
   local right = graph.loaded(sizes)
   sizes.reference = true
   print(sizes.nodes, linked, graph.degree(0, sizes.nodes), right, (graph.loaded(sizes)))
   for _, shuffle in pairs(graph.shuffles(sizes)) do
      for place = 0, sizes.nodes - 1, math.max(1, math.floor(sizes.nodes / 50000)) do
         local there, back = shuffle:at(place), shuffle:from(place)
         if shuffle:from(there) ~= place or shuffle:at(back) ~= place then
            error("a shuffle is not turned back at " .. place)
         end
      end
   end
end

sysbench.cmdline.commands = {check = {degrees}}
