//! Dyno's own options, each defined once.

mod agent;
mod duet;
mod import;
mod lab;
mod results;
mod run;
mod search;
mod server;
mod sysbench;
mod top;

pub(crate) use agent::{AGENT, FLEET};
pub(crate) use duet::{NOT_OF_DUETS, OF_DUETS, duet};
pub(crate) use import::IMPORT;
pub(crate) use lab::LAB;
pub(crate) use results::{
    COMPARE, DOCTOR, EXPORT, FIGURES, HISTORY, LIST, PHASES, REPORT, RM, SHOW, TABLE, WAIVE,
};
pub(crate) use run::RUN;
pub(crate) use search::{OF_SEARCHES, search};
pub(crate) use server::SERVER;
pub(crate) use sysbench::{DYNO, SYSBENCH};
pub(crate) use top::TOP;

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
