//! What limited the figures, as far as the load generator can observe it.

use dyno_core::db::Family;
use dyno_core::summary::{OpenLoopSummary, RunSummary};
use dyno_core::units::human_count;

use super::StartReadings;

/// A worker that uses this share of a core is called busy.
const WORKER_BUSY: f64 = 0.9;
/// A host that uses this share of its CPU time is called busy.
const HOST_BUSY: f64 = 0.95;
/// The offered rate counts as reached from this share on.
const REACHED: f64 = 0.98;
/// Sessions that spend this share of the measurement in events are called busy. They also start and
/// end events.
const SESSIONS_BUSY: f64 = 0.95;
/// If the generator was frozen for this share of the measurement, it is reported as the cause of
/// waits.
const FROZEN: f64 = 0.05;
/// Measurements shorter than this many seconds are not checked for limits.
const FIGURE_MIN_S: f64 = 0.5;

/// The limits of the figures, as far as this process can observe them.
pub(super) fn limits(summary: &RunSummary, start: &StartReadings, frozen_s: f64) -> Vec<String> {
    let mut limits = Vec::new();
    let embedded = summary.target.family.is_some_and(Family::is_embedded);
    let client = summary.client.as_ref();
    let busiest = (client.iter().flat_map(|client| &client.worker_busy))
        .copied()
        .fold(0.0, f64::max);
    if busiest >= WORKER_BUSY && !embedded && summary.target.family.is_some() {
        limits.push(format!(
            "The load generator: its busiest worker used {:.0} % of a core. Use more --workers, or \
             a host with more cores.",
            busiest * 100.0
        ));
    }
    if let Some((share, busy)) = start.host_busy() {
        // A run without events has no limit, and neither has a very short one.
        let is_figure = summary.totals.events > 0 && summary.measured_s >= FIGURE_MIN_S;
        // If the offered load is served, it is the limit.
        let reached = |open: &OpenLoopSummary| open.achieved_per_s >= open.offered_per_s * REACHED;
        let is_figure = is_figure && !summary.open_loop.as_ref().is_some_and(reached);
        if share >= HOST_BUSY && is_figure {
            let own = client.map_or(0.0, |client| client.user_s + client.system_s);
            let ticks = 100.0; // USER_HZ, fixed for user space on Linux
            limits.push(format!(
                "The CPUs of this host: {:.0} % busy, {:.0} % of that by Dyno itself.",
                share * 100.0,
                (own * ticks / busy * 100.0).min(100.0)
            ));
        }
    }
    if let Some(open) = &summary.open_loop {
        let busy = always_busy(summary);
        limits.extend(unserved(open, busy, summary.measured_s, frozen_s));
    }
    limits
}

/// The number of sessions, if they were always busy; without those in the background.
fn always_busy(summary: &RunSummary) -> Option<u32> {
    let drive = summary.drive.as_ref()?;
    let roles = drive.roles.iter().filter(|role| !role.background);
    let sessions = match drive.roles.is_empty() {
        true => drive.sessions,
        false => roles.map(|role| role.sessions).sum(),
    };
    let busy_s = summary.fairness.as_ref()?.time_mean_s;
    (busy_s >= summary.measured_s * SESSIONS_BUSY).then_some(sessions)
}

/// Why some arrivals were not served. `busy` is the number of sessions, if all were always busy.
fn unserved(
    open: &OpenLoopSummary,
    busy: Option<u32>,
    measured_s: f64,
    frozen_s: f64,
) -> Option<String> {
    const MORE: &str = "always busy: use more sessions, unless the server is the limit";
    let backlog = open.backlog.unwrap_or(0);
    if open.achieved_per_s >= open.offered_per_s * REACHED || backlog == 0 {
        return None;
    }
    let served = format!(
        "{} of {} events per second were served, and {} were waiting at the end.",
        human_count(open.achieved_per_s.round() as u64),
        human_count(open.offered_per_s.round() as u64),
        human_count(backlog)
    );
    Some(match busy {
        _ if frozen_s >= measured_s * FROZEN => format!(
            "The load generator, which was paused for {frozen_s:.1} s of {measured_s:.1} s: \
             {served}"
        ),
        Some(1) => format!("The only session was {MORE}. {served}"),
        Some(sessions) => {
            let sessions = human_count(sessions.into());
            format!("All {sessions} sessions were {MORE}. {served}")
        }
        None => format!("The target or the number of sessions: {served}"),
    })
}

#[cfg(test)]
mod tests {
    use dyno_core::plan::{Drive, Role};
    use dyno_core::summary::Fairness;

    use super::*;

    #[test]
    fn a_target_is_not_blamed_for_a_load_generator_that_stood_still() {
        let mut open = OpenLoopSummary {
            offered_per_s: 1_000.0,
            achieved_per_s: 700.0,
            backlog: Some(3_000),
            backlog_max: Some(3_000),
            pacing_lag: None,
        };
        let warning_of = |open: &OpenLoopSummary, frozen_s| unserved(open, None, 10.0, frozen_s);
        let served =
            "700 of 1,000 events per second were served, and 3,000 were waiting at the end.";
        assert_eq!(
            warning_of(&open, 0.0),
            Some(format!("The target or the number of sessions: {served}"))
        );
        let frozen = "The load generator, which was paused for 3.0 s of 10.0 s: ";
        assert_eq!(warning_of(&open, 3.0), Some(format!("{frozen}{served}")));
        assert_eq!(unserved(&open, Some(4), 10.0, 3.0), warning_of(&open, 3.0));
        let more = "always busy: use more sessions, unless the server is the limit.";
        for (sessions, who) in [(1, "The only session was"), (4, "All 4 sessions were")] {
            let expected = format!("{who} {more} {served}");
            assert_eq!(unserved(&open, Some(sessions), 10.0, 0.0), Some(expected));
        }
        open.backlog = Some(0);
        assert_eq!(warning_of(&open, 3.0), None);
    }

    #[test]
    fn sessions_are_busy_if_they_spent_their_time_in_events() {
        let role = |name: &str, sessions, background| Role {
            name: name.to_owned(),
            sessions,
            background,
            unit: "events".to_owned(),
            per_event: 1.0,
            pace: None,
        };
        let busy = |time_mean_s: f64, roles: Vec<Role>| {
            let drive = Drive {
                sessions: 4,
                roles,
                ..Drive::default()
            };
            always_busy(&RunSummary {
                measured_s: 10.0,
                drive: Some(drive),
                fairness: Some(Fairness {
                    time_mean_s,
                    ..Fairness::default()
                }),
                ..RunSummary::default()
            })
        };
        assert_eq!(busy(9.9, Vec::new()), Some(4));
        assert_eq!(busy(9.0, Vec::new()), None);
        let roles = vec![role("load", 3, false), role("watch", 1, true)];
        assert_eq!(busy(9.9, roles), Some(3));
    }
}
