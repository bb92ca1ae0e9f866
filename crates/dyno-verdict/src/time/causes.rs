//! Causes of symptoms: observations while a run was slower than usual.

pub(super) mod advice;
pub(crate) mod backups;
mod disks;
pub(super) mod idle;
mod signs;
#[cfg(test)]
mod tests;

use dyno_analysis::stalls::Span;
use dyno_core::catalogue::names;
use dyno_core::finding::Cause;
use dyno_core::interval::Counters;
use dyno_core::record::{EventKind, Series};

use crate::text;
use crate::view::View;
use signs::{SIGNS, describe};

/// The least increase, as a factor, of the client's CPU time per event.
const SLOWER: f64 = 1.15;
/// The least share of the usual rate. Below it, events did other work, or the client mostly woke
/// up.
const SLOW_RATE_MIN: f64 = 0.4;
/// The largest idle share of the host's CPU time, in percent. With more idle time, a lower rate may
/// make the client wake up more often per event, which costs CPU time, too.
const SLOW_IDLE_MAX: f64 = 10.0;
/// The client's work is the same if its voluntary switches per event differ by less than this
/// factor and the host's idle time by fewer than these percentage points.
const SAME_SWITCHES: f64 = 1.1;
const SAME_IDLE: f64 = 5.0;

/// The least difference in the percentage of reads that find no row.
const MISSES_MIN: f64 = 10.0;

/// The host is idle from this percentage of CPU time on, and above the usual by this much.
const IDLE_MIN: f64 = 80.0;
const IDLE_MORE: f64 = 20.0;
/// The least share of the run's sessions in the same wait.
const SESSIONS_SHARE: f64 = 0.5;
/// That number, as a factor, compared with the rest of the time.
const SESSIONS_FACTOR: f64 = 2.0;
/// A change that begins this many seconds after the effect is not its cause. Samples are taken once
/// a second, and each covers the second before it.
const LATE_S: f64 = 2.0;
/// Or this share of the slower time, if that is longer.
const LATE_SHARE: f64 = 0.25;
/// The server is silent if it is so in this share of the samples: it may be late for single ones.
const SILENT_SHARE: f64 = 0.25;
/// Ended connections are the cause if they are this share of the sessions.
const LOST_SHARE: f64 = 0.5;
/// Among this many samples, one may be after the symptom.
const SAMPLES_FEW: usize = 3;
/// The largest number of causes to report.
const NAMED_MAX: usize = 5;

/// The slower seconds, and the seconds to compare them with.
pub(super) struct Seconds<'a> {
    /// When it was slower.
    pub(super) slower: &'a [Span],
    /// Other unusual times, including those seconds.
    pub(super) unusual: &'a [Span],
}

pub(super) struct Moved {
    pub(super) cause: Cause,
    pub(super) words: String,
}

/// A sentence about the differences, and the causes that it names.
#[derive(Default)]
pub(super) struct Explained {
    pub(super) causes: Vec<Cause>,
    /// With a leading space; empty if there is nothing to report.
    pub(super) sentence: String,
    /// The differences alone; empty if there are none.
    pub(super) differences: String,
}

/// The differences of the slower seconds, the strongest first.
pub(super) fn of(view: &View, seconds: &Seconds<'_>) -> Vec<Moved> {
    Comparison { view, seconds }.moved()
}

/// The same as a sentence that begins with these words. It says so if nothing differed, and is
/// empty if too little was recorded.
pub(super) fn sentence(view: &View, words: &str, slower: &[Span], unusual: &[Span]) -> Explained {
    let seconds = Seconds { slower, unusual };
    let found = of(view, &seconds);
    let differences = few(&found, NAMED_MAX);
    let (causes, sentence) = match found.is_empty() {
        false => (
            found.iter().map(|one| one.cause).collect(),
            format!(" {words}: {differences}."),
        ),
        true if watched(view, slower) => {
            (vec![Cause::Unexplained], format!(" {words}, {NOTHING}."))
        }
        true => (Vec::new(), String::new()),
    };
    Explained {
        causes,
        sentence,
        differences,
    }
}

pub(super) fn few(found: &[Moved], most: usize) -> String {
    let words: Vec<String> = found.iter().map(|one| one.words.clone()).collect();
    text::few(&words, most)
}

pub(super) fn below(view: &View, level: f64) -> Vec<Span> {
    let bins = view.bins.iter();
    bins.filter(|bin| bin.events_per_s() < level)
        .map(|bin| Span {
            from_s: bin.from_s(),
            // A sample up to a second later covers it.
            to_s: bin.at_s - 0.5,
        })
        .collect()
}

pub(super) const NOTHING: &str = "nothing unusual was recorded";

/// Whether the host and the database were observed in these seconds.
pub(super) fn watched(view: &View, spans: &[Span]) -> bool {
    let has = |scope: &str| {
        let mut all = view.run.series.iter();
        all.any(|series| series.key.name.starts_with(scope) && !within(series, spans).is_empty())
    };
    has("db.") && has("host.")
}

pub(super) fn disturbances(view: &View, span: Span) -> Vec<Moved> {
    let events = view.events(EventKind::Disturbance);
    let then = events.iter().filter(|event| {
        event.at_s <= span.to_s && event.until_s.unwrap_or(event.at_s) >= span.from_s
    });
    then.map(|event| Moved {
        cause: Cause::Disturbance,
        words: event.text.clone(),
    })
    .collect()
}

struct Comparison<'a, 'b> {
    view: &'a View<'b>,
    seconds: &'a Seconds<'a>,
}

impl Comparison<'_, '_> {
    fn moved(&self) -> Vec<Moved> {
        let stopped = self.stopped();
        // Samples of several seconds may be silent in part.
        let silent = self.lasts(names::DB_UP, |up| up < 1.0)
            || stopped.is_some_and(|(_, all)| {
                self.lasts(names::SERVER_STOPPED, |stopped| stopped >= all.max(1.0))
            });
        // The sessions' waits were observed before or after the silence.
        let mut found: Vec<Moved> = match silent {
            true => vec![silence(stopped)],
            false => self.sessions().into_iter().collect(),
        };
        let is_blocked = !silent && self.is_blocked();
        found.splice(0..0, self.lost_connections());
        found.splice(0..0, idle::idle_sessions(self.view, self.seconds.slower));
        found.splice(0..0, backups::during(self.view, self.seconds.slower));
        found.extend(self.misses());
        found.extend(self.processors());
        found.extend(self.slow_cpus());
        found.extend(self.disks());
        for (name, least, factor, unit, cause, words) in SIGNS {
            let Some(series) = self.view.series(name) else {
                continue;
            };
            let known = found.iter().any(|one| one.words.starts_with(words));
            if let Some((then, usual)) = self.both(series)
                && then >= least
                && then >= usual * factor
                && !known
                && self.began_in_time(series, least.max(usual * factor))
                && (cause != Cause::OtherProcesses || self.took_from_the_run(then))
            {
                let moved = describe(words, unit, then, usual);
                let words = match cause == Cause::OtherProcesses {
                    true => moved + &self.by_name(),
                    false => moved,
                };
                found.push(Moved { cause, words });
            }
        }
        ranked(found, is_blocked)
    }

    /// Whether a series has such values for long enough to explain the slower time.
    fn lasts(&self, name: &str, is_such: impl Fn(f64) -> bool) -> bool {
        let series = self.view.run.series(name);
        let then = series.map_or_else(Vec::new, |series| within(series, self.seconds.slower));
        let count = then.iter().filter(|value| is_such(**value)).count();
        count > 0 && count as f64 >= then.len() as f64 * SILENT_SHARE
    }

    /// How many of the server's processes were stopped, and how many there were.
    fn stopped(&self) -> Option<(f64, f64)> {
        let most = |name: &str| {
            let series = self.view.run.series(name)?;
            let then = within(series, self.seconds.slower);
            then.into_iter().reduce(f64::max)
        };
        let stopped = most(names::SERVER_STOPPED).filter(|stopped| *stopped >= 1.0)?;
        Some((stopped, most(names::SERVER_PROCESSES).unwrap_or(1.0)))
    }

    /// Whether most sessions waited for locks that other sessions held.
    fn is_blocked(&self) -> bool {
        let Some(sessions) = self.view.drive().map(|drive| f64::from(drive.sessions)) else {
            return false;
        };
        let rows = names::DB_STATUS_INNODB_ROW_LOCK_CURRENT_WAITS;
        let rows = self.view.run.series(rows).and_then(|rows| self.both(rows));
        // Sessions that always change the same rows also wait in the rest of the time.
        let of_rows = rows.is_some_and(|(then, usual)| {
            then >= sessions * SESSIONS_SHARE && then >= usual * SESSIONS_FACTOR
        });
        // PostgreSQL's `lwlock` may be held by a session that waits for the disk.
        let waits = self.waits().is_some_and(|(state, _)| {
            state == "lock" || (state.starts_with("waiting_for_") && state.contains("lock"))
        });
        of_rows || waits
    }

    /// Whether a series reached a value before the slower time or near its beginning. Anything
    /// later is an effect or unrelated.
    fn began_in_time(&self, series: &Series, reached: f64) -> bool {
        let [span] = self.seconds.slower else {
            return true;
        };
        let latest_s = span.from_s + LATE_S.max(LATE_SHARE * span.length_s());
        let mut then = series.points.iter();
        let first = then.find(|(at, value)| *at > span.from_s && *value >= reached);
        first.is_some_and(|(at, _)| *at <= latest_s)
    }

    /// Whether other processes took CPUs that the run would have used: more than were idle at that
    /// time.
    fn took_from_the_run(&self, cores: f64) -> bool {
        let idle = self.view.run.series(names::HOST_CPU_IDLE);
        let idle = idle.and_then(|series| dyno_stats::mean(&within(series, self.seconds.slower)));
        let free = idle.zip(self.view.cpus());
        free.is_none_or(|(percent, cpus)| cores > percent / 100.0 * cpus)
    }

    /// Connections that ended as the rate fell, unless the workload reconnects by itself.
    fn lost_connections(&self) -> Option<Moved> {
        let sessions = f64::from(self.view.drive()?.sessions);
        let count = self.counted(true).reconnects;
        let lost = count as f64 >= sessions * LOST_SHARE && count > 0;
        (lost && !crate::server::asked_to_reconnect(self.view)).then(|| Moved {
            cause: Cause::LostConnections,
            words: format!("{} ended", text::counted(count, "connection")),
        })
    }

    /// The names of those processes, over the whole run.
    fn by_name(&self) -> String {
        let names = crate::machine::others_by_name(self.view);
        names.map_or_else(String::new, |names| format!(" [{names}]"))
    }

    /// The mean of a series within the slower seconds, and its median in the usual ones.
    fn both(&self, series: &Series) -> Option<(f64, f64)> {
        let then = dyno_stats::mean(&within(series, self.seconds.slower))?;
        let usual: Vec<f64> = (self.view.within(series).into_iter())
            .filter(|(at, _)| !covered(self.seconds.unusual, *at))
            .map(|(_, value)| value)
            .collect();
        Some((then, dyno_stats::median(&usual)?))
    }

    /// The state that most sessions waited in, and their number.
    fn waits(&self) -> Option<(&str, f64)> {
        let sessions = f64::from(self.view.drive()?.sessions);
        let states = self.view.devices(names::DB_SESSIONS_EACH).into_iter();
        states
            .filter(|(state, _)| !["no_state", "no_wait", "client", "other"].contains(state))
            .filter_map(|(state, series)| {
                let then = within(series, self.seconds.slower);
                // The largest value: one of a short stall's samples may be after it.
                let then = match then.len() <= SAMPLES_FEW {
                    true => then.into_iter().reduce(f64::max)?,
                    false => dyno_stats::median(&then)?,
                };
                // A state first seen in the stall has no other seconds.
                let usual = self.both(series).map_or(0.0, |(_, usual)| usual);
                (then >= sessions * SESSIONS_SHARE && then >= usual * SESSIONS_FACTOR)
                    .then_some((state, then))
            })
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// What most sessions waited for.
    fn sessions(&self) -> Option<Moved> {
        let (state, count) = self.waits()?;
        // The server's own names of states: MySQL's are like `Waiting for table metadata lock`.
        let cause = match state.contains("lock") {
            true => Cause::LockWaits,
            false => Cause::SessionWaits,
        };
        let state = match state {
            "lock" => "waiting for a lock".to_owned(),
            "lwlock" => "waiting for a lock within the server".to_owned(),
            "io" => "waiting for reads or writes".to_owned(),
            state if state.ends_with("ing") || state.contains("ing_") => state.replace('_', " "),
            state => format!("in the state {}", state.replace('_', " ")),
        };
        let words = match count.round() {
            1.0 => format!("1 session was {state}"),
            count => format!("{count:.0} sessions were {state}"),
        };
        Some(Moved { cause, words })
    }

    fn processors(&self) -> Option<Moved> {
        let series = |name: &&str| self.view.run.series(name);
        let cpu = [names::SERVER_CPU_USER, names::SERVER_CPU_SYSTEM]
            .iter()
            .filter_map(|name| self.both(series(name)?))
            .reduce(|one, other| (one.0 + other.0, one.1 + other.1));
        if let Some((then, usual)) = cpu
            && usual > 0.05
            && then < usual * 0.1
        {
            return Some(Moved {
                cause: Cause::ServerIdle,
                words: "the server used no CPU".to_owned(),
            });
        }
        let (then, usual) = self.both(series(&names::HOST_CPU_IDLE)?)?;
        (then >= IDLE_MIN && then >= usual + IDLE_MORE).then(|| Moved {
            cause: Cause::CpusIdle,
            words: format!(
                "the CPUs were {} % idle instead of {} %",
                text::plain(then),
                text::plain(usual)
            ),
        })
    }

    /// Events with equal answers and as many wake-ups cost the client the same work: if they take
    /// more CPU time, the CPUs are slower. Hypervisors do not report that.
    fn slow_cpus(&self) -> Option<Moved> {
        let idle = self.both(self.view.run.series(names::HOST_CPU_IDLE)?)?;
        let cores = |slower: bool| -> Option<f64> {
            [names::CLIENT_CPU_USER, names::CLIENT_CPU_SYSTEM]
                .iter()
                .map(|name| {
                    let (then, usual) = self.both(self.view.run.series(name)?)?;
                    Some(if slower { then } else { usual })
                })
                .sum()
        };
        let rate = |slower: bool| {
            let spans = match slower {
                true => self.seconds.slower,
                false => self.seconds.unusual,
            };
            let bins = self.view.bins.iter();
            let rates: Vec<f64> = bins
                .filter(|bin| covered(spans, bin.at_s) == slower)
                .map(|bin| bin.events_per_s())
                .collect();
            dyno_stats::mean(&rates).filter(|rate| *rate > 0.0)
        };
        let (then, usual) = (rate(true)?, rate(false)?);
        let busy = idle.0.max(idle.1) <= SLOW_IDLE_MAX;
        if then < usual * SLOW_RATE_MIN
            || self.other_work()
            || !busy && !self.wakes_as_often(idle, (then, usual))
        {
            return None;
        }
        let then_us = cores(true)? / then * 1e6;
        let usual_us = cores(false)? / usual * 1e6;
        (then_us >= usual_us * SLOWER).then(|| Moved {
            cause: Cause::SlowCpus,
            words: format!(
                "the CPUs were slower (their clock, or neighbours on the same machine): the client \
                 needed {} µs of CPU time per event instead of {}",
                text::plain(then_us),
                text::plain(usual_us)
            ),
        })
    }

    /// Whether the client waited as often per event at these rates.
    fn wakes_as_often(&self, idle: (f64, f64), rates: (f64, f64)) -> bool {
        let series = self
            .view
            .run
            .series(names::CLIENT_CONTEXT_SWITCHES_VOLUNTARY);
        let Some((then, usual)) = series.and_then(|series| self.both(series)) else {
            return false;
        };
        let (then, usual) = (then / rates.0, usual / rates.1);
        (idle.0 - idle.1).abs() < SAME_IDLE && then.max(usual) < then.min(usual) * SAME_SWITCHES
    }

    /// The counters of the slower seconds, or of the usual ones.
    fn counted(&self, slower: bool) -> Counters {
        let spans = match slower {
            true => self.seconds.slower,
            false => self.seconds.unusual,
        };
        let mut sums = Counters::default();
        let bins = self.view.bins.iter();
        for bin in bins.filter(|bin| covered(spans, bin.at_s) == slower) {
            sums.merge(&bin.counters);
        }
        sums
    }

    /// Whether the answers had another size: then the events did other work.
    fn other_work(&self) -> bool {
        let bytes = |slower: bool| {
            let sums = self.counted(slower);
            sums.bytes_in as f64 / sums.events.max(1) as f64
        };
        let (then, usual) = (bytes(true), bytes(false));
        (then - usual).abs() > usual * (SLOWER - 1.0)
    }

    /// A different share of empty reads means that rows were added or removed.
    fn misses(&self) -> Option<Moved> {
        let share = |slower: bool| {
            let sums = self.counted(slower);
            (sums.reads > 0).then(|| sums.reads_empty as f64 / sums.reads as f64 * 100.0)
        };
        let (then, usual) = (share(true)?, share(false)?);
        ((then - usual).abs() >= MISSES_MIN).then(|| Moved {
            cause: Cause::EmptyReads,
            words: format!(
                "{} % of the reads found no row instead of {} %",
                text::plain(then),
                text::plain(usual)
            ),
        })
    }
}

/// Why the server did not answer, as far as known.
fn silence(stopped: Option<(f64, f64)>) -> Moved {
    let words = match stopped {
        Some((_, all)) if all <= 1.0 => "the server's process was stopped (state T)".to_owned(),
        Some((stopped, all)) => {
            format!("{stopped:.0} of {all:.0} processes of the server were stopped (state T)")
        }
        None => "the server did not answer its observer".to_owned(),
    };
    Moved {
        cause: Cause::ServerSilent,
        words,
    }
}

/// Puts waits for locks before less certain causes. If most sessions were `blocked`, disks and
/// other processes are coincidences.
fn ranked(mut found: Vec<Moved>, blocked: bool) -> Vec<Moved> {
    if blocked {
        found.retain(|one| !matches!(one.cause, Cause::Disk | Cause::OtherProcesses));
    }
    found.sort_by_key(|one| match one.cause {
        Cause::Backup | Cause::IdleSessions | Cause::LostConnections | Cause::ServerSilent => 0,
        Cause::LockWaits => 1,
        _ => 2,
    });
    found
}

/// Whether a sample covers these seconds: it describes the time before it.
fn covered(spans: &[Span], at_s: f64) -> bool {
    let mut spans = spans.iter();
    spans.any(|span| at_s > span.from_s && at_s <= span.to_s + 1.0)
}

fn within(series: &Series, spans: &[Span]) -> Vec<f64> {
    let points = series.points.iter();
    points
        .filter(|(at, value)| covered(spans, *at) && value.is_finite())
        .map(|(_, value)| *value)
        .collect()
}
