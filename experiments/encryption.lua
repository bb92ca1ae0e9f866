-- Rows with a secret: kept as text, or encrypted in each statement with AES (MariaDB, MySQL; on
-- PostgreSQL with pgcrypto). One event writes a row and reads another.
sysbench.cmdline.options = {
   rows = {"How many rows the table has", 10000},
   column = {"How the secret is kept: plain or aes", "plain"},
}

local KEY = "a key that is no secret"
local con, postgres

local function hidden(text)
   if sysbench.opt.column ~= "aes" then return ("'%s'"):format(text) end
   if postgres then return ("pgp_sym_encrypt('%s', '%s')"):format(text, KEY) end
   return ("AES_ENCRYPT('%s', '%s')"):format(text, KEY)
end

local function shown()
   if sysbench.opt.column ~= "aes" then return "secret" end
   local call = postgres and "pgp_sym_decrypt(secret, '%s')" or "AES_DECRYPT(secret, '%s')"
   return call:format(KEY)
end

local function secret()
   return sysbench.rand.string("####-####-####-####")
end

local function connect()
   local driver = sysbench.sql.driver()
   postgres = driver:name() == "pgsql"
   return driver:connect()
end

function prepare()
   local con = connect()
   local aes = sysbench.opt.column == "aes"
   local bytes = postgres and (aes and "BYTEA" or "VARCHAR(200)") or "VARBINARY(200)"
   if postgres and aes then con:query("CREATE EXTENSION IF NOT EXISTS pgcrypto") end
   con:query(([[CREATE TABLE cards (id INTEGER PRIMARY KEY, owner VARCHAR(60) NOT NULL,
      secret %s NOT NULL)]]):format(bytes))
   con:bulk_insert_init("INSERT INTO cards (id, owner, secret) VALUES")
   for id = 1, sysbench.opt.rows do
      local owner = sysbench.rand.string("@@@@@@@@@@@@@@@@@@@@")
      con:bulk_insert_next(("(%d, '%s', %s)"):format(id, owner, hidden(secret())))
   end
   con:bulk_insert_done()
end

function thread_init() con = connect() end

function event()
   local rows = sysbench.opt.rows
   local write, read = sysbench.rand.uniform(1, rows), sysbench.rand.uniform(1, rows)
   con:query("BEGIN")
   con:query(("UPDATE cards SET secret = %s WHERE id = %d"):format(hidden(secret()), write))
   con:query(("SELECT owner, %s FROM cards WHERE id = %d"):format(shown(), read))
   con:query("COMMIT")
end

function cleanup()
   connect():query("DROP TABLE IF EXISTS cards")
end
