//! Disks that were busy, slow, or moved more bytes.

use dyno_core::catalogue::{Family, names};
use dyno_core::finding::Cause;
use dyno_core::record::Series;

use super::{Comparison, Moved, within};
use crate::text;

/// A disk is named if it transfers more bytes per second than this, and more than twice the usual.
const MOVED_MIN: f64 = 10e6;
/// The same as a factor, compared with the rest of the time.
const MOVED_FACTOR: f64 = 2.0;
/// A disk is slow if a request takes at least this many milliseconds, and this many times as long
/// as usual.
const AWAIT_MIN_MS: f64 = 5.0;
const AWAIT_FACTOR: f64 = 3.0;
/// A disk is busy from this percentage of the time.
const BUSY_MIN: f64 = 90.0;

impl Comparison<'_, '_> {
    pub(super) fn disks(&self) -> Vec<Moved> {
        let mut found = Vec::new();
        let both = |series: Family| {
            let of = self.view.devices(series).into_iter();
            let of = of.filter_map(|(device, series)| Some((device, series, self.both(series)?)));
            of.collect::<Vec<(&str, &Series, (f64, f64))>>()
        };
        for (device, series) in self.view.devices(names::HOST_DISK_UTILISATION) {
            let then = dyno_stats::mean(&within(series, self.seconds.slower));
            let usual = self.both(series).map_or(0.0, |(_, usual)| usual);
            if then.is_some_and(|then| then >= BUSY_MIN && then > usual)
                && self.began_in_time(series, BUSY_MIN)
            {
                found.push(format!("{device} was busy"));
            }
        }
        for (series, words) in [
            (names::HOST_DISK_WRITE_BYTES, "written to"),
            (names::HOST_DISK_READ_BYTES, "read from"),
        ] {
            for (device, series, (then, usual)) in both(series) {
                let least = MOVED_MIN.max(usual * MOVED_FACTOR);
                if then >= least && self.began_in_time(series, least) {
                    let device = if device == "all" { "the disks" } else { device };
                    found.push(format!(
                        "{:.0} MB/s were {words} {device} instead of {:.0}",
                        then / 1e6,
                        usual / 1e6
                    ));
                }
            }
        }
        for (series, words) in [
            (names::HOST_DISK_WRITE_AWAIT, "write to"),
            (names::HOST_DISK_READ_AWAIT, "read from"),
        ] {
            for (device, series, (then, usual)) in both(series) {
                let least = AWAIT_MIN_MS.max(usual * AWAIT_FACTOR);
                if then >= least && self.began_in_time(series, least) {
                    found.push(format!(
                        "a {words} {device} took {} instead of {}",
                        text::ms(then),
                        text::ms(usual)
                    ));
                }
            }
        }
        let moved = found.into_iter().map(|words| Moved {
            cause: Cause::Disk,
            words,
        });
        moved.collect()
    }
}
