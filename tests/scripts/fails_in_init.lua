function thread_init()
  error("not today")
end

function event()
end
