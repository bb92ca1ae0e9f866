//! CPU profiles of the measurement, if the user wants them.

use std::sync::Arc;
use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::plan::RecordPlan;
use dyno_core::record::{Fact, NotObserved};
use dyno_load::RunOutcome;
use dyno_observe::{KnownServer, ProfileConfig, Profiler};

use super::Outputs;
use crate::job::Job;

/// Why there are no profiles with `--observe off`.
const OFF: &str = "observers are off (--observe off), and they are needed to find the server's \
                   process";

/// The profile of a run in progress.
pub(super) struct Profiling {
    is_wanted: bool,
    length: Option<Duration>,
    server: Arc<KnownServer>,
    profiler: Option<Profiler>,
}

impl Profiling {
    /// Prepares a profile if the user wants one.
    pub(super) fn of(wanted: &RecordPlan, job: &Job) -> Self {
        let family = job.target.as_ref().map(|target| target.family);
        let server = KnownServer::of(family);
        Self {
            is_wanted: wanted.cpu_profile,
            length: job.drive.time,
            server: Arc::new(match wanted.observe {
                true => server,
                false => server.unknown(OFF),
            }),
            profiler: None,
        }
    }

    /// The handle that receives the server's process.
    pub(super) fn server(&self) -> Arc<KnownServer> {
        Arc::clone(&self.server)
    }

    /// Sets the instant at which the measurement begins, which may be in the future.
    pub(super) fn begins(&mut self, measured: Nanos, outputs: &Arc<Outputs>) {
        if !self.is_wanted {
            return;
        }
        let config = ProfileConfig {
            begin: measured,
            length: self.length,
            server: self.server(),
        };
        let weak_outputs = Arc::downgrade(outputs);
        let on_gaps = move |gaps: Vec<NotObserved>| {
            if let Some(outputs) = weak_outputs.upgrade() {
                report_gaps(&gaps, &outputs);
            }
        };
        match Profiler::start(config, on_gaps) {
            Ok(profiler) => self.profiler = Some(profiler),
            Err(error) => report_gaps(
                &[NotObserved {
                    what: "profile".to_owned(),
                    why: format!("cannot start a thread for it: {error}"),
                }],
                outputs,
            ),
        }
    }

    /// The load has ended.
    pub(super) fn load_ended(&self) {
        if let Some(profiler) = &self.profiler {
            profiler.stop();
        }
    }

    /// Discards the samples.
    pub(super) fn abandon(&mut self) {
        if let Some(profiler) = self.profiler.take() {
            profiler.abandon();
        }
    }

    /// Hands over the samples of the measurement and their cost.
    pub(super) fn finish(&mut self, outcome: &RunOutcome, outputs: &Outputs) {
        let Some(profiler) = self.profiler.take() else {
            return;
        };
        let (from, to) = (outcome.measured_start, outcome.measured_end);
        let mut profiled = profiler.finish(from, to);
        report_gaps(&profiled.gaps, outputs);
        let source = "wait4 of perf record";
        let cost = |name, value: f64| Fact::new(name, format!("{value:.4}"), source);
        let measured_s = to.saturating_sub(from) as f64 / 1e9;
        if profiled.cpu_s > 0.0 && measured_s > 0.0 {
            let cores = profiled.cpu_s / measured_s;
            profiled.facts.extend([
                cost(names::OBSERVER_PROFILE_CPU_S, profiled.cpu_s),
                cost(names::OBSERVER_PROFILE_CORES, cores),
            ]);
        }
        outputs.each(|sink| sink.facts(&profiled.facts));
        for profile in &profiled.profiles {
            outputs.each(|sink| sink.profile(profile));
        }
    }
}

/// Reports missing profiles in the record and as a single warning.
fn report_gaps(gaps: &[NotObserved], outputs: &Outputs) {
    if gaps.is_empty() {
        return;
    }
    for gap in gaps {
        outputs.each(|sink| sink.not_observed(gap));
    }
    outputs.sinks.warn(line(gaps));
}

/// The missing profiles with the reasons, each reason once.
fn line(gaps: &[NotObserved]) -> String {
    let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
    for gap in gaps {
        let what = gap.what.rsplit('.').next().unwrap_or(&gap.what);
        match whys.iter_mut().find(|(why, _)| *why == gap.why) {
            Some((_, all)) => all.push(what),
            None => whys.push((&gap.why, vec![what])),
        }
    }
    let lines = whys.iter().map(|(why, what)| match what[..] {
        ["profile"] => format!("no CPU profile: {why}"),
        _ => format!("no CPU profile of the {}: {why}", what.join(" and the ")),
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_lists_the_missing_profiles() {
        let gap = |what: &str, why: &str| NotObserved {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        let same = [
            gap("profile.server", "no perf"),
            gap("profile.client", "no perf"),
        ];
        assert_eq!(
            line(&same),
            "no CPU profile of the server and the client: no perf"
        );
        let other = [
            gap("profile.server", "elsewhere"),
            gap("profile", "no thread"),
        ];
        let expected = "no CPU profile of the server: elsewhere; no CPU profile: no thread";
        assert_eq!(line(&other), expected);
    }
}
