//! Processes and threads, by `/proc`.

mod backends;
mod bounds;
mod find;
mod identity;
mod others;
mod own;
mod rest;
mod server;
mod sockets;
mod switches;
mod workers;

pub(crate) use find::{Claim, Located, Placed, locate};
pub(crate) use identity::report_ignored_syncs;
pub(crate) use own::Own;
pub(crate) use rest::Rest;
pub(crate) use server::{Server, children};
pub(crate) use sockets::{listeners, nodelay_of, own_ports, ports_of};
pub(crate) use workers::Workers;

use crate::text::{number, whole, words};

/// The limit of a process's descriptors, from `/proc/PID/limits`.
pub(crate) fn descriptors_limit(limits: &str) -> Option<&str> {
    let mut lines = limits.lines();
    let line = lines.find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)
}

/// The numbers in `/proc/PID/stat`, by the field numbers of proc_pid_stat(5).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PidStat {
    pub name: String,
    /// A letter: `R` for running, `S` for sleeping, `T` for stopped …
    pub state: u8,
    pub parent: i32,
    pub user_ticks: f64,
    pub system_ticks: f64,
    /// Of children that were waited for, and of their children.
    pub children_user_ticks: f64,
    pub children_system_ticks: f64,
    pub threads: f64,
    /// Since boot.
    pub start_ticks: u64,
    /// The CPU that it last ran on.
    pub cpu: Option<u64>,
}

impl PidStat {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        // A name may contain anything, including parentheses and newlines.
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')')?;
        let name = text.get(open + 1..close)?;
        let fields: Vec<&[u8]> = words(&text[close + 1..]).collect();
        // The first word after the name is field 3.
        let field = |index: usize| fields.get(index - 3).copied();
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            state: field(3).and_then(|state| state.first().copied())?,
            parent: field(4).and_then(whole)?.try_into().ok()?,
            user_ticks: field(14).and_then(number)?,
            system_ticks: field(15).and_then(number)?,
            children_user_ticks: field(16).and_then(number)?,
            children_system_ticks: field(17).and_then(number)?,
            threads: field(20).and_then(number)?,
            start_ticks: field(22).and_then(whole)?,
            cpu: field(39).and_then(whole),
        })
    }

    /// Whether the process was stopped by a signal or a debugger.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Whether it has ended: a zombie, or dead.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = b"12506 (a) R (b) S 12487 12487 7108 0 -1 4194304 100 1 2 3 40 50 60 70 20 0 9 \
                     0 139948 3133440 412 1 1 1 1 1 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";
        let stat = PidStat::parse(text).unwrap();
        assert_eq!(stat.name, "a) R (b");
        assert_eq!(stat.state, b'S');
        assert_eq!(stat.parent, 12_487);
        assert_eq!((stat.user_ticks, stat.system_ticks), (40.0, 50.0));
        assert_eq!(
            (stat.children_user_ticks, stat.children_system_ticks),
            (60.0, 70.0)
        );
        assert_eq!(
            (stat.threads, stat.start_ticks, stat.cpu),
            (9.0, 139_948, Some(1))
        );
        assert_eq!(PidStat::parse(b"1 (x) R"), None);
        assert_eq!(PidStat::parse(b")("), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[()a-zA-Z0-9 -]{0,200}") {
            let _ = PidStat::parse(text.as_bytes());
        }
    }
}
