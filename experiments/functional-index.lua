-- A shop's products, and the mean price of those made in a given month. --form selects the form of
-- the query, --index the index, and --write adds rows instead.
sysbench.cmdline.options = {
   rows = {"How many products there are", 99015},
   index = {"none, column, expression or generated", "none"},
   form = {"function, range or generated: what stands in WHERE", "function"},
   write = {"Add rows instead of asking", false},
}

local INSERT = "INSERT INTO products (id, description, price, create_time) VALUES "
-- One year, so that every form of the query selects the same rows for October.
local BEGIN, DAYS = "2019-01-01", 365
local con, postgres

local function month(column)
   return postgres and ("EXTRACT(MONTH FROM %s)"):format(column) or ("MONTH(%s)"):format(column)
end

local function connect()
   local driver = sysbench.sql.driver()
   postgres = driver:name() == "pgsql"
   return driver:connect()
end

local function moment()
   local day, second = sysbench.rand.uniform(0, DAYS - 1), sysbench.rand.uniform(0, 86399)
   local text = postgres and "TIMESTAMP '%s' + INTERVAL '%d days %d seconds'"
      or "'%s' + INTERVAL %d DAY + INTERVAL %d SECOND"
   return text:format(BEGIN, day, second)
end

local function row(id)
   return ("(%d, '%s', %d.%02d, %s)"):format(id, sysbench.rand.string(("@"):rep(200)),
      sysbench.rand.uniform(1, 999), sysbench.rand.uniform(0, 99), moment())
end

local INDEXES = {
   none = {},
   column = {"CREATE INDEX by_time ON products (create_time)"},
   expression = {"CREATE INDEX by_month ON products ((%s))"},
   generated = {"ALTER TABLE products ADD COLUMN month INTEGER GENERATED ALWAYS AS (%s) STORED",
                "CREATE INDEX by_month ON products (month)"},
}

function prepare()
   local con = connect()
   con:query([[CREATE TABLE products (id INTEGER PRIMARY KEY, description TEXT,
      price DECIMAL(8,2), create_time TIMESTAMP NOT NULL)]])
   con:bulk_insert_init(INSERT)
   for id = 1, sysbench.opt.rows do con:bulk_insert_next(row(id)) end
   con:bulk_insert_done()
   for _, statement in ipairs(INDEXES[sysbench.opt.index]) do
      con:query((statement:gsub("%%s", month("create_time"))))
   end
   -- Without this the planner has no statistics.
   con:query(postgres and "ANALYZE products" or "ANALYZE TABLE products")
end

local number = 0

function thread_init(thread)
   con = connect()
   number = sysbench.opt.rows + thread * 100000000
end

function event()
   if sysbench.opt.write then
      number = number + 1
      con:query(INSERT .. row(number))
   elseif sysbench.opt.form == "range" then
      con:query([[SELECT AVG(price) FROM products
         WHERE create_time >= '2019-10-01' AND create_time < '2019-11-01']])
   elseif sysbench.opt.form == "generated" then
      con:query("SELECT AVG(price) FROM products WHERE month = 10")
   else
      con:query(("SELECT AVG(price) FROM products WHERE %s = 10"):format(month("create_time")))
   end
end

function cleanup()
   connect():query("DROP TABLE IF EXISTS products")
end
