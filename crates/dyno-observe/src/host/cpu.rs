//! CPU time of the whole host, its run queue and its context switches.

use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;

use crate::sink::{Gauge, Rate, SampleBuffer};
use crate::text::{fraction, lines, named_numbers, number, words};

const STAT: &str = "/proc/stat";
const LOADAVG: &str = "/proc/loadavg";

/// The states of the line `cpu`, in the order of proc_stat(5). Guest time is already in `user` and
/// `nice`.
const STATES: [&str; 8] = [
    names::HOST_CPU_USER,
    names::HOST_CPU_NICE,
    names::HOST_CPU_SYSTEM,
    names::HOST_CPU_IDLE,
    names::HOST_CPU_IOWAIT,
    names::HOST_CPU_IRQ,
    names::HOST_CPU_SOFTIRQ,
    names::HOST_CPU_STEAL,
];
/// `user`, `nice` and `system`.
const OF_PROGRAMS: usize = 3;

/// The difference between the sum of the states and the elapsed time, in percent, that is reported.
const SUM_TOLERANCE_PERCENT: f64 = 2.0;

/// The numbers in `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stat {
    /// In ticks.
    pub states: [f64; STATES.len()],
    /// CPUs that are online.
    pub cpus: u32,
    pub interrupts: Option<f64>,
    pub context_switches: Option<f64>,
    pub forks: Option<f64>,
    pub running: Option<f64>,
    pub blocked: Option<f64>,
}

impl Stat {
    /// `None` without the line of all CPUs.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut stat = Self::default();
        let mut whole = false;
        for line in lines(text) {
            let mut words = words(line);
            match words.next() {
                Some(b"cpu") => {
                    for (state, word) in stat.states.iter_mut().zip(words) {
                        *state = number(word)?;
                    }
                    whole = true;
                }
                Some(name) if name.starts_with(b"cpu") => stat.cpus += 1,
                // Its first number is the sum of the others.
                Some(b"intr") => stat.interrupts = words.next().and_then(number),
                _ => {}
            }
        }
        for (name, value) in named_numbers(text) {
            match name {
                b"ctxt" => stat.context_switches = Some(value),
                b"processes" => stat.forks = Some(value),
                b"procs_running" => stat.running = Some(value),
                b"procs_blocked" => stat.blocked = Some(value),
                _ => {}
            }
        }
        whole.then_some(stat)
    }
}

/// The results of a sample of CPU time, for other observers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuShares {
    /// Time used by programs, and by the kernel for them, in cores; without interrupts.
    pub busy_cores: f64,
    /// The sum of the states relative to the elapsed time, in percent, if it is out of bounds.
    pub bad_sum: Option<f64>,
}

pub(crate) struct Cpu {
    ticks_per_s: f64,
    before: Option<(Nanos, Stat)>,
    shares: [Gauge; STATES.len()],
    accounted: Gauge,
    interrupts: Rate,
    switches: Rate,
    forks: Rate,
    running: Gauge,
    blocked: Gauge,
    load1: Gauge,
}

impl Cpu {
    pub(crate) fn new() -> Self {
        let rate = |name: &str| Rate::new(name, "count/s", STAT);
        let gauge = |name: &str, source: &str| Gauge::new(name, "count", source);
        Self {
            ticks_per_s: ticks_per_s(),
            before: None,
            shares: STATES.map(|name| Gauge::new(name, "percent", STAT)),
            accounted: Gauge::new(names::HOST_CPU_ACCOUNTED, "percent", STAT),
            interrupts: rate(names::HOST_INTERRUPTS),
            switches: rate(names::HOST_CONTEXT_SWITCHES),
            forks: rate(names::HOST_FORKS),
            running: gauge(names::HOST_RUN_QUEUE, STAT),
            blocked: gauge(names::HOST_BLOCKED, STAT),
            load1: gauge(names::HOST_LOAD1, LOADAVG),
        }
    }

    pub(crate) fn load(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        let load1 = words(text).next().and_then(fraction);
        self.load1.put_some(recorder, load1);
    }

    /// Shares since the previous sample.
    pub(crate) fn stat(
        &mut self,
        recorder: &mut SampleBuffer,
        at: Nanos,
        text: &[u8],
    ) -> Option<CpuShares> {
        let stat = Stat::parse(text)?;
        self.interrupts.put_some(recorder, stat.interrupts);
        self.switches.put_some(recorder, stat.context_switches);
        self.forks.put_some(recorder, stat.forks);
        self.running.put_some(recorder, stat.running);
        self.blocked.put_some(recorder, stat.blocked);
        let (before_at, before) = self.before.replace((at, stat.clone()))?;
        let elapsed_s = at.saturating_sub(before_at) as f64 / 1e9;
        let ticks = ticks_between(&before, &stat);
        let total: f64 = ticks.iter().sum();
        if total <= 0.0 || elapsed_s <= 0.0 {
            return None;
        }
        // Relative to the elapsed time, not to the accounted time: a virtual machine's idle time
        // and its stolen time may overlap, and then only those shares are off.
        let possible = elapsed_s * self.ticks_per_s * f64::from(stat.cpus.max(1));
        for (gauge, ticks) in self.shares.iter_mut().zip(ticks) {
            gauge.put(recorder, ticks / possible * 100.0);
        }
        let accounted = total / possible * 100.0;
        self.accounted.put(recorder, accounted);
        // At both ends, each CPU's last tick may or may not have been counted.
        let tolerance = SUM_TOLERANCE_PERCENT.max(200.0 / (elapsed_s * self.ticks_per_s));
        let unsteady = stat.cpus != before.cpus;
        let off = (accounted - 100.0).abs() > tolerance && !unsteady;
        let busy: f64 = ticks[..OF_PROGRAMS].iter().sum();
        Some(CpuShares {
            busy_cores: busy / self.ticks_per_s / elapsed_s,
            bad_sum: off.then_some(accounted),
        })
    }
}

/// Clock ticks per second, the unit of CPU times in `/proc`.
pub(crate) fn ticks_per_s() -> f64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

/// Ticks in each state. The kernel occasionally decreases idle and iowait.
fn ticks_between(before: &Stat, stat: &Stat) -> [f64; STATES.len()] {
    let mut ticks = [0.0; STATES.len()];
    for (index, ticks) in ticks.iter_mut().enumerate() {
        *ticks = (stat.states[index] - before.states[index]).max(0.0);
    }
    ticks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::testing::{recorder, values};

    const FIRST: &[u8] = include_bytes!("recorded/stat-6.18.out");

    #[test]
    fn the_recorded_file_is_understood() {
        let stat = Stat::parse(FIRST).unwrap();
        assert_eq!(stat.cpus, 2);
        assert_eq!(
            stat.states,
            [
                55_809.0, 0.0, 7_687.0, 211_087.0, 1_815.0, 0.0, 218.0, 5_115.0
            ]
        );
        assert_eq!(stat.interrupts, Some(628_573.0));
        assert_eq!(stat.context_switches, Some(1_018_123.0));
        assert_eq!(stat.forks, Some(12_523.0));
        assert_eq!((stat.running, stat.blocked), (Some(2.0), Some(0.0)));
    }

    #[test]
    fn an_old_kernel_has_fewer_states() {
        let text = b"cpu 1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat.states[7], 0.0);
        assert_eq!(Stat::parse(b"intr 5\n"), None);
        assert_eq!(Stat::parse(b"cpu 1 x\n"), None);
    }

    fn stat(user: u64, idle: u64, steal: u64) -> String {
        format!("cpu {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1\ncpu1 1\n")
    }

    #[test]
    fn shares_are_of_all_cpus_and_their_sum_is_checked() {
        let (mut recorder, seen) = recorder();
        let mut cpu = Cpu::new();
        cpu.ticks_per_s = 100.0;
        let mut sample = |seconds: f64, text: String| {
            let at = (seconds * 1e9) as Nanos;
            recorder.begin(at);
            let shares = cpu.stat(&mut recorder, at, text.as_bytes());
            recorder.finish();
            shares
        };
        assert_eq!(sample(1.0, stat(0, 0, 0)), None);
        // Half a second of two CPUs.
        let shares = sample(1.5, stat(25, 60, 15)).unwrap();
        assert_eq!(shares.busy_cores, 0.5);
        assert_eq!(shares.bad_sum, None);
        // The host's clock advanced while nothing was counted.
        let shares = sample(2.5, stat(50, 160, 15)).unwrap();
        assert_eq!(shares.bad_sum, Some(62.5));
        let values = values(&seen);
        assert_eq!(values["host.cpu.user"], [25.0, 12.5]);
        assert_eq!(values["host.cpu.idle"], [60.0, 50.0]);
        assert_eq!(values["host.cpu.steal"], [15.0, 0.0]);
        assert_eq!(values["host.cpu.accounted"], [100.0, 62.5]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Stat::parse(&text);
        }

        #[test]
        fn parsing_damaged_files_never_panics(cut in 0..FIRST.len(), byte in any::<u8>()) {
            let mut text = FIRST.to_vec();
            text[cut] = byte;
            let _ = Stat::parse(&text);
            let _ = Stat::parse(&text[..cut]);
        }
    }
}
