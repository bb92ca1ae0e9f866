local events = 0

function event()
  events = events + 1
  if events == 5 then
    error("the fifth")
  end
end
