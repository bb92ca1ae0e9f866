-- Statements that a server's counters easily miss: one kind per run, selected by `what`.

sysbench.cmdline.options = {
  what = {"full_text, count, tablesample, ctid, sequence, xa, scan or nothing", "count"},
}

local ROWS = 2000

local connection, statement
local id, events = 0, 0

-- Each affects one row of the table.
local KINDS = {
  full_text = "SELECT id FROM doc WHERE MATCH (body) AGAINST ('word%d')",
  count = "SELECT COUNT(*) FROM doc",
  tablesample = "SELECT count(*) FROM doc TABLESAMPLE SYSTEM (20)",
  ctid = "SELECT id FROM doc WHERE ctid = '(0,%d)'",
  scan = "SELECT id FROM doc WHERE n = %d",
  nothing = "SELECT 1",
}

local POSTGRES = {
  full_text = "SELECT id FROM doc WHERE to_tsvector('simple', body) @@ " ..
    "to_tsquery('simple', 'word%d')",
}

function prepare()
  local driver = sysbench.sql.driver()
  local con = driver:connect()
  local my = driver:name() ~= "pgsql"
  con:query("CREATE TABLE doc (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, body TEXT NOT NULL" ..
    (my and ", FULLTEXT (body))" or ")"))
  for from = 1, ROWS, 100 do
    local rows = {}
    for row = from, from + 99 do
      rows[#rows + 1] = ("(%d, %d, 'word%d among others')"):format(row, row, row)
    end
    con:query("INSERT INTO doc (id, n, body) VALUES " .. table.concat(rows, ", "))
  end
  if not my then
    con:query("CREATE INDEX words ON doc USING gin (to_tsvector('simple', body))")
  end
  if sysbench.opt.what == "sequence" then
    con:query("CREATE SEQUENCE numbers")
  end
end

function thread_init(tid)
  id = tid
  local driver = sysbench.sql.driver()
  connection = driver:connect()
  if sysbench.opt.what == "xa" then
    connection:query("SET autocommit = 0")
  elseif sysbench.opt.what == "sequence" then
    local of_postgres = "SELECT nextval('numbers')"
    statement = driver:name() == "pgsql" and of_postgres or "SELECT NEXTVAL(numbers)"
  else
    local of_postgres = driver:name() == "pgsql" and POSTGRES[sysbench.opt.what]
    statement = of_postgres or KINDS[sysbench.opt.what]
  end
end

local function xa()
  local name = ("'%d.%d'"):format(id, events)
  connection:query("XA START " .. name)
  connection:query("UPDATE doc SET n = n + 1 WHERE id = " .. sysbench.rand.uniform(1, ROWS))
  connection:query("XA END " .. name)
  connection:query("XA PREPARE " .. name)
  connection:query("XA COMMIT " .. name)
end

function event()
  events = events + 1
  if sysbench.opt.what == "xa" then
    return xa()
  end
  connection:query(statement:format(sysbench.rand.uniform(1, 50)))
end
