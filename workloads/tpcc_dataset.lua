-- TPC-C-like order entry: the description of the tables' contents, stored with them and reported
-- with each run; the constants of the non-uniform draws; and the effects of the options.

local tpcc = require("tpcc_common")
local checks = require("tpcc_check")

local dataset = {}

-- The version of the row generator: changes when the same options produce other rows.
local GENERATOR = 1
-- The constant of the load's last names. A run's constant differs as clause 2.1.6.1 requires.
dataset.C_LOAD = 123
-- Up to this number of warehouses the load is verified by default.
local VERIFIED_MAX = 10

local LEVELS = {RC = "READ COMMITTED", RR = "REPEATABLE READ", SER = "SERIALIZABLE"}

-- Rows ------------------------------------------------------------------------------------------

-- The rows that all sessions have loaded of each table of each set.
local function counters(sizes)
   return dyno.shared("tpcc_rows", sizes.sets * #tpcc.tables)
end

-- A function that counts rows of a set's table, by its index among the tables.
function dataset.counter(sizes)
   local rows = counters(sizes)
   return function(set, place, count)
      rows:add(count, (set - 1) * #tpcc.tables + place)
   end
end

-- The rows of a set by table name; of all sets if none is given.
local function rows_of(sizes, set)
   local rows, found = counters(sizes), {}
   for each = set or 1, set or sizes.sets do
      for place, definition in ipairs(tpcc.tables) do
         found[definition[1]] = (found[definition[1]] or 0)
            + rows:get((each - 1) * #tpcc.tables + place)
      end
   end
   return found
end

-- The number of loaded rows.
function dataset.loaded(sizes)
   local all = 0
   for _, count in pairs(rows_of(sizes)) do
      all = all + count
   end
   return all
end

-- Verifies the load: the rows of each table, and all conditions. Returns the number of each, nil if
-- switched off.
function dataset.verify(con, sizes)
   local asked = sysbench.opt.verify
   local large = sizes.sets * sizes.warehouses / sizes.shrink > VERIFIED_MAX
   if asked == "off" or asked == "auto" and large then
      return nil
   end
   local conditions = dyno.conditions {only_failed = true}
   for set = 1, sizes.sets do
      checks.set(con, set, sizes, sysbench.opt.profile, conditions, rows_of(sizes, set))
   end
   local good, why = pcall(conditions.finish, conditions)
   if not good then
      error(("the load is wrong: %s (see above). Clean the tables up and prepare them again; if " ..
         "that does not help, the server or Dyno has a fault")
         :format(tostring(why)), 0)
   end
   return conditions.all
end

-- Description of the tables -----------------------------------------------------------------------

-- Stores a description of the loaded data.
function dataset.keep(con, sizes)
   local opt, counts, all = sysbench.opt, {}, rows_of(sizes)
   for place, definition in ipairs(tpcc.tables) do
      counts[place] = ("%s %.0f"):format(definition[1], all[definition[1]])
   end
   local beside = {{"foreign_keys", opt.use_fk}, {"history_key", opt.force_pk}}
   if dyno.family(con) == "mysql" then
      beside[3] = {"engine", opt.mysql_storage_engine}
   end
   dyno.dataset.keep(con, "tpcc", {
      {"generator", GENERATOR}, {"seed", dyno.seed}, {"scale", sizes.warehouses},
      {"tables", sizes.sets}, {"shrink", sizes.shrink}, {"profile", opt.profile},
      {"data_compressibility", opt.data_compressibility}, {"c_255", dataset.C_LOAD},
      {"rows", table.concat(counts, ", ")},
   }, beside)
end

-- Constants ---------------------------------------------------------------------------------------

-- The load's constant plus 1, for all sessions of a run; 0 before it was read.
local kept_constant = dyno.shared("tpcc_c_load", 1, "each")

local function load_constant()
   local kept = kept_constant:get()
   return kept > 0 and kept - 1 or dataset.C_LOAD
end

-- The constants of the non-uniform draws, the same in all sessions of a run.
function dataset.constants()
   local stream = dyno.stream("tpcc", "constants")
   local delta
   repeat
      delta = stream:uniform(65, 119)
   until delta ~= 96 and delta ~= 112
   local loaded = load_constant()
   return {name = loaded + delta <= 255 and loaded + delta or loaded - delta,
           customer = stream:uniform(0, 1023), item = stream:uniform(0, 8191)}
end

-- Facts of a run ----------------------------------------------------------------------------------

function dataset.isolation(con)
   return dyno.family(con) == "sqlite" and LEVELS.SER or LEVELS[sysbench.opt.trx_level]
end

-- Whether transactions are dealt from a deck instead of drawn.
function dataset.deals()
   local opt = sysbench.opt
   return opt.mix == "deck" or opt.mix == "auto" and opt.profile ~= "reference"
end

-- Reports the tables' properties, the constants, and the effects of the options. Reads the load's
-- constant for the sessions.
function dataset.report(con, sizes)
   local opt, reference = sysbench.opt, sysbench.opt.profile == "reference"
   local kept = dyno.dataset.tell(con, "tpcc",
      {scale = opt.scale, shrink = opt.shrink, profile = opt.profile})
   local constant = kept and tonumber(kept["dataset.c_255"])
   if constant and constant >= 0 and constant <= 255 and constant % 1 == 0 then
      kept_constant:set(constant + 1)
   end
   dyno.fact("nurand.c_255_load", reference and "anew at each draw" or load_constant())
   local drawn = dataset.constants()
   for _, each in ipairs {{"c_255", drawn.name}, {"c_1023", drawn.customer},
                          {"c_8191", drawn.item}} do
      dyno.fact("nurand." .. each[1], reference and "anew at each draw" or each[2], true)
   end
   -- With one warehouse no other exists, and the reference has no remote lines.
   local others = sizes.warehouses > 1 and not reference
   dyno.fact("mix", dataset.deals() and "deck" or "draw")
   dyno.fact("isolation", dataset.isolation(con))
   dyno.fact("remote_lines_pct", others and opt.remote_lines_pct or 0)
   dyno.fact("remote_payment_pct", others and opt.remote_payment_pct or 0)
end

return dataset
