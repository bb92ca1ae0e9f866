//! Backups that ran during the measurement.

use dyno_analysis::stalls::Span;
use dyno_core::catalogue::names;
use dyno_core::finding::Cause;
use dyno_core::record::SeriesKind;

use super::{LATE_S, LATE_SHARE, Moved};
use crate::text;
use crate::time::cycles::SURE;
use crate::view::View;

/// Advice in place of a longer warm-up or run.
pub(crate) const ADVICE: &str = "Take backups outside the measurement; to know what a backup \
                                 costs, compare runs with and without one.";

/// Series that are above 0 while a backup runs: its sessions, and MariaDB's `BACKUP STAGE`.
const RUNNING: [&str; 2] = [names::DB_BACKUPS, names::DB_STATUS_COM_BACKUP];
/// MySQL's `LOCK INSTANCE FOR BACKUP` and `UNLOCK INSTANCE`, which enclose a backup.
const LOCKED: [&str; 2] = [
    names::DB_STATUS_COM_LOCK_INSTANCE,
    names::DB_STATUS_COM_UNLOCK_INSTANCE,
];
/// A backup that is not seen for longer has ended. Between tables its session may be idle.
const PAUSE_S: f64 = 15.0;
/// The same if its process was seen, whose end is known.
const PROCESS_PAUSE_S: f64 = 1.0;
/// The least share of the slower seconds.
const SHARE: f64 = 0.25;
/// A disk may slow down this long before the first sample that shows a backup.
const BEFORE_S: f64 = 3.0;

/// The rate during backups, compared with the rest of the measurement.
pub(crate) struct Effect {
    /// When they ran, as words.
    when: String,
    /// How many there were.
    count: usize,
    /// Events per second during them.
    pub(crate) during: f64,
    pub(crate) otherwise: f64,
    /// Whether chance does not explain the difference.
    pub(crate) is_sure: bool,
    /// How much lower the mean is because of them, in percent of it.
    pub(crate) moves: f64,
}

impl Effect {
    /// The reduction of the rate meanwhile, in percent.
    pub(crate) fn lower(&self) -> f64 {
        let lower = (1.0 - self.during / self.otherwise) * 100.0;
        if lower.is_finite() { lower } else { 0.0 }
    }

    /// When they ran, and both rates.
    pub(crate) fn words(&self) -> String {
        format!(
            "{}: the rate was {}/s during the backup{} and {}/s otherwise",
            self.when,
            text::rate(self.during),
            text::plural(self.count as u64),
            text::rate(self.otherwise)
        )
    }
}

/// The effect of all backups; `None` without one, and if too little was measured with or without
/// them.
pub(crate) fn effect(view: &View) -> Option<Effect> {
    let backups = measured(view);
    let marks = view.bins.iter().map(|bin| {
        let common = backups
            .iter()
            .map(|backup| backup.to_s.min(bin.at_s) - backup.from_s.max(bin.from_s()));
        common.filter(|length_s| *length_s > 0.0).sum::<f64>() >= bin.length_s / 2.0
    });
    let marks: Vec<bool> = marks.collect();
    let rates = view.rates();
    let found = dyno_stats::contrast(&rates, &marks)?;
    let mean = dyno_stats::mean(&rates).filter(|mean| *mean > 0.0)?;
    let share = marks.iter().filter(|mark| **mark).count() as f64 / marks.len() as f64;
    Some(Effect {
        when: words(&backups),
        count: backups.len(),
        during: found.marked,
        otherwise: found.others,
        is_sure: found.p <= SURE,
        moves: (found.others - found.marked) * share / mean * 100.0,
    })
}

/// The backups that ran in the slower seconds.
pub(super) fn during(view: &View, slower: &[Span]) -> Option<Moved> {
    let common_s = |backup: &Span| -> f64 {
        let both = slower
            .iter()
            .map(|span| backup.to_s.min(span.to_s) - backup.from_s.max(span.from_s));
        both.filter(|length_s| *length_s > 0.0).sum()
    };
    let mut backups = all(view);
    backups.retain(|backup| common_s(backup) > 0.0);
    // A backup that began later is not the cause.
    if let [span] = slower {
        let latest_s = span.from_s + LATE_S.max(LATE_SHARE * span.length_s());
        backups.retain(|backup| backup.from_s <= latest_s);
    }
    let both_s: f64 = backups.iter().map(common_s).sum();
    let slower_s: f64 = slower.iter().map(Span::length_s).sum();
    (both_s > 0.0 && both_s >= slower_s * SHARE).then(|| Moved {
        cause: Cause::Backup,
        words: words(&backups),
    })
}

/// The backup that ran at this time.
pub(crate) fn at(view: &View, at_s: f64) -> Option<String> {
    let mut backups = all(view);
    backups.retain(|backup| (backup.from_s - BEFORE_S..=backup.to_s).contains(&at_s));
    (!backups.is_empty()).then(|| words(&backups))
}

/// The backups that ran during the measurement.
pub(crate) fn throughout(view: &View) -> Option<String> {
    let backups = measured(view);
    (!backups.is_empty()).then(|| words(&backups))
}

fn measured(view: &View) -> Vec<Span> {
    let mut backups = all(view);
    backups.retain(|backup| backup.to_s > 0.0 && backup.from_s < view.length_s);
    backups
}

fn words(backups: &[Span]) -> String {
    const LISTED_MAX: usize = 3;
    let each = backups.iter().map(|backup| {
        let (from_s, to_s) = (backup.from_s.max(0.0), backup.to_s.max(0.0));
        format!("from {} to {}", text::seconds(from_s), text::seconds(to_s))
    });
    let each: Vec<String> = each.collect();
    let what = match backups.len() {
        1 => "a backup",
        _ => "backups",
    };
    format!("{what} ran {}", text::few(&each, LISTED_MAX))
}

/// All backups, in order.
fn all(view: &View) -> Vec<Span> {
    let mut spans: Vec<Span> = RUNNING.iter().flat_map(|name| seen(view, name)).collect();
    let [locks, unlocks] = LOCKED.map(|name| seen(view, name));
    spans.extend(locks.into_iter().map(|lock| {
        let end = unlocks.iter().find(|unlock| unlock.to_s >= lock.to_s);
        Span {
            to_s: end.map_or(view.length_s, |unlock| unlock.to_s),
            ..lock
        }
    }));
    let processes = seen(view, names::HOST_OTHERS_BACKUPS);
    let pause_s = match processes.is_empty() {
        true => PAUSE_S,
        false => PROCESS_PAUSE_S,
    };
    spans.extend(processes);
    spans.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.from_s <= last.to_s + pause_s => {
                last.to_s = last.to_s.max(span.to_s);
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// When a series was above 0. A rate describes the second before a sample. A gauge shows what was
/// there at the time of the sample, which lasts until the next one at most.
fn seen(view: &View, name: &str) -> Vec<Span> {
    let Some(series) = view.run.series(name) else {
        return Vec::new();
    };
    let points = &series.points;
    let span = |index: usize, at_s: f64| match series.kind {
        SeriesKind::Rate => Span {
            from_s: at_s - 1.0,
            to_s: at_s,
        },
        SeriesKind::Gauge => Span {
            from_s: at_s,
            to_s: points.get(index + 1).map_or(at_s, |(next_s, _)| *next_s),
        },
    };
    let above = points
        .iter()
        .enumerate()
        .filter(|(_, (_, value))| *value > 0.0);
    above.map(|(index, (at_s, _))| span(index, *at_s)).collect()
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome::Doubt;
    use dyno_core::record::RunRecord;
    use dyno_samples::{assert_has, assert_lacks, noisy, series};

    use super::*;
    use crate::tests::check;
    use crate::time::tests::rated;

    /// A run that is slower from 22 s to 40 s and observed, and with a series that is 1 in these
    /// seconds.
    fn slower(name: &str, seconds: &[usize]) -> RunRecord {
        let mut rates = noisy(60, 1000.0, 0.03, 5);
        rates[22..].iter_mut().for_each(|rate| *rate *= 0.6);
        let mut run = rated(&rates);
        series(&mut run, "host.cpu.idle", &[30.0; 60]);
        set(&mut run, name, seconds);
        run
    }

    fn set(run: &mut RunRecord, name: &str, seconds: &[usize]) {
        let mut values = [0.0; 60];
        for second in seconds {
            values[*second] = 1.0;
        }
        series(run, name, &values);
    }

    #[test]
    fn a_backup_is_the_cause_of_a_lower_rate() {
        // Between two tables its session is idle.
        let seen: Vec<usize> = (21..50).filter(|second| second % 4 != 0).collect();
        let run = slower("db.backups", &seen);
        let found = check(&run, "steady-state", Doubt);
        assert_has(&found.evidence, "a backup ran from 22 s to 51 s");
        assert!(found.names(Cause::Backup) && !found.names(Cause::Unexplained));
        assert_eq!(found.advice, ADVICE);
        // It ended before, or began when most of the slower time was over.
        for seen in [[1, 3], [45, 59]] {
            let seen: Vec<usize> = (seen[0]..seen[1]).collect();
            let found = check(&slower("db.backups", &seen), "steady-state", Doubt);
            assert!(!found.names(Cause::Backup), "{}", found.evidence);
        }
    }

    #[test]
    fn short_backups_are_recognised_by_their_processes() {
        let mut run = rated(&noisy(60, 1000.0, 0.03, 5));
        set(&mut run, "host.others.backups", &[9, 20, 21, 34, 50]);
        let context = crate::Context::default();
        let said = throughout(&View::new(&run, &context)).unwrap();
        let expected = "backups ran from 10 s to 11 s, from 21 s to 23 s, from 35 s to 36 s and 1 \
                        more";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_backup_lasts_from_its_lock_to_the_unlock() {
        let mut run = slower("db.status.com_lock_instance", &[20]);
        let whole = check(&run, "steady-state", Doubt);
        assert_has(&whole.evidence, "a backup ran from 20 s to 60 s");
        set(&mut run, "db.status.com_unlock_instance", &[45]);
        let ended = check(&run, "steady-state", Doubt);
        assert_has(&ended.evidence, "a backup ran from 20 s to 46 s");
        set(&mut run, "db.status.com_unlock_instance", &[21]);
        let short = check(&run, "steady-state", Doubt);
        assert_lacks(&short.evidence, "backup");
    }

    #[test]
    fn a_backup_explains_a_stall_and_does_not_hide_it() {
        let mut rates = noisy(60, 1000.0, 0.03, 5);
        rates[30..36].fill(0.0);
        let mut run = rated(&rates);
        series(&mut run, "host.cpu.idle", &[30.0; 60]);
        set(&mut run, "db.status.com_backup", &[29, 30, 31, 34, 35]);
        let found = check(&run, "stalls", Doubt);
        assert_has(&found.evidence, "a backup ran from 29 s to 36 s");
        assert!(found.names(Cause::Backup), "{found:?}");
        assert_eq!(found.advice, ADVICE);
    }
}
