//! Sums the slices of a duet into blocks.

use std::collections::BTreeMap;

use dyno_analysis::duet::{BlockSide, DuetMeasurement, ServerWork};
use dyno_load::{BLOCK, Duet, Side, SliceCount, Slices};

use super::clocks::Readings;

/// Which slices count: whole blocks within the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The first slice of the measurement.
    pub from: u64,
    /// The slice after the last that all workers have reported.
    pub to: u64,
}

impl Counted {
    /// The whole blocks in it.
    fn blocks(self) -> std::ops::Range<u64> {
        self.from.div_ceil(BLOCK)..self.to / BLOCK
    }
}

/// The events and CPU times of both sides in the counted blocks.
pub(super) fn measurement(
    duet: &Duet,
    counted: Counted,
    readings: &Readings,
    is_one_server: bool,
) -> DuetMeasurement {
    let slices = duet.slices();
    let counts = Side::BOTH.map(|side| duet.counts(side));
    let block = |block: u64| {
        Side::BOTH.map(|side| {
            let own = &counts[side as usize];
            of_block(side, block, (&slices, own), readings, is_one_server)
        })
    };
    let own_slices = if slices.together { BLOCK } else { BLOCK / 2 };
    DuetMeasurement {
        blocks: counted.blocks().map(block).collect(),
        counted_s: own_slices as f64 * slices.counted_s(),
        latencies: Side::BOTH.map(|side| duet.batches(side)),
        is_one_server,
        takes_turns: !slices.together,
        subject: None,
    }
}

fn of_block(
    side: Side,
    block: u64,
    (slices, counts): (&Slices, &BTreeMap<u64, SliceCount>),
    readings: &Readings,
    is_one_server: bool,
) -> BlockSide {
    let all = block * BLOCK..(block + 1) * BLOCK;
    let works = |slice: &u64| slices.together || slices.side(*slice) == side;
    let (own, others): (Vec<u64>, Vec<u64>) = all.partition(works);
    let count = |slice: &u64| counts.get(slice).copied().unwrap_or_default();
    let work = |among: &[u64]| -> Option<ServerWork> {
        let mut each = among
            .iter()
            .map(|slice| readings.work(side as usize, *slice));
        let first = each.next()??;
        each.try_fold(first, |all, work| Some(all.and(work?)))
    };
    // The work of one server can be divided only between sides that take turns.
    let is_known = !(is_one_server && slices.together);
    BlockSide {
        events: own.iter().map(|slice| count(slice).events as f64).sum(),
        client_ns: own.iter().map(|slice| count(slice).cpu_ns as f64).sum(),
        server: work(&own).filter(|_| is_known),
        idle: work(&others).filter(|_| !is_one_server && !slices.together),
        neighbours: match own.as_slice() {
            [first, second] if second - first == 1 => {
                Some([first, second].map(|slice| count(slice).events as f64))
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_blocks_count() {
        let blocks = |from, to| Counted { from, to }.blocks();
        assert_eq!(blocks(0, 8), 0..2);
        assert_eq!(blocks(1, 11), 1..2);
        assert_eq!(blocks(4, 7), 1..1);
        assert!(blocks(9, 3).is_empty());
    }

    #[test]
    fn inner_slices_are_neighbours() {
        let slices = Slices {
            length_ns: 1_000,
            cut_ns: 0,
            together: false,
            seed: 5,
        };
        let count = |events| SliceCount { events, cpu_ns: 2 };
        let counts: BTreeMap<u64, SliceCount> = (0..4).map(|at| (at, count(10 + at))).collect();
        let readings = Readings::default();
        for side in Side::BOTH {
            let own = of_block(side, 0, (&slices, &counts), &readings, false);
            // Slices 0 and 3, or 1 and 2.
            assert_eq!(own.events, 23.0);
            assert_eq!(own.client_ns, 4.0);
            assert_eq!(own.server, None);
            let is_inner = slices.side(1) == side;
            assert_eq!(own.neighbours, is_inner.then_some([11.0, 12.0]));
        }
        let together = Slices {
            together: true,
            ..slices
        };
        let own = of_block(Side::A, 0, (&together, &counts), &readings, false);
        assert_eq!((own.events, own.neighbours), (46.0, None));
    }
}
