//! Options of other load generators, and their equivalents here.

const ADDRESS: &str = "name the server with --target, e.g. mysql://user@host:3306/database";

const OF_OTHERS: &[(&str, &str)] = &[
    ("M", "the option here is --ps-mode"),
    ("P", "the option here is --interval"),
    ("R", "the option here is --rate"),
    (
        "block-size",
        "the option of the workload fileio is --file-block-size",
    ),
    (
        "bs",
        "the option of the workload fileio is --file-block-size",
    ),
    ("concurrency", "the option here is --sessions"),
    ("connections", "the option here is --sessions"),
    ("database", ADDRESS),
    ("dbname", ADDRESS),
    ("debug", "the option here is --verbose"),
    (
        "direct",
        "the option of the workload fileio is --file-extra-flags=direct",
    ),
    ("host", ADDRESS),
    (
        "histogram",
        "--verbose prints the distribution of latencies",
    ),
    (
        "ioengine",
        "the option of the workload fileio is --file-io-mode",
    ),
    (
        "iodepth",
        "the option of the workload fileio is --file-async-backlog; elsewhere, --sessions sets \
         how many requests are in flight",
    ),
    ("iterations", "the option here is --events"),
    ("j", "the option here is --workers"),
    ("jobs", "the option here is --workers"),
    ("max-requests", "the option here is --events"),
    ("max-time", "the option here is --time"),
    ("number-of-queries", "the option here is --events"),
    ("numjobs", "the option here is --sessions"),
    ("operationcount", "the option here is --events"),
    (
        "password",
        "--ask-password asks for it, and ~/.my.cnf and ~/.pgpass are read",
    ),
    ("percentile", "the option here is --percentiles"),
    ("port", ADDRESS),
    ("progress", "the option here is --interval"),
    ("protocol", "the option here is --ps-mode"),
    ("qps", "the option here is --rate"),
    ("ramp-time", "the option here is --warmup"),
    (
        "readwrite",
        "the option of the workload fileio is --file-test-mode",
    ),
    ("report-interval", "the option here is --interval"),
    ("report-per-command", "the option here is --statements"),
    ("requests", "the option here is --events"),
    ("rps", "the option here is --rate"),
    ("runs", "`dyno lab` repeats runs; one run lasts --time"),
    ("runtime", "the option here is --time"),
    (
        "rw",
        "the option of the workload fileio is --file-test-mode",
    ),
    (
        "size",
        "the option of the workload fileio is --file-total-size",
    ),
    ("socket", ADDRESS),
    (
        "stages",
        "--sessions and --rate follow a schedule, e.g. --sessions '4 for 30s, 8 for 30s'",
    ),
    ("thread-init-timeout", "the option here is --init-timeout"),
    ("threadcount", "the option here is --sessions"),
    ("transactions", "the option here is --events"),
    ("user", ADDRESS),
    ("username", ADDRESS),
    ("users", "the option here is --sessions"),
    ("virtual-users", "the option here is --sessions"),
    ("vu", "the option here is --sessions"),
    ("vus", "the option here is --sessions"),
    ("warmup-time", "the option here is --warmup"),
];

/// Prefixes of sysbench's options for the database.
const OF_SYSBENCH: [&str; 3] = ["mysql-", "pgsql-", "db-driver"];

/// The equivalent of another tool's option; its name has dashes within it, none before it.
pub(crate) fn hint(name: &str) -> Option<&'static str> {
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
            let of_fileio = dyno_host::find("fileio").unwrap().options.iter();
            let is_known = match hint.contains("of the workload fileio") {
                true => of_fileio.clone().any(|option| option.name == named),
                false => find_own(RUN, named).is_some(),
            };
            assert!(is_known, "--{other}: {hint}");
        }
    }
}
