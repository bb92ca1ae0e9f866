//! Checks, before anything starts, that an experiment can run here.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use dyno_core::Target;
use dyno_lab::file::Topology;
use dyno_lab::{Cell, Experiment};
use dyno_server::{Home, Kind, Online, ProxyOptions};

use super::capture::KEYS;
use super::server::settings;
use super::{duets, host};
use crate::search::promise;
use crate::target::hide_password;

/// Cells that together contain every level of every factor: a mistake in a level shows in each of
/// its cells.
pub(crate) fn of_each_level(cells: &[Cell]) -> Vec<Cell> {
    let mut seen: BTreeSet<(&String, &String)> = BTreeSet::new();
    let mut chosen = Vec::new();
    for cell in cells {
        // Adding this cell covers all of them.
        let new = cell
            .levels
            .iter()
            .filter(|level| seen.insert(*level))
            .count();
        if new > 0 || chosen.is_empty() {
            chosen.push(cell.clone());
        }
    }
    chosen
}

/// The targets of all URLs, with the passwords that are available now.
pub fn targets(experiment: &Experiment) -> Vec<Target> {
    let cells = experiment.cells();
    let urls: BTreeSet<&str> = cells
        .iter()
        .filter_map(|cell| cell.effective.server.url.as_deref())
        .collect();
    let complete = |mut target: Target| {
        // Without a password there is nothing to hide; a run reports what is missing.
        let _ = dyno_drivers::credentials::complete(&mut target);
        target
    };
    let targets = urls.into_iter().filter_map(|url| Target::parse(url).ok());
    targets.map(complete).collect()
}

/// Hides the passwords of all URLs in all later output and records.
pub fn hide_passwords(experiment: &Experiment) {
    targets(experiment).iter().for_each(hide_password);
}

/// Checks that the host supports a cell's settings.
pub(crate) fn check_host(cell: &Cell, kind: Option<&Kind>, home: &Home) -> Result<()> {
    let limits = host::limits(&cell.effective.host)?;
    let place = host::place(&cell.effective.place)?;
    if kind.is_none() && !(limits.is_empty() && place.is_none()) {
        return Err(anyhow!(
            "limits of the host and file systems need a server that Dyno starts"
        ));
    }
    limits.check(home).map_err(|error| anyhow!("{error}"))?;
    if let Some(place) = &place {
        place.check(home).map_err(|error| anyhow!("{error}"))?;
    }
    Ok(())
}

/// Checks that the server has a cell's settings.
///
/// # Errors
/// A setting is unknown, or Dyno does not start the server.
pub(crate) fn check_settings(cell: &Cell, kind: Option<&Kind>, home: &Home) -> Result<()> {
    let server = &cell.effective.server;
    let Some(kind) = kind else {
        return match server.set.keys().next() {
            None => Ok(()),
            Some(name) => Err(anyhow!(
                "{name} needs a server that Dyno starts: a running server (url) keeps its \
                 settings; for settings that can change while it runs, use applies = \"online\""
            )),
        };
    };
    // Levels that change online are settings, too.
    for set in [&server.set, &cell.effective.online] {
        let own = settings(server, set)?;
        kind.check(&own, home).map_err(|error| anyhow!("{error}"))?;
    }
    Ok(())
}

/// Settings that levels change on running servers, but that those servers lack. A server that does
/// not answer is asked again before the first trial.
pub(crate) fn unknown_online(cells: &[Cell]) -> Vec<String> {
    let mut wrong = Vec::new();
    for cell in cells {
        let (Some(url), false) = (&cell.effective.server.url, cell.effective.online.is_empty())
        else {
            continue;
        };
        let Ok(own) = settings(&Default::default(), &cell.effective.online) else {
            continue;
        };
        let found = Online::connect(url).and_then(|online| online.unknown(&own));
        wrong.extend(found.unwrap_or_default());
    }
    wrong
}

/// The proxy in front of a server.
pub fn proxy(server: &dyno_lab::file::Server) -> Option<Result<ProxyOptions>> {
    let options = server.proxy.as_ref()?;
    let options = options
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_string()));
    Some(ProxyOptions::of(options).map_err(|error| anyhow!("{error}")))
}

/// Ways to connect to a server that Dyno starts.
const WAYS: [&str; 5] = ["socket", "tcp", "tls", "direct", "proxy"];

/// Mistakes in commands that run during the load, in ways to load data, and in files.
fn other_mistakes(cells: &[Cell]) -> Vec<String> {
    let mut wrong = Vec::new();
    let outputs = cells.iter().flat_map(|cell| cell.effective.output.keys());
    if let Some(key) = outputs
        .into_iter()
        .find(|key| !KEYS.contains(&key.as_str()))
    {
        wrong.push(format!(
            "`output` has no key '{key}'; its keys are file, the output, and count, a shell \
             command that counts the statements in it"
        ));
    }
    let copies = |cell: &Cell| {
        let by = cell.effective.data.by;
        by.is_some() && !cell.effective.place.contains_key("fs")
    };
    if cells.iter().all(copies) && !cells.is_empty() {
        wrong.push(
            "'data_by' says how data reach another file system, but no level has an `fs`"
                .to_owned(),
        );
    }
    let missing = cells
        .iter()
        .find_map(|cell| missing_file(&cell.effective.server));
    wrong.extend(missing);
    wrong
}

/// A file that a setting names and the server lacks.
fn missing_file(server: &dyno_lab::file::Server) -> Option<String> {
    let values = server
        .set
        .iter()
        .map(|(name, value)| (name, value.to_string()));
    let mut words = values.filter_map(|(setting, value)| {
        let (_, rest) = value.split_once("{file ")?;
        let (name, _) = rest.split_once('}')?;
        (!server.files.contains_key(name)).then(|| (setting.clone(), name.to_owned()))
    });
    let (setting, name) = words.next()?;
    let names: Vec<&str> = server.files.keys().map(String::as_str).collect();
    Some(format!(
        "{setting} names the file '{name}', but [server] files has {}",
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    ))
}

/// Mistakes in the ways to connect to servers.
fn ways(cells: &[Cell]) -> Vec<String> {
    let mut wrong = Vec::new();
    let other_way = |path: &&str| !WAYS.contains(path);
    let mut paths = cells
        .iter()
        .filter_map(|cell| cell.effective.path.as_deref());
    if let Some(path) = paths.find(other_way) {
        wrong.push(format!(
            "the factor 'path' selects the way to the server: {}, not {path}",
            WAYS.join(", ")
        ));
    }
    let proxies = |cell: &Cell| proxy(&cell.effective.server);
    if let Some(Err(why)) = cells.iter().filter_map(proxies).find(Result::is_err) {
        wrong.push(why.to_string());
    }
    let no_proxy = |cell: &&Cell| {
        let server = &cell.effective.server;
        cell.effective.path.as_deref() == Some("proxy")
            && (server.proxy.is_none() || server.url.is_some())
    };
    if cells.iter().any(|cell| no_proxy(&cell)) {
        wrong.push(
            "the factor 'path' uses a proxy: a [server] that Dyno starts needs proxy = { kind = \
             \"haproxy\" }"
                .to_owned(),
        );
    }
    wrong
}

/// Whether a statement changes only its own session.
fn is_of_session(sql: &str) -> bool {
    let words: Vec<String> = sql.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["set", "session" | "local", ..] => true,
        ["set", second, ..] => second.starts_with("@@session.") || second.starts_with("@@local."),
        _ => false,
    }
}

/// Parts of the grammar that this version does not support.
pub(crate) fn unsupported(experiment: &Experiment) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut say = |what: &str| wrong.push(format!("{what}: not supported in this version"));
    if !experiment.probes.is_empty() {
        say("[[probe]]");
    }
    if !experiment.disturbances.is_empty() {
        say("[[disturb]]");
    }
    if let Some(why) = experiment
        .search
        .as_ref()
        .and_then(|search| promise::parse(search.get_ref()).err())
    {
        return vec![why];
    }
    let cells = experiment.cells();
    let any = |has: &dyn Fn(&Cell) -> bool| cells.iter().any(has);
    let many = |cell: &Cell| {
        let server = &cell.effective.server;
        server.nodes.is_some_and(|nodes| nodes > 1)
            || !matches!(server.topology, None | Some(Topology::Single))
    };
    if any(&many) {
        say("a topology of several nodes");
    }
    wrong.extend(duets::unsupported(experiment));
    wrong.extend(ways(&cells));
    wrong.extend(other_mistakes(&cells));
    let statements = cells.iter().flat_map(|cell| &cell.effective.sql);
    if let Some(sql) = statements.into_iter().find(|sql| is_of_session(sql)) {
        wrong.push(format!(
            "'{sql}' affects only its own session, not those of the load; use SET GLOBAL, ALTER \
             SYSTEM, or a level's `set`"
        ));
    }
    if experiment.design.precision.is_some() && experiment.precision().is_none() {
        wrong.push("precision is a share, such as 0.01 or \"1 %\"".to_owned());
    }
    for claim in &experiment.claims {
        for key in dyno_lab::not_judged(&claim.check) {
            wrong.push(format!(
                "the claim '{}': '{key}' is not judged by this version",
                claim.text.get_ref()
            ));
        }
    }
    if any(&|cell| cell.effective.load.workload.is_none()) {
        wrong.push("[load] names no workload".to_owned());
    }
    wrong
}

/// A setting of a cell that belongs to the data directory and differs from its image's.
pub fn of_data<'a>(
    experiment: &Experiment,
    cell: &'a Cell,
    kind: Option<&Kind>,
) -> Option<&'a String> {
    let kind = kind?;
    let image = experiment.image_of(cell);
    let own = &cell.effective.server.set;
    let mut other = own
        .iter()
        .filter(|(name, value)| image.server.set.get(*name) != Some(*value));
    other
        .find(|(name, _)| kind.is_of_data(name))
        .map(|(name, _)| name)
}
