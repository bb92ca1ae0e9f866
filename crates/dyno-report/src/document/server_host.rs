//! The server's host in words, if it was observed there.

use dyno_core::summary::{RunSummary, ServerHost};

use super::Block;
use crate::terminal::Ink;

/// The host in words.
pub(crate) fn server_host(run: &RunSummary) -> Option<Block> {
    let host = run.server_host.as_ref()?;
    Some(Block::row("server's host", Ink::Plain, describe(host)))
}

/// `64 % of 16 CPUs busy, 52 % by the server (--server-agent ssh:db1)`.
fn describe(host: &ServerHost) -> String {
    let mut text = match (host.busy_percent, host.cpus) {
        (None, _) => "its CPUs were not observed".to_owned(),
        (Some(busy), Some(1.0)) => format!("its CPU {busy:.0} % busy"),
        (Some(busy), Some(cpus)) => format!("{busy:.0} % of {cpus:.0} CPUs busy"),
        (Some(busy), None) => format!("its CPUs {busy:.0} % busy"),
    };
    if let Some(server) = host.server_percent {
        text += &format!(", {server:.0} % by the server");
    }
    format!("{text} (--server-agent {})", host.observer)
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::ServerHost;

    use super::describe;

    #[test]
    fn unknown_figures_are_left_out() {
        let mut host = ServerHost {
            observer: "ssh:db1".to_owned(),
            cpus: Some(16.0),
            busy_percent: Some(63.7),
            server_percent: Some(51.9),
        };
        let whole = "64 % of 16 CPUs busy, 52 % by the server (--server-agent ssh:db1)";
        assert_eq!(describe(&host), whole);
        host.server_percent = None;
        host.cpus = None;
        assert_eq!(
            describe(&host),
            "its CPUs 64 % busy (--server-agent ssh:db1)"
        );
        host.busy_percent = None;
        assert_eq!(
            describe(&host),
            "its CPUs were not observed (--server-agent ssh:db1)"
        );
    }
}
