function event()
  os.execute("sleep 0.3")
end
