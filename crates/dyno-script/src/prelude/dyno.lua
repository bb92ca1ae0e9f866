-- `dyno`: Dyno's extensions of sysbench's API. Missing under sysbench, so scripts can test for it.
local P = ...
local ffi = P.ffi
local C = ffi.C

local dyno = {}

-- Yields for this number of seconds.
function dyno.sleep(seconds)
  P.sleep(seconds)
end

-- Seconds of a monotonic clock.
function dyno.now()
  return C.dyno_now()
end

-- Whether there is no server: every request has the same immediate answer, to show the client's
-- cost.
dyno.canned = P.canned

-- "mysql", "postgres" or "sqlite".
function dyno.family(connection)
  return P.families[connection.family]
end

-- Commits the session's open transaction on a server that may be set not to commit each statement;
-- the other servers have no such setting.
function dyno.commit(connection)
  if dyno.family(connection) == "mysql" then
    connection:query("COMMIT")
  end
end

-- Waits for all sessions of a parallel command.
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

-- Progress of a load: the total number of rows, and the number of further rows done.
function dyno.load_total(rows)
  P.load_total(rows)
end

function dyno.progress(rows)
  P.load_progress(rows)
end

-- Loads generated rows in the fastest way the server allows; returns the number loaded.
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
