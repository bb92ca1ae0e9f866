//! A Lua state with the sessions of one worker: [`dyno_core::session::Program`] for scripts.

use std::sync::Arc;

use dyno_core::db::error_text;
use dyno_core::rand::Stream;
use dyno_core::session::{Entry, Port, Program, SessionId, Step};
use mlua::ffi as lua_ffi;
use mlua::{Function, Lua, Table, Thread, Value};

use crate::config::HostConfig;
use crate::context::{Common, SessionState, Turn, TurnGuard, outcome};
use crate::distributions::{Distributions, TextMaker, Unique};
use crate::prelude;

/// The memory at which garbage is collected, in percent of what was in use after the last time.
/// Sessions leave garbage when they are initialised, which would double the peak of ten thousand
/// sessions.
const PAUSE_IN_INIT: i32 = 115;
/// LuaJIT's default.
const PAUSE_IN_RUN: i32 = 200;

/// A Lua state and its sessions. Stays on the thread that created it.
pub struct Host {
    // Sessions first: they must not outlive the state of their coroutines.
    sessions: Vec<Option<Box<SessionState>>>,
    /// Each session's number in the run, and its current entry.
    entries: Vec<(u32, &'static str)>,
    common: Box<Common>,
    spawn: Function,
    on_error: Function,
    pub(crate) api: Table,
    pub(crate) lua: Lua,
    pub(crate) config: Arc<HostConfig>,
    /// Whether no session has begun its run or a command.
    is_new: bool,
}

impl Host {
    /// Creates a state with the prelude. The script itself runs when a session is entered.
    ///
    /// # Errors
    /// A message for the user: a `--luajit-cmd` that LuaJIT refuses.
    pub fn new(config: Arc<HostConfig>) -> Result<Self, String> {
        crate::exports::keep();
        let lua = prelude::new_state();
        let api = prelude::load(&lua, &config).map_err(|error| error.to_string())?;
        let common = Box::new(Common {
            seed: config.seed,
            distributions: Distributions::new(&config.rand),
            rand_kind: config.rand.kind,
            unique: Unique::new(config.seed),
            unique_count: Arc::clone(&config.unique),
            unique_step: config.unique_step,
            texts: TextMaker::default(),
            row: Default::default(),
            text: Vec::with_capacity(256),
            statements: Default::default(),
        });
        let spawn = api.get("spawn").map_err(|error| error.to_string())?;
        let on_error = api.get("on_error").map_err(|error| error.to_string())?;
        let host = Self {
            sessions: Vec::new(),
            entries: Vec::new(),
            common,
            spawn,
            on_error,
            api,
            lua,
            config,
            is_new: true,
        };
        host.set_pause(PAUSE_IN_INIT);
        Ok(host)
    }

    /// Sets the pause of the garbage collector, and returns the previous one.
    fn set_pause(&self, percent: i32) -> i32 {
        let mut previous = percent;
        // SAFETY: setting the pause neither allocates nor touches the stack.
        let set = unsafe {
            self.lua.exec_raw::<()>((), |lua| {
                previous = lua_ffi::lua_gc(lua, lua_ffi::LUA_GCSETPAUSE, percent);
            })
        };
        debug_assert!(set.is_ok());
        previous
    }

    /// Collects garbage as usual from now on, unless the script has set the pause itself.
    #[cold]
    fn end_init(&mut self) {
        self.is_new = false;
        let previous = self.set_pause(PAUSE_IN_RUN);
        if previous != PAUSE_IN_INIT {
            self.set_pause(previous);
        }
    }

    /// Replaces the values of `sysbench.opt`.
    ///
    /// # Errors
    /// Lua is out of memory.
    pub fn set_options(
        &self,
        options: &[(String, dyno_core::plan::OptionValue)],
    ) -> Result<(), String> {
        prelude::set_options(&self.lua, &self.api, options).map_err(|error| error.to_string())
    }

    /// Runs `entry` of a session to its end without a worker.
    pub(crate) fn run_alone(
        &mut self,
        session: SessionId,
        tid: u32,
        entry: &Entry,
    ) -> Result<(), String> {
        self.begin(session, tid, entry_name(entry), entry_argument(entry))?;
        let mut port = crate::no_port::NoPort;
        loop {
            match self.resume(&mut port, session) {
                Step::Finished => return Ok(()),
                Step::Failed(message) => return Err(message),
                Step::Waiting | Step::Yielded => {}
            }
        }
    }

    fn begin(
        &mut self,
        session: SessionId,
        tid: u32,
        entry: &'static str,
        argument: Option<&str>,
    ) -> Result<(), String> {
        if self.sessions.len() <= session {
            self.sessions.resize_with(session + 1, || None);
            self.entries.resize(session + 1, (0, "init"));
        }
        let stream = Stream::new(self.config.seed, self.config.stream_base + u64::from(tid));
        let state = self.sessions[session]
            .get_or_insert_with(|| Box::new(SessionState::new(session, stream)));
        let thread: Thread = self
            .spawn
            .call((session, tid, entry, argument))
            .map_err(|error| error.to_string())?;
        // The prelude keeps the coroutine alive until the session's next entry.
        state.thread = thread.to_pointer().cast_mut().cast();
        state.waiting = None;
        self.entries[session] = (tid, entry);
        Ok(())
    }

    #[cold]
    fn finished(&self, session: SessionId) -> Step {
        if self.entries[session].1 == "command" {
            self.config.barrier.leave();
        }
        Step::Finished
    }

    /// Records the kind of the session's last error if the session fails with it.
    fn note_database_error(&self, session: SessionId, message: &str) {
        let state = self.sessions.get(session).and_then(Option::as_ref);
        let failure = state.and_then(|state| state.failure.as_ref());
        if let Some(failure) = failure.filter(|failure| message.contains(&failure.message)) {
            let errors = &self.config.database_errors;
            errors.note(&failure.message, failure.kind);
        }
    }

    /// The coroutine has raised an error.
    #[cold]
    fn failed(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let Some(Some(state)) = self.sessions.get(session) else {
            return Step::Failed("no such session".to_owned());
        };
        let (thread, (tid, entry)) = (state.thread, self.entries[session]);
        // SAFETY: the error value is at the top of the dead coroutine's stack; both states belong
        // to the same Lua universe.
        let value = unsafe {
            self.lua.exec_raw::<Value>((), |lua| {
                lua_ffi::lua_xmove(thread, lua, 1);
            })
        };
        let answer = value.and_then(|value| {
            self.on_error
                .call::<(String, Option<String>)>((session, entry, value))
        });
        match answer {
            Ok((what, _)) if what == "stop" => self.finished(session),
            Ok((what, _)) if what == "again" => {
                port.count_retry(session);
                match self.begin(session, tid, "restart", None) {
                    Ok(()) => Step::Yielded,
                    Err(message) => Step::Failed(message),
                }
            }
            Ok((what, message)) => {
                if what == "fatal" {
                    port.error_not_ignored(session);
                }
                // The other sessions of a parallel command would wait for this one forever.
                self.config.barrier.break_down();
                let message = message.unwrap_or_default();
                self.note_database_error(session, &message);
                Step::Failed(error_text(message.as_bytes()))
            }
            Err(error) => Step::Failed(error_text(error.to_string().as_bytes())),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for session in self.sessions.iter_mut().flatten() {
            session.entries.close(&self.config.ledger);
        }
    }
}

impl Program for Host {
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String> {
        if self.is_new && matches!(entry, Entry::Run | Entry::Command(_)) {
            self.end_init();
        }
        self.begin(session, tid, entry_name(entry), entry_argument(entry))
    }

    // Once per turn: passing the step through memory would cost more than the call.
    #[inline(always)]
    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let Some(Some(state)) = self.sessions.get_mut(session) else {
            return Step::Failed("no such session".to_owned());
        };
        let state: *mut SessionState = &mut **state;
        let common: *mut Common = &mut *self.common;
        // SAFETY: the session is in a box that is not removed while it has its turn; the lifetime
        // of the port is that of this call, and the guard ends with it.
        let status = unsafe {
            let port: *mut dyn Port =
                std::mem::transmute::<*mut (dyn Port + '_), *mut (dyn Port + 'static)>(port);
            let _guard = TurnGuard::enter(Turn {
                port,
                session: state,
                common,
            });
            let thread = (*state).thread;
            let mut arguments = 0;
            if let Some(conn) = (*state).waiting.take() {
                let code = outcome(&mut *port, &mut *state, conn);
                lua_ffi::lua_pushinteger(thread, code as lua_ffi::lua_Integer);
                arguments = 1;
            }
            // Yielded values stay on the stack, below the arguments of the next resumption, where
            // they are ignored; they disappear with the frame.
            lua_ffi::lua_resume_(thread, arguments)
        };
        match status {
            lua_ffi::LUA_YIELD => Step::Waiting,
            lua_ffi::LUA_OK => self.finished(session),
            _ => self.failed(port, session),
        }
    }
}

fn entry_name(entry: &Entry) -> &'static str {
    match entry {
        Entry::Init => "init",
        Entry::Run => "run",
        Entry::Done => "done",
        Entry::Command(_) => "command",
        Entry::Call(_) => "call",
        Entry::Hook(_) => "hook",
    }
}

fn entry_argument(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Command(name) | Entry::Call(name) | Entry::Hook(name) => Some(name),
        Entry::Init | Entry::Run | Entry::Done => None,
    }
}
