//! Check 40: the delay of a replica.

use dyno_core::catalogue::names;

use crate::check::{Check, CheckResult, advice, doubt_if, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const REPLICATION: Check = Check {
    number: 40,
    name: "replication-lag",
    title: "Lag of replicas, and its growth",
    rule: "Doubt if a replica (the server, or one of its replicas) was {0} s behind, its lag grew \
           by {1} s or {2} MiB of log, or it did not run.",
    thresholds: &[LAG, GROWTH, LOG],
    make: replication,
};

pub(super) const FLOW_CONTROL: Check = Check {
    number: 40,
    name: "flow-control",
    title: "Whether the cluster paused the node's writes",
    rule: "Doubt if Galera's flow control paused the node {0} % of the time, or group replication \
           delayed the sessions' transactions {0} % of their time.",
    thresholds: &[PAUSED],
    make: flow_control,
};

thresholds! {
    PAUSED = 5.0, "percent of the time", "time with writes paused":
        "beyond occasional pauses, the slowest node limits throughput";
}

/// A cluster's time in pauses, in seconds per second of the node; on average, if the counter is the
/// sum of all sessions.
fn pauses(view: &View) -> Option<(&'static str, f64)> {
    if let Some(paused) = view.mean(names::DB_STATUS_WSREP_FLOW_CONTROL_PAUSED_NS) {
        return Some(("Galera paused writes", paused));
    }
    // The sum includes the sessions of other agents, and of the other side of a duet.
    let all = view
        .mean(names::DB_STATUS_GR_FLOW_CONTROL_THROTTLE_TIME_SUM)
        .filter(|_| !view.is_shared())?;
    let sessions = view.drive().map_or(1, |drive| drive.sessions.max(1));
    let words = "group replication delayed the transactions of an average session";
    Some((words, all / f64::from(sessions)))
}

fn flow_control(view: &View) -> CheckResult {
    if view.imported() || view.embedded() || view.family().is_none() {
        return Missing::Cluster.or(view, "There is no server that could be a cluster node.");
    }
    let Some((what, paused)) = pauses(view) else {
        return CheckResult::not_checked(
            "The server counts no pauses of a cluster's flow control, or not this run's alone.",
        );
    };
    let asked = view
        .mean(names::DB_STATUS_WSREP_FLOW_CONTROL_SENT)
        .filter(|per_s| *per_s > 0.0);
    let by = match asked {
        Some(per_s) => format!(
            ", and the node itself requested pauses {} times per second",
            text::rate(per_s)
        ),
        None => String::new(),
    };
    CheckResult::of(
        doubt_if(paused * 100.0 >= PAUSED.value),
        format!(
            "Flow control of {what} for {} s of each second{by}.",
            text::plain(paused)
        ),
        "Find the node that applies too slowly (wsrep_flow_control_sent and wsrep_local_recv_queue \
         there), give it more appliers, or offer less (--rate): the slowest node limits this rate.",
    )
    .with("paused", paused * 100.0, "percent of the time")
    .with_some("requests of this node", asked, "per second")
    .with_some(
        "receive queue, most",
        view.largest(names::DB_STATUS_WSREP_LOCAL_RECV_QUEUE),
        "count",
    )
}

thresholds! {
    LAG = 10.0, "s", "lag":
        "servers report whole seconds, and a large transaction may take several";
    GROWTH = 3.0, "s", "growth of the lag":
        "the replica cannot keep up; readings are in whole seconds";
    LOG = 64.0, "MiB", "growth of the unapplied log":
        "four WAL segments; replicas that keep up lag by kilobytes";
}
const MIB: f64 = 1024.0 * 1024.0;

fn replication(view: &View) -> CheckResult {
    if view.imported() || view.embedded() || view.family().is_none() {
        return Missing::Replication.or(
            view,
            "There is no server that could be a replica or have one.",
        );
    }
    let Some(fact) = view.run.fact(names::SERVER_REPLICATION) else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::SERVER_REPLICATION)));
    };
    if fact == "none" {
        return CheckResult::pass("The server is not a replica, and had no replicas.");
    }
    let stopped = view.values(names::DB_REPLICATION_RUNNING).contains(&0.0);
    let lags = view.points(names::DB_REPLICATION_LAG);
    let Some((last_s, last)) = lags.last().copied().filter(|_| !stopped) else {
        return match stopped {
            true => CheckResult::doubt(
                format!("The server is a {fact}, and stopped receiving or applying for some time."),
                "See its status (SHOW REPLICA STATUS) for the error, and start it again.",
            ),
            false => CheckResult::not_checked(format!(
                "The server is a {fact} and does not report its replicas' lag: observe a replica."
            )),
        };
    };
    let first = lags.first().map_or(last, |(_, lag)| *lag);
    let (at_s, most) =
        lags.iter().copied().fold(
            (last_s, last),
            |most, one| {
                if one.1 > most.1 { one } else { most }
            },
        );
    let growth = last - first;
    let log = view.ends(names::DB_REPLICATION_BEHIND);
    let log_growth = log.map_or(0.0, |(first, last)| (last - first) / MIB);
    let grows = growth >= GROWTH.value || log_growth >= LOG.value;
    let fault = most >= LAG.value || grows;
    let behind = view.largest(names::DB_REPLICATION_BEHIND);
    let bytes = behind.filter(|bytes| *bytes > 0.0);
    let bytes = bytes.map_or_else(String::new, |bytes| {
        format!(", with at most {} of log not applied", text::bytes(bytes))
    });
    CheckResult::of(
        doubt_if(fault),
        format!(
            "The server is a {fact}; the lag was {} at the beginning, at most {} (at {}) and {} at \
             the end{bytes}.",
            text::seconds(first),
            text::seconds(most),
            text::seconds(at_s),
            text::seconds(last)
        ),
        &advice(&[
            (
                grows,
                "Offer no more than the replica can apply (--rate), or let it apply in parallel.",
            ),
            (!grows, "Wait until it has caught up before measuring."),
        ]),
    )
    .with("lag at the beginning", first, "s")
    .with("lag at most", most, "s")
    .with("lag at the end", last, "s")
    .with_some("log not applied, most", behind, "bytes")
}
