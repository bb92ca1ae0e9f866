//! The server's settings, by the names of its family.

use dyno_core::catalogue::names;
use dyno_core::finding::Finding;

use super::{Known, Rule};
use crate::server::Promise;

/// A smaller cache is a package's default, not a choice.
const CACHE_BYTES_MIN: f64 = 256.0 * 1024.0 * 1024.0;

/// The findings about a server.
pub fn server(known: &Known<'_>) -> Vec<Finding> {
    vec![
        build(known),
        same_host(known),
        cache(known),
        durability(known),
        statement_logs(known),
        others(known),
    ]
}

fn build(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "server-build",
        number: 36,
        rule: "The server is a release build without sanitizers.",
    };
    match known.fact(names::SERVER_BUILD) {
        Some(build) if build.contains("debug") || build.contains("sanitizer") => rule.refuse(
            format!("The server is a {build} build."),
            "install a release build: a debug build is several times slower",
        ),
        Some("release") => rule.pass("The server is a release build.".to_owned()),
        Some(other) => rule.unknown(format!("The server's build is {other}.")),
        None => rule.unknown(known.gap(names::SERVER_BUILD)),
    }
}

fn same_host(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "same-host",
        number: 10,
        rule: "Whether client and server share a host and its CPUs.",
    };
    match known.fact(names::SERVER_SAME_HOST) {
        Some("yes") => rule.pass(
            "The server runs on this host, so the client takes CPU from it; the client's share is \
             shown with each run."
                .to_owned(),
        ),
        Some("no") => rule.pass("The server runs on another host.".to_owned()),
        _ => rule.unknown(known.gap(names::SERVER_SAME_HOST)),
    }
}

fn cache(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "server-cache",
        number: 16,
        rule: "The server's own cache is not left at a small default: at least 256 MiB.",
    };
    let found = if let Some(text) = known.setting("innodb_buffer_pool_size") {
        ("innodb_buffer_pool_size", text.parse::<f64>().ok())
    } else if let Some(text) = known.setting("shared_buffers") {
        ("shared_buffers", bytes(text))
    } else {
        return rule.unknown("The size of the server's cache is not known.".to_owned());
    };
    match found {
        (name, Some(size)) if size < CACHE_BYTES_MIN => rule.doubt(
            format!("{name} is {:.0} MiB.", size / 1_048_576.0),
            "give the server most of the host's memory, or declare an on-disk run (--claim \
             on-disk)",
        ),
        (name, Some(size)) => rule.pass(format!("{name} is {:.0} MiB.", size / 1_048_576.0)),
        (name, None) => rule.unknown(format!("{name} cannot be read.")),
    }
}

/// `16384` (blocks of 8 KiB), `128MB`, `2GB`.
fn bytes(text: &str) -> Option<f64> {
    let at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let number = digits.parse::<f64>().ok()?;
    let factor = match unit.trim() {
        "" | "8kB" => 8192.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

fn durability(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "durability",
        number: 38,
        rule: "No setting allows a crash to damage the database or to lose all of the data. The \
               durability class is shown.",
    };
    match Promise::of_server(|name| known.setting(name), |name| known.fact(name)) {
        None => rule.unknown("The durability settings are not known.".to_owned()),
        Some(promise) if promise.class.is_doubted() => rule.doubt(
            promise.sentence(),
            "fix the settings named here, or state the durability class with every figure",
        ),
        Some(promise) => rule.pass(promise.sentence()),
    }
}

fn statement_logs(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "statement-logs",
        number: 37,
        rule: "The server does not write a log line for each statement.",
    };
    let logs = crate::server::writing(|name| known.setting(name));
    let logs: Vec<String> = logs.into_iter().map(|(_, line)| line).collect();
    if !logs.is_empty() {
        return rule.doubt(
            format!("Each statement is logged: {}.", logs.join(", ")),
            "turn the log off, or measure its cost as a separate factor",
        );
    }
    if known.settings.is_empty() {
        return rule.unknown("The server's settings are not known.".to_owned());
    }
    rule.pass("No log of all statements is written.".to_owned())
}

fn others(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "other-connections",
        number: 28,
        rule: "No other client uses the server: at most 5 connections before the run.",
    };
    match known.number(names::SERVER_THREADS_CONNECTED_START) {
        None => rule.unknown(known.gap(names::SERVER_THREADS_CONNECTED_START)),
        Some(others) if others > 5.0 => rule.doubt(
            format!("{others:.0} connections are open already."),
            "see who they are (SHOW PROCESSLIST, pg_stat_activity) and what they cost",
        ),
        Some(others) => rule.pass(format!("{others:.0} other connections are open.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::finding::Outcome;
    use dyno_samples::{assert_begins, values};

    fn judged(facts: &[(&str, &str)], settings: &[(&str, &str)]) -> Vec<Finding> {
        let fact = |(name, value): &(&str, &str)| values::fact(name, value, values::SOURCE);
        let facts: Vec<_> = facts.iter().map(fact).collect();
        let setting = |(name, value): &(&str, &str)| values::setting(name, value, None);
        let settings: Vec<_> = settings.iter().map(setting).collect();
        server(&Known {
            facts: &facts,
            settings: &settings,
            not_observed: &[],
        })
    }

    #[test]
    fn a_server_that_was_set_up_passes() {
        let findings = judged(
            &[
                ("server.build", "release"),
                ("server.same_host", "yes"),
                ("server.threads_connected.start", "1"),
            ],
            &[
                ("innodb_buffer_pool_size", "8589934592"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("log_bin", "OFF"),
                ("sync_binlog", "0"),
                ("innodb_doublewrite", "ON"),
                ("general_log", "OFF"),
            ],
        );
        for finding in &findings {
            assert_eq!(finding.outcome, Outcome::Pass, "{finding:?}");
        }
    }

    #[test]
    fn a_debug_build_without_durability_is_reported() {
        let findings = judged(
            &[
                ("server.build", "debug"),
                ("server.same_host", "no"),
                ("server.threads_connected.start", "40"),
            ],
            &[
                ("shared_buffers", "16384"),
                ("fsync", "off"),
                ("synchronous_commit", "on"),
                ("log_min_duration_statement", "0"),
            ],
        );
        let of = |check: &str| findings.iter().find(|f| f.check == check).unwrap();
        assert_eq!(of("server-build").outcome, Outcome::Refuse);
        assert_eq!(of("same-host").outcome, Outcome::Pass);
        assert_eq!(of("server-cache").outcome, Outcome::Doubt);
        assert!(of("server-cache").evidence.contains("128 MiB"));
        assert_eq!(of("durability").outcome, Outcome::Doubt);
        let evidence = &of("durability").evidence;
        assert_begins(evidence, "May be damaged because fsync = off:");
        assert_eq!(of("statement-logs").outcome, Outcome::Doubt);
        let in_memory = judged(&[("data.filesystem.type", "tmpfs")], &[("fsync", "on")]);
        let found = in_memory.iter().find(|f| f.check == "durability").unwrap();
        assert_begins(&found.evidence, "All data lost on OS crash");
        assert_eq!(of("other-connections").outcome, Outcome::Doubt);
    }

    #[test]
    fn relaxed_durability_is_reported_and_passes() {
        let findings = judged(&[], &[("innodb_flush_log_at_trx_commit", "2")]);
        let of = |check: &str| findings.iter().find(|f| f.check == check).unwrap();
        assert_eq!(of("durability").outcome, Outcome::Pass);
        let evidence = &of("durability").evidence;
        assert_begins(
            evidence,
            "Last second lost on OS crash because innodb_flush_log_at_trx_",
        );
    }

    #[test]
    fn unknown_facts_do_not_pass() {
        for finding in judged(&[], &[]) {
            assert_eq!(finding.outcome, Outcome::NotChecked, "{finding:?}");
        }
    }
}
