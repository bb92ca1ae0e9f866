//! What was unusual while a run stood still.

use dyno_analysis::stalls::{Span, Stalls};
use dyno_core::record::{EventKind, Series};

use crate::text;
use crate::view::View;

/// A series that tells what a stall was: which, from which value in it on, by which factor above
/// the rest of the time, and in words.
const SIGNS: [(&str, f64, f64, &str); 9] = [
    ("host.cpu.iowait", 10.0, 2.0, "the CPUs waited for the disk"),
    ("host.cpu.steal", 10.0, 2.0, "the hypervisor took the CPUs"),
    (
        "host.pressure.memory.full",
        10.0,
        2.0,
        "tasks waited for memory",
    ),
    ("host.swap.in", 1e6, 3.0, "pages came from swap"),
    (
        "db.status.innodb_buffer_pool_pages_flushed",
        50.0,
        3.0,
        "pages were flushed",
    ),
    (
        "db.status.innodb_data_fsyncs",
        50.0,
        3.0,
        "files were synced",
    ),
    (
        "db.status.innodb_buffer_pool_wait_free",
        1.0,
        3.0,
        "pages had to be freed first",
    ),
    (
        "db.checkpointer.requested",
        0.01,
        3.0,
        "a checkpoint was requested",
    ),
    ("db.checkpointer.timed", 0.01, 3.0, "a checkpoint was due"),
];

/// A disk that is written to with more than this, and than twice the usual, is named.
const WRITTEN_MIN: f64 = 10e6;
/// Of what it was where the run moved.
const WRITTEN_FACTOR: f64 = 2.0;
/// Percent of the host's CPU time from which it is idle, and how much more that is than usual.
const IDLE_MIN: f64 = 80.0;
const IDLE_MORE: f64 = 20.0;
/// This share of the run's sessions waits for one thing.
const SESSIONS_SHARE: f64 = 0.5;

/// What was otherwise in a stall than in the seconds that moved, in the order of what tells most.
pub(super) fn of(view: &View, found: &Stalls, span: Span) -> Vec<String> {
    let seen = Seen { view, found, span };
    let mut signs: Vec<String> = view
        .events(EventKind::Disturbance)
        .iter()
        .filter(|event| event.at_s <= span.to_s)
        .filter(|event| event.until_s.unwrap_or(event.at_s) >= span.from_s)
        .map(|event| event.text.clone())
        .collect();
    signs.extend(seen.sessions());
    if let Some(up) = view.run.series("db.up") {
        // In samples that stand for several seconds a silent one is a part.
        if within(up, span).iter().any(|up| *up < 1.0) {
            signs.push("the server did not answer its observer".to_owned());
        }
    }
    signs.extend(seen.processors());
    for (name, least, factor, words) in SIGNS {
        if let Some((then, usual)) = view.run.series(name).and_then(|series| seen.both(series))
            && then >= least
            && then >= usual * factor
        {
            signs.push(words.to_owned());
        }
    }
    signs.extend(seen.disks());
    signs
}

struct Seen<'a, 'b> {
    view: &'a View<'b>,
    found: &'a Stalls,
    span: Span,
}

impl Seen<'_, '_> {
    /// The mean of a series within the stall, and its median where the run moved.
    fn both(&self, series: &Series) -> Option<(f64, f64)> {
        let then = dyno_stats::mean(&within(series, self.span))?;
        let moving: Vec<f64> = (self.view.within(series).into_iter())
            .filter(|(at, _)| !self.found.spans.iter().any(|span| covers(*span, *at)))
            .map(|(_, value)| value)
            .collect();
        Some((then, dyno_stats::median(&moving)?))
    }

    /// What most sessions waited for in the server.
    fn sessions(&self) -> Option<String> {
        let sessions = f64::from(self.view.drive()?.sessions);
        let states = self.view.devices("db.sessions[", "]").into_iter();
        let (state, count) = states
            .filter(|(state, _)| !["no_state", "no_wait", "client", "other"].contains(state))
            .filter_map(|(state, series)| {
                // The most at once: of the samples of a short stall one lies behind it.
                let then = within(series, self.span).into_iter().reduce(f64::max)?;
                // A state that was first seen in the stall has no other seconds.
                let usual = self.both(series).map_or(0.0, |(_, usual)| usual);
                (then >= sessions * SESSIONS_SHARE && then >= usual * 2.0).then_some((state, then))
            })
            .max_by(|one, other| one.1.total_cmp(&other.1))?;
        let state = match state {
            "lock" => "waiting for a lock".to_owned(),
            "lwlock" => "waiting for a lock within the server".to_owned(),
            "io" => "waiting for reads or writes".to_owned(),
            state => state.replace('_', " "),
        };
        Some(format!("{count:.0} sessions were {state}"))
    }

    fn processors(&self) -> Option<String> {
        let series = |name: &&str| self.view.run.series(name);
        let cpu = ["server.cpu.user", "server.cpu.system"]
            .iter()
            .filter_map(|name| self.both(series(name)?))
            .reduce(|one, other| (one.0 + other.0, one.1 + other.1));
        if let Some((then, usual)) = cpu
            && usual > 0.05
            && then < usual * 0.1
        {
            return Some("the server used no CPU".to_owned());
        }
        let (then, usual) = self.both(series(&"host.cpu.idle")?)?;
        (then >= IDLE_MIN && then >= usual + IDLE_MORE)
            .then(|| format!("the CPUs were {} % idle", text::plain(then)))
    }

    fn disks(&self) -> Vec<String> {
        let mut signs = Vec::new();
        for (device, series) in self.view.devices("host.disk[", "].utilisation") {
            let then = dyno_stats::mean(&within(series, self.span));
            if then.is_some_and(|then| then >= 90.0) {
                signs.push(format!("{device} was busy"));
            }
        }
        for (device, series) in self.view.devices("host.disk[", "].write_bytes") {
            if let Some((then, usual)) = self.both(series)
                && then >= WRITTEN_MIN
                && then >= usual * WRITTEN_FACTOR
            {
                signs.push(format!(
                    "{:.0} MB/s were written to {device} instead of {:.0}",
                    then / 1e6,
                    usual / 1e6
                ));
            }
        }
        signs
    }
}

/// Whether a sample tells of a stall's seconds: it says what was before it.
fn covers(span: Span, at_s: f64) -> bool {
    at_s > span.from_s && at_s <= span.to_s + 1.0
}

/// The values of a stall's seconds.
fn within(series: &Series, span: Span) -> Vec<f64> {
    let points = series.points.iter();
    points
        .filter(|(at, value)| covers(span, *at) && value.is_finite())
        .map(|(_, value)| *value)
        .collect()
}
