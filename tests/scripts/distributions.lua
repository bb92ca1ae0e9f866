-- Checks the ranges of random draws, with 1.0.20's functions and with master's.
local rand = sysbench.rand
for name, draw in pairs {
  uniform = rand.uniform, default = rand.default, gaussian = rand.gaussian, pareto = rand.pareto,
  zipfian = rand.zipfian, special = rand.special, sb_rand = sb_rand,
  sb_rand_uniform = sb_rand_uniform, sb_rand_gaussian = sb_rand_gaussian,
  sb_rand_special = sb_rand_special,
} do
  local low, high = math.huge, 0
  for _ = 1, 20000 do
    local value = draw(11, 110)
    low, high = math.min(low, value), math.max(high, value)
  end
  assert(low >= 11 and high <= 110, name .. " leaves its range")
  assert(high - low > 40, name .. " hardly varies: " .. low .. " to " .. high)
end
local big = 0
for _ = 1, 100 do
  big = math.max(big, rand.uniform(0, 4294967295))
end
assert(big > 4000000000, "the full range is drawn from")
local seen = {}
for _ = 1, 10000 do
  local value = rand.unique()
  assert(not seen[value], "unique() repeats itself")
  seen[value] = true
end
for _ = 1, 1000 do
  local text = rand.varstring(3, 9)
  assert(#text >= 3 and #text <= 9 and text:match("^[0-z]+$"), text)
end
assert(rand.string("##-@@-x"):match("^%d%d%-%l%l%-x$"))
assert(not pcall(rand.uniform, "a", 1))
assert(rand.uniform(7.9, 7.9) == 7)
local names = {}
for name in pairs(rand) do
  names[#names + 1] = name
end
table.sort(names)
print(table.concat(names, " "))
