//! Check 25: cycles of the server's own work; a run should contain many or none.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::Cause;

use super::causes::backups;
use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const CYCLES: Check = Check {
    number: 25,
    name: "whole-cycles",
    title: "Cycles of checkpoints, compactions and flushes",
    rule: "Doubt if the rate was {0} % lower, with 99 % confidence, during checkpoints, \
           compactions, synchronous flushes or waits for free pages, and one more or one less \
           would move the mean by {1} %. Doubt as well if it was that much lower during backups, \
           and they move the mean by {1} %. Not checked if there were none, or one lasted all the \
           time. Needs 10 whole seconds.",
    thresholds: &[SLOWER, MOVED],
    make: cycles,
};

thresholds! {
    SLOWER = 10.0, "percent", "drop of the rate meanwhile": "the same bound as for `warm-up`";
    MOVED = 2.0, "percent", "effect of one cycle on the mean": "as much as repetitions may differ";
}
pub(super) const SURE: f64 = 0.01;

/// A series that is above 0 during such work, and the word for it.
const WORK: [(&str, &str); 4] = [
    (names::DB_CHECKPOINTER_BUFFERS_WRITTEN, "checkpoint"),
    (names::DB_ROCKSDB_COMPACT_WRITE_BYTES, "compaction"),
    (names::DB_INNODB_BUFFER_FLUSH_SYNC, "synchronous flush"),
    (
        names::DB_STATUS_INNODB_BUFFER_POOL_WAIT_FREE,
        "wait for free pages",
    ),
];

/// A sample belongs to the work from this share of the largest one on.
const ACTIVE: f64 = 0.05;

/// One kind of work: when it was active.
struct Activity {
    what: &'static str,
    /// Per second of the measurement.
    marks: Vec<bool>,
}

impl Activity {
    fn share(&self) -> f64 {
        self.marks.iter().filter(|mark| **mark).count() as f64 / self.marks.len() as f64
    }

    /// The number of contiguous parts, including truncated ones.
    fn times(&self) -> usize {
        let begins = self.marks.windows(2).filter(|pair| !pair[0] && pair[1]);
        begins.count() + usize::from(self.marks.first() == Some(&true))
    }
}

fn cycles(view: &View) -> CheckResult {
    if view.imported() || view.family().is_none() || view.embedded() {
        return Missing::Background.or(view, "The server's background work was not observed.");
    }
    let rates = view.rates();
    if rates.len() < dyno_stats::CONTRAST_MIN {
        return CheckResult::not_checked(format!(
            "{} too few to distinguish such work from the rest.",
            view.whole_are(rates.len())
        ));
    }
    if let Some(lowered) = by_backups(view) {
        return lowered;
    }
    let observed = WORK
        .iter()
        .filter(|(name, _)| view.run.series(name).is_some() || view.always_zero(name));
    if observed.count() == 0 {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::DB_CHECKPOINTER)));
    }
    let all: Vec<Activity> = WORK
        .iter()
        .filter_map(|work| activity(view, work))
        .collect();
    let part = all.iter().filter(|found| found.share() < 1.0);
    let judged = part.filter_map(|found| judged(found, &rates));
    let worst = judged.max_by(|one, other| {
        let key = |one: &Judged| (one.fault(), one.moves);
        key(one)
            .partial_cmp(&key(other))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    match worst {
        Some(judged) => judged.result(view),
        None => CheckResult::not_checked(nothing_cut(view, &all)),
    }
}

/// The doubt if backups clearly lowered the rate.
fn by_backups(view: &View) -> Option<CheckResult> {
    let effect = backups::effect(view)?;
    let lower = effect.lower();
    let is_fault = effect.is_sure && lower >= SLOWER.value && effect.moves >= MOVED.value;
    is_fault.then(|| {
        CheckResult::doubt(text::sentence(&effect.words()), backups::ADVICE)
            .naming([Cause::Backup])
            .with("rate during backups", effect.during, "per second")
            .with("rate otherwise", effect.otherwise, "per second")
            .with("drop of the rate meanwhile", lower, "percent")
            .with("effect of backups on the mean", effect.moves, "percent")
    })
}

/// When one kind of work was active; `None` if never.
fn activity(view: &View, (name, what): &(&str, &'static str)) -> Option<Activity> {
    let points = view.points(name);
    let most = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let active = |from_s: f64, to_s: f64| {
        // A rate covers the time before its timestamp.
        let within = points
            .iter()
            .filter(|(at, _)| *at > from_s && *at <= to_s + 0.5);
        within.map(|(_, value)| *value).fold(0.0, f64::max) >= ACTIVE * most
    };
    let bins = view.bins.iter();
    Some(Activity {
        what,
        marks: bins.map(|bin| active(bin.from_s(), bin.at_s)).collect(),
    })
}

/// The cost of one kind of work.
struct Judged {
    what: &'static str,
    times: usize,
    share: f64,
    /// The reduction of the rate meanwhile, in percent.
    lower: f64,
    sure: bool,
    /// The effect of one cycle more or less, in percent of the mean.
    moves: f64,
}

fn judged(found: &Activity, rates: &[f64]) -> Option<Judged> {
    let contrast = dyno_stats::contrast(rates, &found.marks)?;
    let mean = dyno_stats::mean(rates).filter(|mean| *mean > 0.0)?;
    let times = found.times().max(1);
    let lower = (1.0 - contrast.marked / contrast.others) * 100.0;
    let missing = (contrast.others - contrast.marked) * found.share() / mean;
    Some(Judged {
        what: found.what,
        times,
        share: found.share(),
        lower: if lower.is_finite() { lower } else { 0.0 },
        sure: contrast.p <= SURE,
        moves: missing / times as f64 * 100.0,
    })
}

impl Judged {
    fn fault(&self) -> bool {
        self.sure && self.lower >= SLOWER.value && self.moves >= MOVED.value
    }

    fn result(&self, view: &View) -> CheckResult {
        let (what, times) = (self.what, self.times as u64);
        let effect = match self.sure {
            true => format!(
                "the rate was {} % {} meanwhile, so one more or less moves the mean by {} %",
                text::plain(self.lower.abs()),
                if self.lower >= 0.0 { "lower" } else { "higher" },
                text::plain(self.moves.abs())
            ),
            false => "the rate was no lower meanwhile than chance explains".to_owned(),
        };
        CheckResult::of(
            doubt_if(self.fault()),
            format!(
                "{} took {} % of {}: {effect}.",
                text::counted(times, what),
                text::plain(self.share * 100.0),
                text::seconds(view.length_s)
            ),
            "Measure over many cycles, or start each run at the same point of the cycle \
             (CHECKPOINT before it).",
        )
        .with("times", self.times as f64, "count")
        .with("share of the time", self.share * 100.0, "percent")
        .with("drop of the rate meanwhile", self.lower, "percent")
        .with("effect of one cycle on the mean", self.moves, "percent")
    }
}

fn nothing_cut(view: &View, all: &[Activity]) -> String {
    let through: Vec<String> = all
        .iter()
        .filter(|found| found.share() >= 1.0)
        .map(|found| format!("{} went on all the time", found.what))
        .collect();
    if !through.is_empty() {
        return text::sentence(&text::list(&through));
    }
    let due = view
        .run
        .setting("checkpoint_timeout")
        .filter(|_| view.postgres());
    let due = due.map_or_else(String::new, |due| {
        format!(
            "; PostgreSQL makes a checkpoint every {due} (checkpoint_timeout) or when the log fills"
        )
    });
    format!(
        "No checkpoint, compaction or flush ran within the {} of the measurement{due}{}.",
        text::seconds(view.length_s),
        age(view)
    )
}

/// InnoDB writes continuously when its log is nearly full, which short runs may not reach.
fn age(view: &View) -> String {
    let ends = view.ends(names::DB_STATUS_INNODB_CHECKPOINT_AGE);
    let most = view.largest(names::DB_STATUS_INNODB_CHECKPOINT_MAX_AGE);
    let known = ends.zip(most).filter(|((_, last), _)| *last > 0.0);
    known.map_or_else(String::new, |((first, last), most)| {
        format!(
            "; the redo log since InnoDB's last checkpoint went from {} to {} of {}",
            text::bytes(first),
            text::bytes(last),
            text::bytes(most)
        )
    })
}
