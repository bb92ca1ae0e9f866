//! Which test binaries, and which of their tests, are quick. The whole test command runs them all.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::minutes::Time;

/// A test binary of which the quick tests leave something out.
#[derive(Debug)]
pub(super) struct Suite {
    /// The package, and for an integration test `/` and its target.
    pub(super) name: &'static str,
    pub(super) quick: Quick,
    pub(super) why: &'static str,
}

/// The quick tests of a binary. Each text is the beginning of names of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quick {
    /// None.
    No,
    /// These.
    Only(&'static [&'static str]),
    /// All but these.
    Without(&'static [&'static str]),
}

/// Binaries that are not here are quick as a whole. The servers are MariaDB and PostgreSQL.
const SUITES: &[Suite] = &[
    Suite {
        name: "dyno-campaigns/short",
        quick: Quick::No,
        why: "it starts three servers and breaks them",
    },
    Suite {
        name: "dyno-drivers/servers",
        quick: Quick::Without(&[
            "connector::mysql_",
            "mysql::auth::a_named_key",
            "mysql::auth::caching_sha2",
            "mysql::auth::empty_passwords",
            "mysql::auth::sends_attributes",
            "mysql::auth::sha256",
            "mysql::tls::rows_are_loaded",
            "mysql::tls::users_who_must",
        ]),
        why: "the others need MySQL",
    },
    Suite {
        name: "dyno-fleet/fleets",
        quick: Quick::Without(&["schedules::no_schedule_makes_a_wrong_sum"]),
        why: "the other one simulates ten thousand schedules",
    },
    Suite {
        name: "dyno-observe/servers",
        quick: Quick::Without(&[
            "hurt::",
            "tables::a_target_without_a_database",
            "tables::definitions_of_mysql",
            "tables::reports_tables_that_innodb",
            "tables::reports_tables_used_by_stored_functions",
        ]),
        why: "the others need MySQL, or wait for servers that hang",
    },
    Suite {
        name: "dyno-report",
        quick: Quick::Without(&["html::browser::"]),
        why: "the others draw pages with Chromium",
    },
    Suite {
        name: "dyno-results/files",
        quick: Quick::Without(&["day::"]),
        why: "the other one records a day",
    },
    Suite {
        name: "dyno-stats/error_rates",
        quick: Quick::No,
        why: "it simulates each procedure ten thousand times",
    },
    Suite {
        name: "dyno-tests/faults",
        quick: Quick::Only(&[
            "process::a_file_for_the_result",
            "process::a_temporary_database_that_finds_no_room",
            "process::an_interrupted_run_reports",
            "process::arguments_that_are_no_text",
            "process::closed_and_full_outputs",
            "refusals::",
            "results::errors_are_of_the_same_kinds",
            "results::results_have_the_published_form",
            "secrets::a_password_is_never_shown",
        ]),
        why: "the others wait for servers that hang or die, or need MySQL",
    },
    Suite {
        name: "dyno-tests/instructions",
        quick: Quick::No,
        why: "it counts the instructions of the release under valgrind",
    },
    Suite {
        name: "dyno-tests/own_servers",
        quick: Quick::Only(&[
            "guide_cli::commands::",
            "guide_cli::every_command",
            "guide_cli::times",
            "lab_cli::mistakes::",
            "lab_cli::there::",
            "server_cli::kinds::mariadb_lives",
            "server_cli::kinds::postgresql_lives",
            "server_cli::mistakes::",
        ]),
        why: "the others start fleets, and servers for each trial",
    },
    Suite {
        name: "dyno-tests/results_cli",
        quick: Quick::Only(&[
            "bad_input::",
            "brief::",
            "config::",
            "doctor::examines_servers",
            "export::a_run_leaves_in_every_format",
            "import::a_real_log",
            "import::refused_files",
            "record::a_list_holds",
            "record::a_run_is_shown",
            "record::runs_that_are_not_there",
            "remove::",
            "secrets::",
            "table::a_table_has",
            "verdict::a_finding_is_waived",
        ]),
        why: "the others make long runs, need MySQL, Prometheus or perf, or run the notebook",
    },
    Suite {
        name: "dyno-tests/sysbench_cli",
        quick: Quick::Only(&[
            "api::bulk_inserts",
            "api::connections_of_a_session",
            "api::parameters_arrive",
            "api::results_are_those",
            "command_line::",
            "lifecycle::",
            "reports::a_report_has",
            "reports::figures_are_where",
            "scripts::",
        ]),
        why: "the others compare all scripts with sysbench, or wait",
    },
    Suite {
        name: "dyno-tests/top_cli",
        quick: Quick::Only(&[
            "lines::reports_bad",
            "lines::servers_have",
            "lines::sqlite_has",
        ]),
        why: "the others need MySQL or a long run",
    },
    Suite {
        name: "dyno-tests/verdict",
        quick: Quick::Only(&["records::"]),
        why: "the others make long runs, many of them alone on the host",
    },
    Suite {
        name: "dyno-tests/workloads",
        quick: Quick::Only(&[
            "host::a_run_reports",
            "host::limits_are_exact",
            "insert_benchmark::every_step",
            "linkbench::counts_agree",
            "many_tables::tables_are_made",
            "oltp_fair::books_are_kept",
            "operations::what_was_given_up_is_no",
            "pgbench::money_is_neither",
            "programs::",
            "rows::",
            "sql_file::a_file_of_sql",
            "tpcc::every_condition_holds",
        ]),
        why: "one test of each workload on each server",
    },
];

/// The binary of this name, if it is in the table.
pub(super) fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

/// Fails if cargo did not start a binary of the table.
///
/// # Errors
/// Their names.
pub(super) fn all_seen(binaries: &[Time]) -> Result<()> {
    let seen: BTreeSet<&str> = binaries.iter().map(|time| time.name.as_str()).collect();
    let names = SUITES.iter().map(|suite| suite.name);
    let missing: Vec<&str> = names.filter(|name| !seen.contains(name)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        bail!("no such test binary: {missing}: correct xtask/src/test/suites.rs");
    }
    Ok(())
}

impl Suite {
    /// The quick ones of all tests of the binary.
    ///
    /// # Errors
    /// A text of the table is not the beginning of any name, or no test remains.
    pub(super) fn choose<'a>(&self, all: &[&'a str]) -> Result<Vec<&'a str>> {
        let none: &[&str] = &[];
        let (texts, wanted) = match self.quick {
            Quick::No => (none, true),
            Quick::Only(texts) => (texts, true),
            Quick::Without(texts) => (texts, false),
        };
        for text in texts {
            if !all.iter().any(|test| test.starts_with(text)) {
                bail!(
                    "no test of {} begins with `{text}`: correct xtask/src/test/suites.rs",
                    self.name
                );
            }
        }
        let is_named = |test: &str| texts.iter().any(|text| test.starts_with(text));
        let tests = all.iter().copied();
        let chosen: Vec<&str> = tests.filter(|test| is_named(test) == wanted).collect();
        if chosen.is_empty() {
            bail!(
                "no test of {} remains: correct xtask/src/test/suites.rs",
                self.name
            );
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 4] = ["a::one", "a::two", "b::one", "c"];

    fn suite(quick: Quick) -> Suite {
        Suite {
            name: "here/there",
            quick,
            why: "",
        }
    }

    #[test]
    fn chooses_by_the_beginnings_of_names() {
        let only = suite(Quick::Only(&["a::", "c"])).choose(&ALL).unwrap();
        assert_eq!(only, ["a::one", "a::two", "c"]);
        let without = suite(Quick::Without(&["a::t", "b::"]))
            .choose(&ALL)
            .unwrap();
        assert_eq!(without, ["a::one", "c"]);
    }

    #[test]
    fn a_text_that_no_test_begins_with_is_an_error() {
        for quick in [Quick::Only(&["a::", "d::"]), Quick::Without(&["d::"])] {
            let error = suite(quick).choose(&ALL).unwrap_err().to_string();
            assert!(
                error.contains("no test of here/there begins with `d::`"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_suite_without_a_test_is_an_error() {
        for quick in [
            Quick::No,
            Quick::Only(&[]),
            Quick::Without(&["a", "b", "c"]),
        ] {
            let error = suite(quick).choose(&ALL).unwrap_err().to_string();
            assert!(error.contains("no test of here/there remains"), "{error}");
        }
    }

    #[test]
    fn a_binary_that_did_not_run_is_an_error() {
        let mut binaries: Vec<Time> = SUITES
            .iter()
            .map(|suite| Time {
                name: suite.name.to_owned(),
                seconds: 0.0,
            })
            .collect();
        all_seen(&binaries).unwrap();
        let gone = binaries.pop().unwrap().name;
        let error = all_seen(&binaries).unwrap_err().to_string();
        assert!(
            error.contains(&format!("no such test binary: {gone}:")),
            "{error}"
        );
    }

    #[test]
    fn the_table_is_sorted_and_gives_reasons() {
        assert!(SUITES.is_sorted_by(|a, b| a.name < b.name));
        for suite in SUITES {
            assert!(!suite.why.is_empty(), "{}", suite.name);
            assert!(find(suite.name).is_some());
        }
    }
}
