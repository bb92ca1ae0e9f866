-- Of three pieces of work, the third meets a conflict at every attempt.
sysbench.cmdline.options = {
   catches = {"Meet an error that no other try mends instead, and go on", false},
}

local work = dyno.operation("work", {tries = 3})

local CONFLICT = {
   mysql = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'a deadlock'",
   postgres = "DO $$ BEGIN RAISE 'a deadlock' USING ERRCODE = '40P01'; END $$",
}
local con, holder, tries

function thread_init()
   con, tries = sysbench.sql.driver():connect(), 0
   holder = sysbench.sql.driver():connect()
   if dyno.family(con) == "sqlite" then
      con:query("PRAGMA busy_timeout = 1")
   end
end

local begun = 0

local function body(meets)
   con:query("SELECT 1")
   if meets and sysbench.opt.catches then
      con:query("SELECT nothing FROM nowhere")
   elseif meets then
      con:query(CONFLICT[dyno.family(con)])
   end
end

function event()
   begun = begun + 1
   local meets = begun % 3 == 0
   -- A SQLite file has one writer.
   local locked = meets and not sysbench.opt.catches and dyno.family(con) == "sqlite"
   if locked then
      holder:query("BEGIN IMMEDIATE")
   end
   local ok, done = pcall(work.transaction, work, con, body, meets)
   if locked then
      holder:query("ROLLBACK")
   end
   if not ok then
      assert(sysbench.opt.catches, done)
      con:query("ROLLBACK")
   else
      assert(done == (not meets or nil))
   end
end
