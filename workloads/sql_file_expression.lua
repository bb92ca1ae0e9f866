-- Expressions of sql_file.lua's `\set`, with pgbench's semantics, translated into Lua. Whole
-- numbers stay whole: a division of two of them drops the fraction.

local floor, ceil = math.floor, math.ceil

local functions = {}

local function whole(value)
   return value % 1 == 0
end

local function truncated(value)
   return value < 0 and ceil(value) or floor(value)
end

function functions.div(a, b)
   if b == 0 then
      error("division by zero", 2)
   end
   return whole(a) and whole(b) and truncated(a / b) or a / b
end

function functions.mod(a, b)
   if b == 0 then
      error("division by zero", 2)
   end
   return a - b * truncated(a / b)
end

-- The servers' texts for false.
local FALSE = {f = true, ["false"] = true, no = true, off = true, [""] = true}

function functions.truth(value)
   if type(value) == "string" then
      return not FALSE[value:lower()]
   end
   return value ~= false and value ~= 0 and value ~= nil
end

local function bounds(low, high)
   if low > high then
      error(("random(): the lower bound %g is above the upper one, %g"):format(low, high), 3)
   end
end

-- Parentheses around returned values: LuaJIT compiles only a few tail calls together.
function functions.random(low, high)
   bounds(low, high)
   return (dyno.random:uniform(low, high))
end

function functions.random_gaussian(low, high, parameter)
   bounds(low, high)
   if parameter < 2 then
      error("random_gaussian(): the parameter must be 2 or more", 2)
   end
   return (dyno.random:gaussian(low, high, parameter))
end

function functions.random_exponential(low, high, parameter)
   bounds(low, high)
   if parameter <= 0 then
      error("random_exponential(): the parameter must be above 0", 2)
   end
   local place
   repeat
      place = dyno.random:exponential(1 / parameter)
   until place < 1
   return low + floor(place * (high - low + 1))
end

local laws = {}

function functions.random_zipfian(low, high, parameter)
   bounds(low, high)
   if parameter <= 0 then
      error("random_zipfian(): the parameter must be above 0", 2)
   end
   local key = (high - low) .. " " .. parameter
   laws[key] = laws[key] or dyno.zipf(high - low + 1, parameter)
   return low + dyno.random:zipf(laws[key]) - 1
end

function functions.permute(index, size, seed)
   return dyno.permute(index % size, size, seed or 0)
end

functions.abs, functions.sqrt, functions.exp, functions.ln = math.abs, math.sqrt, math.exp, math.log
functions.greatest, functions.least = math.max, math.min
functions.power, functions.pow = math.pow, math.pow
functions.int = truncated
functions["double"] = function(value) return value end
functions.pi = function() return math.pi end

-- Operators by precedence, weakest first: from pgbench's and SQL's to Lua's.
local LEVELS = {
   {["or"] = "or"},
   {["and"] = "and"},
   {["="] = "==", ["<>"] = "~=", ["!="] = "~=", ["<="] = "<=", [">="] = ">=", ["<"] = "<",
    [">"] = ">"},
   {["+"] = "+", ["-"] = "-"},
   {["*"] = "*", ["/"] = "div", ["%"] = "mod"},
}

local function tokens_of(text, fail)
   local tokens, at = {}, 1
   while true do
      at = text:find("%S", at)
      if not at then
         return tokens
      end
      local token = text:match("^%d+%.?%d*[eE][+-]?%d+", at) or text:match("^%d+%.?%d*", at)
         or text:match("^%.%d+", at) or text:match("^:?[%a_][%w_]*", at)
         or text:match("^<>", at) or text:match("^[<>!]=", at) or text:match("^[-+*/%%()=<>,]", at)
      if not token then
         fail(("'%s' makes no sense in an expression"):format(text:sub(at, at)))
      end
      tokens[#tokens + 1] = token
      at = at + #token
   end
end

local Parser = {}
Parser.__index = Parser

function Parser:peek()
   local token = self.tokens[self.at]
   return token and token:lower()
end

function Parser:take()
   local token = self.tokens[self.at]
   self.at = self.at + 1
   return token
end

function Parser:expect(wanted)
   local token = self:take()
   if token ~= wanted then
      self.fail(("'%s' is expected and not %s"):format(wanted,
         token and "'" .. token .. "'" or "the end"))
   end
end

function Parser:call(name)
   if not functions[name] or name == "div" or name == "truth" then
      self.fail(name .. "() is not known: random, random_gaussian, random_exponential, " ..
         "random_zipfian, permute, abs, sqrt, exp, ln, power, mod, greatest, least, int, double " ..
         "and pi are")
   end
   self:expect("(")
   local arguments = {}
   while self:peek() ~= ")" do
      arguments[#arguments + 1] = self:level(1)
      if self:peek() ~= ")" then
         self:expect(",")
      end
   end
   self:expect(")")
   return ("f[%q](%s)"):format(name, table.concat(arguments, ", "))
end

function Parser:primary()
   local token = self:take()
   if not token then
      self.fail("the expression ends too early")
   elseif token == "(" then
      local inner = self:level(1)
      self:expect(")")
      return "(" .. inner .. ")"
   elseif token == "-" then
      return "(-" .. self:primary() .. ")"
   elseif token == "+" then
      return self:primary()
   elseif token:lower() == "not" then
      return "(not f.truth(" .. self:primary() .. "))"
   elseif token:lower() == "true" or token:lower() == "false" then
      return token:lower()
   elseif token:sub(1, 1) == ":" then
      local name = token:sub(2)
      self.names[#self.names + 1] = name
      return "v." .. name
   elseif token:find("^[%d.]") then
      return token
   elseif token:find("^[%a_]") then
      return self:call(token:lower())
   end
   self.fail(("'%s' is not expected here"):format(token))
end

function Parser:level(number)
   local operators = LEVELS[number]
   if not operators then
      return self:primary()
   end
   local left = self:level(number + 1)
   while self:peek() and operators[self:peek()] do
      local operator = operators[self:take():lower()]
      local right = self:level(number + 1)
      if operator == "div" or operator == "mod" then
         left = ("f.%s(%s, %s)"):format(operator, left, right)
      elseif operator == "and" or operator == "or" then
         left = ("(f.truth(%s) %s f.truth(%s))"):format(left, operator, right)
      else
         left = ("(%s %s %s)"):format(left, operator, right)
      end
   end
   return left
end

-- Lua's keywords cannot be field names.
local KEYWORDS = {}
for word in ("and break do else elseif end false for function if in local nil not or repeat " ..
             "return then true until while"):gmatch("%a+") do
   KEYWORDS[word] = true
end

local function translate(text, fail)
   local parser = setmetatable({tokens = tokens_of(text, fail), at = 1, names = {}, fail = fail},
      Parser)
   local code = parser:level(1)
   if parser:peek() then
      fail(("'%s' is not expected here"):format(parser:peek()))
   end
   for _, name in ipairs(parser.names) do
      if KEYWORDS[name] then
         fail(name .. " cannot be the name of a variable")
      end
   end
   return code, parser.names
end

-- translate(text, fail): Lua code over the variables `v` and the functions `f`, and the names of
-- the variables; `fail` is called with the error.
return setmetatable({functions = functions, keywords = KEYWORDS}, {
   __call = function(_, text, fail) return translate(text, fail) end,
})
