//! The figures of a duet, from the events and CPU times of both sides in blocks of four slices.

mod choice;
mod findings;

use std::collections::BTreeMap;

use dyno_core::duet::{DuetAnswer, DuetFigure, DuetFinding};
use dyno_core::interval::carries;
use dyno_core::reported::Better;
use dyno_stats::multiple::holm;
use dyno_stats::{Equivalence, Margin, PairedRatio, Tested, inner_confidence};

pub use self::choice::{Choice, NoChoice, Pilot, choose};

/// The confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;
/// No time to decide is estimated beyond this many times the length of the duet.
const LONGER_MAX: f64 = 1_000.0;

/// A server's CPU time and writes over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerWork {
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes written to disk; `None` if not observed.
    pub written_bytes: Option<u64>,
}

impl ServerWork {
    /// The work since an earlier reading.
    pub fn since(self, before: Self) -> Self {
        let written = self.written_bytes.zip(before.written_bytes);
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            written_bytes: written.map(|(now, before)| now.saturating_sub(before)),
        }
    }

    /// The sum of this work and `more`.
    pub fn and(self, more: Self) -> Self {
        let written = self.written_bytes.zip(more.written_bytes);
        Self {
            cpu_ns: self.cpu_ns + more.cpu_ns,
            written_bytes: written.map(|(one, other)| one + other),
        }
    }
}

/// What one side did in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockSide {
    /// Counted events.
    pub events: f64,
    /// CPU time of its workers, in nanoseconds.
    pub client_ns: f64,
    /// The work of its server in its own slices; `None` if not observed.
    pub server: Option<ServerWork>,
    /// The work of its server in the other side's slices.
    pub idle: Option<ServerWork>,
    /// Counted events of its two neighbouring slices, in order: the first follows the other side.
    /// `None` for the side whose slices are at the ends of the block.
    pub neighbours: Option<[f64; 2]>,
}

/// Latencies in nanoseconds, and how often each occurred, by batch.
pub type Batches = BTreeMap<u64, BTreeMap<u64, u64>>;

/// The measurement of a duet. Side A comes first everywhere.
#[derive(Clone, Debug, Default)]
pub struct DuetMeasurement {
    /// Both sides, block by block.
    pub blocks: Vec<[BlockSide; 2]>,
    /// The counted time of each side in a block.
    pub counted_s: f64,
    /// The latencies of counted events.
    pub latencies: [Batches; 2],
    /// Whether both sides use the same server.
    pub is_one_server: bool,
    /// Whether the sides took turns.
    pub takes_turns: bool,
    /// The percentile of the latencies that the answer is about, in an open loop, which sets the
    /// rate. `None` if the answer is about the rate.
    pub subject: Option<f64>,
}

impl DuetMeasurement {
    /// The ratio that the answer is about; `None` with too few blocks.
    pub fn ratio(&self) -> Option<PairedRatio> {
        match self.subject {
            Some(percent) => PairedRatio::of_logarithms(&self.logarithms(percent)),
            None => self.rates(),
        }
    }

    /// All figures, the subject of the answer first; `percents` are the percentiles of the
    /// latencies.
    pub fn figures(&self, percents: &[f64]) -> Vec<DuetFigure> {
        let rate = self.rate();
        let others = percents.iter().filter(|own| Some(**own) != self.subject);
        let mut others: Vec<DuetFigure> = others.map(|own| self.percentile(*own)).collect();
        others.extend(self.cost("client CPU per event", |own| Some(own.client_ns)));
        others.extend(self.cost("server CPU per event", |own| {
            own.server.map(|work| work.cpu_ns as f64)
        }));
        let subject = match self.subject {
            Some(percent) => {
                others.insert(0, rate);
                self.percentile(percent)
            }
            None => rate,
        };
        // The subject was chosen in advance, so only the others need a correction.
        correct(&mut others);
        std::iter::once(subject).chain(others).collect()
    }

    /// The checks of the duet as a whole.
    pub fn findings(&self) -> Vec<DuetFinding> {
        findings::all(self)
    }

    /// Events of a side.
    pub fn events(&self, side: usize) -> u64 {
        let events = self.blocks.iter().map(|block| block[side].events);
        events.sum::<f64>().round() as u64
    }

    fn series(&self, of: impl Fn(&BlockSide) -> f64) -> [Vec<f64>; 2] {
        [0, 1].map(|side| self.blocks.iter().map(|block| of(&block[side])).collect())
    }

    /// The ratio of the rates.
    fn rates(&self) -> Option<PairedRatio> {
        let [a, b] = self.series(|own| own.events);
        PairedRatio::of_sums(&b, &a)
    }

    fn rate(&self) -> DuetFigure {
        let counted_s = self.blocks.len() as f64 * self.counted_s;
        let per_s = |side| (counted_s > 0.0).then(|| self.events(side) as f64 / counted_s);
        figure(
            ("rate", "per s", Better::Higher),
            [per_s(0), per_s(1)],
            self.rates(),
            self.blocks.len(),
        )
    }

    fn cost(&self, name: &str, of: impl Fn(&BlockSide) -> Option<f64>) -> Option<DuetFigure> {
        let whole = self.blocks.iter();
        let whole = whole.filter(|block| block.iter().all(|own| of(own).is_some()));
        let whole: Vec<&[BlockSide; 2]> = whole.collect();
        let costs = [0, 1].map(|side| -> Vec<f64> {
            whole
                .iter()
                .map(|block| of(&block[side]).unwrap_or(0.0))
                .collect()
        });
        let events =
            [0, 1].map(|side| -> Vec<f64> { whole.iter().map(|own| own[side].events).collect() });
        let each = |side: usize| {
            let (cost, events) = (
                costs[side].iter().sum::<f64>(),
                events[side].iter().sum::<f64>(),
            );
            (events > 0.0 && cost > 0.0).then(|| cost / events / 1e3)
        };
        let ratio = PairedRatio::of_costs((&costs[1], &events[1]), (&costs[0], &events[0]));
        (!whole.is_empty()).then(|| {
            figure(
                (name, "us", Better::Lower),
                [each(0), each(1)],
                ratio,
                whole.len(),
            )
        })
    }

    /// The logarithms of the ratios of a percentile. Each pair consists of as many batches as it
    /// takes for both sides to have enough samples beyond the percentile.
    fn logarithms(&self, percent: f64) -> Vec<f64> {
        let mut logarithms = Vec::new();
        let mut open = [BTreeMap::new(), BTreeMap::new()];
        let [a, b] = &self.latencies;
        for (number, of_a) in a {
            let Some(of_b) = b.get(number) else {
                continue;
            };
            add(&mut open[0], of_a);
            add(&mut open[1], of_b);
            if let [Some(a), Some(b)] = [0, 1].map(|side| quantile(&open[side], percent)) {
                logarithms.push((b / a).ln());
                open = [BTreeMap::new(), BTreeMap::new()];
            }
        }
        logarithms
    }

    fn percentile(&self, percent: f64) -> DuetFigure {
        let logarithms = self.logarithms(percent);
        let whole = [0, 1].map(|side| {
            let mut all = BTreeMap::new();
            for batch in self.latencies[side].values() {
                add(&mut all, batch);
            }
            quantile(&all, percent).map(|ns| ns / 1e6)
        });
        figure(
            (&format!("p{percent}"), "ms", Better::Lower),
            whole,
            PairedRatio::of_logarithms(&logarithms),
            logarithms.len(),
        )
    }
}

fn figure(
    (name, unit, better): (&str, &str, Better),
    [a, b]: [Option<f64>; 2],
    ratio: Option<PairedRatio>,
    pairs: usize,
) -> DuetFigure {
    let interval = ratio.and_then(|ratio| ratio.interval(CONFIDENCE));
    DuetFigure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        a,
        b,
        ratio: ratio.map(|ratio| ratio.ratio()),
        low: interval.map(|bounds| bounds.low),
        high: interval.map(|bounds| bounds.high),
        p_corrected: ratio.map(|ratio| ratio.p()),
        pairs: pairs as u64,
    }
}

/// Corrects the p-values for the number of figures.
fn correct(figures: &mut [DuetFigure]) {
    let known: Vec<f64> = figures.iter().filter_map(|one| one.p_corrected).collect();
    let mut corrected = holm(&known).into_iter();
    for p in figures
        .iter_mut()
        .filter_map(|one| one.p_corrected.as_mut())
    {
        *p = corrected.next().unwrap_or(1.0);
    }
}

/// The answer about a ratio, after `measured_s` seconds.
pub fn answer(ratio: Option<&PairedRatio>, margin: Option<f64>, measured_s: f64) -> DuetAnswer {
    let unknown = DuetAnswer::Undecided { needs_s: None };
    let within = |confidence| ratio.and_then(|ratio| ratio.interval(confidence));
    let (Some(ratio), Some(interval)) = (ratio, within(CONFIDENCE)) else {
        return unknown;
    };
    let needed = |times: f64| (times <= LONGER_MAX).then_some(times.max(1.0) * measured_s);
    let inner = within(inner_confidence(CONFIDENCE));
    if let Some((margin, inner)) = margin.and_then(Margin::new).zip(inner) {
        let tested = Tested {
            ratio: ratio.ratio(),
            interval,
            inner,
        };
        return match Equivalence::of(&tested, margin) {
            Equivalence::Same => DuetAnswer::Same { measurable: false },
            Equivalence::SameButMeasurable => DuetAnswer::Same { measurable: true },
            Equivalence::Different => DuetAnswer::Different,
            Equivalence::Undecided { times } => DuetAnswer::Undecided {
                needs_s: times.and_then(needed),
            },
        };
    }
    if !interval.contains(1.0) {
        return DuetAnswer::Different;
    }
    let off = ratio.ratio().ln().abs().exp_m1();
    DuetAnswer::Undecided {
        needs_s: ratio.longer_by(off, CONFIDENCE).and_then(needed),
    }
}

fn add(sums: &mut BTreeMap<u64, u64>, counts: &BTreeMap<u64, u64>) {
    for (ns, count) in counts {
        *sums.entry(*ns).or_default() += count;
    }
}

/// The percentile of a distribution in nanoseconds; `None` with too few samples beyond it.
fn quantile(counts: &BTreeMap<u64, u64>, percent: f64) -> Option<f64> {
    let all: u64 = counts.values().sum();
    if !(0.0..100.0).contains(&percent) || !carries(all, percent) {
        return None;
    }
    let rank = (percent / 100.0 * all as f64).ceil().max(1.0) as u64;
    let mut below = 0;
    let found = counts.iter().find(|(_, count)| {
        below += **count;
        below >= rank
    });
    found.map(|(ns, _)| *ns as f64).filter(|ns| *ns > 0.0)
}

#[cfg(test)]
mod tests;
