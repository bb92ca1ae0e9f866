//! Dyno's own options, each defined once.

mod agent;
mod import;
mod lab;
mod results;
mod run;
mod search;
mod server;
mod sysbench;
mod top;

pub use agent::{AGENT, FLEET};
pub use import::IMPORT;
pub use lab::LAB;
pub use results::{COMPARE, DOCTOR, EXPORT, FIGURES, LIST, PHASES, REPORT, RM, SHOW, TABLE, WAIVE};
pub use run::RUN;
pub use search::{OF_SEARCHES, search};
pub use server::SERVER;
pub use sysbench::{DYNO, SYSBENCH};
pub use top::TOP;

use crate::options::Opt;

const fn opt(
    group: &'static str,
    name: &'static str,
    value: Option<&'static str>,
    help: &'static str,
) -> Opt {
    Opt::new(group, name, value, help)
}

#[cfg(test)]
mod tests;
