//! The pages whose commands are run, and what they assume.

/// A page whose commands are run in one shell and one folder.
#[derive(Debug)]
pub(super) struct Page {
    /// Its path within the sources.
    pub(super) path: &'static str,
    /// Shell commands that run first.
    pub(super) before: &'static str,
    /// Shell commands that run before each command with this beginning.
    pub(super) steps: &'static [(&'static str, &'static str)],
}

/// Pages of one test each.
pub(super) const GROUPS: &[&[Page]] = &[FIRST_PAGES, RUNS, WORKLOADS, SERVERS];

const fn page(path: &'static str) -> Page {
    after(path, "")
}

const fn after(path: &'static str, before: &'static str) -> Page {
    Page {
        path,
        before,
        steps: &[],
    }
}

const TARGET: &str = "export DYNO_TARGET={url}";

const TABLES: &str = "export DYNO_TARGET={url}
dyno prepare oltp_read_write --tables 4";

const FIRST_PAGES: &[Page] = &[
    Page {
        path: "README.md",
        before: "",
        steps: &[
            ("dyno run tpcb", "dyno prepare tpcb --target {url}"),
            (
                "dyno run insert_benchmark",
                "dyno prepare insert_benchmark --target {url}",
            ),
            (
                "dyno run linkbench",
                "dyno prepare linkbench --target {url}",
            ),
            (
                "dyno run queries.sql",
                "dyno prepare pay.lua --target {url} --accounts 1000",
            ),
        ],
    },
    page("docs/environment.md"),
    page("docs/first-run.md"),
    after(
        "docs/moving-from-sysbench.md",
        "dyno prepare oltp_point_select --target {url} --tables 4",
    ),
    Page {
        path: "docs/recipes.md",
        before: TABLES,
        steps: &[(
            "for round in 1 2 3",
            "for round in 1 2 3; do
                dyno run oltp_read_write --tables 4 -q --results baseline.db
            done",
        )],
    },
    after("docs/sysbench.md", TABLES),
    after("docs/workloads.md", TARGET),
];

const RUNS: &[Page] = &[
    after("docs/export.md", "TIME=3s dyno run oltp_point_select"),
    after(
        "docs/import.md",
        "mkdir -p old/logs/xfs-on-sync1/BP5
        cp sysbench.log old/logs/xfs-on-sync1/BP5/res.txt",
    ),
    page("docs/json.md"),
    Page {
        path: "docs/observers.md",
        before: "export DYNO_TARGET={url}
        dyno prepare oltp_read_write
        for run in 1 2 3; do dyno run oltp_read_write -q; done",
        // A report does not replace a file.
        steps: &[("dyno report last", "rm -f ./*.html")],
    },
    page("docs/pandas.md"),
    after(
        "docs/results.md",
        "for run in 1 2 3; do dyno run oltp_point_select -q; done",
    ),
    after("docs/running.md", TABLES),
    after(
        "docs/runs.md",
        "export DYNO_TARGET={url}
        dyno prepare oltp_read_write --tables 4
        for run in 1 2 3 4 5 6 7 8 9 10 11; do
            TIME=2s dyno run oltp_read_write --tables 4 -q -c $((8 - run % 2 * 4)) \\
                --note '8 sessions' --factor memory=$((run % 2))G --factor engine=innodb \\
                --factor fs=xfs $([ $run != 7 ] || echo --expect max_connections=1 --force)
        done",
    ),
    after(
        "docs/duet.md",
        "export DYNO_TARGET={url}
        dyno prepare oltp_read_write",
    ),
    after(
        "docs/targets.md",
        "dyno prepare oltp_point_select --target {url}",
    ),
    after(
        "docs/top.md",
        "dyno prepare oltp_point_select --target sqlite:file.db
        dyno run oltp_point_select --target sqlite:file.db -q",
    ),
    after(
        "docs/validity.md",
        "dyno prepare oltp_read_write --target {url}
        dyno run oltp_read_write --target {url} -q",
    ),
];

const WORKLOADS: &[Page] = &[
    after("docs/scripting.md", TARGET),
    page("docs/workloads/cpu.md"),
    Page {
        path: "docs/workloads/fileio.md",
        before: "",
        steps: &[("dyno saturate", "dyno prepare fileio")],
    },
    Page {
        path: "docs/workloads/insert-benchmark.md",
        before: "",
        steps: &[(
            "dyno phases",
            "dyno cleanup insert_benchmark --target {url}
            dyno prepare insert_benchmark --target {url}
            dyno run insert_benchmark --target {url}",
        )],
    },
    page("docs/workloads/linkbench.md"),
    Page {
        path: "docs/workloads/many-tables.md",
        before: "",
        steps: &[
            (
                "dyno run many_tables --phase ladder",
                "dyno prepare many_tables --target {url}",
            ),
            (
                "dyno run many_tables --phase create",
                "dyno cleanup many_tables --target {url}",
            ),
            (
                "dyno check many_tables --target mysql://root@db1/bench --schemas 500",
                "dyno cleanup many_tables --target {url}
                dyno prepare many_tables --target {url}",
            ),
        ],
    },
    page("docs/workloads/memory.md"),
    page("docs/workloads/mutex.md"),
    page("docs/workloads/oltp-fair.md"),
    page("docs/workloads/pgbench.md"),
    Page {
        path: "docs/workloads/sql-files.md",
        before: "",
        steps: &[(
            "dyno run queries.sql",
            "dyno prepare pay.lua --target {url} --accounts 50000",
        )],
    },
    page("docs/workloads/threads.md"),
    page("docs/workloads/tpcc.md"),
];

const SERVERS: &[Page] = &[
    Page {
        path: "docs/experiments.md",
        before: "",
        // A bundle does not replace a file.
        steps: &[(
            "dyno lab bundle experiments/binlog-cost.toml",
            "rm binlog-cost-laptop.tar.gz",
        )],
    },
    page("docs/experiments/README.md"),
    after(
        "docs/fleet.md",
        "dyno prepare oltp_read_write --target {url}
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \\
            -keyout bus.key -out bus.pem",
    ),
    page("docs/search.md"),
    Page {
        path: "docs/servers.md",
        before: "",
        steps: &[(
            "dyno server restore mariadb loaded",
            "dyno server snapshot mariadb loaded",
        )],
    },
];
