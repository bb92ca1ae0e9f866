//! The agents of a run, and the server's host.

use dyno_core::summary::{AgentSummary, RunSummary};

use super::look::{Ink, columns};
use super::page::Page;
use crate::number::{latency, percent, rate, thousands};
use crate::server_host;

/// The width of a column of figures.
const WIDTH: usize = 12;
/// The width of names in a label.
const LABEL: usize = 13;

/// A row for each agent.
pub(super) fn section(run: &RunSummary, page: &mut Page) {
    if run.agents.is_empty() {
        return;
    }
    let fit = (page.body_width() / WIDTH).max(1);
    let cells = |texts: &[String]| -> String {
        let cell = |text: &String| " ".repeat(WIDTH.saturating_sub(columns(text))) + text;
        texts.iter().take(fit).map(cell).collect()
    };
    let heads = [
        "sessions",
        "events/s",
        "service p99",
        "CPU cores",
        "host CPU",
        "clock ±",
    ];
    let heads = heads.map(str::to_owned);
    page.line("agents", Ink::Strong, &[(Ink::Faint, &cells(&heads))]);
    for agent in &run.agents {
        let label = format!("  {}", agent.name);
        let ink = if agent.lost { Ink::Error } else { Ink::Plain };
        let cells = cells(&figures(agent));
        if columns(&label) > LABEL {
            page.row("", Ink::Plain, &agent.name);
            page.line("", Ink::Plain, &[(ink, &cells)]);
        } else {
            page.line(&label, Ink::Plain, &[(ink, &cells)]);
        }
        if agent.lost {
            page.row("", Ink::Error, "lost while the run went on");
        }
    }
}

/// The server's host, if it was observed there.
pub(super) fn server_host(run: &RunSummary, page: &mut Page) {
    if let Some(host) = &run.server_host {
        page.row("server's host", Ink::Plain, &server_host::describe(host));
    }
}

fn figures(agent: &AgentSummary) -> Vec<String> {
    let nothing = || "–".to_owned();
    vec![
        thousands(u64::from(agent.sessions)),
        rate(agent.events_per_s),
        agent.p99_ms.map_or_else(nothing, latency),
        agent.cpu_cores.map_or_else(nothing, rate),
        agent
            .host_cpu_percent
            .map_or_else(nothing, |share| percent(share / 100.0)),
        agent
            .clock
            .map_or_else(nothing, |clock| latency(clock.bound_ms)),
    ]
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::{AgentClock, ServerHost};
    use dyno_samples::summaries as samples;

    use super::super::look::Look;
    use super::*;
    use crate::terminal::summary;

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
        let run = RunSummary {
            agents: vec![agent("gen1", false), agent("a-generator-far-away", true)],
            ..RunSummary::default()
        };
        let mut page = Page::new(Look {
            columns: 80,
            ..Look::default()
        });
        section(&run, &mut page);
        let text = page.finish();
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
