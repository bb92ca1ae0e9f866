//! The agents of a run.

use dyno_core::summary::{AgentSummary, RunSummary};

use super::{Block, PAGE, Table, Value};
use crate::number::figure;
use crate::terminal::{EventWord, Ink};

/// A row for each agent.
pub(crate) fn agents(run: &RunSummary) -> Block {
    let table = Table::of(&run.agents)
        .text("agents", 0, name)
        .text("host", PAGE, |agent| agent.host.clone())
        .figure("share", PAGE, |agent| Value::Share(agent.fraction))
        .figure("sessions", 0, |agent| Value::Count(agent.sessions.into()))
        .figure(EventWord::of(run).per_s(), 1, |agent| {
            Value::Rate(agent.events_per_s)
        })
        .figure("errors", PAGE, |agent| Value::Count(agent.errors))
        .figure("service p50", PAGE, |agent| agent.p50_ms.map(Value::Ms))
        .figure("service p99", 2, |agent| agent.p99_ms.map(Value::Ms))
        .figure("CPU cores", 3, |agent| agent.cpu_cores.map(Value::Rate))
        .figure("host CPU", 4, |agent| {
            agent.host_cpu_percent.map(|of| Value::Share(of / 100.0))
        })
        .figure("clock ±", 5, |agent| {
            agent.clock.map(|clock| Value::Ms(clock.bound_ms))
        })
        .figure("started late by", PAGE, |agent| {
            agent.late_ms.map(Value::Ms)
        })
        .figure("drift", PAGE, drift)
        .figure("wall clock ahead", PAGE, |agent| {
            agent.clock?.civil_ahead_ms.map(Value::Ms)
        })
        .notes(|agent| match agent.lost {
            true => "lost while the run went on".to_owned(),
            false => String::new(),
        })
        .labelled(12)
        .source(
            "the agents' records, which add up to the run's. The run's percentiles are those of \
             all samples together.",
        );
    Block::Table(table)
}

fn name(agent: &AgentSummary) -> (Ink, String) {
    let ink = if agent.lost { Ink::Error } else { Ink::Plain };
    (ink, agent.name.clone())
}

fn drift(agent: &AgentSummary) -> Option<Value> {
    let ppm = agent.clock?.drift_ppm?;
    Some(Value::Text(format!("{} ppm", figure(ppm))))
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::{AgentClock, ServerHost};
    use dyno_samples::summaries as samples;

    use super::*;
    use crate::terminal::{Look, columns, summary};

    #[test]
    fn each_load_generator_has_a_row_that_shows_a_loss() {
        let agent = |name: &str, lost: bool| AgentSummary {
            name: name.to_owned(),
            sessions: 32,
            events_per_s: 12_345.6,
            p99_ms: Some(4.25),
            cpu_cores: (!lost).then_some(0.82),
            host_cpu_percent: (!lost).then_some(37.5),
            clock: Some(AgentClock {
                bound_ms: 0.21,
                ..AgentClock::default()
            }),
            lost,
            ..AgentSummary::default()
        };
        let mut run = samples::good();
        run.agents = vec![agent("gen1", false), agent("a-generator-far-away", true)];
        let text = text_of(&run, false);
        assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
        let row = text.lines().find(|line| line.contains("gen1")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            ["gen1", "32", "12,346", "4.25", "ms", "0.820", "38", "%"]
        );
        assert!(text.contains("a-generator-far-away"), "{text}");
        assert!(text.contains("lost while the run went on"), "{text}");
    }

    fn text_of(run: &RunSummary, verbose: bool) -> String {
        let look = Look {
            verbose,
            columns: 80,
            ..Look::default()
        };
        summary(run, &look)
    }

    #[test]
    fn a_run_of_several_load_generators_is_not_one_of_workers() {
        let mut run = samples::good();
        run.agents = ["gen1", "gen2"]
            .map(|name| AgentSummary {
                name: name.to_owned(),
                host: "h".to_owned(),
                ..AgentSummary::default()
            })
            .into();
        let text = text_of(&run, true);
        assert!(text.contains(" of 2 load generators"), "{text}");
        assert!(!text.contains(" on 2 workers"), "{text}");
        run.agents[1].lost = true;
        let text = text_of(&run, false);
        assert!(text.contains("lost while the run went on"), "{text}");
    }

    #[test]
    fn the_servers_host_has_a_line_within_eighty_columns() {
        let mut run = samples::good();
        run.server_host = Some(ServerHost {
            observer: "ssh:database-server-with-a-long-name.example.org".to_owned(),
            cpus: Some(128.0),
            busy_percent: Some(64.0),
            server_percent: Some(52.0),
        });
        for verbose in [false, true] {
            let text = text_of(&run, verbose);
            assert!(
                text.contains("server's host 64 % of 128 CPUs busy, 52 % by"),
                "{text}"
            );
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
        }
    }
}
