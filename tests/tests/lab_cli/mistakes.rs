//! Experiment files that are wrong or cannot run here are reported before anything is started.

use super::common::{Lab, has, write};

const FILE: &str = "experiment = 1
question = 'What does it cost?'
[server]
kind = 'mariadb'
[server.set]
innodb_buffer_pool_size = '64M'
[data]
workload = 'oltp_write_only'
options = { tables = 1, table_size = 100 }
[load]
workload = 'oltp_write_only'
time = '1s'
[[factor]]
name = 'binlog'
applies = 'start'
setting = 'sync_binlog'
levels = [0, 1]
";

#[test]
fn reports_mistakes_with_their_position() {
    let lab = Lab::new();
    for (from, to, expected) in [
        (
            "kind = 'mariadb'",
            "kind = 'mariadbb'",
            "x.toml:4:9: the server 'mariadbb'",
        ),
        ("sync_binlog", "sync_binlgo", "x.toml:16:12: mariadb"),
        ("tables = 1", "tabels = 1", "x.toml:9:13: "),
        (
            "workload = 'oltp_write_only'\ntime",
            "workload = 'oltp_wirte'\ntime",
            "oltp_wirte",
        ),
        (
            "time = '1s'",
            "tiem = '1s'",
            "x.toml:12:1: unknown key 'tiem'",
        ),
        (
            "levels = [0, 1]",
            "levels = ['a,b']",
            "the level in 'binlog=a,b' has a comma",
        ),
        (
            "[[factor]]",
            "[server.proxy]\nkind = 'proxysql'\n[[factor]]",
            "kind must be haproxy, not 'proxysql'",
        ),
        (
            "kind = 'mariadb'",
            "url = 'sqlite:x.db'",
            "needs a server that Dyno starts",
        ),
        (
            "[[factor]]",
            "[[claim]]\ntext = 'x'\ncheck = { figure = 'nonsense', above = 1.0 }\n[[factor]]",
            "x.toml:15:21: no trial has a figure 'nonsense'",
        ),
        (
            "applies = 'start'\nsetting = 'sync_binlog'",
            "applies = 'online'\nsetting = 'sync_binlgo'",
            "sync_binlgo",
        ),
        (
            "levels = [0, 1]",
            "levels = [0, { name = 'x', command = 'date > {ot}/x' }]",
            "x.toml:17:46: nothing replaces '{ot}'; there are {out}, {port}, {interface}",
        ),
        (
            "levels = [0, 1]",
            "levels = [0, 1]\n[[factor]]\nname = 'idle'\napplies = 'client'\n\
             levels = [{ name = 'a' }]\n[design]\ncross = ['binlog']",
            "no trial has a level of 'idle': it is not in `cross`",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        write(&lab, "x.toml", &FILE.replace(from, to));
        let output = lab.dyno("lab run x.toml").failure(2);
        has(&output, &[expected]);
        assert!(!lab.path("dyno.db").exists(), "{from}");
        assert!(!lab.servers().exists(), "{from}");
    }
}

#[test]
fn reports_command_line_mistakes() {
    let lab = Lab::new();
    write(&lab, "x.toml", FILE);
    for (line, expected) in [
        ("lab", "Usage: dyno lab ACTION"),
        ("lab rnu x.toml", "did you mean 'run'?"),
        ("lab x.toml", "did you mean dyno lab run x.toml?"),
        ("lab run", "needs one experiment file"),
        ("lab run y.toml", "cannot read y.toml"),
        (
            "lab plan x.toml --scale laptpo",
            "there is no [scale.laptpo]",
        ),
        ("lab plan x.toml --time 3s", "sets it in its file"),
        (
            "lab plan x.toml --gate",
            "dyno lab plan has no option --gate",
        ),
        (
            "lab run x.toml --max-failures 0",
            "must be a number of at least 1",
        ),
        (
            "lab resume x.toml",
            "was not started with this results file",
        ),
        ("lab run x.toml --results none", "needs a results file"),
        ("lab --vary sync_binlog oltp_read_write", "is not NAME=A,B"),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
}

#[test]
fn an_edited_file_reports_its_changes_and_continues_on_request() {
    let lab = Lab::new();
    let text = format!(
        "experiment = 1\nquestion = '?'\n[server]\nurl = 'sqlite:{}'\n\
         [data]\nworkload = 'oltp_read_only'\noptions = {{ tables = 1, table_size = 100 }}\n\
         [load]\nworkload = 'oltp_read_only'\nwarmup = '0s'\ntime = '0.3s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 2]\n",
        lab.path("e.db").display()
    );
    write(&lab, "e.toml", &text);
    lab.dyno("lab run e.toml").success();
    let more = text.replace("levels = [1, 2]", "levels = [1, 2, 3]");
    write(&lab, "e.toml", &more);
    let output = lab.dyno("lab resume e.toml").failure(2);
    has(
        &output,
        &[
            "new: sessions=3",
            "2 of 3 trials are done",
            "--accept-changes",
        ],
    );
    let output = lab.dyno("lab resume e.toml --accept-changes").success();
    has(&output, &["2 of 3 trials done before", "all 3 trials done"]);
    // Another time changes the trials.
    write(&lab, "e.toml", &more.replace("'0.3s'", "'0.4s'"));
    let output = lab.dyno("lab resume e.toml").failure(2);
    has(
        &output,
        &["changed in 3 trials: load.time", "0 of 3 trials are done"],
    );
}

/// An experiment on SQLite with two short trials of this workload.
fn small(lab: &Lab, workload: &str, more: &str) -> String {
    format!(
        "experiment = 1\nquestion = '?'\n[server]\nurl = 'sqlite:{}'\n\
         [data]\nnone = true\n[load]\nworkload = '{workload}'\nwarmup = '0s'\ntime = '0.3s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 2]\n{more}",
        lab.path("m.db").display()
    )
}

#[test]
fn a_changed_module_changes_the_trials() {
    let lab = Lab::new();
    let module = |statement: &str| {
        let text = format!("return {{ statement = '{statement}' }}\n");
        write(&lab, "words.lua", &text);
    };
    module("SELECT 1");
    write(
        &lab,
        "with_module.lua",
        "local words = require('words')\n\
         function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query(words.statement) end\n",
    );
    write(&lab, "m.toml", &small(&lab, "with_module.lua", ""));
    lab.dyno("lab run m.toml").success();
    module("SELECT 2");
    let output = lab.dyno("lab resume m.toml").failure(2);
    has(
        &output,
        &["0 of 2 trials are done", "changed in 2 trials: script"],
    );
}

#[test]
fn a_report_uses_the_current_claims_of_the_file() {
    let lab = Lab::new();
    let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event() con:query('SELECT 1') end\n";
    write(&lab, "nothing.lua", script);
    let claim = |below: &str| {
        let claim = format!(
            "[[claim]]\ntext = 'as said'\ncheck = {{ ratio = 'rate', of = {{ sessions = 2 }}, \
             to = {{ sessions = 1 }}, above = {below} }}\n"
        );
        small(&lab, "nothing.lua", &claim)
    };
    write(&lab, "r.toml", &claim("0.001"));
    lab.dyno("lab run r.toml").success();
    has(&lab.dyno("lab report r.toml").success(), &["above 0.001"]);
    write(&lab, "r.toml", &claim("1000"));
    has(&lab.dyno("lab report r.toml").success(), &["above 1000"]);
    write(&lab, "r.toml", &claim("1").replace("[1, 2]", "[1, 2, 3]"));
    let output = lab.dyno("lab report r.toml").success();
    has(&output, &["r.toml now defines other trials", "above 0.001"]);
    write(&lab, "r.toml", "rubbish");
    let output = lab.dyno("lab report r.toml").success();
    has(&output, &["r.toml is no longer a valid experiment"]);
}

#[test]
fn refuses_endless_and_meaningless_experiments() {
    let lab = Lab::new();
    write(&lab, "nothing.lua", "function event() end\n");
    let text = small(&lab, "nothing.lua", "");
    for (text, expected) in [
        (
            text.replace("time = '0.3s'", "time = '0s'"),
            "[load] time is 0",
        ),
        (
            text.clone() + "[design]\nrepeats = 4000000000\n",
            "too many trials",
        ),
        (
            text.replace(
                "levels = [1, 2]",
                "levels = [{ name = '1', sql = ['set session x = 1'] }]",
            )
            .replace("'client'", "'online'"),
            "affects only its own session",
        ),
    ] {
        write(&lab, "x.toml", &text);
        has(&lab.dyno("lab plan x.toml").failure(2), &[expected]);
    }
    has(
        &lab.dyno("lab plan /dev/zero").failure(2),
        &["must be a text file"],
    );
    // The limits are printed first.
    let more = "[design]\nprecision = '1 %'\nmax_blocks = 12\nrerun_best = true\nbudget = '1m'\n";
    write(&lab, "x.toml", &(text + more));
    has(
        &lab.dyno("lab plan x.toml").success(),
        &[
            "8 to 12 blocks, 16 trials at least",
            "the best is measured once more",
            "1m",
        ],
    );
}

#[test]
fn one_results_file_is_run_by_one_process() {
    let lab = Lab::new();
    write(&lab, "nothing.lua", "function event() end\n");
    let long = small(&lab, "nothing.lua", "").replace("'0.3s'", "'30s'");
    write(&lab, "a.toml", &long);
    let running = lab.start("lab run a.toml");
    while !lab.path("dyno.db").exists() || !lab.dyno("lab status").stdout.contains("process") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let output = lab.dyno("lab run a.toml --name other").failure(1);
    has(&output, &["a is already running, in process"]);
    drop(running);
}
