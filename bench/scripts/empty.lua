-- The cost of an empty event.

function event()
end
