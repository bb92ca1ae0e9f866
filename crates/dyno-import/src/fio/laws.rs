//! Checks the figures of one direction in fio's JSON against each other, and leaves out those that
//! cannot be true.

use super::document::{Direction, Latency, Sync};
use crate::laws::{self, BrokenLaw, Precision, Spread, Statistic};

/// Relative tolerance between figures before version 3, which prints rates with two decimals or
/// none and bandwidths in KiB. Also for counts: those of I/Os and latencies begin and end at
/// slightly different times.
const TOLERANCE: f64 = 0.02;
/// Relative tolerance since version 3, which divides the counts by the times that it prints, and
/// prints rates with six decimals and bandwidths in bytes. Real logs agree to 0.0001 %.
const EXACT: f64 = 0.001;
/// Bins are up to 1/64 wide, and percentiles are printed as their middles or bounds.
const BIN: f64 = 0.04;
/// The last bin ends at 2^34 ns or 2^24 us; longer latencies count as shorter ones there.
const LAST_BIN_NS: f64 = 16e9;
/// Before version 3, latencies are whole microseconds.
const US: f64 = 1000.0;

/// What a contradiction leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leaves {
    /// No figure of the run.
    Nothing,
    /// The counts and rates of the run.
    Rates,
    /// The printed rate. Other figures confirm count and time, from which the rate is computed.
    PrintedRate,
    Bandwidth,
    Latencies,
    Percentiles,
    Deviation,
    Syncs,
}

/// A contradiction, and what it leaves out.
pub(super) type Broken = (Leaves, String);

impl Leaves {
    /// Whether the printed rate is in doubt.
    pub(super) fn is_rate(self) -> bool {
        matches!(self, Self::Rates | Self::PrintedRate)
    }

    /// What a broken law of a distribution leaves out.
    fn of(law: &BrokenLaw) -> Self {
        let is_percentile = |one: &Statistic| matches!(one, Statistic::Percentile(_));
        match law.statistics.as_slice() {
            [Statistic::Deviation] => Self::Deviation,
            all if all.iter().all(is_percentile) => Self::Percentiles,
            _ => Self::Latencies,
        }
    }

    /// For the warning.
    pub(super) fn words(self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing => return None,
            Self::Rates => "the run's counts and rates are left out",
            Self::PrintedRate => "the rate is that of count and time",
            Self::Bandwidth => "the bandwidth is left out",
            Self::Latencies => "these latencies are left out",
            Self::Percentiles => "these percentiles are left out",
            Self::Deviation => "the deviation is left out",
            Self::Syncs => "the syncs are left out",
        })
    }
}

/// The deviations that a job's options explain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allows {
    /// I/Os in flight when counting begins or ends.
    pub(super) under_way: f64,
    /// Whether I/Os may lack a latency because they failed or were verified.
    pub(super) unmeasured: bool,
}

impl Direction {
    /// Figures that cannot all be true.
    pub(super) fn contradictions(&self, allows: Allows) -> Vec<Broken> {
        if self.total_ios == 0 {
            return Vec::new();
        }
        let found = [
            rate(self),
            bandwidth(self),
            sums(self),
            extremes(self),
            self.submission(),
            self.counted(allows),
        ];
        let found = found.into_iter().flatten();
        found.chain(self.latency().contradictions()).collect()
    }

    pub(super) fn leave_out(&mut self, what: Leaves) {
        let latencies = [
            Some(&mut self.clat_ns),
            Some(&mut self.lat_ns),
            self.clat.as_mut(),
        ];
        let latencies = latencies.into_iter().flatten();
        match what {
            Leaves::Nothing | Leaves::Rates | Leaves::Syncs => {}
            Leaves::PrintedRate => self.iops = self.total_ios as f64 * 1e3 / self.runtime as f64,
            // A sum with it is not finite.
            Leaves::Bandwidth => (self.bw_bytes, self.bw) = (None, f64::NAN),
            Leaves::Latencies | Leaves::Percentiles | Leaves::Deviation => {
                latencies.for_each(|own| own.leave_out(what));
                if what == Leaves::Latencies {
                    self.clat = None;
                }
            }
        }
    }

    /// Checks that latencies including submission are not shorter than those without.
    fn submission(&self) -> Option<Broken> {
        let (lat, clat) = (&self.lat_ns, &self.clat_ns);
        let all = [
            ("mean", lat.mean, clat.mean, TOLERANCE),
            ("minimum", lat.min, clat.min, EXACT),
            ("maximum", lat.max, clat.max, EXACT),
        ];
        let mut broken = all.into_iter().filter(|(_, with, without, share)| {
            let known = *with > 0.0 && *without > 0.0;
            known && with * (1.0 + share) + 1.0 < *without
        });
        let (what, with, without, _) = broken.next()?;
        let text = format!(
            "a {what} lat of {with} ns, which includes the submission, is below a {what} clat of \
             {without} ns"
        );
        Some((Leaves::Latencies, text))
    }

    /// Checks that each I/O has a latency.
    fn counted(&self, allows: Allows) -> Option<Broken> {
        let count = self.latency().count as f64;
        let ios = self.total_ios as f64;
        // The rest of a short I/O counts again.
        let again = self.short_ios.saturating_add(self.drop_ios) as f64;
        let room = TOLERANCE * ios + allows.under_way;
        let lacks = count > 0.0
            && count < ios - room - again
            && !allows.unmeasured
            && self.computed.is_empty();
        (count > ios + room || lacks).then(|| {
            (
                Leaves::Latencies,
                format!("{count} latencies of {ios} I/Os"),
            )
        })
    }
}

impl Sync {
    pub(super) fn leave_out(&mut self, what: Leaves) {
        self.lat_ns.leave_out(what);
    }

    pub(super) fn contradictions(&self, latency: &Latency, allows: Allows) -> Vec<Broken> {
        let (count, syncs) = (latency.count as f64, self.total_ios as f64);
        if self.total_ios == 0 || latency.count == 0 {
            return Vec::new();
        }
        let differ = (count - syncs).abs() > TOLERANCE * syncs + allows.under_way;
        match differ && !allows.unmeasured {
            true => vec![(Leaves::Syncs, format!("{count} latencies of {syncs} syncs"))],
            false => latency.contradictions(),
        }
    }
}

/// Checks the rate against count and time.
fn rate(own: &Direction) -> Option<Broken> {
    if own.runtime == 0 {
        let text = format!(
            "{} I/Os at {} per second in a runtime of 0 ms",
            own.total_ios, own.iops
        );
        return Some((Leaves::Rates, text));
    }
    let implied = own.total_ios as f64 * 1e3 / own.runtime as f64;
    let room = room(own) * implied.max(own.iops) + 1e-3;
    let time_s = own.runtime as f64 / 1e3;
    let text = laws::other_rate((own.total_ios, "I/Os"), time_s, own.iops, room)?;
    // The bytes confirm the time, and the latencies the count.
    let timed = own.bw_bytes.is_some() && own.io_bytes.is_some() && bandwidth(own).is_none();
    let counted = [own.clat_ns.count, own.lat_ns.count].contains(&own.total_ios);
    match timed && counted {
        true => Some((Leaves::PrintedRate, text)),
        false => Some((Leaves::Rates, text)),
    }
}

/// Checks the bandwidth against bytes and time, in both printed units.
fn bandwidth(own: &Direction) -> Option<Broken> {
    let per_s = own.bw_bytes?;
    let by_kib = own.bw * 1024.0;
    // It is printed in whole KiB.
    if (by_kib - per_s).abs() > 1024.0 + EXACT * per_s.max(by_kib) && own.bw > 0.0 {
        let text = format!(
            "bw_bytes is {per_s} bytes per second, but bw {} KiB",
            own.bw
        );
        return Some((Leaves::Bandwidth, text));
    }
    let all = own.io_bytes.filter(|_| own.runtime > 0)?;
    let implied = all * 1e3 / own.runtime as f64;
    ((implied - per_s).abs() > 1.0 + room(own) * implied.max(per_s)).then(|| {
        let text = format!(
            "{all} bytes in {} ms are {implied:.0} per second, but the log says {per_s}",
            own.runtime
        );
        (Leaves::Bandwidth, text)
    })
}

/// Checks the bytes in both printed units.
fn sums(own: &Direction) -> Option<Broken> {
    let (bytes, kib) = (own.io_bytes?, own.io_kbytes?);
    ((bytes / 1024.0 - kib).abs() > 1.0 + EXACT * kib).then(|| {
        let text = format!("io_bytes is {bytes} bytes, but io_kbytes {kib} KiB");
        (Leaves::Nothing, text)
    })
}

/// Checks the extremes of the rate. The mean may be beyond them: with group_reporting the mean is a
/// sum over jobs, and the extremes are not.
fn extremes(own: &Direction) -> Option<Broken> {
    let (least, most) = (own.iops_min?, own.iops_max?);
    (least > most).then(|| {
        let text = format!("iops_min, {least}, is above iops_max, {most}");
        (Leaves::Nothing, text)
    })
}

/// Tolerance between a rate and the time, which is rounded to milliseconds.
fn room(own: &Direction) -> f64 {
    match own.bw_bytes.is_some() && own.computed.is_empty() {
        true => EXACT,
        false => TOLERANCE + 1.0 / own.runtime.max(1) as f64,
    }
}

impl Latency {
    fn leave_out(&mut self, what: Leaves) {
        match what {
            Leaves::Latencies => *self = Self::default(),
            Leaves::Percentiles => self.percentile.clear(),
            Leaves::Deviation => self.stddev = f64::NAN,
            _ => {}
        }
    }

    /// The figure without which the others are not read.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        match () {
            () if self.count == 0 => None,
            () if self.mean.is_nan() || self.mean == 0.0 && self.max > 0.0 => Some("mean"),
            () if self.max.is_nan() || self.max == 0.0 && self.mean > 0.0 => Some("maximum"),
            () => None,
        }
    }

    /// Figures that cannot all be true.
    pub(super) fn contradictions(&self) -> Vec<Broken> {
        if self.count == 0 || self.lacks().is_some() {
            return Vec::new();
        }
        let percentiles = self.percentiles();
        let broken = self.spread(&percentiles).broken().into_iter();
        let broken = broken.map(|law| (Leaves::of(&law), law.text));
        broken.chain(self.binned()).collect()
    }

    /// The percentiles above 0.
    fn percentiles(&self) -> Vec<(f64, f64)> {
        let all = self.percentile.iter();
        let all = all.filter_map(|(percent, ns)| Some((percent.parse::<f64>().ok()?, *ns)));
        all.filter(|(percent, _)| *percent > 0.0).collect()
    }

    fn spread<'a>(&self, percentiles: &'a [(f64, f64)]) -> Spread<'a> {
        let is_us = [self.min, self.max].iter().all(|ns| ns % US == 0.0);
        Spread {
            what: "latencies",
            unit: "ns",
            precision: Precision {
                half_digit: if is_us { US / 2.0 } else { 0.5 },
                decimals: 0,
                bucket: BIN,
                last_bucket: LAST_BIN_NS,
            },
            count: Some(self.count as f64),
            min: Some(self.min).filter(|ns| ns.is_finite()),
            mean: Some(self.mean),
            max: Some(self.max),
            stddev: Some(self.stddev).filter(|ns| ns.is_finite()),
            percentiles,
        }
    }

    /// Checks the bins against number and mean.
    fn binned(&self) -> Option<Broken> {
        if self.bins.is_empty() {
            return None;
        }
        let bins = self.bins.iter();
        let bins = bins.filter_map(|(ns, count)| Some((ns.parse::<f64>().ok()?, *count as f64)));
        let (count, sum) = bins.fold((0.0, 0.0), |(count, sum), (ns, own)| {
            (count + own, sum + ns * own)
        });
        let all = self.count as f64;
        if (count - all).abs() > TOLERANCE * count.max(all) + 1.0 {
            let text = format!("its bins hold {count} latencies, but the log says {all}");
            return Some((Leaves::Latencies, text));
        }
        let mean = sum / count;
        // A few latencies may be missing in bins.
        let room = (BIN + TOLERANCE) * mean.max(self.mean) + 1.0;
        ((mean - self.mean).abs() > room && self.max < LAST_BIN_NS).then(|| {
            let text = format!(
                "its bins imply a mean of {mean:.0} ns, but the log says {} ns",
                self.mean
            );
            (Leaves::Latencies, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand latencies: 900 of 100 us, the others of 1 ms.
    fn latency() -> Latency {
        let percentile = [
            ("50.000000", 1e5_f64),
            ("95.000000", 1e6),
            ("99.000000", 1e6),
        ];
        let percentile = percentile.map(|(percent, ns)| (percent.to_owned(), ns));
        let bins = [("100352".to_owned(), 900_u64), ("1003520".to_owned(), 100)];
        Latency {
            min: 1e5,
            max: 1e6,
            mean: 190e3,
            stddev: 270e3,
            count: 1000,
            percentile: percentile.into(),
            bins: bins.into(),
        }
    }

    fn with(change: fn(&mut Latency)) -> Latency {
        let mut own = latency();
        change(&mut own);
        own
    }

    #[test]
    fn latencies_obey_their_laws() {
        type Change = fn(&mut Latency);
        assert!(latency().contradictions().is_empty());
        let cases: [(Leaves, &str, Change); 5] = [
            (Leaves::Latencies, "2000000 ns, is above the max", |own| {
                own.mean = 2e6;
            }),
            (Leaves::Latencies, "its bins hold 2000", |own| {
                own.bins.insert("100352".to_owned(), 1900);
            }),
            (Leaves::Latencies, "its bins imply a mean", |own| {
                own.mean = 250e3;
            }),
            (Leaves::Percentiles, "is above the 95th", |own| {
                own.percentile.insert("50.000000".to_owned(), 2e6);
            }),
            (Leaves::Deviation, "allow at most", |own| own.stddev = 290e3),
        ];
        for (leaves, expected, change) in cases {
            let found = with(change).contradictions();
            let fits = |(own, text): &Broken| *own == leaves && text.contains(expected);
            assert!(found.iter().any(fits), "{expected}: {found:?}");
        }
        // What is missing is not a contradiction.
        for (change, expected) in [
            (
                (|own: &mut Latency| own.mean = 0.0) as fn(&mut Latency),
                "mean",
            ),
            (|own: &mut Latency| own.max = 0.0, "maximum"),
        ] {
            let own = with(change);
            assert_eq!(
                (own.lacks(), own.contradictions()),
                (Some(expected), vec![])
            );
        }
        assert_eq!(latency().lacks(), None);
    }
}
