-- Streams of random numbers: the session's, and others identified by a key. The same seed and key
-- give the same numbers, whichever session, worker or process draws.
local P = ...
local ffi = P.ffi
local C = ffi.C
local dyno = P.dyno
local bor = require("bit").bor
local floor, exp, min, max = math.floor, math.exp, math.min, math.max
local setmetatable, error, type, tostring, select = setmetatable, error, type, tostring, select

local TEXT_BYTES_MAX = P.TEXT_BYTES_MAX

local Stream = {}
local stream_meta = { __index = Stream }

local buffer, capacity = ffi.new("char[?]", 4096), 4096

local function room(size)
  if not (size <= TEXT_BYTES_MAX) then
    error(("a text of %.0f characters is too long: at most %.0f"):format(size, TEXT_BYTES_MAX), 3)
  end
  if size > capacity then
    buffer, capacity = ffi.new("char[?]", size), size
  end
  return buffer
end

-- The stream with this key, a list of words.
function dyno.stream(...)
  local words = {}
  for i = 1, select("#", ...) do
    words[i] = tostring((select(i, ...)))
  end
  local key = table.concat(words, "\0")
  local raw = ffi.gc(C.dyno_stream_new(key, #key), C.dyno_stream_free)
  return setmetatable({ raw = raw }, stream_meta)
end

-- The session's stream, which `sysbench.rand` draws from too.
dyno.random = setmetatable({}, stream_meta)

-- Parentheses around returned values: LuaJIT compiles only a few tail calls together.

-- A whole number from low to high, uniformly distributed.
function Stream:uniform(low, high)
  return (C.dyno_stream_uniform(self.raw, low, high))
end

-- From 0 up to, but not including, 1.
function Stream:real()
  return (C.dyno_stream_real(self.raw))
end

-- True in `percent` of 100 cases.
function Stream:chance(percent)
  return C.dyno_stream_real(self.raw) * 100 < percent
end

function Stream:exponential(mean)
  return (C.dyno_stream_exponential(self.raw, mean))
end

-- A bell curve over low to high whose half is `parameter` (2 or more) standard deviations.
function Stream:gaussian(low, high, parameter)
  return (C.dyno_stream_gaussian(self.raw, low, high, parameter))
end

-- Log-normal with this median; sigma is the standard deviation of the logarithm.
function Stream:lognormal(median, sigma)
  return median * exp(sigma * C.dyno_stream_normal(self.raw))
end

-- TPC-C's non-uniform draw: (((U[0,a] | U[low,high]) + c) mod size) + low. `a` below 2^31.
function Stream:nurand(a, low, high, c)
  local raw = self.raw
  local mixed = bor(C.dyno_stream_uniform(raw, 0, a), C.dyno_stream_uniform(raw, low, high))
  return (mixed + c) % (high - low + 1) + low
end

-- A text of `shortest` to `longest` letters and digits, repeating the share `compressible`.
function Stream:text(shortest, longest, compressible)
  -- Written so that NaN is refused too.
  if not (shortest >= 0 and shortest <= TEXT_BYTES_MAX and (longest or 0) <= TEXT_BYTES_MAX) then
    error(("text(): the length must be from 0 to %d"):format(TEXT_BYTES_MAX), 2)
  end
  local raw = self.raw
  local size = shortest
  if longest and longest > shortest then
    size = C.dyno_stream_uniform(raw, shortest, longest)
  end
  local out = room(size)
  C.dyno_stream_text(raw, out, size, compressible or 0)
  return ffi.string(out, size)
end

-- A text by a pattern: `#` becomes a digit, `@` a letter.
function Stream:pattern(pattern)
  local size = #pattern
  local out = room(size)
  C.dyno_stream_pattern(self.raw, pattern, out, size)
  return ffi.string(out, size)
end

-- A rank from 1 on, by a distribution from dyno.zipf().
function Stream:zipf(law)
  return C.dyno_zipf_draw(law.raw, self.raw)
end

-- Shuffles a list.
function Stream:shuffle(list)
  for i = #list, 2, -1 do
    local j = C.dyno_stream_uniform(self.raw, 1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- Zipf's law over the ranks 1 to `ranks`: the frequency of rank r is proportional to r^-exponent.
function dyno.zipf(ranks, exponent)
  if type(ranks) ~= "number" or ranks < 1 or type(exponent) ~= "number" or exponent < 0 then
    error("dyno.zipf(): expected at least 1 rank and an exponent of at least 0", 2)
  end
  return { raw = ffi.gc(C.dyno_zipf_new(ranks, exponent), C.dyno_zipf_free) }
end

-- Maps `index` by a permutation of 0 to size - 1 that the seed and `key` determine.
function dyno.permute(index, size, key)
  return C.dyno_permute(index, size, key or 0)
end

-- The largest deck: for finer shares use dyno.choice().
local CARDS_MAX = 1000000

-- A deck of cards, dealt in random order and reshuffled when empty: exact shares. `cards` is a list
-- of {card, how many}.
function dyno.deck(cards)
  local deck, left = {}, 0
  for _, card in ipairs(cards) do
    if not (card[2] >= 0 and #deck + card[2] <= CARDS_MAX) then
      error(("dyno.deck(): at most %d cards, and no negative counts"):format(CARDS_MAX), 2)
    end
    for _ = 1, card[2] do
      deck[#deck + 1] = card[1]
    end
  end
  return function(stream)
    if left == 0 then
      stream:shuffle(deck)
      left = #deck
    end
    left = left - 1
    return deck[left + 1]
  end
end

-- A weighted choice, with independent draws. `cards` as in dyno.deck().
function dyno.choice(cards)
  local total, bounds = 0, {}
  for i, card in ipairs(cards) do
    total = total + card[2]
    bounds[i] = total
  end
  return function(stream)
    local point = C.dyno_stream_real(stream.raw) * total
    for i = 1, #bounds do
      if point < bounds[i] then
        return cards[i][1]
      end
    end
    return cards[#cards][1]
  end
end
