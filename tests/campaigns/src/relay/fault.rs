//! Faults of a connection.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use dyno_core::rand::Stream;
use dyno_tests::socket;

use super::{Link, Script, Shared, put};

/// The direction in which bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From Dyno.
    ToServer,
    /// To Dyno.
    ToClient,
}

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Everything arrives later.
    Delay,
    /// Everything arrives in pieces of a few bytes.
    Split,
    /// The connection ends within a message: the last bytes and the FIN arrive together.
    CutFin,
    /// The same, with a reset instead of a FIN.
    CutReset,
    /// One direction is closed, and the other continues.
    HalfClose,
    /// One direction pauses for a while.
    Pause,
    /// One direction stalls forever.
    Stall,
    /// A byte is changed.
    Corrupt,
    /// Some bytes never arrive.
    Swallow,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 9] = [
        Self::Delay,
        Self::Split,
        Self::CutFin,
        Self::CutReset,
        Self::HalfClose,
        Self::Pause,
        Self::Stall,
        Self::Corrupt,
        Self::Swallow,
    ];

    /// Whether the fault goes on once it has started.
    pub(super) fn lasts(self) -> bool {
        matches!(self, Self::Delay | Self::Split)
    }

    /// Whether the fault may alter the bytes that arrive.
    pub fn alters(self) -> bool {
        matches!(self, Self::Corrupt | Self::Swallow)
    }
}

/// The fault of one connection, and when it strikes.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) fault: Fault,
    pub(super) direction: Direction,
    /// How many bytes to pass first, once faults are enabled.
    pub(super) after: u64,
    /// A random number that sets delays, sizes and bits.
    amount: u64,
}

impl Plan {
    pub(super) fn draw(script: &Script, number: u64) -> Option<Self> {
        let mut draws = Stream::new(script.seed, number);
        if script.faults.is_empty() || draws.below(100) >= script.percent {
            return None;
        }
        let fault = script.faults[draws.below(script.faults.len() as u64) as usize];
        let direction = match draws.below(3) {
            0 => Direction::ToServer,
            _ => Direction::ToClient,
        };
        // Some faults strike during the log-in, others far into the load.
        let reach = [16, 128, 1024, 8192][draws.below(4) as usize];
        Some(Self {
            fault,
            direction,
            after: draws.below(reach),
            amount: draws.next_u64() >> 1,
        })
    }
}

/// Applies the plan to a chunk that starts at byte `at`. Returns false if the direction has ended.
pub(super) fn act(
    plan: &Plan,
    link: &Link,
    shared: &Shared,
    chunk: &mut [u8],
    at: usize,
    to: &TcpStream,
) -> io::Result<bool> {
    let amount = plan.amount;
    if !plan.fault.lasts() {
        let way = plan.direction;
        let length = chunk.len();
        shared.count(
            link,
            &format!("{:?} {way:?} at byte {at} of {length}", plan.fault),
        );
    }
    match plan.fault {
        Fault::Delay => {
            thread::sleep(Duration::from_millis(1 + amount % 40));
            put(to, chunk)?;
        }
        Fault::Split => {
            for piece in chunk.chunks(1 + (amount % 7) as usize) {
                put(to, piece)?;
                thread::yield_now();
            }
        }
        Fault::CutFin | Fault::CutReset | Fault::HalfClose => {
            cut(plan, link, &chunk[..at], to)?;
            return Ok(false);
        }
        Fault::Pause => {
            put(to, &chunk[..at])?;
            thread::sleep(Duration::from_millis(50 + amount % 1500));
            put(to, &chunk[at..])?;
        }
        Fault::Stall => {
            put(to, &chunk[..at])?;
            link.hung.store(true, Ordering::Relaxed);
            while !shared.over() && !link.ended.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
            return Ok(false);
        }
        Fault::Corrupt => {
            link.hung.store(true, Ordering::Relaxed);
            chunk[at] ^= 1 << (amount % 8);
            put(to, chunk)?;
        }
        Fault::Swallow => {
            link.hung.store(true, Ordering::Relaxed);
            let count = 1 + (amount % 64) as usize;
            put(to, &chunk[..at])?;
            put(to, &chunk[(at + count).min(chunk.len())..])?;
        }
    }
    Ok(true)
}

/// Sends these bytes and ends the direction.
fn cut(plan: &Plan, link: &Link, bytes: &[u8], to: &TcpStream) -> io::Result<()> {
    if plan.fault == Fault::CutReset {
        put(to, bytes)?;
        link.reset();
        return Ok(());
    }
    socket::cork(to, true);
    put(to, bytes)?;
    to.shutdown(Shutdown::Write)?;
    socket::cork(to, false);
    // End the other direction, too: immediately, or when the peer has noticed.
    if plan.fault == Fault::CutFin && plan.amount.is_multiple_of(2) {
        link.end();
    }
    Ok(())
}
