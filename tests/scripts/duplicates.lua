-- Offers each key twice.
sysbench.cmdline.options = {
   policy = {"What comes of a duplicate key", "fail"},
}

local insert = dyno.operation("insert", {tries = 2})
local rows = dyno.sum("rows")

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE twice (id INTEGER NOT NULL PRIMARY KEY)")
end

function ledger()
   local con = sysbench.sql.driver():connect()
   local found = con:query_row("SELECT COUNT(*) FROM twice")
   con:disconnect()
   return {rows = found}
end

local con, number, tries = nil, 0, 0

function thread_init()
   con = sysbench.sql.driver():connect()
   insert.duplicate_key = sysbench.opt.policy
end

local function body()
   tries = tries + 1
   -- A retry finds a different key.
   local key = sysbench.opt.policy == "retry" and math.ceil(tries / 2) or math.ceil(number / 2)
   con:query("INSERT INTO twice VALUES (" .. key .. ")")
   rows:add(1)
end

function event()
   number = number + 1
   insert:transaction(con, body)
end
