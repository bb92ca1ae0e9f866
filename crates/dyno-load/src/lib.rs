//! The hot path: workers that drive thousands of sessions each, pacing, recording, and the run's
//! clock. It is independent of databases and script languages: sessions run a
//! [`dyno_core::session::Program`], and connections come from a [`dyno_core::db::Connector`].
//!
//! The phases of a run: every session initialises; a barrier; the ramp-up, in which sessions begin
//! one after another; the warm-up; the measurement; and after the deadline the grace period, in
//! which events in flight may end. An event with all its statements belongs to the phase in which
//! it began (in an open loop: in which it was due).

mod accounts;
mod arrivals;
mod calendar;
mod connections;
mod course;
mod descriptors;
mod merger;
mod message;
mod outages;
mod outcome;
mod poller;
mod pool;
mod port;
mod progress;
mod quota;
mod recorder;
mod roles;
mod run;
mod session;
mod silences;
mod single;
mod state;
mod statements;
mod stop;
mod tally;
mod timers;
mod work;
mod worker;

pub use arrivals::RATE_MAX;
pub use descriptors::{DescriptorError, ensure_descriptors};
pub use outages::Outage;
pub use outcome::{Counted, LoadError, ProcessUse, RunOutcome, SessionTotals, WorkerReport};
pub use progress::{AgentInterval, Progress};
pub use run::{Gate, Run, RunConfig, SESSIONS_MAX};
pub use silences::{Pauses, TimeRange};
pub use single::{Single, run_single};
pub use statements::{Ended, Literals, ShapeFigures, StatementFacts, comparable, is_single, shape};
pub use stop::{StopLevel, StopSignal};
