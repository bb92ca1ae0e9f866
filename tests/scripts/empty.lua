function event()
end
