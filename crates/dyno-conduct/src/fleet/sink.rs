//! Sends an agent's measurements to the coordinator, with facts about its host.

use std::sync::Arc;

use dyno_core::catalogue::names;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::{SeriesKey, SeriesKind};
use dyno_core::redact;
use dyno_core::summary::{AgentFinding, RunEnd, RunSummary};
use dyno_fleet::message::{End, pack};
use dyno_fleet::pump::LoadReport;
use dyno_load::{ProcessUse, RunOutcome};
use dyno_run::{IntervalReport, Notice, Sink};
use serde::{Deserialize, Serialize};

use super::load::AgentLoad;
use super::outcome::SENT_AT;

/// Checks that an agent runs on its own host, which the coordinator cannot observe.
const CHECKS: [&str; 9] = [
    "client-cpu",
    "clock",
    "other-load",
    "cpu-frequency",
    "host-resources",
    "network",
    "kernel-log",
    "other-processes",
    "clock-steps",
];

/// The outcome of an agent's load.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AgentOutcome {
    /// The load's outcome; its times are as if it had begun at [`SENT_AT`].
    pub load: RunOutcome,
    /// The names of its operations.
    pub operations: Vec<String>,
    /// Findings about its host.
    pub findings: Vec<AgentFinding>,
    /// CPU use of its host, in percent of all CPUs.
    pub host_cpu_percent: Option<f64>,
}

/// Receives the load's measurements.
pub(super) struct LoadSink {
    load: Arc<AgentLoad>,
    outcome: Option<Box<RunOutcome>>,
    operations: Vec<String>,
    /// The CPUs' idle time, and their time waiting for a disk.
    idle: Mean,
    waits: Mean,
}

impl LoadSink {
    /// A sink for this load.
    pub(super) fn new(load: Arc<AgentLoad>) -> Self {
        Self {
            load,
            outcome: None,
            operations: Vec::new(),
            idle: Mean::default(),
            waits: Mean::default(),
        }
    }

    fn host_cpu_percent(&self) -> Option<f64> {
        let idle = self.idle.value()? + self.waits.value().unwrap_or_default();
        Some((100.0 - idle).clamp(0.0, 100.0))
    }
}

impl Sink for LoadSink {
    fn interval(&mut self, report: IntervalReport<'_>) {
        if self.operations.is_empty() {
            self.operations = report.operations.to_vec();
        }
        let interval = Box::new(report.interval.clone());
        self.load.report(LoadReport::Interval(interval));
    }

    fn series(&mut self, number: u32, key: &SeriesKey, _kind: SeriesKind) {
        match key.name.as_str() {
            names::HOST_CPU_IDLE => self.idle.number = Some(number),
            names::HOST_CPU_IOWAIT => self.waits.number = Some(number),
            _ => {}
        }
    }

    fn samples(&mut self, at_s: f64, values: &[(u32, f64)]) {
        // Earlier samples belong to the warm-up.
        if at_s > 0.0 {
            self.idle.take(values);
            self.waits.take(values);
        }
    }

    fn notice(&mut self, notice: &Notice) {
        self.load.notices.notice(notice);
    }

    fn outcome(&mut self, outcome: &RunOutcome, summary: &RunSummary) {
        let mut sent = outcome.clone().moved(self.load.begun(), SENT_AT);
        let used = summary.client.as_ref();
        sent.processes = used.map_or_else(Vec::new, |used| {
            vec![ProcessUse {
                user_s: used.user_s,
                system_s: used.system_s,
                rss_max_bytes: used.rss_max_bytes,
            }]
        });
        self.outcome = Some(Box::new(sent));
    }

    fn end(&mut self, summary: &RunSummary) {
        let Some(load) = self.outcome.take() else {
            return;
        };
        let end = load.end.clone();
        let outcome = AgentOutcome {
            load: *load,
            operations: std::mem::take(&mut self.operations),
            findings: findings(&summary.findings),
            host_cpu_percent: self.host_cpu_percent(),
        };
        let packed = serde_json::to_vec(&outcome).map_err(|error| error.to_string());
        let packed = packed.and_then(|json| pack(&json).map_err(|error| error.to_string()));
        match packed {
            Ok(pieces) => self.load.report(LoadReport::Outcome(pieces)),
            Err(why) => return self.load.report(LoadReport::Failed(why)),
        }
        self.load.report(match &end {
            RunEnd::Completed => LoadReport::Ended(End::Completed),
            RunEnd::Interrupted => LoadReport::Ended(End::Stopped),
            RunEnd::Failed(why) => LoadReport::Failed(redact::text(why)),
        });
    }
}

#[derive(Default)]
struct Mean {
    number: Option<u32>,
    sum: f64,
    count: u32,
}

impl Mean {
    fn take(&mut self, values: &[(u32, f64)]) {
        let own = values
            .iter()
            .filter(|(number, _)| Some(*number) == self.number);
        for (_, value) in own {
            self.sum += value;
            self.count += 1;
        }
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// Findings about this host.
fn findings(all: &[Finding]) -> Vec<AgentFinding> {
    let own = all.iter().filter(|finding| {
        CHECKS.contains(&finding.check.as_str())
            && matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse)
    });
    let reported = own.map(|finding| AgentFinding {
        kind: finding.check.clone(),
        outcome: finding.outcome,
        // The coordinator adds the name.
        agent: None,
        evidence: finding.evidence.clone(),
    });
    reported.collect()
}

#[cfg(test)]
mod tests {
    use dyno_run::Sinks;

    use super::*;
    use crate::target::Password;

    #[test]
    fn the_checks_of_the_own_host_are_there() {
        for name in CHECKS {
            let all = dyno_verdict::checks();
            assert!(all.iter().any(|check| check.name == name), "{name}");
        }
    }

    #[test]
    fn the_host_is_busy_as_far_as_its_cpus_neither_idle_nor_wait() {
        let (reports, _receiver) = std::sync::mpsc::channel();
        let load = AgentLoad::new(reports, Arc::default(), Password::Own, Sinks::default());
        let mut sink = LoadSink::new(Arc::new(load));
        let key = |name| dyno_samples::values::key(name, "percent");
        assert_eq!(sink.host_cpu_percent(), None);
        sink.series(4, &key("host.cpu.idle"), SeriesKind::Gauge);
        sink.series(5, &key("host.cpu.iowait"), SeriesKind::Gauge);
        sink.samples(-0.5, &[(4, 0.0), (5, 0.0)]);
        sink.samples(0.5, &[(4, 60.0), (5, 5.0), (6, 35.0)]);
        sink.samples(1.5, &[(4, 50.0), (5, 5.0)]);
        assert_eq!(sink.host_cpu_percent(), Some(40.0));
    }
}
