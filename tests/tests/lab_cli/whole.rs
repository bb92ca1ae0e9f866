//! Experiments from their file to their report.

use crate::common::{Lab, has, status, write};

#[test]
fn an_experiment_on_a_real_server_answers_its_question() {
    let lab = Lab::new();
    write(
        &lab,
        "flush.toml",
        "experiment = 1\nquestion = 'What does a sync per commit cost?'\n[server]\n\
         kind = 'mariadb'\n[server.set]\ninnodb_buffer_pool_size = '64M'\n\
         [data]\nworkload = 'oltp_write_only'\noptions = { tables = 1, table_size = 1000 }\n\
         [load]\nworkload = 'oltp_write_only'\nsessions = 4\nwarmup = '0.5s'\ntime = '2s'\n\
         [[factor]]\nname = 'flush'\napplies = 'start'\n\
         setting = 'innodb_flush_log_at_trx_commit'\nlevels = [0, 1]\n\
         [[factor]]\nname = 'pad'\napplies = 'online'\nsetting = 'max_connect_errors'\n\
         verify = 'SELECT @@GLOBAL.max_connect_errors'\nlevels = [100, 200]\n\
         [design]\nrepeats = 2\nbaseline = { flush = 0 }\n[reset]\ndata = 'restore'\n\
         [[claim]]\ntext = 'a sync is not free'\n\
         check = { ratio = 'rate', of = { flush = 1 }, below = 50 }\n",
    );
    let plan = lab.dyno("lab plan flush.toml").success();
    has(
        &plan,
        &[
            "4 cells in 2 blocks, 8 trials",
            "1 image of data, 8 restores, 8 starts",
            "mariadb 10.11",
        ],
    );
    assert!(!lab.path("dyno.db").exists() && !lab.servers().exists());
    let said = lab.dyno("lab run flush.toml").success();
    has(&said, &["[8/8]", "all 8 trials done"]);
    let told = status(&lab, "");
    let before = told["trials"][0]["done_before"].to_string();
    assert!(before.contains("data restored"), "{before}");
    assert!(
        before.contains("SELECT @@GLOBAL.max_connect_errors gives"),
        "{before}"
    );
    let said = lab.dyno("lab report --csv tables").success();
    has(
        &said,
        &[
            "What does a sync per commit cost?",
            "8 of 8 trials done",
            "a sync is not free",
            "agrees",
            "Effects on the rate",
            "flush=1",
        ],
    );
    let page = std::fs::read_to_string(lab.path("flush.html")).unwrap();
    assert!(page.contains("What does a sync per commit cost?") && page.contains("agrees"));
    assert!(lab.path("tables").read_dir().unwrap().count() >= 3);
    lab.wait_for_nobody();
}

#[test]
fn a_setting_that_the_server_clamps_refuses_the_trial() {
    let lab = Lab::new();
    write(
        &lab,
        "clamped.toml",
        "experiment = 1\nquestion = '?'\n[server]\nkind = 'mariadb'\n\
         [data]\nworkload = 'oltp_read_only'\noptions = { tables = 1, table_size = 100 }\n\
         [load]\nworkload = 'oltp_read_only'\ntime = '0.5s'\nwarmup = '0s'\n\
         [[factor]]\nname = 'cache'\napplies = 'start'\nsetting = 'table_open_cache'\n\
         levels = [1, 400]\n",
    );
    let said = lab.dyno("lab run clamped.toml").failure(1);
    has(
        &said,
        &["failed: cache=1", "the server has 10", "1 of 2 trials done"],
    );
    let told = status(&lab, "clamped.toml");
    assert_eq!(
        (told["done"].as_u64(), told["failed"].as_u64()),
        (Some(1), Some(1)),
        "{told}"
    );
}
