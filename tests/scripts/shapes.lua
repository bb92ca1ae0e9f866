-- An event that pauses and sends one statement, with options for the shape that a test needs.

sysbench.cmdline.options = {
  pause = {"how long an event pauses, seconds", 0.004},
  slow_start = {"for so many seconds events pause four times as long", 0},
  fast_start = {"for so many seconds events pause a quarter as long", 0},
  growth = {"by so many pauses an event grows in a second", 0},
  step_at = {"from this second on events pause `step` times as long; 0: never", 0},
  step = {"see step_at", 1},
  dip_every = {"every so many seconds there is a dip; 0: never", 0},
  dip_for = {"how long a dip lasts, seconds", 1},
  dip = {"so many times as long events pause in a dip", 3},
  cpu = {"CPU time that an event takes from the client, seconds", 0},
  block = {"every so manieth event blocks its worker; 0: none", 0},
  block_for = {"for so long, seconds", 0.3},
  uneven = {"every other session pauses so many times as long", 1},
  fail_every = {"every so manieth event begins with an error that is ignored", 0},
  statements = {"statements of an event", 1},
  reads = {"1: statements read a row of the table that prepare makes", 0},
  writes = {"1: statements change a row of that table", 0},
  same_key = {"1: it is always the same row", 0},
  rolls_back = {"1: each event is a transaction that is rolled back", 0},
  slow_share = {"this share of the statements is slower at the server by slow_by", 0},
  slow_by = {"seconds, see slow_share", 0.02},
  slow_all = {"seconds by which the server delays each statement", 0},
  reconnect_every = {"every so manieth event connects anew; 0: none", 0},
}

local ROWS = 1000

local opt, connection, begun, pauses, sleep
local events = 0

sysbench.hooks.sql_error_ignorable = function()
  return true
end

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE shape (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)")
  for from = 1, ROWS, 100 do
    local rows = {}
    for id = from, from + 99 do
      rows[#rows + 1] = "(" .. id .. ", 0)"
    end
    con:query("INSERT INTO shape (id, v) VALUES " .. table.concat(rows, ", "))
  end
end

function thread_init(tid)
  opt = sysbench.opt
  connection = sysbench.sql.driver():connect()
  begun = dyno.now()
  pauses = tid % 2 == 1 and opt.uneven or 1
  local driver = sysbench.sql.driver():name()
  sleep = driver == "pgsql" and "SELECT pg_sleep(%g)" or "SELECT SLEEP(%g)"
end

local function factor()
  local age = dyno.now() - begun
  local by = pauses * (1 + opt.growth * age)
  if age < opt.slow_start then
    by = by * 4
  end
  if age < opt.fast_start then
    by = by / 4
  end
  if opt.step_at > 0 and age >= opt.step_at then
    by = by * opt.step
  end
  if opt.dip_every > 0 and age % opt.dip_every < opt.dip_for then
    by = by * opt.dip
  end
  return by
end

-- Measured by the process's CPU time, independent of the machine's speed and load.
local function compute()
  local from = os.clock()
  while os.clock() - from < opt.cpu do
  end
end

local function row()
  return opt.same_key > 0 and 1 or sysbench.rand.uniform(1, ROWS)
end

local function statement()
  local delay = opt.slow_all
  if opt.slow_share > 0 and sysbench.rand.uniform(1, 1000) <= 1000 * opt.slow_share then
    delay = delay + opt.slow_by
  end
  if delay > 0 then
    connection:query(sleep:format(delay))
  elseif opt.writes > 0 then
    connection:query("UPDATE shape SET v = v + 1 WHERE id = " .. row())
  elseif opt.reads > 0 then
    connection:query("SELECT v FROM shape WHERE id = " .. row())
  else
    connection:query("SELECT 1")
  end
end

function event()
  events = events + 1
  if opt.reconnect_every > 0 and events % opt.reconnect_every == 0 then
    connection:reconnect()
  end
  if opt.fail_every > 0 and events % opt.fail_every == 0 then
    connection:query("SELECT * FROM absent")
  end
  if opt.rolls_back > 0 then
    connection:query("BEGIN")
  end
  for _ = 1, opt.statements do
    statement()
  end
  if opt.rolls_back > 0 then
    connection:query("ROLLBACK")
  end
  if opt.cpu > 0 then
    compute()
  end
  if opt.block > 0 and events % opt.block == 0 then
    os.execute(("sleep %g"):format(opt.block_for))
  end
  if opt.pause > 0 then
    dyno.sleep(opt.pause * factor())
  end
end
