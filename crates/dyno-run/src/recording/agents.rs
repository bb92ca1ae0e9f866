//! Series for each load generator, in addition to those of the observers.

use dyno_core::catalogue::{Family, names};
use dyno_core::record::{SeriesKey, SeriesKind};
use dyno_load::AgentInterval;

use super::Outputs;

/// The number of the first series, which is above those of sessions.
const FIRST: u32 = (1 << 31) + (1 << 20);
/// More agents than this have no series; their sums are in the summary.
const AGENTS_MAX: usize = 64;
/// The series of each agent, in this order.
const AGENT_SERIES: [(Family, &str, SeriesKind); 3] = [
    (names::AGENT_EVENTS, "count/s", SeriesKind::Rate),
    (names::AGENT_ERRORS, "count/s", SeriesKind::Rate),
    (names::AGENT_SERVICE_MEAN, "ms", SeriesKind::Gauge),
];

/// The series of the load generators, in the order of their first report.
#[derive(Default)]
pub(super) struct Agents {
    names: Vec<String>,
}

impl Agents {
    /// Records what they did in an interval of this length that ended at `at_s`.
    pub(super) fn interval(
        &mut self,
        outputs: &Outputs,
        (at_s, length_s): (f64, f64),
        agents: &[AgentInterval],
    ) {
        let mut values = Vec::with_capacity(agents.len() * AGENT_SERIES.len());
        for agent in agents {
            let Some(first) = self.first(outputs, &agent.name) else {
                continue;
            };
            values.push((first, agent.events as f64 / length_s));
            values.push((first + 1, agent.errors as f64 / length_s));
            if agent.latencies > 0 {
                let mean_ns = agent.service_ns_sum as f64 / agent.latencies as f64;
                values.push((first + 2, mean_ns / 1e6));
            }
        }
        if length_s > 0.0 && !values.is_empty() {
            outputs.each(|sink| sink.samples(at_s, &values));
        }
    }

    /// The number of an agent's first series. Announces its series if the agent is new.
    fn first(&mut self, outputs: &Outputs, name: &str) -> Option<u32> {
        let number = |at: usize| FIRST + (at * AGENT_SERIES.len()) as u32;
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Some(number(at));
        }
        if self.names.len() >= AGENTS_MAX {
            return None;
        }
        let first = number(self.names.len());
        self.names.push(name.to_owned());
        for (id, (series, unit, kind)) in (first..).zip(AGENT_SERIES) {
            let key = SeriesKey {
                name: series.of(name),
                unit: unit.to_owned(),
                source: "the agent's own counters".to_owned(),
            };
            outputs.each(|sink| sink.series(id, &key, kind));
        }
        Some(first)
    }
}
