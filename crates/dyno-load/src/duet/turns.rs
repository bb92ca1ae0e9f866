//! A worker's turns in a duet: whether its sessions may begin an event now, and their counts in
//! each slice.

use std::sync::Arc;

use dyno_core::clock::{Nanos, thread_cpu};
use dyno_core::interval::LATENCY_NS_MAX;
use hdrhistogram::Histogram;

use super::{BLOCK, Duet, DuetPart, PROFILE_PARTS, Side, Slices, locked};

/// Digits of latencies.
const DIGITS: u8 = 2;
/// How many batches have a profile: only pilots need them, which are short.
const PROFILES_MAX: u64 = 16;
/// The time after which latencies are handed over.
const BATCH_NS: Nanos = 200_000_000;

/// Whether a session may begin an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It may.
    Works,
    /// Not before this instant.
    Waits(Nanos),
    /// The duet is over.
    Over,
}

/// A slice in which this side works.
#[derive(Clone, Copy, Debug)]
struct Open {
    slice: u64,
    start: Nanos,
    /// The other side worked in the slice before.
    after_switch: bool,
    events: u64,
    /// The worker's CPU time at the start.
    cpu_start_ns: Nanos,
}

/// The turns of one worker.
pub(crate) struct Turns {
    duet: Arc<Duet>,
    side: Side,
    slices: Slices,
    begin: Nanos,
    /// When the current slice, or the wait for the next, ends.
    until: Nanos,
    works: bool,
    current: Option<Open>,
    /// The slice before, whose last events may still be in flight.
    previous: Option<Open>,
    batch: u64,
    latencies: Histogram<u32>,
    profile: Vec<u64>,
}

impl Turns {
    /// The turns from this start on.
    pub(crate) fn new(part: &DuetPart, begin: Nanos) -> Self {
        #[allow(clippy::expect_used)] // constant bounds, which the crate accepts
        let latencies = Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
            .expect("constant bounds are valid");
        Self {
            duet: Arc::clone(&part.duet),
            side: part.side,
            slices: part.duet.slices(),
            begin,
            until: begin,
            works: false,
            current: None,
            previous: None,
            batch: 0,
            latencies,
            profile: vec![0; PROFILE_PARTS],
        }
    }

    /// Whether a session may begin an event at this instant.
    #[inline]
    pub(crate) fn at(&mut self, at: Nanos) -> Turn {
        if at >= self.until {
            self.turn(at);
        }
        match (self.works, self.duet.is_over(at)) {
            (_, true) => Turn::Over,
            (true, false) => Turn::Works,
            (false, false) => Turn::Waits(self.until),
        }
    }

    /// A measured event has ended.
    #[inline]
    pub(crate) fn ended(&mut self, started: Nanos, at: Nanos, latency_ns: Nanos) {
        if self.slices.together && at >= self.until {
            self.turn(at);
        }
        // In a shared slice, an event counts where it ends, as in an interval.
        let counts_at = if self.slices.together { at } else { started };
        let cut_ns = self.slices.cut_ns;
        let Some(current) = &mut self.current else {
            return;
        };
        let into = at.saturating_sub(current.start);
        if current.after_switch && into < self.slices.length_ns {
            let part = into * PROFILE_PARTS as u64 / self.slices.length_ns;
            self.profile[part as usize] += 1;
        }
        let open = match counts_at >= current.start {
            true => Some(current),
            false => self.previous.as_mut(),
        };
        if let Some(open) = open.filter(|open| counts_at >= open.start + cut_ns) {
            open.events += 1;
            self.latencies.saturating_record(latency_ns);
        }
    }

    /// Hands over the rest.
    pub(crate) fn finish(mut self) {
        let cpu_ns = thread_cpu();
        if let Some(previous) = self.previous.take() {
            let end = self.current.map_or(cpu_ns, |own| own.cpu_start_ns);
            self.hand_over(&previous, end);
        }
        if let Some(current) = self.current.take() {
            self.hand_over(&current, cpu_ns);
        }
        self.hand_over_latencies();
    }

    /// The current slice or wait is over.
    #[cold]
    fn turn(&mut self, at: Nanos) {
        if at < self.begin {
            self.until = self.begin;
            return;
        }
        let length_ns = self.slices.length_ns.max(1);
        let slice = (at - self.begin) / length_ns;
        let next = self.slices.next(self.side, slice);
        let start = self.begin + next * length_ns;
        if next > slice {
            self.works = false;
            self.until = start;
            return;
        }
        self.works = true;
        self.until = start + length_ns;
        let cpu_start_ns = thread_cpu();
        if let Some(previous) = self.previous.take() {
            let end = self.current.map_or(cpu_start_ns, |own| own.cpu_start_ns);
            self.hand_over(&previous, end);
        }
        self.previous = self.current.take();
        self.current = Some(Open {
            slice,
            start,
            after_switch: slice > 0
                && !self.slices.together
                && self.slices.side(slice - 1) != self.side,
            events: 0,
            cpu_start_ns,
        });
        // Whole blocks, so that both sides have the same.
        let blocks = BATCH_NS.div_ceil(BLOCK * length_ns);
        let batch = slice / (BLOCK * blocks);
        if batch != self.batch {
            self.hand_over_latencies();
            self.batch = batch;
        }
    }

    fn hand_over(&self, open: &Open, cpu_end_ns: Nanos) {
        let mut book = locked(&self.duet.books[self.side as usize]);
        let count = book.slices.entry(open.slice).or_default();
        count.events += open.events;
        count.cpu_ns += cpu_end_ns.saturating_sub(open.cpu_start_ns);
    }

    fn hand_over_latencies(&mut self) {
        let mut book = locked(&self.duet.books[self.side as usize]);
        if self.batch < PROFILES_MAX {
            let sums = book.profiles.entry(self.batch);
            let sums = sums.or_insert_with(|| vec![0; PROFILE_PARTS]);
            for (sum, own) in sums.iter_mut().zip(&mut self.profile) {
                *sum += std::mem::take(own);
            }
        }
        if self.latencies.is_empty() {
            return;
        }
        let batch = book.batches.entry(self.batch).or_default();
        for bin in self.latencies.iter_recorded() {
            let ns = self.latencies.median_equivalent(bin.value_iterated_to());
            *batch.entry(ns).or_default() += u64::from(bin.count_at_value());
        }
        drop(book);
        self.latencies.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn turns(together: bool) -> (Arc<Duet>, Turns) {
        let duet = Duet::new(Slices {
            length_ns: 10 * MS,
            cut_ns: MS,
            together,
            seed: 1,
        });
        let part = DuetPart {
            duet: Arc::clone(&duet),
            side: Side::A,
            name: String::new(),
            settings: Vec::new(),
            has_one_server: true,
        };
        (duet, Turns::new(&part, 1_000 * MS))
    }

    fn own_slices(duet: &Duet) -> Vec<u64> {
        let slices = duet.slices();
        (0..40)
            .filter(|slice| slices.side(*slice) == Side::A)
            .collect()
    }

    #[test]
    fn events_begin_only_in_slices_of_the_side() {
        let (duet, mut turns) = turns(false);
        assert_eq!(turns.at(999 * MS), Turn::Waits(1_000 * MS));
        let slices = duet.slices();
        for slice in 0..40 {
            let start = (1_000 + 10 * slice) * MS;
            for at in [start, start + 5 * MS, start + 10 * MS - 1] {
                let expected = match slices.side(slice) {
                    Side::A => Turn::Works,
                    Side::B => {
                        let next = slices.next(Side::A, slice);
                        Turn::Waits((1_000 + 10 * next) * MS)
                    }
                };
                assert_eq!(turns.at(at), expected, "slice {slice}");
            }
        }
        duet.end_at(1_400 * MS);
        assert_eq!(turns.at(1_400 * MS), Turn::Over);
    }

    #[test]
    fn an_event_counts_in_the_slice_in_which_it_began() {
        let (duet, mut turns) = turns(false);
        let own = own_slices(&duet);
        let start = |slice: u64| (1_000 + 10 * slice) * MS;
        for (number, slice) in own.iter().enumerate() {
            assert_eq!(turns.at(start(*slice)), Turn::Works);
            if let Some(before) = number.checked_sub(1) {
                // The last event of the slice before ends late.
                turns.ended(start(own[before]) + 9 * MS, start(*slice) + MS, 3 * MS);
            }
            // One in the cut, two after it.
            for begun in [0, 2, 5] {
                turns.ended(
                    start(*slice) + begun * MS,
                    start(*slice) + (begun + 1) * MS,
                    MS,
                );
            }
        }
        turns.finish();
        let counts = duet.counts(Side::A);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), own);
        let last = *own.last().unwrap();
        for (slice, count) in &counts {
            let expected = if *slice == last { 2 } else { 3 };
            assert_eq!(count.events, expected, "slice {slice}");
        }
        let all: u64 = duet
            .batches(Side::A)
            .values()
            .flat_map(|one| one.values())
            .sum();
        assert_eq!(all, 3 * own.len() as u64 - 1);
    }

    #[test]
    fn the_profile_covers_slices_after_a_switch() {
        let (duet, mut turns) = turns(false);
        let own = own_slices(&duet);
        let slices = duet.slices();
        let mut switched = 0;
        for slice in own {
            let start = (1_000 + 10 * slice) * MS;
            assert_eq!(turns.at(start), Turn::Works);
            turns.ended(start, start + 5 * MS, 5 * MS);
            switched += u64::from(slice > 0 && slices.side(slice - 1) == Side::B);
        }
        turns.finish();
        let profiles = duet.profiles(Side::A);
        // 40 slices of 10 ms, in batches of 200 ms.
        assert_eq!(profiles.len(), 2);
        let sum = |part: usize| profiles.iter().map(|own| own[part]).sum::<u64>();
        assert_eq!(sum(PROFILE_PARTS / 2), switched);
        assert_eq!((0..PROFILE_PARTS).map(sum).sum::<u64>(), switched);
    }

    #[test]
    fn shared_slices_count_events_where_they_end() {
        let (duet, mut turns) = turns(true);
        assert_eq!(turns.at(1_000 * MS), Turn::Works);
        turns.ended(1_000 * MS, 1_005 * MS, 5 * MS);
        turns.ended(1_005 * MS, 1_015 * MS, 10 * MS);
        turns.ended(1_015 * MS, 1_035 * MS, 20 * MS);
        turns.finish();
        let counts = duet.counts(Side::A);
        let events: Vec<(u64, u64)> = counts.iter().map(|(at, one)| (*at, one.events)).collect();
        assert_eq!(events, [(0, 1), (1, 1), (3, 1)]);
    }
}
