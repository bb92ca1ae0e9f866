//! Experiments that are killed at any moment.

use std::time::Duration;

use dyno_tests::{Database, Kind, start_private_server};

use super::common::{Lab, has, runs_by_trial, status, write};

/// How long an experiment may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Reproducible random times, in milliseconds.
struct Instants(u64);

impl Iterator for Instants {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // Knuth's constants of a 64-bit linear congruential generator.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        Some((self.0 >> 33) % 1_500)
    }
}

fn matrix(url: &str) -> String {
    format!(
        "experiment = 1\nquestion = 'Is each trial done once?'\n[server]\nurl = '{url}'\n\
         [data]\nworkload = 'oltp_read_write'\noptions = {{ tables = 1, table_size = 200 }}\n\
         [load]\nworkload = 'oltp_read_write'\nwarmup = '0s'\ntime = '0.3s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 2]\n\
         [[factor]]\nname = 'range_size'\napplies = 'load'\nlevels = [10, 50]\n\
         [design]\nrepeats = 3\nseed = 5\n"
    )
}

#[test]
fn a_matrix_killed_at_twenty_instants_has_each_trial_once() {
    let lab = Lab::new();
    write(
        &lab,
        "matrix.toml",
        &matrix(&format!("sqlite:{}", lab.path("m.db").display())),
    );
    let mut kills = 0;
    for wait in Instants(7).take(20) {
        let begun = lab.path("dyno.db").exists();
        let action = if begun { "resume --reload" } else { "run" };
        let dyno = lab.start(&format!("lab {action} matrix.toml"));
        std::thread::sleep(Duration::from_millis(wait));
        dyno.signal(libc::SIGKILL);
        let ended = dyno.finish(LIMIT);
        if !ended.status.success() {
            kills += 1;
        }
    }
    assert!(kills > 5, "only {kills} were killed before they were done");
    let action = match status_or_nothing(&lab) {
        true => "resume --reload",
        false => "run",
    };
    lab.dyno(&format!("lab {action} matrix.toml")).success();
    let status_json = status(&lab, "matrix.toml");
    assert_eq!(
        (status_json["done"].as_u64(), status_json["left"].as_u64()),
        (Some(12), Some(0)),
        "{status_json}"
    );
    let runs = runs_by_trial(&lab);
    assert_eq!(runs.len(), 12, "{runs:?}");
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    // All trials are done, so nothing runs.
    has(
        &lab.dyno("lab resume matrix.toml").success(),
        &["all 12 trials done"],
    );
    assert_eq!(runs_by_trial(&lab), runs);
}

#[test]
fn settings_that_a_killed_process_changed_are_restored() {
    let server = start_private_server(Kind::Mariadb);
    let database = Database::on(&server.server());
    let has_now = || database.query_one("SELECT @@GLOBAL.max_connect_errors");
    let own = has_now();
    let lab = Lab::new();
    let text = format!(
        "experiment = 1\nquestion = 'Is the server as before?'\n[server]\nurl = '{}'\n\
         [data]\nworkload = 'oltp_point_select'\noptions = {{ tables = 1, table_size = 100 }}\n\
         [load]\nworkload = 'oltp_point_select'\nwarmup = '0s'\ntime = '1s'\n\
         [[factor]]\nname = 'pad'\napplies = 'online'\nsetting = 'max_connect_errors'\n\
         levels = [201, 202]\n[design]\nrepeats = 3\n",
        database.url()
    );
    write(&lab, "online.toml", &text);
    let mut dyno = lab.start("lab run online.toml");
    // Before, all levels are tried out. The first trial's level stays until the next begins, which
    // has the other one.
    dyno.prints("[1/6]");
    let first = has_now();
    while [&own, &first].contains(&&has_now()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    dyno.signal(libc::SIGKILL);
    dyno.finish(LIMIT);
    lab.wait_for_nobody();
    assert!(lab.path("dyno.db-undo").exists());
    let resumed = lab.dyno("lab resume online.toml").success();
    has(
        &resumed,
        &[
            "was cut off when Dyno was killed, and is run again",
            "first Dyno undoes its changes on the server: ",
        ],
    );
    assert_eq!(has_now(), own);
    assert!(!lab.path("dyno.db-undo").exists());
    let state = status(&lab, "online.toml").to_string();
    assert!(
        state.contains("undid the changes of an earlier trial"),
        "{state}"
    );
}

/// Whether the results file has the experiment.
fn status_or_nothing(lab: &Lab) -> bool {
    lab.dyno("lab status matrix.toml").status.success()
}

#[test]
fn a_killed_experiments_servers_end_and_its_images_are_reused() {
    let lab = Lab::new();
    write(
        &lab,
        "memory.toml",
        "experiment = 1\nquestion = 'Does it resume?'\n[server]\nkind = 'postgresql'\n\
         [data]\nworkload = 'oltp_read_only'\noptions = { tables = 1, table_size = 500 }\n\
         [load]\nworkload = 'oltp_read_only'\nsessions = 2\nwarmup = '0.2s'\ntime = '1s'\n\
         [[factor]]\nname = 'work_mem'\napplies = 'start'\nsetting = 'work_mem'\n\
         levels = ['1MB', '2MB']\n[design]\nrepeats = 2\n[reset]\ndata = 'restore'\n",
    );
    let mut dyno = lab.start("lab run memory.toml");
    dyno.prints("[1/4]");
    dyno.signal(libc::SIGKILL);
    dyno.finish(LIMIT);
    lab.wait_for_nobody();
    let status_json = status(&lab, "memory.toml");
    assert_eq!(status_json["done"], 1, "{status_json}");
    let resumed = lab.dyno("lab resume memory.toml").success();
    has(
        &resumed,
        &["1 of 4 trials done before", "all 4 trials done"],
    );
    assert!(
        !resumed.stderr.contains("data loaded"),
        "{}",
        resumed.stderr
    );
    let runs = runs_by_trial(&lab);
    assert_eq!(
        (runs.len(), runs.values().sum::<usize>()),
        (4, 4),
        "{runs:?}"
    );
    // No process and no image is left.
    lab.wait_for_nobody();
    has(&lab.dyno("server list").success(), &["no servers"]);
}

#[test]
fn an_interrupted_experiment_prints_how_to_resume() {
    let lab = Lab::new();
    write(
        &lab,
        "matrix.toml",
        &matrix(&format!("sqlite:{}", lab.path("m.db").display())),
    );
    let mut dyno = lab.start("lab run matrix.toml");
    dyno.prints("[2/12]");
    dyno.signal(libc::SIGINT);
    let ended = dyno.finish(LIMIT).failure(130);
    has(
        &ended,
        &["of 12 trials done; the rest: dyno lab resume matrix.toml"],
    );
    let status_json = status(&lab, "");
    let states: Vec<&str> = status_json["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["state"].as_str().unwrap())
        .collect();
    assert!(
        states.contains(&"done") && states.contains(&"open"),
        "{states:?}"
    );
}
