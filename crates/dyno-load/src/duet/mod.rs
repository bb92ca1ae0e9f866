//! Two loads in one process that take turns: time is divided into slices, and in each slice one
//! side works while the other waits. Noise of the machine that lasts longer than a few slices
//! reaches both sides alike, so the ratio of two neighbouring slices is much more precise than that
//! of two runs.
//!
//! Four slices are a block, in the order ABBA or BAAB, which a seed decides for each block: a
//! linear drift cancels within a block, and no periodic disturbance can favour a side.

mod turns;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dyno_core::clock::Nanos;

use crate::outcome::LoadError;
use crate::state::now;

pub(crate) use self::turns::{Turn, Turns};

/// Slices of a block.
pub const BLOCK: u64 = 4;
/// Parts of a slice for which the ends of events are counted.
pub const PROFILE_PARTS: usize = 250;
/// The time from the arrival of the second side to the first slice, in which both wake up.
const LEAD_NS: Nanos = 20_000_000;

/// One of the two loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first, which ratios are relative to.
    A,
    /// The second.
    B,
}

impl Side {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// `A` or `B`.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// How time is divided between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// The length of a slice.
    pub length_ns: Nanos,
    /// Events that begin in this time after the start of a slice are not counted in it: the switch
    /// disturbs them.
    pub cut_ns: Nanos,
    /// Both sides work all the time. Slices then only divide the time for counting.
    pub together: bool,
    /// Decides the order of each block.
    pub seed: u64,
}

impl Slices {
    /// The side that works in a slice; with `together`, both do.
    pub fn side(&self, slice: u64) -> Side {
        let starts_with_b = mixed(self.seed ^ (slice / BLOCK)) & 1 == 1;
        let is_inner = matches!(slice % BLOCK, 1 | 2);
        match starts_with_b == is_inner {
            true => Side::A,
            false => Side::B,
        }
    }

    /// The first slice from this one on in which a side works.
    pub fn next(&self, side: Side, from: u64) -> u64 {
        let works = |slice: &u64| self.together || self.side(*slice) == side;
        // A side never waits for more than four slices.
        (from..=from + BLOCK).find(works).unwrap_or(from)
    }

    /// The counted time of a slice, in seconds. Sides that work together have no cut.
    pub fn counted_s(&self) -> f64 {
        self.length_ns.saturating_sub(self.cut_ns) as f64 / 1e9
    }
}

/// A well-mixed hash of a number (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators").
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The counts of one side in one of its slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceCount {
    /// Counted events.
    pub events: u64,
    /// CPU time of the workers, from the start of the slice to the start of their next one.
    pub cpu_ns: Nanos,
}

/// Latencies of a side's counted events by batch of slices: nanoseconds, to two digits, and how
/// often they occurred.
pub type Batches = BTreeMap<u64, BTreeMap<u64, u64>>;

/// The records of one side.
#[derive(Debug, Default)]
struct Book {
    slices: BTreeMap<u64, SliceCount>,
    batches: Batches,
    /// Ends of events by their time after the switch to the side, by batch of slices.
    profiles: BTreeMap<u64, Vec<u64>>,
}

/// Which sides are ready, before the first slice.
#[derive(Debug, Default)]
struct Meeting {
    arrived: [bool; 2],
    begin: Option<Nanos>,
    given_up: Option<Side>,
}

/// The state that the loads of both sides share.
#[derive(Debug)]
pub struct Duet {
    slices: Slices,
    meeting: Mutex<Meeting>,
    met: Condvar,
    /// When no further event begins.
    end: AtomicU64,
    books: [Mutex<Book>; 2],
}

/// A load's part in a duet.
#[derive(Clone, Debug)]
pub struct DuetPart {
    /// What it shares with the other side.
    pub duet: Arc<Duet>,
    /// Its side.
    pub side: Side,
    /// The duet's name, for the record.
    pub name: String,
    /// The server's settings while this side works, if the duet changes them at each switch: names
    /// and values.
    pub settings: Vec<(String, String)>,
    /// Whether the other side uses the same server, whose counters then include both.
    pub has_one_server: bool,
}

impl Duet {
    /// A duet whose sides have not arrived.
    pub fn new(slices: Slices) -> Arc<Self> {
        Arc::new(Self {
            slices,
            meeting: Mutex::default(),
            met: Condvar::new(),
            end: AtomicU64::new(Nanos::MAX),
            books: [Mutex::default(), Mutex::default()],
        })
    }

    /// How time is divided.
    pub fn slices(&self) -> Slices {
        self.slices
    }

    /// Waits until both sides are ready, and returns when the first slice begins.
    ///
    /// # Errors
    /// The other side did not start.
    pub fn arrive(&self, side: Side) -> Result<Nanos, LoadError> {
        let mut meeting = locked(&self.meeting);
        meeting.arrived[side as usize] = true;
        if meeting.arrived == [true; 2] {
            meeting.begin.get_or_insert(now() + LEAD_NS);
        }
        self.met.notify_all();
        loop {
            if meeting.given_up.is_some() {
                let why = format!("side {} of the duet did not start", side.other().name());
                return Err(LoadError::CalledOff(why));
            }
            if let Some(begin) = meeting.begin {
                return Ok(begin);
            }
            meeting = (self.met.wait(meeting)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a side has arrived, at most this long. Returns whether it has.
    pub fn awaits(&self, side: Side, patience: Duration) -> bool {
        let meeting = locked(&self.meeting);
        let waits =
            |meeting: &mut Meeting| !meeting.arrived[side as usize] && meeting.given_up.is_none();
        let waited = self.met.wait_timeout_while(meeting, patience, waits);
        let (meeting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        meeting.arrived[side as usize]
    }

    /// Ends the wait of the other side, because one failed to start.
    pub fn give_up(&self, side: Side) {
        locked(&self.meeting).given_up.get_or_insert(side);
        self.met.notify_all();
    }

    /// The first side that failed, if one did.
    pub fn given_up(&self) -> Option<Side> {
        locked(&self.meeting).given_up
    }

    /// When the first slice begins; `None` before both sides have arrived.
    pub fn begin(&self) -> Option<Nanos> {
        locked(&self.meeting).begin
    }

    /// Ends both loads at this instant, as if they had used up their events.
    pub fn end_at(&self, at: Nanos) {
        self.end.fetch_min(at, Ordering::Relaxed);
    }

    /// The slice at an instant; `None` before the first.
    pub fn slice_at(&self, at: Nanos) -> Option<u64> {
        let since = at.checked_sub(self.begin()?)?;
        Some(since / self.slices.length_ns.max(1))
    }

    /// The counts of a side in each of its slices, by the slice's number. Slices without an event
    /// are missing, and so are the newest, which workers have not reported yet.
    pub fn counts(&self, side: Side) -> BTreeMap<u64, SliceCount> {
        locked(&self.books[side as usize]).slices.clone()
    }

    /// The latencies of a side's counted events.
    pub fn batches(&self, side: Side) -> Batches {
        locked(&self.books[side as usize]).batches.clone()
    }

    /// The ends of a side's events in each of [`PROFILE_PARTS`] parts of the slices that follow one
    /// of the other side, for each of the first batches.
    pub fn profiles(&self, side: Side) -> Vec<Vec<u64>> {
        let book = locked(&self.books[side as usize]);
        book.profiles.values().cloned().collect()
    }

    fn is_over(&self, at: Nanos) -> bool {
        at >= self.end.load(Ordering::Relaxed)
    }
}

/// The contents are valid even if a thread panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICES: Slices = Slices {
        length_ns: 1_000,
        cut_ns: 100,
        together: false,
        seed: 7,
    };

    #[test]
    fn each_block_is_abba_or_baab() {
        let mut first_is_a = 0;
        for block in 0..1_000 {
            let sides: Vec<Side> = (0..BLOCK)
                .map(|place| SLICES.side(block * BLOCK + place))
                .collect();
            assert_eq!(sides[0], sides[3]);
            assert_eq!(sides[1], sides[2]);
            assert_ne!(sides[0], sides[1]);
            first_is_a += u32::from(sides[0] == Side::A);
        }
        // Five standard deviations of a fair coin.
        assert!(first_is_a.abs_diff(500) < 80, "{first_is_a}");
    }

    #[test]
    fn a_side_waits_at_most_four_slices() {
        for slice in 0..1_000 {
            for side in Side::BOTH {
                let next = SLICES.next(side, slice);
                assert!(next - slice <= 4);
                assert_eq!(SLICES.side(next), side);
            }
        }
        let together = Slices {
            together: true,
            ..SLICES
        };
        assert_eq!(together.next(Side::A, 5), 5);
        assert_eq!(together.next(Side::B, 5), 5);
    }

    #[test]
    fn a_seed_repeats_the_order() {
        let order = |seed| {
            let slices = Slices { seed, ..SLICES };
            (0..64).map(|slice| slices.side(slice)).collect::<Vec<_>>()
        };
        assert_eq!(order(3), order(3));
        assert_ne!(order(3), order(4));
    }

    #[test]
    fn sides_begin_together_or_not_at_all() {
        let duet = Duet::new(SLICES);
        let other = Arc::clone(&duet);
        let thread = std::thread::spawn(move || other.arrive(Side::B));
        let begin = duet.arrive(Side::A).unwrap();
        assert_eq!(thread.join().unwrap().unwrap(), begin);
        assert!(duet.awaits(Side::B, Duration::ZERO));

        let duet = Duet::new(SLICES);
        assert!(!duet.awaits(Side::A, Duration::ZERO));
        let other = Arc::clone(&duet);
        let thread = std::thread::spawn(move || other.arrive(Side::A));
        assert!(duet.awaits(Side::A, Duration::from_secs(10)));
        duet.give_up(Side::B);
        let error = thread.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("side B of the duet"), "{error}");
    }
}
