-- Prints the draws: the same seed must print the same, in whatever order the sessions run.
local draws = {}

function event(tid)
  draws[#draws + 1] = table.concat({
    sysbench.rand.uniform(1, 1000000),
    sysbench.rand.default(1, 1000),
    sysbench.rand.zipfian(1, 1000),
    sysbench.rand.special(1, 1000),
    sysbench.rand.string("###-@@"),
    math.random(1000),
  }, " ")
  return #draws >= 5
end

function thread_done(tid)
  -- One write, because threads share the stream.
  io.write("tid " .. tid .. ": " .. table.concat(draws, " | ") .. "\n")
end
