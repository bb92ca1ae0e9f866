-- Queries from coroutines, protected calls, metamethods and callbacks of C functions.
sysbench.cmdline.options = {}

local connection

function thread_init()
  connection = sysbench.sql.driver():connect()
end

local function ask(number)
  return connection:query_row("SELECT " .. number)
end

local answers = setmetatable({}, {
  __index = function(_, number)
    return ask(number)
  end,
})

function event()
  local next_answer = coroutine.wrap(function()
    for number = 1, 3 do
      coroutine.yield(ask(number))
    end
  end)
  assert(next_answer() == "1" and next_answer() == "2" and next_answer() == "3")
  local ok, answer = pcall(ask, 5)
  assert(ok and answer == "5")
  ok, answer = xpcall(function() return ask(6) end, debug.traceback)
  assert(ok and answer == "6")
  assert(answers[7] == "7")
  local numbers = { 3, 1, 2 }
  table.sort(numbers, function(a, b) return ask(a) < ask(b) end)
  assert(table.concat(numbers) == "123")
  assert(("xx"):gsub("x", function() return ask(8) end) == "88")
  ok, answer = pcall(connection.query, connection, "SELECT * FROM absent")
  assert(not ok and answer:find("SQL error, errno = ", 1, true), answer)
end
