//! How the guide's commands are changed for a test, and which are not run.

/// Text in the guide's commands, and what a test uses instead, applied in this order. `{url}` is a
/// MariaDB database, `{port}` and `{socket}` are its server's, `{postgres}` is a PostgreSQL
/// database.
pub(super) const SUBSTITUTIONS: &[(&str, &str)] = &[
    // Servers
    (
        "mysql://bench@127.0.0.1/bench?password_env=DB_PASSWORD",
        "{url}",
    ),
    (
        "mysql://bench@localhost/bench?password_env=DB_PASSWORD",
        "{url}",
    ),
    ("mysql://bench@db1/bench", "{url}"),
    ("mysql://bench@db/bench", "{url}"),
    ("mysql://root@db1/bench", "{url}"),
    ("postgres://bench@db1/bench", "{postgres}"),
    ("mysql://dyno@127.0.0.1:38409/sbtest", "{url}"),
    ("mysql://monitor@db1/", "{url}"),
    ("mysql://bench@localhost/test1", "{url}"),
    ("mysql://bench@localhost/test2", "{url}"),
    ("postgres://monitor@db1/shop", "{postgres}"),
    (
        "127.0.0.1:13300,127.0.0.1:13397/docs_two",
        "127.0.0.1:{port},localhost:{port}/bench",
    ),
    ("--target …", "--target {url}"),
    (
        "--mysql-host=127.0.0.1",
        "--mysql-host=127.0.0.1 --mysql-port={port}",
    ),
    (
        "--mysql-socket=/run/mysqld/mysqld.sock",
        "--mysql-socket={socket} --mysql-user=root --mysql-db=bench",
    ),
    (
        "oltp_read_write --mysql-db=bench",
        "oltp_read_write --mysql-socket={socket} --mysql-user=root --mysql-db=bench \
         --table-size=250",
    ),
    // Hosts
    ("ssh:gen1,ssh:gen2,ssh:gen3", "local:2"),
    ("ssh:gen1,ssh:gen2", "local:2"),
    ("--server-agent ssh:db1", "--server-agent local"),
    // Times
    ("--time=60", "--time=1"),
    ("--time=3 ", "--time=1 "),
    ("cpu-max-prime=20000", "cpu-max-prime=20000 --time=1"),
    ("memory-block-size=1M", "memory-block-size=1M --time=1"),
    ("thread-locks=4", "thread-locks=4 --time=1"),
    (
        "run threads --sessions 16",
        "run threads --sessions 16 --thread-yields 20",
    ),
    (
        "sysbench mutex --threads=8",
        "sysbench mutex --threads=8 --mutex-loops=10",
    ),
    (
        "500/s for 2m, 2000/s for 1m, 500/s for 2m",
        "50/s for 1s, 200/s for 1s, 50/s for 1s",
    ),
    ("--begin-at 2026-11-24T05:00:00Z", "--begin-at now"),
    ("--from 2000s", "--from 500ms"),
    ("--to 3600s", "--to 9s"),
    ("--cold --trim --settle 2m", "--settle 5s"),
    (
        "--table-size 25000 -c 8 -t 20s",
        "--table-size 250 -c 8 -t 1s --warmup 0s --repeats 1",
    ),
    (
        "oltp_write_only --server mariadb",
        "oltp_write_only --server mariadb --table-size 250 -t 1s --warmup 0s --repeats 1",
    ),
    // Sizes
    (" -c 512", " -c 8"),
    (" -c 256", " -c 8"),
    (" -c 200", " -c 4"),
    (" -c 100", " -c 4"),
    (" -c 64", " -c 4"),
    (" -c 32", " -c 4"),
    ("--rate 40000/s", "--rate 400/s"),
    ("--rate 20000/s", "--rate 200/s"),
    ("--rate 15000/s", "--rate 150/s"),
    ("--table-size=100000", "--table-size=250"),
    ("--table-size=25000", "--table-size=250"),
    ("innodb_buffer_pool_size=1G", "innodb_buffer_pool_size=64M"),
    ("--memory-block-size 1G", "--memory-block-size 1M"),
    ("--memory-block-size 256M", "--memory-block-size 1M"),
    ("--ladder 1,2,4,8,16,32,64", "--ladder 1,2"),
    ("--rungs 100,1000,10000,100000,1000000", "--rungs 4,20"),
    ("--keep 1000", "--keep 1"),
    ("in 1 2 4 8 16 32 64 128 256; do", "in 1 2 4 32; do"),
    ("dyno compare 6 15", "dyno compare 5 9"),
    ("base=12 8.4=last", "base=1 8.4=last"),
    // Limits that a busy host would not keep
    ("'p99 < 20ms'", "'p99 < 5s'"),
    ("'p99 < 100ms'", "'p99 < 5s'"),
    // Not every file system has it
    ("--file-extra-flags direct", "--file-extra-flags dsync"),
    // A finding that every server gives
    (
        "--waive 'durability=",
        "--expect max_connections=1 --force --waive 'requested-settings=",
    ),
    ("waive last 'durability=", "waive last 'requested-settings="),
];

/// Words that end a `dyno` command line: if `" $* "` matches the first pattern, but not the second,
/// the third is added. Of an option that is given twice, the last one counts.
pub(super) const ENDINGS: &[(&str, &str, &str)] = &[
    (
        r#"" run "*"#,
        r#"*" for "*|*" --plan "*"#,
        "-t ${TIME:-1s} --warmup 0",
    ),
    (r#"" run "*" for "*"#, "", "--warmup 0"),
    (r#"" saturate "*"#, "", "-t 1s --warmup 0"),
    // Tests of the host have no calibration.
    (
        r#"" run "*|" saturate "*"#,
        r#"*" --plan "*|*" cpu "*|*" fileio "*|*" memory "*|*" mutex "*|*" threads "*"#,
        "--calibrate never",
    ),
    (
        r#"" search "*"#,
        "",
        "-c 8 --from 50/s -t 700ms --warmup 0 --votes 1 --width 100% --factor search=NAME",
    ),
    (
        r#"" duet "*"#,
        "",
        "--slice 20ms --at-most 2s --warmup 0s --calibrate never",
    ),
    (r#"" doctor "*"#, "", "--time 300ms"),
    (r#"" top "*"#, "", "--count 1"),
    (r#"*" oltp_"*"#, r#"" lab "*"#, "--table-size 250"),
    (r#"*" tpcc "*"#, "", "--shrink 30 --scale 1"),
    (r#"*" tpcb "*"#, "", "--scale 1"),
    (r#"*" linkbench "*"#, "", "--maxid 2001"),
    (
        r#"*" insert_benchmark "*"#,
        "",
        "-c 2 --rows 3000 --write-rows 2000 --settle 0 --check-plans=off",
    ),
    (r#"*" many_tables "*"#, "", "--schemas 4 --tables 5"),
    (r#"*" fileio "*"#, "", "--file-total-size 8M --file-num 4"),
];

/// An exit status other than 0 that is right for `dyno` command lines of a pattern.
pub(super) const TOLERATED: &[(u8, &str)] = &[
    // A busy host may be refused as a place to measure.
    (3, r#"*" --gate "*"#),
    (3, r#"" search "*"#),
    (3, r#"*" --expect "*"#),
    (4, r#"*" --fail-if "*"#),
];

/// The beginnings of commands that no test of this folder runs, and why.
pub(super) const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "builds Dyno or tests it"),
    ("docker ", "needs docker"),
    ("sudo ", "changes the host's own server"),
    ("printf '[mariadbd]", "changes the host's own server"),
    ("time ", "restarts or reads the host's own server"),
    ("kill -9 $(pidof mysqld)", "kills the host's own server"),
    ("read -rs DB_PASSWORD", "asks on the terminal"),
    ("dyno run WORKLOAD", "is a synopsis"),
    (
        "dyno run oltp_read_write --target \"mysql://bench@db1:3306/sbtest?sslmode=verify-full\"",
        "needs a server with a certificate; the tests of dyno-drivers have one",
    ),
    (
        "dyno run oltp_read_write --target mysql://… --metrics 9464",
        "needs a port that may be in use; results_cli/metrics.rs chooses one",
    ),
    (
        "dyno run oltp_read_write --target mysql://… --otlp",
        "needs a receiver; results_cli/metrics.rs has one",
    ),
    (
        "dyno run oltp_read_write --target … --cpu-profile",
        "needs perf; results_cli/profile.rs runs it",
    ),
    (
        "dyno show last --cpu-profile",
        "needs a profile; results_cli/profile.rs runs it",
    ),
    (
        "dyno export last --format folded",
        "needs a profile; results_cli/profile.rs runs it",
    ),
    (
        "nats-server -c",
        "runs until it is stopped; fleet_cli/joins.rs runs it",
    ),
    (
        "dyno agent --join",
        "needs that NATS server; fleet_cli/joins.rs runs it",
    ),
    (
        "dyno run oltp_read_write --target mysql://bench@db1/bench -c 256 --agents gen1,gen2",
        "needs these agents; fleet_cli/joins.rs runs it",
    ),
    (
        "dyno server up mariadb --fs",
        "needs root, a loop device and 20 GB",
    ),
    (
        "dyno top --target mysql://admin@127.0.0.1:6032/",
        "needs ProxySQL; top_cli/proxies.rs has a stand-in",
    ),
    ("dyno top --target postgres://stats@", "needs pgbouncer"),
    (
        "dyno top --haproxy",
        "needs HAProxy; top_cli/proxies.rs runs it",
    ),
];
