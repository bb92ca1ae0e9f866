-- The environment of a script in each session: its globals, its modules, its lifecycle. Sessions of
-- one worker share a Lua state and the compiled script; each runs the script's top level, as a
-- fresh instance of the shared prototype in a separate environment.
local P = ...
local ffi = P.ffi
local C = ffi.C
local raw_yield, raw_resume, raw_status = coroutine.yield, coroutine.resume, coroutine.status
local raw_create, raw_running = coroutine.create, coroutine.running
local setfenv, setmetatable, type, error = setfenv, setmetatable, type, error
local loadstring, rawget, getfenv = loadstring, rawget, getfenv

-- Yielded to the worker's loop; a script's own coroutines pass it through.
local WAIT = P.WAIT
local TURN_STOP, TURN_WAIT = 0, 2
-- Flag of dyno_turn(): do not begin the next event.
local ASK_ONLY = 2

local base_globals = P.copy_into({}, _G)

-- Lua's os.execute() makes the process ignore Ctrl-C.
base_globals.os = P.copy_into({}, os)
base_globals.os.execute = function(command)
  if command == nil then
    return 1
  end
  command = tostring(command)
  return C.dyno_system(command, #command)
end

P.copy_into(base_globals, P.whole_tables)

local output = P.quiet_scripts and io.stderr or io.stdout
local line_start = P.line_start

-- One write per line. LuaJIT's print writes word by word, so lines of other workers' sessions could
-- get in between.
base_globals.print = function(...)
  local texts, count = { ... }, select("#", ...)
  for i = 1, count do
    texts[i] = tostring(texts[i])
  end
  output:write(line_start() .. table.concat(texts, "\t", 1, count) .. "\n")
end

if P.quiet_scripts then
  -- Also for io.write() and io.stdout:write().
  io.output(io.stderr)
  io.stdout = io.stderr
end

-- Passes the worker's waits through a script's own coroutine.
local function pass_through(co, ok, first, ...)
  if ok and first == WAIT and raw_status(co) == "suspended" then
    return pass_through(co, raw_resume(co, raw_yield(WAIT)))
  end
  return ok, first, ...
end

local function resume(co, ...)
  return pass_through(co, raw_resume(co, ...))
end

local is_own

local function unwrap(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

local session_coroutine = P.copy_into({}, coroutine)
session_coroutine.resume = resume
session_coroutine.wrap = function(body)
  local co = raw_create(body)
  return function(...)
    return unwrap(resume(co, ...))
  end
end

-- A session's coroutine acts as a Lua state's main one: only the worker resumes it.
session_coroutine.yield = function(...)
  if is_own(raw_running()) then
    error("attempt to yield across C-call boundary", 2)
  end
  return raw_yield(...)
end
session_coroutine.running = function()
  local co = raw_running()
  return not is_own(co) and co or nil
end

-- Yields for `seconds`, or sleeps if yielding is impossible, at most until the run ends.
local function sleep(seconds)
  local answer = C.dyno_sleep(seconds)
  if answer == 0 then
    raw_yield(WAIT)
  elseif answer == 2 then
    error(P.STOP, 0)
  end
end
P.sleep = sleep

-- Functions of libc and sysbench that would block the worker, in a form that yields.
local cooperative = {
  usleep = function(microseconds)
    sleep(microseconds / 1e6)
    return 0
  end,
  sleep = function(seconds)
    sleep(seconds)
    return 0
  end,
  sb_more_events = function(_)
    local turn = C.dyno_turn(ASK_ONLY)
    while turn == TURN_WAIT do
      raw_yield(WAIT)
      turn = C.dyno_turn(ASK_ONLY)
    end
    return turn ~= TURN_STOP
  end,
}
local session_c = setmetatable(cooperative, {
  __index = function(_, name) return C[name] end,
  __newindex = function(_, name, value) C[name] = value end,
})
local session_ffi = P.copy_into({}, ffi)
session_ffi.C = session_c

session_ffi.cdef = P.cdef

-- Compiles a source once as a function that each session instantiates.
local factories = {}
local function instantiate(source, name)
  local key = name .. "\0" .. source
  local factory = factories[key]
  if not factory then
    -- The bare source first: its syntax errors are the user's, not the wrapper's.
    local bare, message = loadstring(source, name)
    if not bare then
      return nil, message
    end
    factory = loadstring("return function(...) " .. source .. "\nend", name)
    if not factory then
      return bare
    end
    factories[key] = factory
  end
  return factory()
end
P.instantiate = instantiate

local preloaded = { ffi = session_ffi, math = P.session_math, coroutine = session_coroutine }

local function new_require(env, package)
  return function(name)
    local loaded = package.loaded[name]
    if loaded ~= nil then
      return loaded
    end
    local preload = package.preload[name]
    local value
    if preload then
      value = preload(name)
    else
      local source, path = P.find_module(name, package.path)
      if source then
        local chunk, message = instantiate(source, "@" .. path)
        if not chunk then
          error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, message), 2)
        end
        value = setfenv(chunk, env)(name)
      else
        -- C modules and so on: LuaJIT's loader, shared by the worker's sessions.
        P.shared_package.cpath = package.cpath
        P.shared_package.path = ""
        value = P.shared_require(name, path)
      end
    end
    if value ~= nil then
      package.loaded[name] = value
    elseif package.loaded[name] == nil then
      package.loaded[name] = true
    end
    return package.loaded[name]
  end
end

local shared_package, shared_require = package, require
P.shared_package = shared_package
P.shared_require = function(name, tried)
  local ok, value = pcall(shared_require, name)
  if ok then
    return value
  end
  if type(value) == "string" and value:find("module '" .. name .. "' not found", 1, true) then
    error("module '" .. name .. "' not found:" .. (tried or ""), 3)
  end
  error(value, 0)
end

-- Tables over those that all sessions share. The host sets their values before the first session.
local layers

local function make_layers()
  base_globals.ffi = session_ffi
  base_globals.coroutine = session_coroutine
  base_globals.math = P.session_math
  base_globals.dyno = P.dyno
  base_globals.thread_run = P.default_thread_run
  P.add_legacy(base_globals)
  local loaded = {}
  for _, name in ipairs { "string", "table", "os", "io", "debug", "bit", "jit" } do
    loaded[name] = base_globals[name]
  end
  P.copy_into(loaded, preloaded)
  return {
    globals = P.layer_over(base_globals),
    loaded = P.layer_over(loaded),
    package = P.layer_over {
      path = P.package_path,
      cpath = P.package_cpath,
      config = shared_package.config,
      loadlib = shared_package.loadlib,
      loaders = shared_package.loaders,
      seeall = shared_package.seeall,
    },
  }
end

local function new_environment(session)
  layers = layers or make_layers()
  local env = layers.globals {}
  local package = layers.package { loaded = layers.loaded { _G = env }, preload = {} }
  package.loaded.package = package
  env._G = env
  env.package = package
  env.require = new_require(env, package)
  env.sysbench = P.new_sysbench(session)
  env.thread_id = session.tid
  return env
end

-- The default `thread_run`. Errors end the coroutine; the host restarts the loop after those that
-- ask for it, so that no protected call separates the loop from its traces.
local function run_loop(event, tid, event_ended)
  while true do
    local turn = C.dyno_turn(event_ended)
    while turn == TURN_WAIT do
      raw_yield(WAIT)
      turn = C.dyno_turn(0)
    end
    if turn == TURN_STOP then
      return
    end
    event_ended = 1
    if event(tid) then
      return
    end
  end
end

function P.default_thread_run(tid)
  return run_loop(rawget(P.current_session().env, "event"), tid, 0)
end

local Session = {}
Session.__index = Session

-- A session's script, not run yet.
function P.new_session(tid)
  local session = setmetatable({ tid = tid }, Session)
  session.callbacks = P.new_callbacks()
  session.env = new_environment(session)
  return session
end

local function load_script(session)
  if session.loaded then
    return
  end
  session.loaded = true
  local chunk, message = instantiate(P.source, P.chunk_name)
  if not chunk then
    error(message, 0)
  end
  setfenv(chunk, session.env)()
end

local function set_options(session)
  local sysbench = session.env.sysbench
  P.share_declared_options(sysbench and sysbench.cmdline)
  if sysbench and not sysbench.opt and P.options then
    sysbench.opt = P.new_options()
    P.export_legacy_options(session.env)
  end
end

-- The functions of the session's coroutine, by entry.
local entries = {}

function entries.load(session)
  load_script(session)
end

function entries.init(session)
  load_script(session)
  set_options(session)
  P.cast(session)
  local thread_init = session.env.thread_init
  if type(thread_init) == "function" then
    thread_init(session.tid)
  end
end

function entries.run(session)
  local thread_run = session.env.thread_run
  if thread_run ~= P.default_thread_run then
    return thread_run(session.tid)
  end
  return run_loop(session.event or session.env.event, session.tid, 0)
end

-- After an error that asks for it: repeats the event within the same measurement.
function entries.restart(session)
  local sysbench = session.env.sysbench
  local hook = sysbench and sysbench.hooks and sysbench.hooks.before_restart_event
  local err = session.restart_error
  session.restart_error = nil
  if hook then
    hook(err)
  end
  P.end_unsettled(err.connection)
  local event = session.event or session.env.event
  if event(session.tid) then
    return
  end
  return run_loop(event, session.tid, 1)
end

function entries.done(session)
  local thread_done = session.env.thread_done
  if type(thread_done) == "function" then
    thread_done(session.tid)
  end
end

-- A command: from the script's table of commands, else a function of that name.
function entries.command(session, name)
  load_script(session)
  set_options(session)
  local run = P.command_entry(session.env, name)
  if run then
    session.answer = run(session.tid)
    -- The result of a function of that name is ignored.
    if session.answer == false then
      error("the '" .. name .. "' command returned false", 0)
    end
    return
  end
  run = session.env[name]
  if type(run) ~= "function" then
    error("no such command: " .. name, 0)
  end
  session.answer = run()
end

-- An optional function of the script (`init`, `done`, a callback).
function entries.call(session, name)
  load_script(session)
  set_options(session)
  local run = P.find_function(session, name)
  if type(run) == "function" then
    session.answer = run()
  end
end

-- A function of the script's hooks, for the host.
function entries.hook(session, name)
  session.env.sysbench.hooks[name](P.hook_argument)
end

-- The entry in the commands table, if well formed, and whether it is parallel.
function P.command_entry(env, name)
  local commands = env.sysbench and env.sysbench.cmdline and env.sysbench.cmdline.commands
  local entry = type(commands) == "table" and commands[name]
  if type(entry) == "table" and type(entry[1]) == "function" then
    return entry[1], entry[2] and true or false
  end
end

local sessions = {}
local sessions_by_env = setmetatable({}, { __mode = "k" })

-- The current session.
function P.current_session()
  return sessions_by_env[getfenv(0)]
end

-- Whether to wait for lost connections: only a run's events are repeated on new ones.
function P.repeats_events()
  local session = P.current_session()
  return session ~= nil and (session.entry == "run" or session.entry == "restart")
end

function is_own(co)
  local session = P.current_session()
  return session ~= nil and session.co == co
end

-- A coroutine that runs `entry` in session `index`, which is created if missing.
function P.spawn(index, tid, entry, name)
  local session = sessions[index]
  if not session then
    session = P.new_session(tid)
    sessions[index] = session
  end
  local body = entries[entry]
  session.entry = entry
  sessions_by_env[session.env] = session
  local co = raw_create(function()
    setfenv(0, session.env)
    return body(session, name)
  end)
  session.co = co -- keeps it from the collector
  return co
end

local function message_of(err)
  if type(err) == "table" and err.sql_errmsg then
    return ("SQL error, errno = %d, state = '%s': %s"):format(
      err.sql_errno, err.sql_state, err.sql_errmsg)
  end
  if type(err) == "string" or type(err) == "number" then
    return tostring(err)
  end
  local meta = getmetatable(err)
  if type(meta) == "table" and meta.__tostring then
    return tostring(err)
  end
  return "(not a string)"
end

-- The reaction to an error that ended a session's coroutine, and the message: "again" to repeat the
-- event, "stop" if the session is done, "fatal" for a database error that looked like one that the
-- script ignores, else "failed".
function P.on_error(index, entry, err)
  local session = sessions[index]
  local in_loop = entry == "run" or entry == "restart"
  if type(err) == "table" and err.errcode == P.RESTART_EVENT and in_loop
    and session.env.thread_run == P.default_thread_run then
    session.restart_error = err
    return "again"
  end
  if err == P.STOP then
    return "stop"
  end
  if entry == "done" and P.sysbench then
    P.log("FATAL", "`thread_done' function failed: " .. message_of(err))
    P.note_failure()
    return "stop"
  end
  local fatal = P.fatal
  P.fatal = nil
  if fatal and type(err) == "string" and err:sub(-#fatal) == fatal then
    return "fatal", message_of(err)
  end
  return "failed", message_of(err)
end

-- The result of the last function called.
function P.answer(index)
  return sessions[index] and sessions[index].answer
end

-- The environment of a session, from which the host reads the script's declarations.
function P.environment(index)
  return sessions[index] and sessions[index].env
end

-- A script's function by name, for the host to check whether it exists.
function P.script_function(index, name)
  return sessions[index] and P.find_function(sessions[index], name)
end

