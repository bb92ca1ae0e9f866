//! What limited a run, by its observations.

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Finding, Outcome};
use dyno_core::record::RunRecord;

use crate::context::Context;
use crate::server_host::{BUSY, is_limited};
use crate::text::{plain, sentence};
use crate::time::causes;
use crate::view::View;
use crate::waits;

/// Limits that the record shows, as sentences; usually empty.
pub fn limits(run: &RunRecord) -> Vec<String> {
    consumer(run).into_iter().chain(waits::waits(run)).collect()
}

/// A sentence about backups during the measurement, unless a finding names them as a cause.
pub fn backups(run: &RunRecord, findings: &[Finding]) -> Option<String> {
    let context = Context::default();
    let is_named = |finding: &Finding| {
        matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse) && finding.names(Cause::Backup)
    };
    let view = View::new(run, &context);
    let words = causes::backups::throughout(&view)?;
    if findings.iter().any(is_named) {
        return None;
    }
    let Some(effect) = causes::backups::effect(&view) else {
        return Some(format!("{} No check found an effect.", sentence(&words)));
    };
    let so = match effect.is_sure {
        true => format!("which moves the mean by {} %", plain(effect.moves.abs())),
        false => "which chance may explain".to_owned(),
    };
    Some(sentence(&format!("{}, {so}", effect.words())))
}

/// The main consumer of this host's CPUs, if they were used up; `None` if it is Dyno, whose share
/// the run reports.
fn consumer(run: &RunRecord) -> Option<String> {
    let context = Context::default();
    let view = View::new(run, &context);
    let busy = view.host_busy().filter(|busy| *busy >= BUSY);
    if busy.is_none() || !is_limited(run) || !view.agents().is_empty() {
        return None;
    }
    let cpus = view.cpus()?;
    let cores = |series: &[&str]| view.mean_sum(series).unwrap_or(0.0);
    let here = view.same_host() == Some(true);
    let server = match here {
        true => cores(&[names::SERVER_CPU_USER, names::SERVER_CPU_SYSTEM]),
        false => 0.0,
    };
    let others = cores(&[names::HOST_OTHERS_CPU]);
    let own = cores(&[names::CLIENT_CPU_USER, names::CLIENT_CPU_SYSTEM]);
    let most = server.max(others);
    if most <= own {
        return None;
    }
    let percent = (most / cpus * 100.0).min(100.0);
    // A finding names the other processes.
    let consumer = match server >= others {
        true => "the server",
        false => "other processes",
    };
    Some(format!(
        "Most of this host's CPU time went to {consumer}: {percent:.0} %."
    ))
}

#[cfg(test)]
mod tests {
    use dyno_samples as samples;

    use super::*;

    /// A run on a host with two CPUs: cores of the server, of other processes and of Dyno.
    fn run(server: f64, others: f64, own: f64) -> RunRecord {
        let mut run = samples::good();
        samples::fact(&mut run, names::HOST_CPU_THREADS, "2");
        samples::fact(&mut run, names::SERVER_SAME_HOST, "yes");
        for (name, value) in [
            (names::HOST_CPU_IDLE, 1.0),
            (names::HOST_CPU_IOWAIT, 0.0),
            (names::SERVER_CPU_USER, server),
            (names::SERVER_CPU_SYSTEM, 0.0),
            (names::HOST_OTHERS_CPU, others),
            (names::CLIENT_CPU_USER, own),
            (names::CLIENT_CPU_SYSTEM, 0.0),
        ] {
            samples::series(&mut run, name, &[value; 30]);
        }
        run
    }

    #[test]
    fn a_backup_without_effect_is_mentioned_once() {
        let mut run = samples::good();
        assert_eq!(backups(&run, &[]), None);
        let mut seen = [0.0; 30];
        seen[4..9].fill(1.0);
        samples::series(&mut run, names::DB_BACKUPS, &seen);
        let said = backups(&run, &[]).unwrap();
        samples::assert_begins(&said, "A backup ran from 5 s to 10 s: the rate was ");
        samples::assert_has(&said, "/s during the backup and ");
        assert!(
            said.ends_with("/s otherwise, which chance may explain."),
            "{said}"
        );
        let mut named = samples::values::finding("stalls", 26, Outcome::Doubt, "A backup ran.");
        let unnamed = named.clone();
        named.causes = vec![Cause::Backup];
        assert_eq!(backups(&run, &[unnamed.clone(), named]), None);
        assert!(backups(&run, &[unnamed]).is_some());
        // The verdict is the same.
        let judged = crate::judge(&run, &Context::default());
        assert!(judged.iter().all(|finding| !finding.names(Cause::Backup)));
    }

    #[test]
    fn the_main_consumer_of_the_cpus_is_named() {
        assert_eq!(
            limits(&run(1.4, 0.1, 0.5)),
            ["Most of this host's CPU time went to the server: 70 %."]
        );
        assert_eq!(
            limits(&run(0.4, 1.1, 0.5)),
            ["Most of this host's CPU time went to other processes: 55 %."]
        );
        // Dyno's own share is reported with the limit.
        assert!(limits(&run(0.4, 0.1, 1.5)).is_empty());
        // CPUs with time to spare limit nothing.
        let mut idle = run(1.4, 0.1, 0.5);
        samples::series(&mut idle, names::HOST_CPU_IDLE, &[30.0; 30]);
        assert!(limits(&idle).is_empty());
        // The server elsewhere uses other CPUs.
        let mut elsewhere = run(1.4, 0.1, 0.5);
        samples::fact(&mut elsewhere, names::SERVER_SAME_HOST, "no");
        assert!(limits(&elsewhere).is_empty());
    }
}
