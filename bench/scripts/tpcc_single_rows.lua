-- The rows of `dyno prepare tpcc`, one INSERT each, to compare its load with. The generators,
-- sessions, tables, indexes and keys are the same; only the way of loading differs.

require("tpcc")

sysbench.cmdline.options.commit_rows = {"Rows of a transaction; 1: each commits by itself", 1}

local Rows = {}

function dyno.loader(con, name, columns)
   return setmetatable({
      con = con,
      prefix = ("INSERT INTO %s (%s) VALUES ("):format(name, table.concat(columns, ", ")),
      values = {},
      rows = 0,
   }, {__index = Rows})
end

local function add(rows, value)
   rows.values[#rows.values + 1] = value
   return rows
end

function Rows:int(value)
   return add(self, ("%d"):format(value))
end

function Rows:cents(value)
   if dyno.family(self.con) == "sqlite" then
      return add(self, ("%d"):format(value))
   end
   local sign = value < 0 and "-" or ""
   value = math.abs(value)
   return add(self, ("%s%d.%02d"):format(sign, math.floor(value / 100), value % 100))
end

function Rows:text(value)
   return add(self, "'" .. value:gsub("'", "''") .. "'")
end

function Rows:random(stream, shortest, longest, compressible)
   -- The loader always draws a length.
   local size = stream:uniform(shortest, longest or shortest)
   return self:text(stream:text(size, size, compressible or 0))
end

function Rows:null()
   return add(self, "NULL")
end

function Rows:row()
   local together = sysbench.opt.commit_rows
   if together > 1 and self.rows % together == 0 then
      self.con:query("BEGIN")
   end
   self.con:query(self.prefix .. table.concat(self.values, ", ") .. ")")
   self.values = {}
   self.rows = self.rows + 1
   if together > 1 and self.rows % together == 0 then
      self.con:query("COMMIT")
   end
   if self.rows % 100 == 0 then
      dyno.progress(100)
   end
end

function Rows:finish()
   local together = sysbench.opt.commit_rows
   if together > 1 and self.rows % together ~= 0 then
      self.con:query("COMMIT")
   end
   dyno.progress(self.rows % 100)
   return self.rows
end
