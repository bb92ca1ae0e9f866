//! Checks that the machine was otherwise idle during a measurement.

use anyhow::{Context, Result};
use dyno_core::Clock;
use dyno_sys::process::{Cpu, ticks_per_second};

/// Figures are marked above this limit in cores: a tenth of one of the two cores in use.
pub(crate) const OTHERS_CORES_MAX: f64 = 0.1;

/// The start of a measurement.
pub(crate) struct Watch {
    begun_ns: u64,
    machine: Ticks,
    ours_us: f64,
}

/// CPU time used by others, in cores on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbed {
    /// By other processes of this machine.
    pub others_cores: f64,
    /// By other virtual machines of the host (steal time).
    pub stolen_cores: f64,
}

impl Watch {
    /// Starts watching.
    pub(crate) fn begin() -> Result<Watch> {
        Ok(Watch {
            begun_ns: Clock.now(),
            machine: Ticks::read()?,
            ours_us: ours_us()?,
        })
    }

    /// Stops watching. Every child must have been waited for.
    pub(crate) fn end(self) -> Result<Disturbed> {
        let machine = Ticks::read()?;
        let elapsed_s = (Clock.now() - self.begun_ns) as f64 / 1e9;
        let seconds = |later: u64, earlier: u64| (later - earlier) as f64 / ticks_per_second();
        let ours_s = (ours_us()? - self.ours_us) / 1e6;
        let busy_s = seconds(machine.busy, self.machine.busy);
        Ok(Disturbed {
            others_cores: ((busy_s - ours_s) / elapsed_s).max(0.0),
            stolen_cores: seconds(machine.stolen, self.machine.stolen) / elapsed_s,
        })
    }
}

fn ours_us() -> Result<f64> {
    Ok(Cpu::of_self()?.total_us() + Cpu::of_children()?.total_us())
}

/// The machine's CPU time since boot, in ticks.
#[derive(Debug, PartialEq)]
struct Ticks {
    busy: u64,
    stolen: u64,
}

impl Ticks {
    fn read() -> Result<Ticks> {
        let text = std::fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        Ticks::parse(&text).context("/proc/stat has no line of the whole machine")
    }

    /// The line is `cpu user nice system idle iowait irq softirq steal …`.
    fn parse(text: &str) -> Option<Ticks> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        let [user, nice, system, _, _, irq, softirq, stolen, ..] = ticks[..] else {
            return None;
        };
        let busy = user + nice + system + irq + softirq;
        Some(Ticks { busy, stolen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let text = "cpu  1 2 4 800 1600 8 16 32 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n";
        let expected = Ticks {
            busy: 31,
            stolen: 32,
        };
        assert_eq!(Ticks::parse(text), Some(expected));
        assert_eq!(Ticks::parse("cpu0 1 2 3\n"), None);
        assert_eq!(Ticks::parse("cpu  1 2 3\n"), None);
    }
}
