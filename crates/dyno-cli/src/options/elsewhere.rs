//! Options of other load generators, and their equivalents here.

const ADDRESS: &str = "name the server with --target, e.g. mysql://user@host:3306/database";

const OF_OTHERS: [(&str, &str); 29] = [
    ("concurrency", "the option here is --sessions"),
    ("connections", "the option here is --sessions"),
    ("database", ADDRESS),
    ("dbname", ADDRESS),
    ("debug", "the option here is --verbose"),
    ("host", ADDRESS),
    (
        "histogram",
        "--verbose prints the distribution of latencies",
    ),
    ("iterations", "the option here is --events"),
    ("jobs", "the option here is --workers"),
    ("max-requests", "the option here is --events"),
    ("max-time", "the option here is --time"),
    ("numjobs", "the option here is --sessions"),
    (
        "password",
        "--ask-password asks for it, and ~/.my.cnf and ~/.pgpass are read",
    ),
    ("percentile", "the option here is --percentiles"),
    ("port", ADDRESS),
    ("progress", "the option here is --interval"),
    ("protocol", "the option here is --ps-mode"),
    ("qps", "the option here is --rate"),
    ("report-interval", "the option here is --interval"),
    ("requests", "the option here is --events"),
    ("rps", "the option here is --rate"),
    ("runs", "`dyno lab` repeats runs; one run lasts --time"),
    ("runtime", "the option here is --time"),
    ("socket", ADDRESS),
    ("thread-init-timeout", "the option here is --init-timeout"),
    ("transactions", "the option here is --events"),
    ("user", ADDRESS),
    ("username", ADDRESS),
    ("warmup-time", "the option here is --warmup"),
];

/// Prefixes of sysbench's options for the database.
const OF_SYSBENCH: [&str; 3] = ["mysql-", "pgsql-", "db-driver"];

/// The equivalent of another tool's option; its name includes the dashes.
pub(super) fn hint(name: &str) -> Option<&'static str> {
    let found = OF_OTHERS.iter().find(|(other, _)| *other == name);
    let of_sysbench = || OF_SYSBENCH.iter().any(|start| name.starts_with(start));
    match found {
        Some((_, hint)) => Some(hint),
        None if of_sysbench() => {
            Some("name the database with --target, or use sysbench's options with `dyno sysbench`")
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::RUN;
    use crate::options::find_own;

    #[test]
    fn hints_name_options_that_exist_for_options_that_do_not() {
        for (other, hint) in OF_OTHERS {
            assert!(find_own(RUN, other).is_none(), "--{other} exists");
            let named = hint.split("--").nth(1).unwrap_or_default();
            let end = named.find(|c: char| c != '-' && !c.is_ascii_lowercase());
            let named = &named[..end.unwrap_or(named.len())];
            assert!(find_own(RUN, named).is_some(), "--{other}: {hint}");
        }
    }
}
