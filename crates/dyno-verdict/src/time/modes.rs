//! Check 26: bimodal latencies.
//!
//! Several modes are normal for a workload of several operations, or one that reads from a cache
//! and from a disk. In all other cases something in between is at fault: one endpoint of two, one
//! replica, a lock, a plan, delayed acknowledgements.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::record::{Operation, Span};
use dyno_stats::modes::{Bucket, Modes, modes, regrid};

use super::steady_state;
use crate::check::{Check, CheckResult, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const MODES: Check = Check {
    number: 26,
    name: "latency-modes",
    title: "Unexplained latency modes and delayed acknowledgements",
    rule: "Doubt if {0} % to {1} % of the events, or of one operation, form a mode {2} times and \
           {3} ms slower than the rest, unless as many events write or miss the cache. Doubt if \
           {0} % pause for the 40 ms of Linux's delayed acknowledgements. Needs 500 events.",
    thresholds: &[LEAST, MOST, FACTOR, APART],
    make,
};

thresholds! {
    LEAST = 10.0, "percent", "slow events, least":
        "rarer ones are the tail, which percentiles show";
    MOST = 90.0, "percent", "slow events, most": "the few faster events probably had nothing to do";
    FACTOR = 3.0, "ratio", "slow mode over the fast one":
        "one wait and two waits differ by a factor of two";
    APART = 5.0, "ms", "slow mode above the fast one":
        "one scheduler time slice makes a mode on a busy host";
}
const EVENTS_MIN: u64 = 500;

/// With a thousand events a histogram is noisy, so a valley must be half a decade deep.
const HOW: Modes = Modes {
    sigma_buckets: 3.0,
    prominence_decades: 0.5,
    count_min: 5,
};

/// `TCP_DELACK_MIN` of Linux: how long an acknowledgement waits for data to accompany it.
const DELAYED_MS: f64 = 40.0;
/// Tolerance for the length of a timer tick and the wake-up.
const DELAYED_ROOM_MS: f64 = 5.0;
/// The largest number of an event's statements that may each pause.
const PAUSES_MAX: f64 = 4.0;
/// The least share of slow events with a delayed acknowledgement, by the kernel's count.
const DELAYED_PART: f64 = 0.5;
/// The largest relative difference between the share of slow events and of writing or reading ones.
const ALIKE: f64 = 0.25;

struct Split {
    fast_ms: f64,
    slow_ms: f64,
    /// The start of the slow part.
    from_ms: f64,
    /// The share of all events.
    share: f64,
    count: u64,
}

fn make(view: &View) -> CheckResult {
    let all = &view.run.operations;
    let many = |operation: &&Operation| {
        (operation.total.as_ref()).is_some_and(|total| total.service.len() >= EVENTS_MIN)
    };
    let named: Vec<&Operation> = all
        .iter()
        .filter(|operation| operation.name != "event")
        .filter(many)
        .collect();
    // Different operations differ by nature: each is checked separately.
    let looked: Vec<&Operation> = match named.len() {
        0 | 1 => all.iter().filter(many).take(1).collect(),
        _ => named,
    };
    if looked.is_empty() {
        return Missing::Distribution.or(
            view,
            format!("Fewer than {EVENTS_MIN} events ended: too few to detect modes."),
        );
    }
    let splits: Vec<(&Operation, Split)> = looked
        .iter()
        .filter_map(|operation| Some((*operation, split(operation.total.as_ref()?)?)))
        .collect();
    if let Some((operation, split)) = splits.first() {
        return two_modes(view, operation, split, splits.len());
    }
    // Perhaps all events pause.
    let slow = looked.iter().find_map(|operation| {
        let at_ms = mode_ms(operation.total.as_ref()?)?;
        delayed(view, at_ms, view.events_per_s()?).map(|pause| (operation, at_ms, pause))
    });
    match slow {
        Some((operation, at_ms, pause)) => CheckResult::doubt(
            format!("{} take {}: {pause}.", of(operation), text::ms(at_ms)),
            DELAYED,
        )
        .with("mode", at_ms, "ms"),
        None => CheckResult::pass(match looked.len() {
            1 => "The latency has no second mode of significant size.".to_owned(),
            many => {
                format!("None of {many} operations has a second mode of significant size.")
            }
        }),
    }
}

const DELAYED: &str = "Look for a component that sends an answer or a request in two small parts \
                       and waits in between: a proxy or server without TCP_NODELAY, or with \
                       TCP_CORK.";

const MIXED: &str = "The latency has two modes, and the server's counters do not show whether the \
                     slow events missed the cache: they include other load.";

fn two_modes(view: &View, operation: &Operation, split: &Split, operations: usize) -> CheckResult {
    let apart_ms = split.slow_ms - split.fast_ms;
    let per_s = view.events_per_s().unwrap_or(0.0) * split.share;
    let pause = delayed(view, apart_ms, per_s);
    let explained = explained(view, split).filter(|_| pause.is_none());
    let sessions = match (&pause, operation.name.as_str()) {
        (None, "event") => sessions(view, split),
        _ => None,
    };
    let locks = locks(view, per_s * apart_ms / 1e3).filter(|_| pause.is_none());
    let others = match operations {
        0 | 1 => String::new(),
        2 => "; so does another operation".to_owned(),
        many => format!("; so do {} other operations", many - 1),
    };
    let of_sessions = sessions.as_ref().is_some_and(|(_, endpoint)| !endpoint);
    let of_sessions = of_sessions && locks.is_none();
    let sessions = sessions.map(|(words, _)| words);
    let cause = explained.as_ref().or(pause.as_ref());
    let whose: Vec<&str> = match cause {
        Some(cause) => vec![cause],
        None => (sessions.iter().chain(&locks))
            .map(String::as_str)
            .collect(),
    };
    if whose.is_empty() && view.is_shared() && misses(view, split).is_some() {
        return CheckResult::not_checked(MIXED);
    }
    let whose = match whose.is_empty() {
        true => String::new(),
        false => format!(": {}", whose.join("; ")),
    };
    CheckResult::of(
        match explained {
            Some(_) => Outcome::Pass,
            None => Outcome::Doubt,
        },
        format!(
            "{} have two modes: {} % take about {} and {} % about {}{others}{whose}.",
            of(operation),
            text::plain(100.0 - split.share * 100.0),
            text::ms(split.fast_ms),
            text::plain(split.share * 100.0),
            text::ms(split.slow_ms)
        ),
        match (&pause, &locks, &sessions) {
            (Some(_), ..) => DELAYED,
            (None, Some(_), _) => {
                "Find what holds the rows that the slow events wait for: a session with a \
                 different isolation level, a transaction that stays open, a few hot rows."
            }
            (None, None, Some(_)) => {
                "Look at what these sessions have in common: the endpoint that they are connected \
                 to, a replica behind a proxy, a pool."
            }
            (None, None, None) => {
                "Name the kinds of work in the script (dyno.operation), so that each gets its own \
                 latencies; look at locks, plans and disk reads of the slow ones."
            }
        },
    )
    .naming(of_sessions.then_some(Cause::SessionModes))
    .naming((locks.is_some() && cause.is_none()).then_some(Cause::LockWaits))
    .naming((locks.is_none() && throttled(view, split)).then_some(Cause::Throttled))
    .with("fast mode", split.fast_ms, "ms")
    .with("slow mode", split.slow_ms, "ms")
    .with("slow events", split.share * 100.0, "percent")
}

/// Whether a cgroup used up its quota often enough to explain that many slow events: those under
/// way wait for the next period. A few throttled periods are not enough.
fn throttled(view: &View, split: &Split) -> bool {
    const PART: f64 = 0.5;
    let all = [
        names::HOST_CGROUP_CPU_THROTTLED,
        names::SERVER_CGROUP_CPU_THROTTLED,
    ];
    let percents = all.iter().filter_map(|name| view.mean(name));
    percents.fold(0.0, f64::max) / 100.0 >= split.share * PART
}

/// The events, or those with one name.
fn of(operation: &Operation) -> String {
    match operation.name.as_str() {
        "event" => "The events".to_owned(),
        name => format!("The operations {name}"),
    }
}

fn buckets(total: &Span) -> Vec<(f64, u64)> {
    let service = &total.service;
    let bucket = |value: u64, count: u64| Bucket {
        low: service.lowest_equivalent(value) as f64 / 1e6,
        high: service.highest_equivalent(value) as f64 / 1e6,
        count,
    };
    let recorded = service.iter_recorded();
    let all: Vec<Bucket> = recorded
        .map(|step| bucket(step.value_iterated_to(), step.count_since_last_iteration()))
        .collect();
    regrid(&all)
}

fn mode_ms(total: &Span) -> Option<f64> {
    let found = modes(&buckets(total), &HOW);
    let most = found.iter().max_by_key(|mode| mode.count)?;
    Some(most.at)
}

/// The largest gap between two modes that is wide enough, with enough events on either side.
fn split(total: &Span) -> Option<Split> {
    let found = modes(&buckets(total), &HOW);
    let all: u64 = found.iter().map(|mode| mode.count).sum();
    let places = 1..found.len();
    let splits = places.filter_map(|place| {
        let (fast, slow) = found.split_at(place);
        let highest = |part: &[dyno_stats::modes::Mode]| {
            let most = part.iter().max_by_key(|mode| mode.count);
            most.map(|mode| mode.at)
        };
        let (fast_ms, slow_ms) = (highest(fast)?, highest(slow)?);
        // Either part may have several modes; the gap is between the adjacent ones.
        let (below_ms, above) = (fast.last()?.at, slow.first()?);
        let count: u64 = slow.iter().map(|mode| mode.count).sum();
        let share = count as f64 / all as f64;
        let enough = share * 100.0 >= LEAST.value && share * 100.0 <= MOST.value;
        let far = above.at >= FACTOR.value * below_ms && above.at - below_ms >= APART.value;
        let split = Split {
            fast_ms,
            slow_ms,
            from_ms: above.from,
            share,
            count,
        };
        (enough && far).then_some((above.at / below_ms, split))
    });
    let widest = splits.max_by(|one, other| one.0.total_cmp(&other.0));
    widest.map(|(_, split)| split)
}

/// Whether pauses of this length, this many per second, are delayed acknowledgements, as text.
fn delayed(view: &View, pause_ms: f64, per_s: f64) -> Option<String> {
    let nodelay = view.run.fact(names::CLIENT_TCP_NODELAY)?;
    let times = (pause_ms / DELAYED_MS).round();
    let room_ms = DELAYED_ROOM_MS * times;
    let fits = (1.0..=PAUSES_MAX).contains(&times)
        && (pause_ms - DELAYED_MS * times).abs() <= room_ms
        && pause_ms >= DELAYED_MS * times - 1.0;
    let counted = view.mean(names::HOST_TCP_DELAYED_ACKS)?;
    let trip = view.mean(names::DB_ROUND_TRIP);
    let quick = trip.is_none_or(|trip| trip < DELAYED_MS / 2.0);
    (fits && quick && counted >= per_s * times * DELAYED_PART).then(|| {
        format!(
            "{} of 40 ms, by which Linux delays an acknowledgement; the kernel counted {} of them \
             per second, and the client's sockets have TCP_NODELAY {nodelay}",
            match times as u32 {
                1 => "a pause".to_owned(),
                many => format!("{many} pauses"),
            },
            text::rate(counted)
        )
    })
}

/// Whether sessions waited for locks during the extra time of the slow events, in concurrent
/// sessions; as text.
fn locks(view: &View, longer: f64) -> Option<String> {
    /// The share of that time that must be lock waits: looking at the sessions once a second misses
    /// a part.
    const PART: f64 = 0.5;
    // The time that statements waited for row locks, per second, or else samples of the session
    // list.
    let waiting = [
        names::DB_STATUS_INNODB_ROW_LOCK_TIME,
        names::DB_SESSIONS_LOCK,
        names::DB_BACKENDS_WAITING,
    ];
    let waiting = waiting.iter().find_map(|name| view.mean(name))?;
    (waiting > 0.0 && waiting >= longer * PART).then(|| {
        format!(
            "{} sessions waited for locks at a time on average, which explains the extra time of \
             the slow events",
            text::plain(waiting)
        )
    })
}

/// Work done by as many events as are slow, as text.
fn explained(view: &View, split: &Split) -> Option<String> {
    if let Some(why) = in_time(view, split) {
        return Some(why);
    }
    let totals = view.totals();
    let events = totals.events.max(1) as f64;
    let slow = split.share;
    let alike = |share: f64| (share / slow - 1.0).abs() <= ALIKE;
    let writes = totals.writes as f64 / events;
    if alike(writes) {
        return Some("as many events write".to_owned());
    }
    let read = misses(view, split).filter(|_| !view.is_shared())?;
    Some(format!(
        "the server read {} pages per event from disk",
        text::plain(read)
    ))
}

/// The pages that the server read from disk per event, if they may explain the slow ones: an event
/// may read several pages, and one page may serve several.
fn misses(view: &View, split: &Split) -> Option<f64> {
    let read = [
        names::DB_STATUS_INNODB_BUFFER_POOL_READS,
        names::DB_DATABASE_BLKS_READ,
    ];
    let read = view.mean_sum(&read)? / view.events_per_s()?;
    (read >= split.share * (1.0 - ALIKE)).then_some(read)
}

/// Whether the slow events are those of one part of the run, which another check reports.
fn in_time(view: &View, split: &Split) -> Option<String> {
    let rates = view.rates();
    let (index, by) = steady_state::step(&rates)?;
    let (before, after) = rates.split_at(index);
    let slower: f64 = if by < 0.0 { after } else { before }.iter().sum();
    let share = slower / rates.iter().sum::<f64>();
    let theirs = (share / split.share - 1.0).abs() <= ALIKE;
    theirs.then(|| {
        let at = text::seconds(view.bins[index].from_s());
        let when = if by < 0.0 { "after" } else { "before" };
        format!("they are those {when} the rate's step at {at}")
    })
}

/// Whether the slow events belong to some of the sessions, as text, and whether an endpoint has as
/// many sessions.
fn sessions(view: &View, split: &Split) -> Option<(String, bool)> {
    let mean_ms = |busy_s: f64, events: u64| busy_s * 1e3 / events as f64;
    let all: Vec<_> = view
        .run
        .sessions
        .iter()
        .filter(|one| one.events > 0)
        .collect();
    let slow: Vec<_> = all
        .iter()
        .filter(|one| mean_ms(one.busy_s, one.events) >= split.from_ms)
        .collect();
    let events: u64 = slow.iter().map(|one| one.events).sum();
    let theirs = (events as f64 / split.count.max(1) as f64 - 1.0).abs() <= ALIKE;
    if slow.is_empty() || slow.len() == all.len() || !theirs {
        return None;
    }
    let endpoints = view.summary().map_or(&[][..], |summary| &summary.endpoints);
    let queries: u64 = endpoints.iter().map(|one| one.queries).sum();
    let like = |queries_of: u64| {
        let share = queries_of as f64 / queries.max(1) as f64;
        (share / split.share - 1.0).abs() <= ALIKE
    };
    let endpoint = endpoints
        .iter()
        .find(|one| endpoints.len() > 1 && like(one.queries));
    let has = endpoint.map_or_else(String::new, |one| {
        format!(", as many as the endpoint {} had", one.name)
    });
    let words = format!(
        "they are those of {} of {} sessions{has}",
        slow.len(),
        all.len()
    );
    Some((words, endpoint.is_some()))
}
