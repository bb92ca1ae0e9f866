//! Parses pgbench's logs of single transactions (`--log`) and of sums (`--aggregate-interval`).

use std::collections::BTreeMap;

use dyno_core::interval::Latencies;

const NS_PER_US: u64 = 1000;
/// Plausible times in seconds since 1970: from 2001 to 2286.
const EPOCH: std::ops::Range<u64> = 1_000_000_000..10_000_000_000;
/// The longest plausible latency: a day.
const LATENCY_US_MAX: u64 = 86_400_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Done,
    /// The server rejected all tries.
    Failed,
    /// It was already late when it was due to begin.
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transaction {
    /// When it ended, microseconds since the Unix epoch.
    pub(super) ended_us: u64,
    /// From its scheduled start, or its start if there is no schedule.
    pub(super) latency_us: u64,
    pub(super) script: u32,
    pub(super) client: u32,
    /// Its number within its client, from 1, including skipped and failed ones.
    pub(super) number: u64,
    pub(super) end: End,
    /// The columns after it, as printed: the lag, the tries after the first.
    more: [Option<u64>; 2],
}

/// One line of a log of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sum {
    /// When it began, seconds since the Unix epoch.
    pub(super) from_s: u64,
    /// Transactions that ran.
    pub(super) count: u64,
    pub(super) latency_us: f64,
    pub(super) latency_us_squared: f64,
    pub(super) min_us: f64,
    pub(super) max_us: f64,
    /// The sum of the lags behind the schedule, if there was one (`--rate`).
    pub(super) lag_us: Option<f64>,
    /// Their sum of squares, minimum and maximum.
    pub(super) lag_more: Option<[f64; 3]>,
    /// Transactions that were already late when due to begin.
    pub(super) skipped: Option<u64>,
    /// Tries after the first.
    pub(super) retries: Option<u64>,
    /// Transactions that failed after all tries. Without `--failures-detailed` it is 0 even if
    /// there were some.
    pub(super) failed: Option<u64>,
}

/// The contents of a log of transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct Transactions {
    pub(super) all: Vec<Transaction>,
    pub(super) sums: Vec<Sum>,
    /// Unreadable lines: their number, and the first.
    pub(super) odd: usize,
    pub(super) first_odd: usize,
}

/// The meaning of the columns after the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Columns {
    pub(super) lag: bool,
    pub(super) retries: bool,
}

impl Transaction {
    /// How long it waited after its scheduled start.
    pub(super) fn lag_us(&self, columns: Columns) -> Option<u64> {
        columns.lag.then_some(self.more[0]).flatten()
    }

    /// Tries after the first.
    pub(super) fn retries(&self, columns: Columns) -> Option<u64> {
        let place = usize::from(columns.lag);
        columns.retries.then_some(self.more[place]).flatten()
    }

    /// From start to end.
    pub(super) fn service_us(&self, columns: Columns) -> u64 {
        let lag = self.lag_us(columns).unwrap_or(0);
        self.latency_us.saturating_sub(lag)
    }

    /// Whether it has a time: no transaction takes 0 µs.
    pub(super) fn is_timed(&self, columns: Columns) -> bool {
        self.service_us(columns) > 0
    }

    pub(super) fn columns(&self) -> usize {
        self.more.iter().flatten().count()
    }

    /// Adds it to latencies.
    pub(super) fn record(&self, columns: Columns, latencies: &mut Latencies) {
        if !self.is_timed(columns) {
            return;
        }
        latencies.record_service(self.service_us(columns) * NS_PER_US);
        if columns.lag {
            latencies.record_response(self.latency_us * NS_PER_US);
        }
    }
}

impl Transactions {
    /// Removes repetitions of lines, as in a log that was saved twice, and returns their number.
    /// A client numbers its transactions, and a time has one line per thread, with equal counts
    /// only if they are 0.
    pub(super) fn read_once(&mut self) -> usize {
        let before = self.all.len() + self.sums.len();
        if !is_numbered(&self.all) {
            self.all.sort_by_key(|one| {
                let skipped = one.end == End::Skipped;
                (
                    one.ended_us,
                    one.client,
                    one.number,
                    skipped,
                    one.latency_us,
                )
            });
            let done = self.all.len();
            self.all
                .dedup_by(|one, kept| one == kept && one.end != End::Skipped);
            if self.all.len() < done {
                // Version 9.5 may skip several transactions at once, with equal lines.
                let mut again = false;
                self.all.dedup_by(|one, kept| {
                    again = !again && one == kept && one.end == End::Skipped;
                    again
                });
            }
        }
        let key = |sum: &Sum| (sum.from_s, sum.count, sum.latency_us as u64);
        self.sums.sort_by_key(key);
        self.sums.dedup_by(|one, kept| one == kept && one.count > 0);
        before - self.all.len() - self.sums.len()
    }
}

/// Whether the numbers of each client ascend, so that none occurs twice. Version 9.5 gives skipped
/// transactions no number.
pub(super) fn is_numbered(all: &[Transaction]) -> bool {
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    let mut done = all.iter().filter(|one| one.end == End::Done);
    done.all(|one| {
        let before = last.insert(one.client, one.number);
        before.is_none_or(|before| before < one.number)
    })
}

/// Parses a log; `None` if most of its lines are neither transactions nor sums.
pub(super) fn read(log: &str) -> Option<Transactions> {
    let mut read = Transactions::default();
    let mut first_time = None;
    let whole = log.ends_with('\n');
    let mut cut = 0;
    let mut lines = log.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if lines.peek().is_none() && !whole && first_time.is_some() {
            // Its last figure may lack digits.
            if read.odd == 0 {
                read.first_odd = index + 1;
            }
            read.odd += 1;
            cut = 1;
            break;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let Some(transaction) = transaction(&words) {
            first_time = first_time.or(Some(transaction.ended_us));
            read.all.push(transaction);
        } else if let Some(sum) = sum(&words) {
            first_time = first_time.or(Some(sum.from_s * 1_000_000));
            read.sums.push(sum);
        } else {
            if read.odd == 0 {
                read.first_odd = index + 1;
            }
            read.odd += 1;
            // The first lines distinguish a log from a report.
            first_time?;
        }
    }
    let known = read.all.len().max(read.sums.len());
    (known > read.odd - cut).then_some(read)
}

/// `client number latency_us script epoch_s us [lag_us] [retries]`; the latency is a word if the
/// transaction was not successful.
fn transaction(words: &[&str]) -> Option<Transaction> {
    let [client, number, latency, script, seconds, us, more @ ..] = words else {
        return None;
    };
    let number: u64 = number.parse().ok()?;
    let seconds: u64 = seconds.parse().ok().filter(|s| EPOCH.contains(s))?;
    let us: u64 = us.parse().ok().filter(|us| *us < 1_000_000)?;
    let (end, latency_us) = match *latency {
        "skipped" => (End::Skipped, 0),
        "failed" | "serialization" | "deadlock" => (End::Failed, 0),
        figure => (
            End::Done,
            figure.parse().ok().filter(|us| *us <= LATENCY_US_MAX)?,
        ),
    };
    if more.len() > 2 {
        return None;
    }
    let figure = |at: usize| match more.get(at) {
        None => Some(None),
        // `nan` if there is no value.
        Some(word) => match word.parse::<f64>().ok()? {
            value if value.is_finite() && value >= 0.0 => Some(Some(value as u64)),
            _ => Some(None),
        },
    };
    Some(Transaction {
        ended_us: seconds * 1_000_000 + us,
        latency_us,
        script: script.parse().ok()?,
        client: client.parse().ok()?,
        number,
        end,
        more: [figure(0)?, figure(1)?],
    })
}

/// `epoch_s count sum sum_of_squares min max`, then the same four of the lag, and `skipped retried
/// retries serialization_failures deadlock_failures`. Versions before 15 print only those that the
/// options request.
fn sum(words: &[&str]) -> Option<Sum> {
    let [from_s, count, sum, squares, min, max, ..] = words else {
        return None;
    };
    /// The columns of the lag, and skipped transactions.
    const OLD: usize = 5;
    let figure = |word: &str| {
        let value: f64 = word.parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    let more: Vec<f64> = words[6..]
        .iter()
        .map(|word| figure(word))
        .collect::<Option<_>>()?;
    let count_at = |at: usize| more.get(at).map(|value| *value as u64);
    // The count of such a line includes skipped transactions (`accumStats` up to version 14). From
    // version 15 on, all columns are printed.
    let included = match more.len() {
        OLD => count_at(4).unwrap_or(0),
        _ => 0,
    };
    let lag_us = more
        .first()
        .copied()
        .filter(|_| more[..4.min(more.len())].iter().any(|x| *x > 0.0));
    let lag_more = match more.as_slice() {
        [_, squares, min, max, ..] => lag_us.map(|_| [*squares, *min, *max]),
        _ => None,
    };
    Some(Sum {
        lag_us,
        lag_more,
        skipped: count_at(4),
        retries: count_at(6),
        failed: count_at(7)
            .zip(count_at(8))
            .map(|(one, other)| one.saturating_add(other)),
        from_s: from_s.parse().ok().filter(|s| EPOCH.contains(s))?,
        count: crate::number::count(count)?.checked_sub(included)?,
        latency_us: figure(sum)?,
        latency_us_squared: figure(squares)?,
        min_us: figure(min)?,
        max_us: figure(max)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_of_line() {
        let log = "0 199 2241 0 1175850568 995598\n1 2 skipped 0 1175850568 995598 12 0\n\
                   1 3 serialization 1 1175850569 5 0\n";
        let read = read(log).unwrap();
        assert_eq!(read.all[0].ended_us, 1_175_850_568_995_598);
        assert_eq!((read.all[0].latency_us, read.all[0].columns()), (2241, 0));
        let both = Columns {
            lag: true,
            retries: true,
        };
        assert_eq!(read.all[1].end, End::Skipped);
        assert_eq!(read.all[1].lag_us(both), Some(12));
        assert_eq!(read.all[1].retries(both), Some(0));
        assert_eq!((read.all[2].end, read.all[2].script), (End::Failed, 1));
        let sums = super::read("1795615930 3445 3701775 4922343505 356 9020 0 0 0 0 0\n").unwrap();
        assert_eq!((sums.sums[0].count, sums.sums[0].max_us), (3445, 9020.0));
        assert_eq!((sums.sums[0].skipped, sums.sums[0].failed), (Some(0), None));
        let line = "1795615930 3445 3701775 4922343505 356 9020 690 99 0 70 11 5 8 20 3\n";
        let sum = super::read(line).unwrap().sums[0];
        assert_eq!((sum.lag_us, sum.skipped), (Some(690.0), Some(11)));
        assert_eq!((sum.retries, sum.failed), (Some(8), Some(23)));
        // Up to version 14, the count includes skipped transactions.
        let skipped = super::read("1795615930 5 36 640 9 21 32 500 10 17 2\n").unwrap();
        assert_eq!(
            (skipped.sums[0].count, skipped.sums[0].skipped),
            (3, Some(2))
        );
        assert!(super::read("1795615930 1 36 640 9 21 32 500 10 17 2\n").is_none());
        let old = super::read("1795615930 3445 3701775 4922343505 356 9020\n")
            .unwrap()
            .sums[0];
        assert_eq!((old.skipped, old.retries, old.failed), (None, None, None));
        assert!(super::read("pgbench (15)\ntps = 1\n").is_none());
        assert!(super::read("").is_none());
    }

    #[test]
    fn the_last_line_of_a_cut_log_is_left_out() {
        let read = read("0 1 22 0 1175850568 100\n0 2 22 0 1175850568 20").unwrap();
        assert_eq!((read.all.len(), read.odd, read.first_odd), (1, 1, 2));
    }

    #[test]
    fn a_line_that_is_cut_off_is_counted() {
        let read = read("0 1 22 0 1175850568 1\n0 2 22 0 1175850568 2\n0 3 22 0\n").unwrap();
        assert_eq!((read.all.len(), read.odd, read.first_odd), (2, 1, 3));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(lines in prop::collection::vec("[0-9 .a-z-]{0,60}", 0..20)) {
            let _ = read(&format!("0 1 2 0 1175850568 1\n{}", lines.join("\n")));
        }
    }
}
