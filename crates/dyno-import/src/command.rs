//! What the command line in a log tells of the workload and the target.

use dyno_core::db::Family;
use dyno_core::plan::{OptionValue, RandKind, RandPlan};
use dyno_core::summary::{TargetSummary, WorkloadSummary};

use crate::sysbench::head::{self, option};
use crate::sysbench::model::Draft;

/// Options of sysbench itself and of its drivers: they do not belong to the workload.
const GENERAL: [&str; 21] = [
    "threads",
    "num-threads",
    "events",
    "max-requests",
    "time",
    "max-time",
    "warmup-time",
    "forced-shutdown",
    "thread-stack-size",
    "thread-init-timeout",
    "rate",
    "tx-rate",
    "report-interval",
    "report-checkpoints",
    "debug",
    "validate",
    "verbosity",
    "percentile",
    "histogram",
    "test",
    "config-file",
];
const FAMILIES: [&str; 5] = ["mysql-", "pgsql-", "rand-", "db-", "luajit-"];

/// What ran. Nameless if the log does not say.
pub(crate) fn workload(draft: &Draft) -> WorkloadSummary {
    let name = head::workload(&draft.argv);
    let name = name.or(draft.kind.map(str::to_owned));
    let options: Vec<(String, OptionValue)> = draft
        .argv
        .iter()
        .filter_map(|word| own_option(word))
        .collect();
    WorkloadSummary {
        name: name.unwrap_or_else(|| "unknown".to_owned()),
        command: "run".to_owned(),
        changed: options.iter().map(|(name, _)| name.clone()).collect(),
        options,
    }
}

fn own_option(word: &str) -> Option<(String, OptionValue)> {
    let word = word.strip_prefix("--")?;
    let (name, value) = word.split_once('=').unwrap_or((word, "on"));
    let dashed = name.replace('_', "-");
    let general = GENERAL.contains(&dashed.as_str())
        || FAMILIES.iter().any(|family| dashed.starts_with(family));
    if general || name.is_empty() {
        return None;
    }
    let value = match value {
        "on" | "true" => OptionValue::Bool(true),
        "off" | "false" => OptionValue::Bool(false),
        _ => match value.parse::<f64>() {
            Ok(number) if number.is_finite() => OptionValue::Number(number),
            _ => OptionValue::Text(value.to_owned()),
        },
    };
    Some((name.replace('-', "_"), value))
}

/// On what. Empty as far as the log does not say; the server's product and version it never says.
pub(crate) fn target(argv: &[String]) -> TargetSummary {
    let family = family(argv);
    TargetSummary {
        url: family.map(|family| url(argv, family)).unwrap_or_default(),
        family,
        ..TargetSummary::default()
    }
}

fn family(argv: &[String]) -> Option<Family> {
    let said = |prefix: &str| argv.iter().any(|word| word.starts_with(prefix));
    match option(argv, &["db-driver"]) {
        Some(name) => Family::of_driver_name(name).filter(|family| !family.is_embedded()),
        None if said("--pgsql") => Some(Family::Postgres),
        None if said("--mysql") => Some(Family::Mysql),
        None => None,
    }
}

fn url(argv: &[String], family: Family) -> String {
    let (scheme, driver) = (family.name(), family.driver_name());
    let part = |name: &str| option(argv, &[&format!("{driver}-{name}")]).unwrap_or("");
    let (user, db) = (part("user"), part("db"));
    let at = if user.is_empty() { "" } else { "@" };
    let (mut host, port) = (part("host").to_owned(), part("port"));
    if !port.is_empty() && !host.is_empty() {
        host = format!("{host}:{port}");
    }
    let socket = match part("socket") {
        "" => String::new(),
        path => format!("?socket={path}"),
    };
    let url = format!("{scheme}://{user}{at}{host}/{db}{socket}");
    dyno_core::redact::text(&url)
}

/// The distribution of keys, if the command line tells it: said, or the default of that version.
pub(crate) fn rand(draft: &Draft) -> Option<RandPlan> {
    if draft.argv.is_empty() {
        return None;
    }
    let typed = option(&draft.argv, &["rand-type", "oltp-dist-type"]);
    let version = draft.version.as_deref().unwrap_or("");
    let kind = match typed {
        Some("uniform") => RandKind::Uniform,
        Some("gaussian") => RandKind::Gaussian,
        Some("special") => RandKind::Special,
        Some("pareto") => RandKind::Pareto,
        Some("zipfian") => RandKind::Zipfian,
        None if version.starts_with("0.") || version.starts_with("1.0") => RandKind::Special,
        None if version.starts_with("1.1") => RandKind::Uniform,
        _ => return None,
    };
    let figure =
        |name: &str| option(&draft.argv, &[name]).and_then(|text| text.parse::<f64>().ok());
    let small = |name: &str, default: u32| match figure(name) {
        Some(value) if (0.0..=1e6).contains(&value) => value as u32,
        _ => default,
    };
    let shape = RandPlan::default();
    let share = |value: Option<f64>, default: f64| {
        value
            .filter(|v| v.is_finite() && *v >= 0.0)
            .unwrap_or(default)
    };
    Some(RandPlan {
        kind,
        pareto_h: share(figure("rand-pareto-h"), shape.pareto_h),
        zipfian_exp: share(figure("rand-zipfian-exp"), shape.zipfian_exp),
        spec_iter: small("rand-spec-iter", shape.spec_iter),
        spec_pct: small("rand-spec-pct", shape.spec_pct),
        spec_res: small("rand-spec-res", shape.spec_res),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(line: &str, version: &str) -> Draft {
        Draft {
            argv: head::command(line).unwrap(),
            version: Some(version.to_owned()),
            ..Draft::default()
        }
    }

    #[test]
    fn a_command_line_tells_workload_and_target() {
        let draft = draft(
            "sysbench oltp_read_only --tables=8 --skip_trx=on --mysql-host=db1 --mysql-port=3307 \
             --mysql-user=sb --mysql-password=p --mysql-db=sbtest --threads=4 run",
            "1.0.20",
        );
        let workload = workload(&draft);
        assert_eq!(workload.name, "oltp_read_only");
        assert_eq!(workload.changed, ["tables", "skip_trx"]);
        assert_eq!(workload.options[0].1, OptionValue::Number(8.0));
        assert_eq!(target(&draft.argv).url, "mysql://sb@db1:3307/sbtest");
        assert_eq!(rand(&draft).unwrap().kind, RandKind::Special);
    }

    #[test]
    fn what_is_not_said_is_not_invented() {
        let bare = Draft::default();
        assert_eq!(workload(&bare).name, "unknown");
        assert_eq!(target(&bare.argv).url, "");
        assert_eq!(rand(&bare), None);
        let local = draft("sysbench x --db-driver=pgsql --pgsql-db=a run", "1.1.0");
        assert_eq!(target(&local.argv).url, "postgres:///a");
        assert_eq!(rand(&local).unwrap().kind, RandKind::Uniform);
    }
}
