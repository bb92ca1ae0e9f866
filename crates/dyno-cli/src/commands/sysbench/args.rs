//! sysbench's options and their meaning.

use std::time::Duration;

use anyhow::{Result, anyhow};
use dyno_conduct::target::hide_password;
use dyno_core::Target;
use dyno_core::db::{ErrorKind, Family};
use dyno_core::plan::{Arrivals, Drive, LoadSchedule, OpenLoop, OptionValue, RandPlan};
use dyno_core::secret::Secret;
use dyno_core::target::TlsMode;
use dyno_core::units;
use dyno_load::SESSIONS_MAX;
use dyno_report::sysbench::Edition;

use super::exported::exported;
use super::legacy;
use super::output;
use super::{BareError, CommandLineError};
use crate::input;
use crate::options::Parsed;
use crate::settings::{self, usage};
use dyno_run::Workload;
use dyno_run::{CALL_TIMEOUT, Job, Prints};

/// Dyno's name where sysbench prints its own name and version.
const VERSION: &str = concat!("sysbench 1.1.0-dyno-", env!("CARGO_PKG_VERSION"));

/// The version for `--report-style`: programs that read reports of a version may accept only a
/// hexadecimal revision as a suffix.
pub(super) fn version(parsed: &Parsed) -> Result<&'static str> {
    let edition = edition(parsed)?;
    Ok(match (parsed.has("report-style"), edition) {
        (false, _) => VERSION,
        (true, Edition::Release) => "sysbench 1.0.20",
        (true, Edition::Master) => "sysbench 1.1.0",
    })
}

/// Default timeout for events in flight at the time limit, without `--forced-shutdown`: sysbench
/// waits forever, so a hung server would hang the run.
const GRACE: Duration = Duration::from_secs(30);

/// The meaning of a sysbench command line.
pub(super) struct Settings {
    /// The command line without its secrets.
    argv: Vec<String>,
    command: Option<String>,
    target: Option<Target>, // `None` if the driver is unknown: fails only scripts that connect
    /// How the run is driven.
    pub drive: Drive,
    /// The requested number of workers.
    workers: Option<u32>,
    /// The requested seed.
    pub seed: Option<u64>,
    rand: RandPlan,
    /// 0 for none.
    pub percentile: u32,
    /// `--histogram`.
    pub histogram: bool,
    /// Seconds between intermediate reports; 0 for none.
    pub report_interval_s: u64,
    /// When cumulative reports are due.
    pub checkpoints_s: Vec<u32>,
    /// `--debug`.
    pub debug: bool,
    /// `--validate`.
    pub validate: bool,
    /// `--verbosity`.
    pub verbosity: u64,
    /// Seconds from the start to a forced shutdown.
    pub forced_shutdown_s: Option<u64>,
    version: &'static str,
    /// The version that sets the format of the general block.
    pub edition: Edition,
    ignored_errors: Vec<String>,
    emulate_prepared: bool,
    luajit_cmd: Option<String>,
    exported: Vec<(String, OptionValue)>,
}

impl Settings {
    /// Reads the options that do not depend on the script.
    ///
    /// # Errors
    /// Invalid values.
    pub(super) fn new(args: &[String], parsed: &Parsed, command: Option<&str>) -> Result<Self> {
        let driver = driver(parsed);
        let drive = drive(parsed)?;
        let forced_shutdown_s = forced_shutdown(parsed, &drive)?;
        let mut drive = drive;
        drive.grace = match (forced_shutdown_s, drive.time) {
            (Some(at_s), Some(time)) => Duration::from_secs(at_s).saturating_sub(time),
            _ => GRACE,
        };
        let below = |text: &str| text.parse::<i64>().is_ok_and(|number| number < 0);
        if let Some(text) = parsed.value("percentile").filter(|text| below(text)) {
            return Err(usage(format!("Invalid value for --percentile: {text}")));
        }
        let percentile = count(parsed, "percentile", 95)?;
        let histogram = settings::switch(parsed, "histogram")?;
        if percentile > 100 {
            return Err(usage(format!(
                "Invalid value for --percentile: {percentile}"
            )));
        }
        if histogram && percentile == 0 {
            return Err(anyhow!("--histogram cannot be used with --percentile=0"));
        }
        let debug = settings::switch(parsed, "debug")?;
        let target = driver.map(|driver| target(parsed, driver)).transpose()?;
        legacy::warn_of_options_without_effect(parsed);
        let mut exported = exported(parsed);
        if let Some((_, name)) = exported.iter_mut().find(|(name, _)| name == "db_driver") {
            let typed = parsed.value("db-driver").unwrap_or_default();
            *name = OptionValue::Text(driver.unwrap_or(typed).to_owned());
        }
        let seed = count(parsed, "rand-seed", 0)?;
        Ok(Self {
            argv: dyno_core::redact::argv(args),
            command: command.map(str::to_owned),
            seed: (seed != 0).then_some(seed),
            rand: rand_plan(parsed)?,
            percentile: percentile as u32,
            histogram,
            report_interval_s: count(parsed, "report-interval", 0)?,
            checkpoints_s: checkpoints(parsed)?,
            debug,
            validate: settings::switch(parsed, "validate")?,
            verbosity: verbosity(parsed, debug)?,
            forced_shutdown_s,
            version: version(parsed)?,
            edition: edition(parsed)?,
            ignored_errors: ignored_errors(parsed, target.as_ref()),
            emulate_prepared: match parsed.value("db-ps-mode") {
                None | Some("auto") => false,
                Some("disable") => true,
                Some(other) => {
                    return Err(usage(format!("Invalid value for db-ps-mode: {other}")));
                }
            },
            luajit_cmd: parsed.value("luajit-cmd").map(str::to_owned),
            target,
            drive,
            workers: settings::workers(parsed)?,
            exported,
        })
    }

    /// The job, without the script's own options.
    pub(super) fn job(&self, work: Workload) -> Job {
        Job {
            argv: self.argv.clone(),
            command: self.command.clone(),
            options: Vec::new(),
            // A test of the host has no database.
            target: work.script().and(self.target.clone()),
            work,
            drive: self.drive.clone(),
            workers: self.workers,
            rand: self.rand.clone(),
            percentile: f64::from(self.percentile),
            ignored_errors: self.ignored_errors.clone(),
            reconnect_lost: true,
            call_timeout: CALL_TIMEOUT,
            emulate_prepared: self.emulate_prepared,
            luajit_cmd: self.luajit_cmd.clone(),
            canned: false,
            shapes: false,
            prints: Prints::Output,
            sysbench: true,
            log: output::script_message,
        }
    }

    /// The first line of all output.
    pub(super) fn banner(&self) -> String {
        format!("{} (using bundled LuaJIT 2.1)", self.version)
    }

    /// sysbench's own options as scripts see them. Passwords are not among them.
    pub(super) fn exported(&self) -> Vec<(String, OptionValue)> {
        self.exported.clone()
    }
}

fn verbosity(parsed: &Parsed, debug: bool) -> Result<u64> {
    match count(parsed, "verbosity", 3)? {
        level if level > output::DEBUG => Err(BareError::raise(format!(
            "Invalid value for verbosity: {level}"
        ))),
        _ if debug => Ok(output::DEBUG),
        level => Ok(level),
    }
}

fn edition(parsed: &Parsed) -> Result<Edition> {
    match parsed.value("report-style") {
        None | Some("1.0") => Ok(Edition::Release),
        Some("1.1") => Ok(Edition::Master),
        Some(other) => Err(usage(format!(
            "--report-style: '{other}' is neither 1.0 nor 1.1"
        ))),
    }
}

/// The errors to ignore: MySQL's own list is for MySQL only, and an empty list ignores none.
fn ignored_errors(parsed: &Parsed, target: Option<&Target>) -> Vec<String> {
    let family = target.map_or(Family::Mysql, |target| target.family);
    let own = parsed.value("mysql-ignore-errors");
    let own = own.filter(|_| family == Family::Mysql);
    match parsed.value("db-ignore-errors").or(own) {
        None => default_ignored_errors(family),
        Some(codes) => list(codes),
    }
}

/// sysbench's own lists: the default of `--mysql-ignore-errors`, and what its driver for PostgreSQL
/// ignores. It has no other driver.
fn default_ignored_errors(family: Family) -> Vec<String> {
    let listed: &[&str] = match family {
        Family::Mysql => &["1213", "1020", "1205"],
        Family::Postgres => &["40P01", "40001", "23505"],
        _ => &[ErrorKind::Conflict.name()],
    };
    listed.iter().map(|&entry| entry.to_owned()).collect()
}

/// The distributions; rejects an unknown one with sysbench's message.
fn rand_plan(parsed: &Parsed) -> Result<RandPlan> {
    let kind = parsed.value("rand-type").unwrap_or("uniform");
    for name in ["rand-spec-iter", "rand-spec-pct", "rand-spec-res"] {
        count(parsed, name, 0)?;
    }
    match ["uniform", "gaussian", "special", "pareto", "zipfian"].contains(&kind) {
        true => settings::rand_plan(parsed),
        false => Err(anyhow!("Invalid random numbers distribution: {kind}.")),
    }
}

/// A whole number, or sysbench's error message.
fn count(parsed: &Parsed, name: &str, otherwise: u64) -> Result<u64> {
    settings::count(parsed, name, otherwise).map_err(|_| no_value(parsed, name))
}

/// sysbench's error, with the option's name in scripts.
fn no_value(parsed: &Parsed, name: &str) -> anyhow::Error {
    let value = parsed.value(name).unwrap_or_default();
    let name = name.replace('-', "_");
    CommandLineError::raise(format!("Invalid value for the '{name}' option: '{value}'"))
}

/// The driver; `None` if it does not exist.
fn driver(parsed: &Parsed) -> Option<&'static str> {
    match parsed.value("db-driver").unwrap_or("mysql") {
        "mysql" | "mariadb" => Some("mysql"),
        "pgsql" | "postgres" | "postgresql" => Some("pgsql"),
        "sqlite" | "sqlite3" => Some("sqlite"),
        _ => None,
    }
}

fn drive(parsed: &Parsed) -> Result<Drive> {
    let signed = parsed
        .value("threads")
        .and_then(|text| text.parse::<i64>().ok());
    if let Some(threads) = signed.filter(|threads| *threads <= 0) {
        return Err(anyhow!("Invalid value for --threads: {threads}."));
    }
    let threads = count(parsed, "threads", 1)?;
    let possible = u32::try_from(threads).ok();
    let sessions = possible
        .filter(|threads| *threads <= SESSIONS_MAX)
        .ok_or_else(|| anyhow!("--threads: {threads} is too much; at most {SESSIONS_MAX}"))?;
    let seconds = |name: &str, otherwise: u64| {
        let found = settings::duration(parsed, name, Duration::from_secs(otherwise));
        found.map_err(|_| no_value(parsed, name))
    };
    let time = seconds("time", 10)?;
    let events = count(parsed, "events", 0)?;
    let rate = match parsed.value("rate") {
        None => 0.0,
        Some(text) if LoadSchedule::is_one(text) => {
            return Err(usage(format!(
                "--rate: sysbench takes one rate, and dyno run a schedule such as '{text}'"
            )));
        }
        Some(text) => units::parse_rate(text).map_err(|_| no_value(parsed, "rate"))?,
    };
    Ok(Drive {
        sessions,
        workers: settings::workers(parsed)?
            .unwrap_or_else(dyno_run::cores)
            .min(sessions),
        time: (!time.is_zero()).then_some(time),
        events: (events > 0).then_some(events),
        warmup: seconds("warmup-time", 0)?,
        open_loop: (rate > 0.0).then_some(OpenLoop::new(rate, Arrivals::Poisson)),
        init_timeout: seconds("thread-init-timeout", 30)?,
        seed: settings::seed(parsed, "rand-seed").map_err(|_| no_value(parsed, "rand-seed"))?,
        ..Drive::default()
    })
}

/// `off`, seconds after the time limit, a percentage of it, or nothing for 5 % of it.
fn forced_shutdown(parsed: &Parsed, drive: &Drive) -> Result<Option<u64>> {
    if !parsed.has("forced-shutdown") {
        return Ok(None);
    }
    let Some(time) = drive.time else {
        return Ok(None);
    };
    let time_s = time.as_secs();
    let more_s = match parsed.value("forced-shutdown") {
        Some("off") => return Ok(None),
        None | Some("") => time_s / 20,
        Some(text) => {
            let (digits, percent) = match text.strip_suffix('%') {
                Some(digits) => (digits, true),
                None => (text, false),
            };
            let number: u64 = digits
                .parse()
                .map_err(|_| usage(format!("Invalid value for --forced-shutdown: '{text}'")))?;
            if percent {
                time_s * number / 100
            } else {
                number
            }
        }
    };
    Ok(Some(time_s + more_s))
}

fn checkpoints(parsed: &Parsed) -> Result<Vec<u32>> {
    let mut points = Vec::new();
    for item in parsed.value("report-checkpoints").unwrap_or("").split(',') {
        if item.trim().is_empty() {
            continue;
        }
        let point = item.trim().parse::<u32>().ok().filter(|point| *point > 0);
        points.push(
            point.ok_or_else(|| {
                usage(format!("Invalid value for --report-checkpoints: '{item}'"))
            })?,
        );
    }
    points.sort_unstable();
    points.dedup();
    Ok(points)
}

fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// The target from the driver's options.
fn target(parsed: &Parsed, driver: &str) -> Result<Target> {
    if driver == "sqlite" {
        let file = parsed.value("sqlite-db").unwrap_or("sbtest.db");
        return Target::parse(&format!("sqlite:{file}")).map_err(|error| usage(error.to_string()));
    }
    if parsed
        .value("mysql-ssl-cipher")
        .is_some_and(|text| !text.is_empty())
    {
        return Err(usage(
            "--mysql-ssl-cipher is not supported: ciphers are chosen by the TLS library",
        ));
    }
    for refused in ["mysql-compression", "mysql-dry-run"] {
        if settings::switch(parsed, refused)? {
            return Err(usage(format!("--{refused} is not supported")));
        }
    }
    let value = |name: &str, otherwise: &str| {
        parsed
            .value(&format!("{driver}-{name}"))
            .unwrap_or(otherwise)
            .to_owned()
    };
    let scheme = if driver == "mysql" {
        "mysql"
    } else {
        "postgres"
    };
    let mut target =
        Target::parse(&format!("{scheme}://localhost/")).map_err(|e| usage(e.to_string()))?;
    target.user = value("user", "sbtest");
    target.database = value("db", "sbtest");
    let password = value("password", "");
    target.password = (!password.is_empty()).then(|| Secret::new(password));
    target.implied = Default::default();
    let port = if driver == "mysql" { "3306" } else { "5432" };
    target.endpoints = super::endpoints::endpoints(
        driver,
        &list(&value("host", "localhost")),
        &list(&value("port", port)),
        &list(&value("socket", "")),
        parsed.has(&format!("{driver}-port")),
    )?;
    target.tls.mode = tls_mode(parsed, driver)?;
    target.allow_cleartext_password = settings::switch(parsed, "allow-cleartext-password")?;
    if driver == "mysql" {
        let file = |name: &str| parsed.value(name).filter(|v| !v.is_empty()).map(Into::into);
        target.tls.ca = file("mysql-ssl-ca");
        target.tls.cert = file("mysql-ssl-cert");
        target.tls.key = file("mysql-ssl-key");
        // As in MySQL's clients, an authority implies verification of the certificate, unless the
        // user sets a mode.
        let switched = matches!(
            parsed.value("mysql-ssl"),
            None | Some("" | "on" | "1" | "true")
        );
        if target.tls.ca.is_some() && target.tls.mode == TlsMode::Require && switched {
            target.tls.mode = TlsMode::VerifyCa;
        }
        target.server_public_key = file("mysql-server-public-key");
    }
    hide_password(&target);
    Ok(target)
}

fn tls_mode(parsed: &Parsed, driver: &str) -> Result<TlsMode> {
    let name = if driver == "mysql" {
        "mysql-ssl"
    } else {
        "pgsql-sslmode"
    };
    if !parsed.has(name) {
        return Ok(if driver == "mysql" {
            TlsMode::Disable
        } else {
            TlsMode::Prefer
        });
    }
    match parsed
        .value(name)
        .unwrap_or("on")
        .to_lowercase()
        .replace('_', "-")
        .as_str()
    {
        "off" | "0" | "false" | "disabled" | "disable" => Ok(TlsMode::Disable),
        "allow" => Ok(TlsMode::Allow),
        "preferred" | "prefer" => Ok(TlsMode::Prefer),
        "" | "on" | "1" | "true" | "required" | "require" => Ok(TlsMode::Require),
        "verify-ca" => Ok(TlsMode::VerifyCa),
        "verify-identity" | "verify-full" => Ok(TlsMode::VerifyFull),
        other => Err(usage(format!("Invalid value for --{name}: '{other}'"))),
    }
}

/// A file of options is smaller.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Prepends the arguments of `--config-file`: `key=value` lines, `#` comments.
pub(super) fn with_config_file(args: &[String]) -> Result<Vec<String>> {
    let mut expanded = Vec::new();
    for arg in args {
        let normal = arg.replace('_', "-");
        if let Some(path) = normal.strip_prefix("--config-file=").map(|_| &arg[14..]) {
            let text = input::read_text(path, CONFIG_BYTES_MAX)
                .map_err(|error| usage(format!("cannot read the --config-file {path}: {error}")))?;
            for line in text.lines().map(str::trim) {
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                let (name, value) = line.split_once('=').unwrap_or((line, ""));
                let value = value.trim().trim_matches(['"', '\'']);
                expanded.push(format!("--{}={value}", name.trim()));
            }
        }
    }
    expanded.extend(args.iter().cloned());
    Ok(expanded)
}
