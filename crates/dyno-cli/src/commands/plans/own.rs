//! Converts a plan to the equivalent options.

use std::collections::BTreeMap;

use dyno_conduct::search::is_of_search;
use dyno_core::plan::{Arrivals, Drive, Plan, RandPlan, RecordPlan};
use dyno_core::units::format_duration;
use serde::Serialize;

use crate::definitions::RUN;
use crate::fleet_options::OF_PLANS;

/// The equivalent options, without the workload's own.
pub(super) fn own(plan: &Plan) -> Vec<(&'static str, Option<String>)> {
    let mut own = Vec::new();
    if let Some(target) = &plan.target {
        // An empty URL means a temporary database and overrides the environment.
        own.push(("target", Some(target.url().unwrap_or_default())));
    }
    match plan.ladder.as_slice() {
        [] => {
            let sessions = match plan.drive.session_schedule() {
                Some(schedule) => schedule.to_string(),
                None => plan.drive.sessions.to_string(),
            };
            own.push(("sessions", Some(sessions)));
        }
        ladder => own.push(("ladder", Some(joined(ladder)))),
    }
    drive(&plan.drive, &mut own);
    rand(&plan.rand, &mut own);
    let driver = &plan.driver;
    own.push(("call-timeout", Some(format_duration(driver.call_timeout))));
    own.push(("ignore-errors", Some(driver.ignored_errors.join(","))));
    let either = |first, a: &str, b: &str| Some(if first { a } else { b }.to_owned());
    let ps_mode = either(driver.prepare_on_server, "auto", "disable");
    let lost = either(driver.reconnect_lost_connections, "reconnect", "stop");
    own.extend([("ps-mode", ps_mode), ("lost-connections", lost)]);
    if let Some(command) = &driver.luajit_cmd {
        own.push(("luajit-cmd", Some(command.clone())));
    }
    record(&plan.record, &mut own);
    agents(&plan.agents, &mut own);
    own
}

pub(super) fn drive(drive: &Drive, own: &mut Vec<(&'static str, Option<String>)>) {
    let seconds = |time| Some(format_duration(time));
    own.extend([
        ("workers", Some(drive.workers.to_string())),
        ("events", Some(drive.events.unwrap_or(0).to_string())),
        ("warmup", seconds(drive.warmup)),
        ("grace", seconds(drive.grace)),
        ("ramp-up", seconds(drive.ramp_up)),
        ("init-timeout", seconds(drive.init_timeout)),
        ("interval", seconds(drive.interval)),
        ("seed", Some(drive.seed.to_string())),
    ]);
    if drive.schedule.is_none() {
        own.push(("time", seconds(drive.time.unwrap_or_default())));
    }
    if let Some(open) = drive.open_loop {
        let rate = match drive.rate_schedule() {
            Some(schedule) => schedule.to_string(),
            None => open.per_second.to_string(),
        };
        own.push(("rate", Some(rate)));
        let law = match open.arrivals {
            Arrivals::Poisson => "poisson",
            Arrivals::Constant => "constant",
        };
        own.push(("arrivals", Some(law.to_owned())));
        if let Some(spin) = drive.spin {
            own.push(("spin", seconds(spin)));
        }
    }
    if let Some(limit) = drive.latency_limit {
        own.push(("latency-limit", seconds(limit)));
    }
    own.extend(
        drive
            .shard
            .as_ref()
            .map(|shard| ("shard", Some(shard.to_string()))),
    );
    let begin = drive.begin_unix_s;
    own.extend(begin.map(|unix_s| ("begin-at", Some(unix_s.to_string()))));
}

pub(super) fn rand(rand: &RandPlan, own: &mut Vec<(&'static str, Option<String>)>) {
    own.extend([
        ("rand-type", Some(word(&rand.kind))),
        ("rand-pareto-h", Some(rand.pareto_h.to_string())),
        ("rand-zipfian-exp", Some(rand.zipfian_exp.to_string())),
        ("rand-spec-iter", Some(rand.spec_iter.to_string())),
        ("rand-spec-pct", Some(rand.spec_pct.to_string())),
        ("rand-spec-res", Some(rand.spec_res.to_string())),
    ]);
}

pub(super) fn record(record: &RecordPlan, own: &mut Vec<(&'static str, Option<String>)>) {
    let file = record.file.as_ref();
    let file = file.map_or("none".to_owned(), |file| file.display().to_string());
    let observe = if record.observe { "on" } else { "off" };
    own.extend([
        ("results", Some(file)),
        ("observe", Some(observe.to_owned())),
        ("ledger", Some(word(&record.ledger))),
        ("calibrate", Some(word(&record.calibrate))),
        ("percentiles", Some(joined(&record.percentiles))),
    ]);
    own.extend(record.claim.map(|claim| ("claim", Some(word(&claim)))));
    if !record.note.is_empty() {
        own.push(("note", Some(record.note.clone())));
    }
    // A run with a given plan is not a trial of a search.
    let own_factors = record.factors.iter();
    let own_factors = own_factors.filter(|(name, _)| !is_of_search(record, name));
    for (name, level) in own_factors {
        own.push(("factor", Some(format!("{name}={level}"))));
    }
    own.extend(record.statements.then_some(("statements", None)));
    for what in &record.explain {
        own.push(("explain", Some(what.clone())));
    }
    own.extend(record.cpu_profile.then_some(("cpu-profile", None)));
    let pair = |name: &str, value: &str| Some(format!("{name}={value}"));
    for setting in &record.expected {
        own.push(("expect", pair(&setting.name, &setting.value)));
    }
    for waiver in &record.waivers {
        own.push(("waive", pair(&waiver.check, &waiver.reason)));
    }
    own.extend(record.force.then_some(("force", None)));
    own.extend(record.gate.then_some(("gate", None)));
    for condition in &record.fail_if {
        own.push(("fail-if", Some(condition.clone())));
    }
}

pub(super) fn agents(
    agents: &BTreeMap<String, String>,
    own: &mut Vec<(&'static str, Option<String>)>,
) {
    for opt in RUN.iter().filter(|opt| OF_PLANS.contains(&opt.name)) {
        if let Some(value) = agents.get(opt.name) {
            own.push((opt.name, opt.value.map(|_| value.clone())));
        }
    }
}

/// A vocabulary value as its one word.
fn word<T: Serialize>(value: &T) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn joined<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(",")
}
