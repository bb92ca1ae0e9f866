-- An event that pauses and asks one statement, bent into the shape that a test wants.

sysbench.cmdline.options = {
  pause = {"how long an event pauses, seconds", 0.004},
  slow_start = {"for so many seconds events pause four times as long", 0},
  growth = {"by so many pauses an event grows in a second", 0},
  cpu = {"CPU time that an event takes from the client, seconds", 0},
  uneven = {"every other session pauses so many times as long", 1},
  fail_every = {"every so manieth event begins with an error that is ignored", 0},
  statements = {"statements of an event", 1},
}

local opt, connection, begun, pauses
local events = 0

sysbench.hooks.sql_error_ignorable = function()
  return true
end

function thread_init(tid)
  opt = sysbench.opt
  connection = sysbench.sql.driver():connect()
  begun = dyno.now()
  pauses = tid % 2 == 1 and opt.uneven or 1
end

local function pause()
  local age = dyno.now() - begun
  local slow = age < opt.slow_start and 4 or 1
  local length = opt.pause * pauses * slow * (1 + opt.growth * age)
  if length > 0 then
    dyno.sleep(length)
  end
end

-- By the process's own CPU time, so that neither a fast machine nor a busy one changes it.
local function compute()
  local from = os.clock()
  while os.clock() - from < opt.cpu do
  end
end

function event()
  events = events + 1
  if opt.fail_every > 0 and events % opt.fail_every == 0 then
    connection:query("SELECT * FROM absent")
  end
  for _ = 1, opt.statements do
    connection:query("SELECT 1")
  end
  if opt.cpu > 0 then
    compute()
  end
  pause()
end
