-- Operations: transactions that are retried with the same parameters, each kind with separate
-- latencies; think times; and the ledger of acknowledged work.
local P = ...
local C = P.ffi.C
local dyno = P.dyno
local pcall, error, type, setmetatable, tostring = pcall, error, type, setmetatable, tostring
local yield, WAIT = coroutine.yield, P.WAIT

-- Raised when the run ends for a session in the middle of its script.
P.STOP = {}

local PENDING, FAILED, CLOSED = 0, 3, 5
local DONE, ROLLED_BACK, GIVEN_UP, UNKNOWN, DUPLICATE = 0, 1, 2, 3, 4
local TRIES = 10

-- Returned by a body to roll its transaction back, which is not an error.
dyno.ROLLBACK = setmetatable({}, {
  __tostring = function()
    return "dyno.ROLLBACK"
  end,
})
local ROLLBACK = dyno.ROLLBACK

local DUPLICATE_POLICIES = { fail = true, retry = true, ignore = true }

-- Whether the work may succeed, or be skipped, after an error of this kind.
function P.may_retry(work, kind)
  return kind == "conflict" or kind == "duplicate" and work.duplicate_key ~= "fail"
end

-- Names in order of declaration. A worker's states get them from the main state, where the script
-- ran first.
local function registry(known)
  local names, numbers = {}, {}
  if known then
    for i = 1, #known do
      names[i], numbers[known[i]] = known[i], i - 1
    end
  end
  return {
    names = names,
    number = function(what, name)
      if type(name) ~= "string" or not name:find("^[%w_.:-]+$") then
        error(what .. ": the name may contain only letters, digits and _ . : -", 3)
      end
      if name == "event" then
        error(what .. ": 'event' is reserved for the script's event()", 3)
      end
      local number = numbers[name]
      if number then
        return number
      elseif known then
        error(("%s: '%s' is not always declared when the script loads; declare it at the top " ..
          "level"):format(what, name), 3)
      end
      number = #names
      names[number + 1], numbers[name] = name, number
      return number
    end,
  }
end

local operations = registry(P.known_operations)
local sums = registry(P.known_sums)
P.operation_names, P.sum_names = operations.names, sums.names

local Work = {}
local work_meta = {
  __index = Work,
  __tostring = function(work)
    return "<operation " .. work.name .. ">"
  end,
}

-- Declares an operation. Options: `tries`, the maximum number of attempts; `read_only`;
-- `duplicate_key`, the reaction to an existing key: `fail` (the session ends), `retry` or `ignore`
-- (the operation ends there and is counted).
function dyno.operation(name, options)
  options = options or {}
  local tries = options.tries or TRIES
  if type(tries) ~= "number" or tries < 1 then
    error("dyno.operation(): 'tries' must be at least 1", 2)
  end
  local policy = options.duplicate_key or "fail"
  if not DUPLICATE_POLICIES[policy] then
    error("dyno.operation(): 'duplicate_key' must be fail, retry or ignore, not '" ..
      tostring(policy) .. "'", 2)
  end
  return setmetatable({
    name = name,
    duplicate_key = policy,
    id = operations.number("dyno.operation()", name),
    tries = tries,
    read_only = options.read_only and true or false,
  }, work_meta)
end

-- A step of a transaction, for which the driver has the statement.
local function step(connection, code, name)
  if code == PENDING then
    code = yield(WAIT)
  end
  if code == FAILED or code == CLOSED then
    P.raise(connection, code, name)
  end
end

-- One attempt of a transaction.
local function try_transaction(work, connection, body, ...)
  step(connection, C.dyno_begin(connection.id, work.read_only), "<begin>")
  local answer = body(...)
  P.must_be_open(connection)
  if answer == ROLLBACK then
    step(connection, C.dyno_rollback(connection.id), "<rollback>")
    return ROLLED_BACK
  end
  connection.committing = not work.read_only
  step(connection, C.dyno_commit(connection.id), "<commit>")
  connection.committing = false
  return DONE
end

-- One attempt of statements that commit individually.
local function try_statements(work, connection, body, ...)
  connection.committing = not work.read_only
  local answer = body(...)
  connection.committing = false
  return answer == ROLLBACK and ROLLED_BACK or DONE
end

-- A statement prepared by a script is lost with its connection.
local function before_retry(err)
  local env = getfenv(0)
  local sysbench = env and env.sysbench
  local hook = sysbench and sysbench.hooks and sysbench.hooks.before_restart_event
  if hook then
    hook(err)
  end
end

-- Whether the last attempt may have been committed although it failed: the answer did not arrive,
-- or statements before the failed one may have committed individually.
local function is_unknown(connection, again, answer)
  if again then
    return answer.lost
  end
  return not connection.refused or C.dyno_ledger_is_open()
end

-- After a failed attempt: ends the operation with nil or an error, or retries it until it ends.
local function after_failure(try, work, connection, answer, body, ...)
  local tries = 1
  while true do
    local again = type(answer) == "table" and answer.errcode == P.RESTART_EVENT
    local passed = again and answer.kind == "duplicate" and work.duplicate_key == "ignore"
    local unknown = connection.committing and is_unknown(connection, again, answer)
    connection.committing = false
    if not again or passed or unknown or tries >= work.tries then
      connection.working = false
      if not again then
        -- The end of the run is not the operation's.
        if answer ~= P.STOP then
          C.dyno_operation_stop(unknown and UNKNOWN or GIVEN_UP)
        end
        error(answer, 0)
      end
      before_retry(answer)
      C.dyno_operation_stop(passed and DUPLICATE or unknown and UNKNOWN or GIVEN_UP)
      return nil
    end
    tries = tries + 1
    before_retry(answer)
    C.dyno_operation_retry()
    local ok
    ok, answer = pcall(try, work, connection, body, ...)
    if ok then
      connection.working = false
      C.dyno_operation_stop(answer)
      return answer == DONE
    end
  end
end

-- The first attempt is nearly always the last. It is not in a loop, which would prevent the JIT
-- compiler from compiling it together with the loop over events.
local function attempt(try, work, connection, body, ...)
  P.must_be_open(connection)
  connection.working = work
  connection.committing, connection.refused = false, false
  C.dyno_operation_start(work.id)
  local ok, answer = pcall(try, work, connection, body, ...)
  if not ok then
    return after_failure(try, work, connection, answer, body, ...)
  end
  connection.working = false
  C.dyno_operation_stop(answer)
  return answer == DONE
end

-- Runs `body(...)` in a transaction, and again with the same arguments after retryable errors.
-- Returns true if it was committed, false if the body rolled it back, nil if it was given up or its
-- outcome is unknown.
function Work:transaction(connection, body, ...)
  return attempt(try_transaction, self, connection, body, ...)
end

-- The same without a transaction.
function Work:run(connection, body, ...)
  return attempt(try_statements, self, connection, body, ...)
end

-- The script repeats its event, as sysbench's scripts do after an error: operations that it gave up
-- before do not count as failures.
function dyno.repeat_event()
  C.dyno_event_again()
end

-- Simulates a user's think or typing time: the event begins afterwards.
function dyno.think(seconds)
  if C.dyno_think(seconds) == 0 then
    yield(WAIT)
  end
  if not C.dyno_thought() then
    error(P.STOP, 0)
  end
end

-- The ledger --------------------------------------------------------------------------------------

local Sum = {}
local sum_meta = { __index = Sum }

-- A sum of acknowledged work. The script's `ledger()` reads the corresponding value from the
-- database.
function dyno.sum(name)
  return setmetatable({ id = sums.number("dyno.sum()", name) }, sum_meta)
end

-- Enters a whole number: within an operation it counts when that is done.
function Sum:add(amount)
  C.dyno_ledger_add(self.id, amount)
end
