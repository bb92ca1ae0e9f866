-- The cost of an event in which nothing happens.

function event()
end
