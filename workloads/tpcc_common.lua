-- TPC-C-like order entry: the options, the constants, the nine tables. See tpcc.lua.

local foreign_keys = require("foreign_keys")

local tpcc = {}

sysbench.cmdline.options = {
   scale = {"Warehouses in each set of tables, about 100 MB each", 1},
   tables = {"Sets of the nine tables; each transaction picks one", 1},
   use_fk = {"Add the ten foreign keys", true},
   force_pk = {"Give history a primary key, as clusters require", false},
   trx_level = {"Isolation level: RC, RR or SER", "RR"},
   profile = {"standard; reference: repeat sysbench-tpcc, including its faults", "standard"},
   purge = {"Also delete old orders and payments, one transaction of 24, so that tables keep " ..
            "their size", false},
   mix = {"deck: exact shares, 10 10 1 1 1 of 23 in random order; draw: independent draws; " ..
          "auto: draw in the reference profile, else deck", "auto"},
   home_binding = {"client: each session keeps one warehouse; none: any warehouse", "none"},
   think_keying = {"standard: users type and think as the specification says; off: they do " ..
                   "neither", "off"},
   remote_lines_pct = {"Percentage of order lines supplied by another warehouse", 1},
   remote_payment_pct = {"Percentage of payments by customers of another warehouse", 15},
   byname_pct = {"Percentage of customers selected by last name", 60},
   rollback_pct = {"Percentage of new orders with an unknown item, which are rolled back", 1},
   max_retries = {"Retries of a transaction after a deadlock", 10},
   data_compressibility = {"Share of the texts' bytes that repeats, 0 to 1", 0},
   verify = {"Count and check the rows after loading: on, off; auto: up to 10 warehouses", "auto"},
   shrink = {"Divide items, customers and orders by this: for trials, not for real figures", 1},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   mysql_table_options = {"Text to append to CREATE TABLE on MySQL and MariaDB", ""},
}

-- The values of the options, checked.
function tpcc.sizes()
   local whole, number, one_of = dyno.option.whole, dyno.option.number, dyno.option.one_of
   local shrink = whole("shrink", 1, 100)
   for _, name in ipairs {"remote_lines_pct", "remote_payment_pct", "byname_pct", "rollback_pct"} do
      number(name, 0, 100)
   end
   one_of("mix", {"auto", "deck", "draw"})
   local reference = one_of("profile", {"standard", "reference"}) == "reference"
   if reference and sysbench.opt.purge then
      error("--purge is not available in the reference profile: it would violate the conditions", 0)
   end
   one_of("home_binding", {"none", "client"})
   one_of("think_keying", {"off", "standard"})
   one_of("trx_level", {"RC", "RR", "SER"})
   one_of("verify", {"auto", "on", "off"})
   whole("max_retries", 0, 1000)
   number("data_compressibility", 0, 1)
   return {
      warehouses = whole("scale", 1, 100000),
      sets = whole("tables", 1, 1000),
      shrink = shrink,
      items = math.floor(100000 / shrink),
      customers = math.floor(3000 / shrink),
      delivered = math.floor(2100 / shrink),
   }
end

local SYLLABLES = {[0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION",
                   "EING"}

-- The last name of a number from 0 to 999.
function tpcc.last_name(number)
   local digit = math.floor
   return SYLLABLES[digit(number / 100)] .. SYLLABLES[digit(number / 10) % 10]
      .. SYLLABLES[number % 10]
end

-- By name: columns with their types, then the primary key.
local function addressed(prefix)
   return (("P_street_1 {text}(20), P_street_2 {text}(20), P_city {text}(20), P_state " ..
      "{chars}(2), P_zip {chars}(9)"):gsub("P", prefix))
end

local districts = {}
for d = 1, 10 do
   districts[d] = ("s_dist_%02d {chars}(24)"):format(d)
end

-- In order of creation and loading: parents first.
tpcc.tables = {
   {"item", "i_id {int} NOT NULL, i_im_id {int}, i_name {text}(24), i_price {money5}, " ..
            "i_data {text}(50)", "i_id"},
   {"warehouse", "w_id {int} NOT NULL, w_name {text}(10), " .. addressed("w") ..
                 ", w_tax {tax}, w_ytd {money}", "w_id"},
   {"district", "d_id {small} NOT NULL, d_w_id {int} NOT NULL, d_name {text}(10), " ..
                addressed("d") .. ", d_tax {tax}, d_ytd {money}, d_next_o_id {int}",
    "d_w_id, d_id"},
   {"customer", "c_id {int} NOT NULL, c_d_id {small} NOT NULL, c_w_id {int} NOT NULL, " ..
                "c_first {text}(16), c_middle {chars}(2), c_last {text}(16), " .. addressed("c") ..
                ", c_phone {chars}(16), c_since {time}, c_credit {chars}(2), " ..
                "c_credit_lim {money}, c_discount {tax}, c_balance {money}, " ..
                "c_ytd_payment {money}, c_payment_cnt {int}, c_delivery_cnt {int}, " ..
                "c_data {text}(500)", "c_w_id, c_d_id, c_id"},
   {"history", "{history_key}h_c_id {int}, h_c_d_id {small}, h_c_w_id {int}, h_d_id {small}, " ..
               "h_w_id {int}, h_date {time}, h_amount {money}, h_data {text}(24)"},
   {"orders", "o_id {int} NOT NULL, o_d_id {small} NOT NULL, o_w_id {int} NOT NULL, " ..
              "o_c_id {int}, o_entry_d {time}, o_carrier_id {small}, o_ol_cnt {small}, " ..
              "o_all_local {small}", "o_w_id, o_d_id, o_id"},
   {"stock", "s_i_id {int} NOT NULL, s_w_id {int} NOT NULL, s_quantity {int}, " ..
             table.concat(districts, ", ") ..
             ", s_ytd {key}, s_order_cnt {int}, s_remote_cnt {int}, s_data {text}(50)",
    "s_w_id, s_i_id"},
   {"new_orders", "no_o_id {int} NOT NULL, no_d_id {small} NOT NULL, no_w_id {int} NOT NULL",
    "no_w_id, no_d_id, no_o_id"},
   {"order_line", "ol_o_id {int} NOT NULL, ol_d_id {small} NOT NULL, ol_w_id {int} NOT NULL, " ..
                  "ol_number {small} NOT NULL, ol_i_id {int}, ol_supply_w_id {int}, " ..
                  "ol_delivery_d {time}, ol_quantity {small}, ol_amount {money}, " ..
                  "ol_dist_info {chars}(24)", "ol_w_id, ol_d_id, ol_o_id, ol_number"},
}

-- Name, table, columns.
tpcc.indexes = {
   {"idx_customer", "customer", "c_w_id, c_d_id, c_last, c_first"},
   {"idx_orders", "orders", "o_w_id, o_d_id, o_c_id, o_id"},
}

-- Indexes only needed by foreign keys.
tpcc.fk_indexes = {
   {"fkey_stock_2", "stock", "s_i_id"},
   {"fkey_order_line_2", "order_line", "ol_supply_w_id, ol_i_id"},
   {"fkey_history_1", "history", "h_c_w_id, h_c_d_id, h_c_id"},
   {"fkey_history_2", "history", "h_w_id, h_d_id"},
}

-- Child, columns, parent, columns.
tpcc.references = {
   {"new_orders", "no_w_id, no_d_id, no_o_id", "orders", "o_w_id, o_d_id, o_id"},
   {"orders", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id"},
   {"customer", "c_w_id, c_d_id", "district", "d_w_id, d_id"},
   {"history", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"},
   {"history", "h_w_id, h_d_id", "district", "d_w_id, d_id"},
   {"district", "d_w_id", "warehouse", "w_id"},
   {"order_line", "ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"},
   {"order_line", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"},
   {"stock", "s_w_id", "warehouse", "w_id"},
   {"stock", "s_i_id", "item", "i_id"},
}

-- The words of DDL for a connection's server.
function tpcc.words(con)
   local family = dyno.family(con)
   local keys = {
      mysql = "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ",
      postgres = "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ",
      sqlite = "id INTEGER PRIMARY KEY, ",
   }
   local suffix = ""
   if family == "mysql" then
      suffix = " ENGINE=" .. sysbench.opt.mysql_storage_engine .. " "
         .. sysbench.opt.mysql_table_options
   end
   return {
      history_key = sysbench.opt.force_pk and keys[family] or "",
      money5 = "{money}",
      tax = family == "sqlite" and "REAL" or "DECIMAL(4,4)",
      suffix = suffix,
   }
end

-- The statements that create a set's tables.
function tpcc.create(con, set)
   local family, words = dyno.family(con), tpcc.words(con)
   local fk = sysbench.opt.use_fk
   for _, definition in ipairs(tpcc.tables) do
      local name, columns, key = unpack(definition)
      if key then
         columns = columns .. ", PRIMARY KEY (" .. key .. ")"
      end
      if fk and family == "sqlite" then
         for _, reference in ipairs(tpcc.references) do
            if reference[1] == name then
               columns = ("%s, FOREIGN KEY (%s) REFERENCES %s%d (%s)"):format(columns,
                  reference[2], reference[3], set, reference[4])
            end
         end
      end
      con:query(dyno.render(con, ("CREATE TABLE %s%d (%s){suffix}"):format(name, set, columns),
         words))
   end
end

local function reference_name(set, number)
   return ("fk_%s_%d_%d"):format(tpcc.references[number][1], number, set)
end

-- Adds a set's tables with their columns to a list.
function tpcc.add_made(made, set)
   for _, definition in ipairs(tpcc.tables) do
      local columns = definition[2]:gsub("{history_key}", "id?, ")
      made[#made + 1] = {definition[1] .. set, dyno.column_names(columns)}
   end
end

-- Indexes and foreign keys, once the rows are loaded.
function tpcc.constrain(con, set)
   local fk = sysbench.opt.use_fk
   local indexes = {tpcc.indexes, fk and tpcc.fk_indexes or {}}
   for _, list in ipairs(indexes) do
      for _, index in ipairs(list) do
         con:query(("CREATE INDEX %s_%d ON %s%d (%s)"):format(index[1], set, index[2], set,
            index[3]))
      end
   end
   if fk and dyno.family(con) ~= "sqlite" then
      local references = {}
      for number, reference in ipairs(tpcc.references) do
         references[number] = {reference[1] .. set, reference[2], reference[3] .. set, reference[4],
                               reference_name(set, number)}
      end
      foreign_keys.add(con, references)
   end
end

-- Statistics for the optimiser; on PostgreSQL also the work that autovacuum would do during a run.
function tpcc.settle(con, sets)
   local family = dyno.family(con)
   for set = 1, family == "sqlite" and 0 or sets do
      for _, definition in ipairs(tpcc.tables) do
         local verb = family == "postgres" and "VACUUM ANALYZE " or "ANALYZE TABLE "
         con:query(verb .. definition[1] .. set)
      end
   end
   if family == "postgres" then
      -- Requires a superuser; without it the run begins with more dirty pages.
      pcall(con.query, con, "CHECKPOINT")
   elseif family == "sqlite" then
      con:query("ANALYZE")
   end
end

-- Fails unless all tables of all sets can be read.
function tpcc.must_be_there(con, sizes)
   for set = 1, sizes.sets do
      for _, definition in ipairs(tpcc.tables) do
         local name = definition[1] .. set
         local good, why = pcall(con.query, con, ("SELECT 1 FROM %s WHERE 1 = 0"):format(name))
         if not good then
            error(("%s, of set %d of --tables %d, cannot be read: prepare the tables, or give " ..
               "the --tables that they were prepared with (%s)"):format(name, set, sizes.sets,
               tostring(why)), 0)
         end
      end
   end
end

-- The number of a set's indexes and foreign keys, by names that end with its number: first the
-- indexes that every set has, then those only needed by foreign keys.
local CATALOGUE = {
   mysql = {
      indexes = "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE " ..
         "table_schema = DATABASE() AND index_name IN (%s)",
      references = "SELECT COUNT(*) FROM information_schema.table_constraints WHERE " ..
         "table_schema = DATABASE() AND constraint_type = 'FOREIGN KEY' AND " ..
         "constraint_name IN (%s)",
   },
   postgres = {
      indexes = "SELECT COUNT(*) FROM pg_indexes WHERE " ..
         "schemaname = ANY (current_schemas(false)) AND indexname IN (%s)",
      references = "SELECT COUNT(*) FROM pg_constraint WHERE contype = 'f' AND " ..
         "connamespace::regnamespace::text = ANY (current_schemas(false)::text[]) AND " ..
         "conname IN (%s)",
   },
   sqlite = {
      indexes = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name IN (%s)",
   },
}

-- Fails if a load was interrupted while it created indexes and foreign keys. Without the indexes
-- for foreign keys it was prepared without any, or ended before the first.
local function must_be_constrained(con, set)
   local catalogue = CATALOGUE[dyno.family(con)]
   local function count(query, names)
      return tonumber((con:query_row(query:format("'" .. table.concat(names, "', '") .. "'"))))
   end
   local function of(list)
      local names = {}
      for number, index in ipairs(list) do
         names[number] = ("%s_%d"):format(index[1], set)
      end
      return count(catalogue.indexes, names), #names
   end
   local found, wanted = of(tpcc.indexes)
   local helping, helpers = of(tpcc.fk_indexes)
   if helping > 0 then
      found, wanted = found + helping, wanted + helpers
      if catalogue.references then
         local names = {}
         for number in ipairs(tpcc.references) do
            names[number] = reference_name(set, number)
         end
         found, wanted = found + count(catalogue.references, names), wanted + #names
      end
   end
   if found ~= wanted then
      error(("set %d has %d of its %d indexes and foreign keys: the load did not " ..
         "finish; clean the tables up and prepare them again"):format(set, found, wanted), 0)
   end
end

-- Fails unless the tables match the options and are complete.
function tpcc.must_fit(con, sizes)
   tpcc.must_be_there(con, sizes)
   for set = 1, sizes.sets do
      local function number(query)
         return tonumber((con:query_row(dyno.render(con, query, {n = set,
            last = sizes.customers})))) or 0
      end
      local function of(what, query, wanted)
         local found = number(query)
         if found ~= wanted then
            error(("the tables have %d %s instead of %d: give the --scale, --tables and " ..
               "--shrink that they were prepared with"):format(found, what, wanted), 0)
         end
      end
      of("warehouses", "SELECT MAX(w_id) FROM warehouse{n}", sizes.warehouses)
      of("items", "SELECT MAX(i_id) FROM item{n}", sizes.items)
      -- The lines of a district are loaded last, and those of its last order at the end.
      local loaded = number("SELECT COUNT(*) FROM district{n} WHERE EXISTS (SELECT 1 FROM " ..
         "order_line{n} WHERE ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id = {last})")
      if loaded ~= 10 * sizes.warehouses then
         error(("the tables of set %d are not completely loaded: %d of %d districts are there; " ..
            "clean them up and prepare them again"):format(set, loaded, 10 * sizes.warehouses),
            0)
      end
      must_be_constrained(con, set)
      -- The reference loads the same order of customers into all districts.
      local alike = number("SELECT COUNT(*) FROM orders{n} a JOIN orders{n} b ON b.o_w_id = 1 " ..
         "AND b.o_d_id = 2 AND b.o_id = a.o_id AND b.o_c_id = a.o_c_id WHERE a.o_w_id = 1 AND " ..
         "a.o_d_id = 1 AND a.o_id <= 10") == 10
      local profile = alike and "reference" or "standard"
      if profile ~= sysbench.opt.profile then
         error(("the tables were prepared with --profile %s: give the same, or prepare them again")
            :format(profile), 0)
      end
   end
end

-- Drops a set's existing tables.
function tpcc.drop(con, set)
   for number = #tpcc.tables, 1, -1 do
      con:query(("DROP TABLE IF EXISTS %s%d"):format(tpcc.tables[number][1], set))
   end
end

return tpcc
