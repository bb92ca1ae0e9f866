//! The command lines of a trial: `dyno run` for its load, `dyno prepare` for its data.

use std::path::Path;

use dyno_lab::file::{Agents, Cache, Data, Load, Scalar, Values};
use dyno_lab::{Cell, Effective};

/// Percentiles recorded in each trial.
const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// A workload's name on the command line: scripts are next to the experiment file.
pub fn workload(name: &str, base: &Path) -> String {
    let is_script = name.ends_with(".lua") && !Path::new(name).is_absolute();
    match is_script {
        true => base.join(name).display().to_string(),
        false => name.to_owned(),
    }
}

/// `dyno run …` of a cell; `None` without a workload. A test of the host has no target.
pub fn run(cell: &Cell, target: Option<&str>, results: &str, base: &Path) -> Option<Vec<String>> {
    let Effective { load, data, .. } = &cell.effective;
    let name = load.workload.as_ref()?;
    let mut line = vec!["dyno".to_owned(), "run".to_owned(), workload(name, base)];
    let mut put = |name: &str, value: String| line.extend([format!("--{name}"), value]);
    if let Some(target) = target {
        put("target", target.to_owned());
    }
    put("results", results.to_owned());
    if let Some(sessions) = load.clients.or(load.sessions) {
        put("sessions", sessions.to_string());
    }
    if let Some(rate) = &load.rate {
        put("rate", rate.value().to_string());
    }
    for (name, time) in [("warmup", &load.warmup), ("time", &load.time)] {
        if let Some(time) = time {
            put(name, format!("{}s", time.value().as_secs_f64()));
        }
    }
    put("percentiles", percentiles(&load.percentiles));
    match load.claim {
        Some(Cache::InMemory) => put("claim", "in-memory".to_owned()),
        Some(Cache::OnDisk) => put("claim", "on-disk".to_owned()),
        Some(Cache::Auto) | None => {}
    }
    for (name, level) in &cell.levels {
        put("factor", format!("{name}={level}"));
    }
    for (name, value) in cell.effective.agents.iter().flat_map(Agents::options) {
        put(name, value);
    }
    if cell.effective.statements {
        line.push("--statements".to_owned());
    }
    if cell.effective.cpu_profile {
        line.push("--cpu-profile".to_owned());
    }
    for what in &cell.effective.explain {
        line.extend(["--explain".to_owned(), what.clone()]);
    }
    line.push("--quiet".to_owned());
    line.extend(options(&run_options(load, data)));
    Some(line)
}

/// `dyno prepare …` of the data; `None` without a workload. If the workload has steps, each client
/// has its own tables.
pub fn prepare(of: &Effective, target: Option<&str>, base: &Path) -> Option<Vec<String>> {
    let Effective { load, data, .. } = of;
    let name = data.workload.as_ref().filter(|_| !data.none)?;
    let mut line = vec![
        "dyno".to_owned(),
        "prepare".to_owned(),
        workload(name, base),
    ];
    if let Some(target) = target {
        line.extend(["--target".to_owned(), target.to_owned()]);
    }
    if let Some(clients) = load.clients {
        line.extend(["--sessions".to_owned(), clients.to_string()]);
    }
    if let Some(seed) = data.seed {
        line.extend(["--seed".to_owned(), seed.to_string()]);
    }
    line.extend(options(&data.options));
    Some(line)
}

/// The run's options; by default those that its tables were created with.
fn run_options(load: &Load, data: &Data) -> Values {
    let mut options = Values::new();
    if load.workload == data.workload {
        options.clone_from(&data.options);
    }
    options.extend(load.options.clone());
    options
}

fn options(values: &Values) -> Vec<String> {
    let word = |value: &Scalar| match value {
        Scalar::Bool(true) => "on".to_owned(),
        Scalar::Bool(false) => "off".to_owned(),
        other => other.to_string(),
    };
    let options = values.iter();
    options
        .map(|(name, value)| format!("--{name}={}", word(value)))
        .collect()
}

fn percentiles(asked: &[f64]) -> String {
    let mut all = PERCENTILES.to_vec();
    all.extend(asked);
    all.sort_by(f64::total_cmp);
    all.dedup();
    let all: Vec<String> = all.iter().map(f64::to_string).collect();
    all.join(",")
}

#[cfg(test)]
mod tests {
    use dyno_lab::Experiment;

    use super::*;

    #[test]
    fn a_cell_is_a_command_line() {
        let text = "experiment = 1\nquestion = '?'\n[server]\nkind = 'mysql'\n\
             [data]\nworkload = 'tpcc'\noptions = { tables = 2, use_fk = false }\nseed = 7\n\
             [load]\nworkload = 'tpcc'\nsessions = 4\nrate = 50\nwarmup = '3s'\ntime = '1m'\n\
             claim = 'auto'\npercentiles = [99.5]\noptions = { mix = 'draw' }\n\
             [[factor]]\nname = 'memory'\napplies = 'start'\nsetting = 'm'\nlevels = ['1G']\n";
        let experiment = Experiment::parse("x.toml", text, None).unwrap();
        let cell = experiment.cells().remove(0);
        let line = run(&cell, Some("server:x"), "dyno.db", Path::new("/there")).unwrap();
        assert_eq!(
            line.join(" "),
            "dyno run tpcc --target server:x --results dyno.db --sessions 4 --rate 50 --warmup 3s \
             --time 60s --percentiles 50,95,99,99.5,99.9 --factor memory=1G --quiet --mix=draw \
             --tables=2 --use_fk=off"
        );
        let line = prepare(&cell.effective, Some("server:x"), Path::new("/there")).unwrap();
        assert_eq!(
            line.join(" "),
            "dyno prepare tpcc --target server:x --seed 7 --tables=2 --use_fk=off"
        );
        assert_eq!(workload("./a.lua", Path::new("/there")), "/there/./a.lua");
        assert_eq!(workload("tpcc", Path::new("/there")), "tpcc");
    }
}
