//! Differences between two sides other than their figures.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::catalogue::names;
use dyno_core::plan::{Drive, LoadSchedule, OptionValue};

use crate::compare::{CompareOptions, Difference, moved, tables};
use crate::server::{Promise, decides, is_servers_own};
use crate::text;
use crate::view::View;

/// The description of one run: names and values.
pub(super) type Description = BTreeMap<String, String>;

const CLASS: &str = "durability class";
const SESSIONS: &str = "sessions";
const WORKERS: &str = "workers";
/// The prefix of the user's factors.
const FACTOR: &str = "factor ";
/// Names that users give to the number of sessions.
const SESSIONS_NAMES: [&str; 9] = [
    SESSIONS,
    "threads",
    "thds",
    "clients",
    "connections",
    "users",
    "vus",
    "terminals",
    "concurrency",
];

/// Names that differ whenever the second one does, which is more informative.
const FOLLOWING: [(&str, &str); 6] = [
    (names::SERVER_BUILD_ID, names::SERVER_VERSION),
    (names::HOST_FILESYSTEM_TYPE, names::DATA_FILESYSTEM_TYPE),
    (names::DATA_FILESYSTEM_OPTIONS, names::DATA_FILESYSTEM_TYPE),
    (names::DATA_FILESYSTEM_DEVICE, names::DATA_FILESYSTEM_TYPE),
    (names::DATA_DISK, names::DATA_FILESYSTEM_TYPE),
    (names::DATA_DISK, names::DATA_FILESYSTEM_DEVICE),
];

/// Names known only from the plan, which runs of old versions lack.
pub(super) const OF_PLAN: [&str; 3] = ["statements", "ignored errors", "lost connections"];

/// Names that not every log shows.
pub(super) const OF_COMMAND: [&str; 6] = [
    "key distribution",
    "pareto h",
    "zipfian exponent",
    "special hot part",
    "rate",
    "arrivals",
];

/// The prefix of a workload's facts about its rows.
const DATASET: &str = "workload.dataset.";
/// The fact that represents all of them.
const FINGERPRINT: &str = "workload.dataset.fingerprint";

pub(super) fn differences(
    base_views: &[View],
    new_views: &[View],
    options: &CompareOptions,
) -> Vec<Difference> {
    let (base, new) = (side(base_views), side(new_views));
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let absent = BTreeSet::new();
    let mut found = Vec::new();
    for what in names {
        let values = (
            base.get(what).unwrap_or(&absent),
            new.get(what).unwrap_or(&absent),
        );
        // A value known on only one side is not a difference: logs record few facts.
        let observed = !values.0.is_empty() && !values.1.is_empty();
        if values.0 != values.1 && (observed || differs_by_absence(what)) {
            found.push(Difference {
                intended: intended(what, options),
                what: what.clone(),
                base: joined(values.0),
                new: joined(values.1),
                unrecorded: is_unrecorded(base_views, values.0)
                    || is_unrecorded(new_views, values.1),
            });
        }
    }
    found.extend(factors(base_views, new_views));
    one_dataset(&mut found, options);
    let of_tables = tables::differences(base_views, new_views).into_iter();
    let others = of_tables.chain(moved::differences(base_views, new_views));
    found.extend(others.map(|difference| Difference {
        intended: intended(&difference.what, options),
        ..difference
    }));
    // A setting that both sides have is more informative than the class that follows from it.
    // Servers of two families have no common settings. The file system decides the cost of a host
    // crash.
    let decided = |what: &str| {
        let setting = what.strip_prefix("setting ");
        setting.is_some_and(decides) || tables::decides(what) || what == names::DATA_FILESYSTEM_TYPE
    };
    if found.iter().any(|difference| decided(&difference.what)) {
        found.retain(|difference| difference.what != CLASS);
    }
    for (what, leader) in FOLLOWING {
        if found.iter().any(|difference| difference.what == leader) {
            found.retain(|difference| difference.what != what);
        }
    }
    let differs = found.iter().any(|difference| difference.what == SESSIONS);
    if differs && workers_follow(base_views, new_views) {
        found.retain(|difference| difference.what != WORKERS);
    }
    one_number_of_sessions(&mut found);
    found
}

/// Merges the number of sessions with the user's factor for it, which logs have from the names of
/// their folders.
fn one_number_of_sessions(found: &mut Vec<Difference>) {
    let Some(at) = found
        .iter()
        .position(|difference| difference.what == SESSIONS)
    else {
        return;
    };
    let sessions = found[at].clone();
    let is_same = |difference: &Difference| {
        let named = |factor: &str| {
            SESSIONS_NAMES
                .iter()
                .any(|own| factor.eq_ignore_ascii_case(own))
        };
        difference.what.strip_prefix(FACTOR).is_some_and(named)
            && (&difference.base, &difference.new) == (&sessions.base, &sessions.new)
    };
    let Some(factor) = found.iter().find(|difference| is_same(difference)) else {
        return;
    };
    let what = match factor.what.strip_prefix(FACTOR) {
        Some(SESSIONS) => SESSIONS.to_owned(),
        _ => format!("{SESSIONS}, {}", factor.what),
    };
    (found[at].what, found[at].intended) = (what, true);
    found.retain(|difference| !is_same(difference));
}

/// Whether the numbers of workers follow from the numbers of sessions: a session never has two
/// workers, so a run with fewer sessions than workers has one for each session.
fn workers_follow(base: &[View], new: &[View]) -> bool {
    let drives = base.iter().chain(new).map(View::drive);
    let Some(drives) = drives.collect::<Option<Vec<&Drive>>>() else {
        return false;
    };
    let most = drives.iter().map(|drive| drive.workers).max().unwrap_or(0);
    let mut drives = drives.into_iter();
    drives.all(|drive| drive.workers == drive.sessions.min(most))
}

/// The factors that the user varied between the sides, always intended.
fn factors(base_views: &[View], new_views: &[View]) -> Vec<Difference> {
    let levels = |views: &[View]| {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, level) in views.iter().flat_map(|view| &view.run.head.factors) {
            all.entry(name.clone()).or_default().insert(level.clone());
        }
        all
    };
    let (base, new) = (levels(base_views), levels(new_views));
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let absent = BTreeSet::new();
    let values = names.into_iter().map(|name| {
        let base = base.get(name).unwrap_or(&absent);
        (name, base, new.get(name).unwrap_or(&absent))
    });
    let differ = values.filter(|(_, base, new)| base != new);
    differ
        .map(|(name, base, new)| Difference {
            what: format!("{FACTOR}{name}"),
            base: joined(base),
            new: joined(new),
            intended: true,
            unrecorded: is_unrecorded(base_views, base) || is_unrecorded(new_views, new),
        })
        .collect()
}

/// Whether the values of a side are missing because a log does not show them.
fn is_unrecorded(views: &[View], values: &BTreeSet<String>) -> bool {
    values.is_empty() && views.iter().any(View::imported)
}

/// The names of the factors in which these sides differ, and of the settings that these change:
/// differences with these names are intended.
pub(super) fn varied(base: &[View], new: &[View]) -> Vec<String> {
    let found = factors(base, new).into_iter();
    let names = found.filter_map(|one| Some(one.what.strip_prefix(FACTOR)?.to_owned()));
    let mut names: Vec<String> = names.collect();
    if !names.is_empty() {
        let plans = base
            .iter()
            .chain(new)
            .filter_map(|view| view.run.head.plan.as_ref());
        names.extend(plans.flat_map(|plan| plan.record.varied.iter().cloned()));
    }
    names
}

/// The requested load of a run: options, sessions, pace, keys; not its duration.
pub(super) fn plan(view: &View) -> Description {
    const LENGTHS: [&str; 4] = ["time", "events", "warm-up", "ramp-up"];
    let mut asked = Description::new();
    for (name, value) in &view.run.head.workload.options {
        asked.insert(format!("option {name}"), option(value));
    }
    let mut add = |what: &str, value: String| {
        if !LENGTHS.contains(&what) {
            asked.insert(what.to_owned(), value);
        }
    };
    drive(view, &mut add);
    asked
}

/// Combines all differences of a dataset into one, that of its fingerprint.
fn one_dataset(found: &mut Vec<Difference>, options: &CompareOptions) {
    let is_part = |difference: &Difference| {
        difference.what.starts_with(DATASET) && difference.what != FINGERPRINT
    };
    let parts: Vec<Difference> = found.iter().filter(|d| is_part(d)).cloned().collect();
    let Some(whole) = found.iter_mut().find(|d| d.what == FINGERPRINT) else {
        return;
    };
    whole.intended |= parts.iter().any(|part| intended(&part.what, options));
    for part in &parts {
        let name = part.what.strip_prefix(DATASET).unwrap_or(&part.what);
        whole.base += &format!(", {name} {}", part.base);
        whole.new += &format!(", {name} {}", part.new);
    }
    found.retain(|difference| !is_part(difference));
}

pub(super) fn side(views: &[View]) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for view in views {
        for (what, value) in describe(view) {
            all.entry(what).or_default().insert(value);
        }
    }
    all
}

pub(super) fn joined(values: &BTreeSet<String>) -> String {
    match values.is_empty() {
        true => "(not there)".to_owned(),
        false => values.iter().cloned().collect::<Vec<_>>().join(" | "),
    }
}

/// Whether a missing value is a difference: options that are not given are missing.
fn differs_by_absence(what: &str) -> bool {
    what.starts_with("option ")
}

fn intended(what: &str, options: &CompareOptions) -> bool {
    let last = what.rsplit(' ').next().unwrap_or(what);
    let names = options.intended.iter().map(|name| name.trim());
    let all_tables =
        |name: &str| what.starts_with(tables::TABLE) && name.eq_ignore_ascii_case("tables");
    let begins = |what: &str, name: &str| {
        let beginning = what.get(..name.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(name))
    };
    names
        .filter(|name| !name.is_empty())
        .any(|name| begins(what, name) || begins(last, name) || all_tables(name))
}

fn describe(view: &View) -> Description {
    let mut seen = Description::new();
    let run = view.run;
    let mut add = |what: &str, value: String| {
        if !value.is_empty() {
            seen.insert(what.to_owned(), value);
        }
    };
    add("tool", run.head.tool.clone());
    add("script", run.head.script_sha256.clone());
    add("workload", run.head.workload.name.clone());
    let target = view
        .summary()
        .map_or(&run.head.target, |summary| &summary.target);
    let planned = run.head.plan.as_ref().and_then(|plan| plan.target.as_ref());
    match planned.is_some_and(|target| target.temporary) {
        // Its file has a different name in each run.
        true => add("target", "a temporary database".to_owned()),
        false => add("target", without_credentials(&target.url)),
    }
    add(
        "server",
        format!("{} {}", target.product, target.version)
            .trim()
            .to_owned(),
    );
    if !view.imported() {
        let tls = target.tls.clone();
        add("tls", tls.unwrap_or_else(|| "none".to_owned()));
    }
    for (name, value) in &run.head.workload.options {
        add(&format!("option {name}"), option(value));
    }
    drive(view, &mut add);
    if let Some(class) = Promise::known_class(view) {
        add(CLASS, class.name().to_owned());
    }
    for fact in &run.facts {
        if !MOVING_FACTS
            .iter()
            .any(|moving| fact.name.starts_with(moving))
        {
            add(&fact.name, fact.value.clone());
        }
    }
    for setting in &run.settings {
        let name = setting.name.to_ascii_lowercase();
        let kept = !is_servers_own(&name) && !PLACES.contains(&name.as_str());
        if let Some(value) = setting.start.as_ref().filter(|_| kept) {
            add(&format!("setting {}", setting.name), value.clone());
        }
    }
    seen
}

fn drive(view: &View, add: &mut impl FnMut(&str, String)) {
    if let Some(plan) = &view.run.head.plan {
        let driver = &plan.driver;
        let prepared = match driver.prepare_on_server {
            true => "prepared on the server",
            false => "with their values in the text",
        };
        add(OF_PLAN[0], prepared.to_owned());
        let ignored = match driver.ignored_errors.as_slice() {
            [] => "none".to_owned(),
            codes => codes.join(","),
        };
        add(OF_PLAN[1], ignored);
        let lost = match driver.reconnect_lost_connections {
            true => "made again",
            false => "end the run",
        };
        add(OF_PLAN[2], lost.to_owned());
    }
    keys(view, add);
    let Some(drive) = view.drive() else { return };
    let sessions = drive.session_schedule().map(LoadSchedule::to_string);
    add(
        SESSIONS,
        sessions.unwrap_or_else(|| drive.sessions.to_string()),
    );
    if !view.imported() {
        limits(drive, add);
    }
    if let Some(open) = drive.open_loop {
        let rate = drive.rate_schedule().map(LoadSchedule::to_string);
        add("rate", rate.unwrap_or_else(|| text::plain(open.per_second)));
        add(
            "arrivals",
            format!("{:?}", open.arrivals).to_ascii_lowercase(),
        );
    }
}

fn limits(drive: &Drive, add: &mut impl FnMut(&str, String)) {
    let seconds = |time: std::time::Duration| text::seconds(time.as_secs_f64());
    add(WORKERS, drive.workers.to_string());
    add(
        "time",
        drive
            .time
            .map_or_else(|| "without limit".to_owned(), seconds),
    );
    let events = drive.events.map(|events| events.to_string());
    add(
        "events",
        events.unwrap_or_else(|| "without limit".to_owned()),
    );
    add("warm-up", seconds(drive.warmup));
    add("ramp-up", seconds(drive.ramp_up));
}

fn keys(view: &View, add: &mut impl FnMut(&str, String)) {
    if let Some(rand) = view.summary().and_then(|summary| summary.rand.as_ref()) {
        add(
            "key distribution",
            format!("{:?}", rand.kind).to_ascii_lowercase(),
        );
        add("pareto h", rand.pareto_h.to_string());
        add("zipfian exponent", rand.zipfian_exp.to_string());
        add(
            "special hot part",
            format!("{} % gets {} %", rand.spec_pct, rand.spec_res),
        );
    }
}

fn option(value: &OptionValue) -> String {
    match value {
        OptionValue::Bool(on) => on.to_string(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
        OptionValue::List(items) => items.join(","),
    }
}

/// Facts that differ in every run.
const MOVING_FACTS: [&str; 27] = [
    "duet.",
    names::FLEET_RUN,
    names::FLEET_COLLECTED,
    names::HOST_OTHERS_TOP,
    names::HOST_BOOT_ID,
    names::CLIENT_PID,
    names::CLIENT_OBSERVER_CPUS,
    "client.statements.",
    names::CLIENT_VERSION,
    names::SERVER_PID,
    names::SERVER_PRESUMED,
    names::SERVER_PROXY,
    names::SERVER_UPTIME_S,
    names::SERVER_STATEMENTS,
    names::SERVER_COMMITS,
    names::SERVER_START_TIME,
    names::SERVER_THREADS_CONNECTED,
    "import.",
    "observer.",
    "profile.",
    "calibration.",
    "run.",
    "search.",
    // Facts about tables are compared by their parts.
    names::DB_TABLE,
    names::DB_FILE_CHANGED,
    names::CLIENT_SESSIONS,
    names::CLIENT_TLS,
];

/// Settings that say where a server is, not how it behaves.
const PLACES: [&str; 22] = [
    "hostname",
    "port",
    "socket",
    "pid_file",
    "datadir",
    "data_directory",
    "tmpdir",
    "slave_load_tmpdir",
    "replica_load_tmpdir",
    "basedir",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
    "unix_socket_directories",
    "server_id",
    "server_uuid",
    "server_uid",
    "general_log_file",
    "slow_query_log_file",
    "log_error",
    "mysqlx_socket",
];

/// A URL without the source of its password, which does not affect the measurement.
fn without_credentials(url: &str) -> String {
    let Some((base, parameters)) = url.split_once('?') else {
        return url.to_owned();
    };
    let own = |one: &&str| !one.starts_with("password");
    let left: Vec<&str> = parameters.split('&').filter(own).collect();
    match left.is_empty() {
        true => base.to_owned(),
        false => format!("{base}?{}", left.join("&")),
    }
}
