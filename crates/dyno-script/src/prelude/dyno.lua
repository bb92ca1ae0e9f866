-- `dyno`: what Dyno offers beside sysbench's API. Absent under sysbench, so scripts test for it.
local P = ...
local ffi = P.ffi
local C = ffi.C

local dyno = {}

-- Gives way for so many seconds.
function dyno.sleep(seconds)
  P.sleep(seconds)
end

-- Seconds by a monotonic clock.
function dyno.now()
  return C.dyno_now()
end

-- Whether the server is none: it answers everything at once and always the same, so that what the
-- client costs can be seen.
dyno.canned = P.canned

-- "mysql", "postgres" or "sqlite".
function dyno.family(connection)
  return P.families[connection.family]
end

-- Commits what the session has open on a server that may be set not to commit each statement; the
-- others have no such setting.
function dyno.commit(connection)
  if dyno.family(connection) == "mysql" then
    connection:query("COMMIT")
  end
end

-- All sessions of a parallel command wait for each other.
function dyno.barrier()
  local round = P.barrier_arrive()
  while true do
    local state = P.barrier_state(round)
    if state == "open" then
      return
    elseif state == "broken" then
      error("another session failed", 0)
    end
    P.sleep(0.001)
  end
end

-- Progress of a load: how many rows there are to load in all, and how many more are done.
function dyno.load_total(rows)
  P.load_total(rows)
end

function dyno.progress(rows)
  P.load_progress(rows)
end

-- Loads generated rows by the fastest way the server allows; returns how many it took.
function dyno.bulk_load(connection, spec)
  if not connection.id then
    error("bulk_load(): the connection is closed", 2)
  end
  P.bulk_prepare(spec)
  local code = P.wait(C.dyno_bulk_load(connection.id))
  if code ~= 1 and code ~= 2 then
    P.raise(connection, code, "<bulk load of " .. tostring(spec.table) .. ">")
  end
  return C.dyno_affected(connection.id)
end

P.dyno = dyno
