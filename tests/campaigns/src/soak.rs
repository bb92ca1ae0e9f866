//! Long runs with many sessions: the use of memory, descriptors and threads must stay constant.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::Clock;
use dyno_core::rand::Stream;
use xtask::say;
use xtask::servers::Kind;
use xtask::servers::set::{Set, down};

use crate::bed::{Bed, DATABASE, TABLES, USER, Way, dyno_command, in_folder};
use crate::child::{Running, Sample};
use crate::{Campaign, Closed};

/// Simulated users of each run.
const SESSIONS: u64 = 200;
/// The minimum time for all three runs, because growth in the first five minutes of a run does not
/// count.
const LENGTH_MIN: Duration = Duration::from_secs(30 * 60);
/// Transactions per second, low enough for a busy machine, because a backlog takes memory.
const RATE: &str = "100/s";
/// How often to sample the process.
const LOOK: Duration = Duration::from_secs(1);
/// Seconds between two rounds of kills, and how many sessions each round kills.
const KILL_EVERY: u64 = 7;
const KILLED: usize = 20;
/// How many sessions to kill per second in the first quarter of a run. Garbage of lost sessions and
/// holes in the heap then reach their maximum before memory is judged.
const KILLED_AT_FIRST: usize = 40;
/// How much memory may grow per minute in the second half of a run.
const GROWTH_MAX_KIB: f64 = 50.0;
/// A single step up to this size is not growth: some buffers happened to be in use at the same
/// time.
const STEP_MAX_KIB: f64 = 2048.0;
/// The second half is divided into this many parts, and a step is looked for between their medians.
const PARTS: usize = 10;
/// Descriptors that come and go, those of reconnecting sessions and of observers.
const DESCRIPTORS_MOVE: u64 = 2 * KILLED as u64 + 6;
/// How long the run may take to end.
const END_MAX: Duration = Duration::from_secs(60);

/// Runs a load on each server in turn, each for a third of the time.
///
/// # Errors
/// The servers or a run cannot be started.
pub fn run(campaign: &Campaign) -> Result<()> {
    if campaign.options.length < LENGTH_MIN {
        let minutes = LENGTH_MIN.as_secs() / 60;
        bail!("in a short run, memory allocated once looks like growth; try --for {minutes}m");
    }
    down(false)?;
    let mut set = Set::up(&Kind::ALL)?;
    let beds = Bed::all(&mut set, &campaign.options.dyno);
    for (number, bed) in (0..).zip(&beds) {
        if campaign.stopped() {
            break;
        }
        let cases = campaign.options.cases.as_ref();
        if cases.is_some_and(|cases| !cases.contains(&number)) {
            continue;
        }
        bed.furnish()?;
        one(campaign, bed, number)?;
    }
    Ok(())
}

fn one(campaign: &Campaign, bed: &Bed<'_>, number: u64) -> Result<()> {
    let folder = campaign.case_folder(number)?;
    let length = campaign.options.length / 3;
    let mut command = dyno_command(&bed.dyno);
    command.args(["run", "oltp_read_write", "--target"]);
    command.arg(bed.url(Way::Plain, bed.server.port(), DATABASE));
    command.args(TABLES);
    command.args(["-c", &SESSIONS.to_string(), "--calibrate", "never"]);
    // A fixed rate, so that a faster minute, which needs more memory, does not look like growth.
    command.args(["--rate", RATE, "-t", &format!("{}s", length.as_secs())]);
    command.args(["--warmup", "0", "--results", "dyno.db"]);
    let mut running = Running::start(in_folder(&mut command, &folder))?;
    if !running.wait_for_text(&[" tx/s "], END_MAX) {
        let ended = running.finish(Duration::ZERO)?;
        bail!("{}: the run did not start: {}", bed.kind(), ended.stderr());
    }
    let (samples, kills) = sample(campaign, bed, &mut running, length)?;
    if campaign.stopped() {
        running.signal(libc::SIGINT);
    }
    let ended = running.finish(END_MAX)?;
    // An interrupted run proves nothing.
    let mut failures = match campaign.stopped() {
        true => Vec::new(),
        false => judge(&samples),
    };
    if !ended.status.success() && !campaign.stopped() {
        let stderr = ended.stderr();
        let last = stderr.lines().last().unwrap_or_default();
        failures.push(format!("{}: {last}", ended.status));
    }
    let what = format!("{} -c {SESSIONS}", bed.kind());
    say(&format!("{what}: {}", figures(&samples)));
    ended.keep(&folder)?;
    campaign.close(&Closed {
        number,
        what: &what,
        folder: &folder,
        faults: kills,
        inputs: 0,
        failures: &failures,
    });
    Ok(())
}

/// Samples once a second until the run ends, and kills sessions meanwhile.
fn sample(
    campaign: &Campaign,
    bed: &Bed<'_>,
    running: &mut Running,
    length: Duration,
) -> Result<(Vec<(f64, Sample)>, u64)> {
    let mut samples = Vec::new();
    let mut kills = 0;
    let began_ns = Clock.now();
    let mut administrator = bed.administrator(None)?;
    for second in 0.. {
        let at_s = (Clock.now() - began_ns) as f64 / 1e9;
        // Skip the last seconds, in which the run ends and is judged.
        if at_s + 3.0 > length.as_secs_f64() || !running.runs() || campaign.stopped() {
            break;
        }
        samples.push((at_s, Sample::of(running.pid())));
        let killed = match at_s < length.as_secs_f64() / 4.0 {
            true => KILLED_AT_FIRST,
            false if second % KILL_EVERY == KILL_EVERY - 1 => KILLED,
            false => 0,
        };
        if killed > 0 {
            let mut draws = Stream::new(campaign.options.seed, second);
            let sessions = administrator
                .sessions(USER)
                .context("cannot list the sessions")?;
            for _ in 0..killed.min(sessions.len()) {
                let chosen = draws.below(sessions.len() as u64) as usize;
                administrator.kill_session(&sessions[chosen]);
                kills += 1;
            }
        }
        thread::sleep(LOOK);
    }
    Ok((samples, kills))
}

/// Returns the failures: growth in the second half.
fn judge(samples: &[(f64, Sample)]) -> Vec<String> {
    let mut failures = Vec::new();
    let half = &samples[samples.len() / 2..];
    let (half, step) = without_step(half);
    let Some(growth) = Growth::of(&half) else {
        return vec!["the run was too short to see anything".to_owned()];
    };
    if step > STEP_MAX_KIB {
        failures.push(format!("memory jumps by {step:.0} KiB at once"));
    }
    if growth.per_minute - 3.0 * growth.error > GROWTH_MAX_KIB {
        failures.push(format!(
            "memory grows by {:.0} ± {:.0} KiB per minute, more than {GROWTH_MAX_KIB:.0}",
            growth.per_minute, growth.error
        ));
    }
    let (first, last) = half.split_at(half.len() / 2);
    let most = |part: &[(f64, Sample)], what: fn(&Sample) -> u64| {
        part.iter()
            .map(|(_, sample)| what(sample))
            .max()
            .unwrap_or_default()
    };
    for (name, what, moves) in [
        (
            "threads",
            (|sample| sample.threads) as fn(&Sample) -> u64,
            0,
        ),
        ("descriptors", |sample| sample.descriptors, DESCRIPTORS_MOVE),
    ] {
        let (before, after) = (most(first, what), most(last, what));
        if after > before + moves {
            failures.push(format!("{name} grow from {before} to {after}"));
        }
    }
    failures
}

fn figures(samples: &[(f64, Sample)]) -> String {
    let (half, step) = without_step(&samples[samples.len() / 2..]);
    let growth = Growth::of(&half).unwrap_or_default();
    let (at_s, last) = samples.last().copied().unwrap_or_default();
    format!(
        "{at_s:.0} s, {} KiB resident ({} at most), growth {:.1} ± {:.1} KiB per minute over the \
         second half without one step of {step:.0} KiB, {} threads, {} descriptors",
        last.memory_kib,
        last.peak_kib,
        growth.per_minute,
        growth.error,
        last.threads,
        last.descriptors
    )
}

/// The samples without the largest rise from one part to the next, and that rise in KiB.
fn without_step(samples: &[(f64, Sample)]) -> (Vec<(f64, Sample)>, f64) {
    let part = samples.len().div_ceil(PARTS).max(1);
    let medians: Vec<u64> = samples
        .chunks(part)
        .map(|part| {
            let mut kib: Vec<u64> = part.iter().map(|(_, sample)| sample.memory_kib).collect();
            kib.sort_unstable();
            kib[kib.len() / 2]
        })
        .collect();
    let rises = medians.windows(2).map(|two| two[1].saturating_sub(two[0]));
    let (before, step) = rises
        .enumerate()
        .max_by_key(|(_, rise)| *rise)
        .unwrap_or_default();
    let mut samples = samples.to_vec();
    for (_, sample) in samples.iter_mut().skip((before + 1) * part) {
        sample.memory_kib = sample.memory_kib.saturating_sub(step);
    }
    (samples, step as f64)
}

/// A straight line fitted to the memory of samples by least squares.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    per_minute: f64,
    /// The slope's standard error.
    error: f64,
}

impl Growth {
    fn of(samples: &[(f64, Sample)]) -> Option<Self> {
        let n = samples.len() as f64;
        if n < 10.0 {
            return None;
        }
        let values = || {
            samples
                .iter()
                .map(|(at, sample)| (at / 60.0, sample.memory_kib as f64))
        };
        let mean_x = values().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = values().map(|(_, y)| y).sum::<f64>() / n;
        let spread = values().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
        let together = values()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum::<f64>();
        let slope = together / spread;
        let rest = values().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2));
        Some(Self {
            per_minute: slope,
            error: (rest.sum::<f64>() / (n - 2.0) / spread).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(kib_of: impl Fn(u64) -> u64) -> Vec<(f64, Sample)> {
        let sample = |second| Sample {
            memory_kib: kib_of(second),
            threads: 9,
            descriptors: 220,
            ..Sample::default()
        };
        (0..600)
            .map(|second| (second as f64, sample(second)))
            .collect()
    }

    #[test]
    fn reports_growth_and_not_noise() {
        assert!(judge(&samples(|_| 50_000)).is_empty());
        assert!(judge(&samples(|second| 50_000 + second * 7919 % 300)).is_empty());
        // Memory that is allocated at the start and kept is not growth.
        assert!(judge(&samples(|second| 50_000 + 40 * second.min(200))).is_empty());
        let one = |failures: Vec<String>| assert_eq!(failures.len(), 1, "{failures:?}");
        one(judge(&samples(|second| {
            50_000 + 2 * second + second * 7919 % 300
        })));
        // One step is not growth unless it is large; two steps are.
        let step = |kib, at| move |second| 50_000 + if second >= at { kib } else { 0 };
        assert!(judge(&samples(step(1000, 430))).is_empty());
        one(judge(&samples(step(3000, 430))));
        one(judge(&samples(|second| {
            step(1000, 400)(second) + step(1000, 500)(second)
        })));
    }

    #[test]
    fn reports_leaking_descriptors() {
        let mut leaking = samples(|_| 50_000);
        for (second, sample) in &mut leaking {
            sample.descriptors += *second as u64;
        }
        assert_eq!(judge(&leaking).len(), 1);
    }
}
