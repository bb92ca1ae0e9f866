//! Conducts the runs of a command: from a plan to their records and outcomes, on this host and on
//! agents. Nothing here prints or reads options: a [`Stage`] follows the runs, a [`lab::Caller`] an
//! experiment; notices go to the stage's [`dyno_run::Sinks`], and invalid requests are
//! [`dyno_run::RunError::Usage`].
//!
//! # Where to change what
//!
//! - The order of a command's runs: `src/command.rs`; several runs, one after the other:
//!   `src/sequence.rs`; one run: `src/measure.rs`.
//! - How a run can end: `src/outcome.rs`; the exit statuses: `crates/dyno-cli/src/lib.rs`.
//! - What the caller shows: `src/stage.rs`; the terminal: `crates/dyno-cli/src/screen.rs`.
//! - Hints for failed runs: `src/hints.rs`.
//! - A search: promises: `src/search/promise.rs`; settings and their defaults: `src/search/ask.rs`;
//!   the start: `src/search/climb.rs`; a trial, and a load generator at its limit:
//!   `src/search/trial.rs`. The next load to try, votes, bounds, confirmation:
//!   `crates/dyno-stats/src/search`; the result: `crates/dyno-analysis/src/search.rs`.
//! - An experiment, and its checks before the trials: `src/lab/definition.rs`, `src/lab/checks.rs`,
//!   `src/lab/slips.rs`, `src/lab/there.rs`; the order of its trials, and of the steps of each:
//!   `src/lab/conduct.rs`, `src/lab/search.rs`; the command lines of a trial: `src/lab/line.rs`;
//!   what happens between trials: `src/lab/site.rs`, `src/lab/images.rs`; the time left:
//!   `src/lab/pace.rs`; figures: `src/lab/figures.rs`.
//! - A duet: the order of its steps and its end: `src/duet/mod.rs`; the pilot, the servers' CPU
//!   clocks, blocks and the result: the files next to it. Slices: `crates/dyno-load/src/duet`;
//!   figures and answer: `crates/dyno-analysis/src/duet`.
//! - From a job to a plan, and the phases of a workload: `src/plans.rs`.
//! - A target's password, a temporary one, and the server at the target: `src/target.rs`.
//!
//! Agents (`src/fleet`; their messages: `crates/dyno-fleet`):
//!
//! - Which agents there are: `src/fleet/specs.rs`; their options:
//!   `crates/dyno-cli/src/fleet_options.rs`. How agents start: `src/fleet/launch.rs`,
//!   `src/fleet/ssh.rs`; what is sent to them: `src/fleet/bundle.rs`.
//! - The coordinator: `src/fleet/coordinator.rs`; what it reports: `src/fleet/watcher.rs`.
//! - The agent: `src/fleet/agent.rs`, `src/fleet/load.rs`, `src/fleet/sink.rs`.
//! - How results are merged: `src/fleet/outcome.rs`, `crates/dyno-load/src/outcome/together.rs`.
//! - The files of agents: `src/fleet/part_file.rs`; `dyno fleet collect`: `src/fleet/collect`,
//!   `crates/dyno-fleet/src/collect.rs`, `crates/dyno-run/src/recording/collected.rs`.
//! - The observer on the server's host: `src/fleet/observer.rs` there, `src/fleet/server_agent.rs`
//!   here.

mod command;
pub mod duet;
pub mod fleet;
mod hints;
mod hosts;
mod kept;
pub mod lab;
mod measure;
mod outcome;
pub mod plans;
pub mod search;
mod sequence;
mod stage;
pub mod target;

pub use command::{Command, execute, tables_there};
pub use hints::hint;
pub use hosts::Hosts;
pub use outcome::{Executed, Outcome};
pub use stage::Stage;

use dyno_run::RunError;

/// The error of an invalid request: nothing was started.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    RunError::Usage(message.into()).into()
}
