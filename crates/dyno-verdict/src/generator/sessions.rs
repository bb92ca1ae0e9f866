//! Sessions that did nothing while others worked.

use dyno_core::finding::Outcome;
use dyno_core::record::{IdleSpan, SessionShare};
use dyno_core::states::{IdleIn, SessionState};

use crate::check::{Check, CheckResult, graded, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const IDLE_SESSIONS: Check = Check {
    number: 7,
    name: "idle-sessions",
    title: "Sessions idle while others worked",
    rule: "Doubt if a session completed no event for {0} s, {1} % of the run and {2} times the \
           median event, while others did or until the end. Refusal if idle time is {4} % of all \
           session time, a session was lost, or {5} % of the sessions ended without a connection. \
           Scheduled pauses do not count. While others work, idle times below {3} times those of \
           the least idle tenth of the role do not count either.",
    thresholds: &[
        IDLE_S,
        IDLE_SHARE,
        IDLE_EVENTS,
        IDLE_PEERS,
        IDLE_REFUSE,
        CONNECTING_REFUSE,
        CONNECTING_S,
    ],
    make: idle_sessions,
};

thresholds! {
    IDLE_S = 5.0, "s", "time without an event":
        "longer than a checkpoint, fail-over or accidental lock wait";
    IDLE_SHARE = 10.0, "percent", "share of the run without an event":
        "the run had one session fewer for a tenth of its time";
    IDLE_EVENTS = 20.0, "times the median event", "time without an event, in events":
        "events rarely differ by more than an order of magnitude";
    IDLE_PEERS = 3.0, "times the lowest tenth", "time without an event, against other sessions":
        "slow events and server stalls hit all sessions, a hang only some";
    IDLE_REFUSE = 10.0, "percent of all sessions' time", "idle time, refusal":
        "the load was a tenth smaller than reported";
    CONNECTING_REFUSE = 50.0, "percent", "sessions without a connection at the end":
        "the server was gone, and the load with it";
    CONNECTING_S = 1.0, "s", "one attempt to connect":
        "scripts that connect for each event are often connecting when sampled";
}

/// Sessions are observed once a second, so the last look may be this long before the end.
pub(super) const LAST_LOOK_S: f64 = 1.5;

fn idle_sessions(view: &View) -> CheckResult {
    let sessions = &view.run.sessions;
    if sessions.iter().all(|session| session.state.is_none()) {
        return Missing::Sessions.or(view, "What each session did over time is not known.");
    }
    if view.length_s <= 0.0 {
        return CheckResult::not_checked("Nothing was measured.");
    }
    let bound_s = bound_s(view);
    let idle: Vec<(&SessionShare, IdleSpan)> = groups(view)
        .into_iter()
        .flat_map(|group| idle_of(view, group, bound_s))
        .collect();
    let of_state = |state| {
        let own = sessions.iter().filter(|own| own.state == Some(state));
        own.count()
    };
    let lost = of_state(SessionState::Lost);
    let connecting = connecting(view);
    let without = connecting as f64 / sessions.len() as f64 * 100.0;
    let idle_s: f64 = idle.iter().map(|(_, idle)| idle.length_s()).sum();
    let share = idle_s / (sessions.len() as f64 * view.length_s) * 100.0;
    let graded = match idle.is_empty() {
        true => Outcome::Pass,
        false => Outcome::Doubt.max(graded(share, &IDLE_REFUSE, &IDLE_REFUSE)),
    };
    let outcome = match lost {
        0 if without < CONNECTING_REFUSE.value => graded,
        _ => Outcome::Refuse,
    };
    let mut evidence = evidence(sessions, lost, &idle, bound_s);
    if without >= CONNECTING_REFUSE.value {
        let all = sessions.len();
        let why = refused(view);
        evidence = format!(
            "{connecting} of {} had no connection at the end{why}. {evidence}",
            text::number_of(all, "session")
        );
    }
    CheckResult::of(outcome, evidence, advice(&idle, connecting))
        .with("sessions", sessions.len() as f64, "count")
        .with("idle sessions", idle.len() as f64, "count")
        .with("lost sessions", lost as f64, "count")
        .with("idle time", share, "percent of all sessions' time")
        .with("bound in this run", bound_s, "s")
}

/// The number of sessions without a connection at the end, except those that connect for
/// each event.
fn connecting(view: &View) -> usize {
    let end_s = view.length_s - LAST_LOOK_S;
    let sessions = view.run.sessions.iter();
    let mut without: Vec<&SessionShare> = sessions
        .filter(|own| own.state == Some(SessionState::Connecting))
        .collect();
    let last = view.run.intervals.iter().filter(|one| one.at_s >= end_s);
    let failed: u64 = last.map(|one| one.counters.connects_failed).sum();
    // A session pauses for up to 1.5 s between two attempts.
    if failed as f64 >= without.len() as f64 / 2.0 && failed > 0 {
        return without.len();
    }
    without.retain(|own| {
        own.idle.is_some_and(|idle| {
            let long = idle.length_s() >= CONNECTING_S.value || idle.attempts > 1;
            idle.idle_in == IdleIn::Connecting && idle.to_s >= end_s && long
        })
    });
    without.len()
}

/// The server's or the network's error for most attempts to connect.
fn refused(view: &View) -> String {
    let errors = view.summary().map(|summary| &summary.connect_errors);
    let most = errors.and_then(|errors| errors.values().max_by_key(|error| error.count));
    most.map_or_else(String::new, |error| {
        format!(" (attempts failed: {})", error.sample.trim_end_matches('.'))
    })
}

/// The time from which a session counts as idle in this run.
fn bound_s(view: &View) -> f64 {
    let event = view.run.operations.first();
    let total = event.and_then(|event| event.total.as_ref());
    let median_s = total.filter(|total| total.count > 0).map_or(0.0, |total| {
        total.service.value_at_quantile(0.5) as f64 / 1e9
    });
    let share_s = view.length_s * IDLE_SHARE.value / 100.0;
    IDLE_S.value.max(share_s).max(median_s * IDLE_EVENTS.value)
}

/// The sessions by role; a single group without roles.
fn groups<'a>(view: &View<'a>) -> Vec<Vec<&'a SessionShare>> {
    let roles = view.drive().map_or(&[][..], |drive| &drive.roles);
    let mut ends: Vec<u32> = roles
        .iter()
        .scan(0, |end, role| {
            *end += role.sessions;
            Some(*end)
        })
        .collect();
    ends.push(u32::MAX);
    let mut groups = vec![Vec::new(); ends.len()];
    for session in &view.run.sessions {
        let group = ends.partition_point(|end| *end <= session.session);
        if let Some(group) = groups.get_mut(group) {
            group.push(session);
        }
    }
    groups
}

/// The sessions of a group that were idle while others worked.
fn idle_of<'a>(
    view: &View<'a>,
    group: Vec<&'a SessionShare>,
    bound_s: f64,
) -> Vec<(&'a SessionShare, IdleSpan)> {
    let longest = |session: &SessionShare| session.idle.map_or(0.0, |idle| idle.length_s());
    let mut all: Vec<f64> = group.iter().map(|session| longest(session)).collect();
    all.sort_by(f64::total_cmp);
    let usual_s = dyno_stats::quantiles::quantile(&all, 0.1).unwrap_or(0.0);
    let is_idle = |idle: &IdleSpan| {
        let usual = matches!(idle.idle_in, IdleIn::Statement | IdleIn::Script)
            && idle.length_s() < usual_s * IDLE_PEERS.value;
        let others_work = others_worked(view, idle);
        // If the server has stopped answering, all sessions stay idle until the end, and no event
        // ends.
        let to_the_end = !others_work
            && idle.to_s >= view.length_s - LAST_LOOK_S
            && !worked_after(view, idle.to_s);
        idle.length_s() >= bound_s && (to_the_end || (others_work && !usual))
    };
    let silent = |session: &SessionShare, idle: &IdleSpan| {
        session.state == Some(SessionState::Lost) && idle.idle_in == IdleIn::Worker
    };
    let idle = |session: &'a SessionShare| {
        let idle = session.idle;
        let idle = idle.filter(|idle| silent(session, idle) || is_idle(idle))?;
        Some((session, idle))
    };
    group.into_iter().filter_map(idle).collect()
}

/// Whether events ended after the last look at an idle session.
fn worked_after(view: &View, at_s: f64) -> bool {
    let mut after = view
        .run
        .intervals
        .iter()
        .filter(|interval| interval.at_s > at_s);
    after.any(|interval| interval.counters.events > 0)
}

/// Whether events of other sessions ended meanwhile.
fn others_worked(view: &View, idle: &IdleSpan) -> bool {
    let within = view.run.intervals.iter().filter(|interval| {
        interval.at_s - interval.length_s >= idle.from_s && interval.at_s <= idle.to_s
    });
    within
        .into_iter()
        .any(|interval| interval.counters.events > 0)
}

fn evidence(
    all: &[SessionShare],
    lost: usize,
    idle: &[(&SessionShare, IdleSpan)],
    bound_s: f64,
) -> String {
    let sessions = all.len();
    let mut sentences = Vec::new();
    if lost > 0 {
        sentences.push(format!(
            "{lost} of {} {} lost.",
            text::number_of(sessions, "session"),
            text::verb(lost, "was", "were")
        ));
    }
    let longest = idle
        .iter()
        .map(|(_, idle)| idle.length_s())
        .reduce(f64::max);
    match longest {
        None if lost > 0 => {}
        None => sentences.push(without_idle(all, bound_s)),
        Some(longest) => {
            let each: Vec<String> = idle
                .iter()
                .map(|(session, idle)| story(session, idle))
                .collect();
            sentences.push(format!(
                "{} of {} did nothing for up to {}{}: {}.",
                idle.len(),
                text::number_of(sessions, "session"),
                text::seconds(longest),
                match idle.len() == sessions {
                    true => "",
                    false => " while others worked",
                },
                text::few(&each, 4)
            ));
        }
    }
    sentences.join(" ")
}

/// The evidence if no session is idle.
fn without_idle(all: &[SessionShare], bound_s: f64) -> String {
    let spans = all.iter().filter_map(|session| session.idle);
    let longest = spans.map(|idle| idle.length_s()).fold(0.0, f64::max);
    match longest >= bound_s {
        true => format!(
            "Sessions completed nothing for up to {}, but all of them alike or while none worked: \
             long events, or a stall.",
            text::seconds(longest)
        ),
        false => format!(
            "No session of {} did nothing for {} or more while others worked.",
            all.len(),
            text::seconds(bound_s)
        ),
    }
}

/// What a session did while it was idle.
pub(crate) fn story(session: &SessionShare, idle: &IdleSpan) -> String {
    let at = match idle.idle_in {
        IdleIn::Statement => "waited for a statement's answer".to_owned(),
        IdleIn::Connecting => format!("was connecting (attempt {})", idle.attempts),
        IdleIn::Script => "ran its script".to_owned(),
        IdleIn::Worker => format!("was on worker {}, which did not respond", session.worker),
    };
    format!(
        "session {} {at} from second {} to {}",
        session.session,
        text::plain(idle.from_s),
        text::plain(idle.to_s)
    )
}

fn advice(idle: &[(&SessionShare, IdleSpan)], connecting: usize) -> &'static str {
    if idle.is_empty() && connecting > 0 {
        return NO_CONNECTIONS;
    }
    if idle.is_empty() {
        return "See the errors for why those sessions ended. The figures come from fewer sessions \
                than requested.";
    }
    match idle.first().map(|(_, idle)| idle.idle_in) {
        Some(IdleIn::Connecting) => NO_CONNECTIONS,
        Some(IdleIn::Script | IdleIn::Worker) => {
            "Look for an endless loop or a blocking call in the script. The figures come from \
             fewer sessions than requested."
        }
        _ => {
            "Look at what the server does for those sessions (SHOW PROCESSLIST, pg_stat_activity): \
             a held lock, a hanging statement, a connection dropped by the network. The figures \
             come from fewer sessions than requested."
        }
    }
}

const NO_CONNECTIONS: &str = "Find out why the server accepted no connections: whether it was up, \
                              its connection limit, its log, the network. The figures come from \
                              fewer sessions than requested.";
