//! The load of a run in words.

use dyno_core::plan::{Arrivals, Drive, RandKind, RandPlan};
use dyno_core::summary::{PhaseOf, RunSummary};
use dyno_core::text::counted;

use super::Block;
use crate::number::{length, offered, plain};
use crate::terminal::Ink;

/// Sessions, workers or agents, loop, and distribution of keys. A run that has not ended has no
/// summary.
pub(crate) fn load(drive: &Drive, run: Option<&RunSummary>) -> String {
    let mut load = sessions(drive);
    match run.map_or(0, |run| run.agents.len()) as u64 {
        0 if run.map_or(drive.workers > 0, has_workers) => {
            load += &format!(" on {}", counted(u64::from(drive.workers), "worker"));
        }
        0 => {}
        agents => load += &format!(" of {}", counted(agents, "load generator")),
    }
    if let Some(shard) = &drive.shard {
        load += &format!(", load generator {} of {}", shard.number, shard.of);
    }
    load += ", ";
    match drive.open_loop {
        None if run.is_some_and(is_scheduled) => load += "open loop, unknown rate",
        None => load += "closed loop",
        Some(open) => {
            let arrivals = match open.arrivals {
                Arrivals::Poisson => "Poisson",
                Arrivals::Constant => "constant",
            };
            let at = match drive.rate_schedule() {
                Some(schedule) => schedule.short(),
                None => offered(open.per_second),
            };
            load += &match drive.shard.as_ref().filter(|shard| shard.of > 1) {
                None => format!("open loop, {arrivals} arrivals at {at}"),
                Some(_) => format!("open loop, its part of {arrivals} arrivals: {at}"),
            };
        }
    }
    if !drive.ramp_up.is_zero() {
        load += &format!(", started over {}", length(drive.ramp_up.as_secs_f64()));
    }
    if let Some(rand) = run.and_then(|run| run.rand.as_ref()) {
        load += &distribution(rand);
    }
    load
}

/// Whether a log without a rate shows that there was one: by response times, or because the rate is
/// missing.
fn is_scheduled(run: &RunSummary) -> bool {
    let lacks_rate = run.not_observed.iter().any(|gap| gap.what == "open_loop");
    lacks_rate || run.response.is_some()
}

/// The number of sessions, or how it changed.
pub(crate) fn sessions(drive: &Drive) -> String {
    match drive.session_schedule() {
        Some(schedule) => format!("{} sessions", schedule.short()),
        None => counted(u64::from(drive.sessions), "session"),
    }
}

/// Whether its workers are known. Other tools print no workers, and not all of them a seed.
pub(crate) fn has_workers(run: &RunSummary) -> bool {
    let client = run.client.as_ref();
    client.is_some_and(|client| !client.worker_busy.is_empty())
}

/// The default distribution and its shape, unless it is uniform.
fn distribution(rand: &RandPlan) -> String {
    match rand.kind {
        RandKind::Uniform => String::new(),
        RandKind::Gaussian => format!(", gaussian keys of {} draws", rand.spec_iter),
        RandKind::Pareto => format!(", Pareto keys h={}", plain(rand.pareto_h)),
        RandKind::Zipfian => format!(", Zipfian keys s={}", plain(rand.zipfian_exp)),
        RandKind::Special => format!(
            ", special keys: {} % of draws on {} % of keys",
            rand.spec_res, rand.spec_pct
        ),
    }
}

/// The place in a sequence, and the preparation before it.
pub(crate) fn phase(phase: &PhaseOf) -> Vec<Block> {
    let text = format!(
        "{}, {} of {} in {}",
        phase.name, phase.number, phase.of, phase.sequence
    );
    let mut rows = vec![Block::row("phase", Ink::Plain, text)];
    rows.extend(phase.before.as_ref().map(|before| {
        let took = length(before.seconds);
        let text = format!("{} for {took}: {}", before.command, before.messages);
        Block::row("before it", Ink::Plain, text.trim_end_matches(": "))
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::record::NotObserved;
    use dyno_samples::summaries as samples;

    #[test]
    fn a_schedule_of_unknown_rate_is_not_a_closed_loop() {
        let mut run = samples::good();
        let drive = run.drive.clone().unwrap();
        assert!(load(&drive, Some(&run)).contains("closed loop"));
        run.not_observed.push(NotObserved {
            what: "open_loop".to_owned(),
            why: "the rate is not printed".to_owned(),
        });
        let said = load(&drive, Some(&run));
        assert!(said.contains("open loop, unknown rate"), "{said}");
    }
}
