//! Scripts that run other programs.

use std::fs;

use dyno_tests::Kind;

use crate::common::on;

/// Reads the output of programs while observers and workers start. The pipe would never end if
/// another thread kept it open.
const SCRIPT: &str = r#"
local function ask(times)
  for _ = 1, times do
    local pipe = io.popen("echo it says so")
    assert(pipe:read("*a") == "it says so\n")
    pipe:close()
  end
end

ask(5)

function init()
  ask(30)
end

function thread_init()
  con = sysbench.sql.driver():connect()
  ask(20)
end

function event()
  con:query("SELECT 1")
end
"#;

#[test]
fn output_of_programs_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("asks.lua");
    fs::write(&script, SCRIPT).unwrap();
    let place = on(Kind::Mariadb);
    for _ in 0..5 {
        let line = format!(
            "run {} -c 8 --workers 4 --events 100 --warmup 0 --calibrate never -q --results none",
            script.display()
        );
        place.dyno(&line).success();
    }
}
