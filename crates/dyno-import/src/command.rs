//! Workload and target according to the command line in a log.

use dyno_core::db::Family;
use dyno_core::plan::{OptionValue, RandKind, RandPlan};
use dyno_core::summary::{TargetSummary, WorkloadSummary};

use crate::sysbench::head::{self, option};
use crate::sysbench::model::Draft;

/// Options of sysbench itself and of its drivers, which do not belong to the workload.
const GENERAL: [&str; 20] = [
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
    "verbosity",
    "percentile",
    "histogram",
    "test",
    "config-file",
];
/// Options whose values are recorded elsewhere: in the distribution.
const READ_ELSEWHERE: &str = "rand-";
const OF_TARGET: [&str; 6] = ["host", "port", "socket", "user", "password", "db"];

/// The workload; without a name if the log has none.
pub(crate) fn workload(draft: &Draft) -> WorkloadSummary {
    let options: Vec<(String, OptionValue)> = draft
        .argv
        .iter()
        .filter_map(|word| own_option(word, draft))
        .collect();
    WorkloadSummary {
        name: name(draft),
        command: "run".to_owned(),
        changed: options.iter().map(|(name, _)| name.clone()).collect(),
        options,
    }
}

fn own_option(word: &str, draft: &Draft) -> Option<(String, OptionValue)> {
    let word = word.strip_prefix("--")?;
    let (name, value) = word.split_once('=').unwrap_or((word, "on"));
    let dashed = name.replace('_', "-");
    let of_target = ["mysql-", "pgsql-"].iter().any(|driver| {
        let rest = dashed.strip_prefix(driver);
        rest.is_some_and(|rest| OF_TARGET.contains(&rest))
    });
    let known = match dashed.as_str() {
        "rand-type" => rand(draft).is_some(),
        "db-driver" => family(&draft.argv).is_some(),
        // The same as the default.
        "db-ps-mode" => value == "auto",
        "validate" => ["off", "false", "0"].contains(&value),
        other => other.starts_with(READ_ELSEWHERE),
    };
    if GENERAL.contains(&dashed.as_str()) || of_target || known || name.is_empty() {
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

/// The target. Fields missing in the log stay empty; it never contains the server's product and
/// version.
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
    // With MySQL's client library, localhost is a socket, whatever the port.
    if host.is_empty() && !port.is_empty() && family == Family::Postgres {
        host.push_str("localhost");
    }
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

/// Fills in what the command line shows and the head of the output does not.
pub(crate) fn complete(draft: &mut Draft) {
    let figure = |names: &[&str]| {
        let figure = option(&draft.argv, names)?.parse::<f64>().ok();
        figure.filter(|figure| figure.is_finite() && *figure > 0.0)
    };
    let rate = figure(&["rate", "tx-rate"]);
    let seed = option(&draft.argv, &["rand-seed"]).and_then(|seed| seed.parse().ok());
    draft.rate_per_s = draft.rate_per_s.or(rate);
    draft.seed = draft.seed.or(seed.filter(|seed| *seed > 0));
}

/// Whether a file may set options that the command line does not show.
pub(crate) fn may_set_more(argv: &[String]) -> bool {
    option(argv, &["config-file"]).is_some()
}

/// Whether the command line shows the limits of time and events. Few files limit the events.
pub(crate) fn shows_limits(argv: &[String]) -> bool {
    let is_typed = option(argv, &["time", "max-time"]).is_some();
    !argv.is_empty() && (is_typed || !may_set_more(argv))
}

/// sysbench's own workloads that draw keys with the distribution of `--rand-type`: the Lua scripts
/// of version 1.0 (`src/lua`), and those of 0.4 and 0.5.
const DRAWING: [&str; 17] = [
    "oltp",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "oltp_simple",
    "select_random_points",
    "select_random_ranges",
    "insert",
    "select",
    "delete",
    "update_index",
    "update_non_index",
];
/// sysbench's own workloads without keys, or with keys in sequence.
const WITHOUT_KEYS: [&str; 6] = ["cpu", "fileio", "memory", "mutex", "threads", "bulk_insert"];
/// sysbench-tpcc calls its own generators, so `--rand-type` has no effect on it.
const OWN_KEYS: &str = "tpcc";

/// The workload's name, according to the command line or the output; empty if neither has it.
fn name(draft: &Draft) -> String {
    let name = head::workload(&draft.argv);
    name.or(draft.kind.map(str::to_owned)).unwrap_or_default()
}

/// Whether the workload draws no keys.
pub(crate) fn draws_no_keys(draft: &Draft) -> bool {
    WITHOUT_KEYS.contains(&name(draft).as_str())
}

/// The distribution of keys, from the command line (explicit, or the version's default) or the head
/// of the output. `None` if neither shows it, or the workload draws no keys. The default does not
/// apply to scripts other than sysbench's own.
pub(crate) fn rand(draft: &Draft) -> Option<RandPlan> {
    let name = name(draft);
    if WITHOUT_KEYS.contains(&name.as_str()) || name == OWN_KEYS {
        return None;
    }
    if draft.argv.is_empty() {
        return draft.rand.clone();
    }
    let has_default = DRAWING.contains(&name.as_str()) && !may_set_more(&draft.argv);
    let typed = option(&draft.argv, &["rand-type", "oltp-dist-type"]);
    let version = draft.version.as_deref().unwrap_or("");
    let kind = match typed {
        Some("uniform") => RandKind::Uniform,
        Some("gaussian") => RandKind::Gaussian,
        Some("special") => RandKind::Special,
        Some("pareto") => RandKind::Pareto,
        Some("zipfian") => RandKind::Zipfian,
        None if draft.rand.is_some() => return draft.rand.clone(),
        None if !has_default => return None,
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
    fn a_command_line_names_workload_and_target() {
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
    fn options_of_drivers_belong_to_the_run() {
        let options = |line: &str| -> Vec<String> {
            let workload = workload(&draft(line, "1.0.20"));
            workload
                .options
                .iter()
                .map(|(name, value)| format!("{name}={value:?}"))
                .collect()
        };
        let line = "sysbench x --mysql-host=a --mysql-password=b --db-driver=mysql --rand-seed=7 \
                    --mysql-storage-engine=rocksdb --db-ps-mode=disable --rand-type=zipfian \
                    --mysql-ssl=REQUIRED run";
        assert_eq!(
            options(line),
            [
                r#"mysql_storage_engine=Text("rocksdb")"#,
                r#"db_ps_mode=Text("disable")"#,
                r#"mysql_ssl=Text("REQUIRED")"#,
            ]
        );
        // They change the load, or what it costs the client.
        assert_eq!(
            options("sysbench fileio --validate --luajit-cmd=off --histogram=on run"),
            ["validate=Bool(true)", "luajit_cmd=Bool(false)"]
        );
        assert!(options("sysbench x --validate=off --thread-stack-size=1M run").is_empty());
        // Options without another field.
        assert_eq!(
            options("sysbench x --db-driver=drizzle --rand-type=odd --db-ps-mode=auto run"),
            [r#"db_driver=Text("drizzle")"#, r#"rand_type=Text("odd")"#]
        );
    }

    #[test]
    fn keys_are_known_if_the_workload_draws_them() {
        let kind = |line: &str| rand(&draft(line, "1.0.20")).map(|rand| rand.kind);
        let special = Some(RandKind::Special);
        for (line, expected) in [
            ("sysbench oltp_insert --threads=4 run", special),
            (
                "sysbench /usr/share/sysbench/oltp_delete.lua --time=9 run",
                special,
            ),
            (
                "sysbench ./own.lua --rand-type=special --threads=4 run",
                special,
            ),
            ("sysbench ./own.lua --threads=4 run", None),
            ("sysbench oltp_delete --config-file=x --threads=4 run", None),
            ("sysbench bulk_insert --threads=4 run", None),
            ("sysbench cpu --rand-type=special --threads=4 run", None),
            ("./tpcc.lua --rand-type=special --threads=4 run", None),
        ] {
            assert_eq!(kind(line), expected, "{line}");
        }
        assert!(draws_no_keys(&draft(
            "sysbench cpu --threads=4 run",
            "1.0.20"
        )));
        assert!(!draws_no_keys(&draft(
            "./tpcc.lua --threads=4 run",
            "1.0.20"
        )));
    }

    #[test]
    fn the_command_line_gives_the_rate() {
        let mut open = draft("sysbench x --rate=100 --rand-seed=5 run", "1.0.20");
        complete(&mut open);
        assert_eq!((open.rate_per_s, open.seed), (Some(100.0), Some(5)));
        let mut closed = draft("sysbench x --rate=0 run", "1.0.20");
        complete(&mut closed);
        assert_eq!(closed.rate_per_s, None);
    }

    #[test]
    fn does_not_invent_missing_options() {
        let bare = Draft::default();
        assert_eq!(workload(&bare).known(), None);
        assert_eq!(target(&bare.argv).url, "");
        assert_eq!(rand(&bare), None);
        let local = draft("sysbench oltp --db-driver=pgsql --pgsql-db=a run", "1.1.0");
        assert_eq!(target(&local.argv).url, "postgres:///a");
        let port = draft("sysbench x --pgsql-port=5433 --pgsql-db=a run", "1.1.0");
        assert_eq!(target(&port.argv).url, "postgres://localhost:5433/a");
        assert_eq!(rand(&local).unwrap().kind, RandKind::Uniform);
    }
}
