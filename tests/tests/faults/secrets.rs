//! Passwords never appear, no matter how Dyno got them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use dyno_tests::command::run;
use dyno_tests::{Database, Kind, kinds};

use crate::common::{LIMIT, command, sound};

const SECRET: &str = "c4naryWord";

/// The same password, percent-encoded as in a URL.
const ENCODED: &str = "c4nary%57or%64";

/// A user with a password, and a script that prints everything it can see.
struct Canary {
    database: Database,
    folder: tempfile::TempDir,
    script: String,
}

impl Canary {
    fn new(kind: Kind) -> Self {
        let database = Database::new(kind);
        let name = &database.name;
        match kind {
            Kind::Postgres => {
                database.execute(&format!("CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'"));
            }
            _ => {
                database.execute(&format!(
                    "CREATE USER {name}@'127.0.0.1' IDENTIFIED BY '{SECRET}'"
                ));
                database.execute(&format!("GRANT ALL ON {name}.* TO {name}@'127.0.0.1'"));
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("tell.lua");
        let text = "local function tell(t) for k, v in pairs(t or {}) do print(k, v) end end\n\
            function thread_init() tell(arg) tell(sysbench.opt) tell(sysbench.cmdline)\n\
            tell(sysbench.cmdline and sysbench.cmdline.argv) tell(argv)\n\
            con = sysbench.sql.driver():connect() end\n\
            function event() con:query('SELECT 1') end\n";
        fs::write(&script, text).unwrap();
        Self {
            script: script.display().to_string(),
            database,
            folder,
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }

    fn url(&self, password: &str, more: &str) -> String {
        let (name, port) = (&self.database.name, self.database.server.port);
        let scheme = self.database.server.kind.scheme();
        format!("{scheme}://{name}{password}@127.0.0.1:{port}/{name}?{more}")
    }

    /// Runs a command, and searches all of its output for the password.
    fn quiet(&self, command: &mut Command, status: i32) {
        let output = sound(run(command, LIMIT)).failure(status);
        let shown = format!("{}\n{}", output.stdout, output.stderr);
        assert!(!shown.contains(SECRET), "{command:?}\n{shown}");
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let (server, name) = (&self.database.server, &self.database.name);
        let host = match server.kind {
            Kind::Postgres => "",
            _ => "@'127.0.0.1'",
        };
        if !std::thread::panicking() {
            server.execute(None, &format!("DROP USER {name}{host}"));
        }
    }
}

#[test]
fn a_password_is_never_shown() {
    for kind in kinds() {
        let canary = Canary::new(kind);
        let script = &canary.script;
        let password = format!(":{SECRET}");
        let json = canary.file("result.json", "");
        for more in ["", "--plan", "--json", &format!("--json={json}")] {
            let url = canary.url(&password, "");
            let line = format!("run {script} --target {url} --events 9 --warmup 0 {more}");
            canary.quiet(&mut command(&line), 0);
        }
        let written = fs::read_to_string(json).unwrap();
        assert!(written.contains("schema_version") && !written.contains(SECRET));

        let run = |url: String| {
            command(&format!(
                "run {script} --target {url} --events 9 --warmup 0"
            ))
        };
        let parameter = canary.url("", &format!("password={SECRET}"));
        canary.quiet(&mut run(parameter), 0);
        let variable = canary.url("", "password_env=DYNO_CANARY");
        canary.quiet(run(variable).env("DYNO_CANARY", SECRET), 0);
        let mut by_target = command(&format!("run {script} --events 9 --warmup 0"));
        canary.quiet(by_target.env("DYNO_TARGET", canary.url(&password, "")), 0);
        let file = match kind {
            Kind::Postgres => {
                let passfile = canary.file("pgpass", &format!("*:*:*:*:{SECRET}\n"));
                canary.url("", &format!("passfile={passfile}"))
            }
            _ => {
                let text = format!("[client]\npassword={SECRET}\n");
                let defaults = canary.file("my.cnf", &text);
                canary.url("", &format!("defaults_file={defaults}"))
            }
        };
        canary.quiet(&mut run(file), 0);
    }
}

#[test]
fn a_password_in_the_wrong_place_is_not_quoted() {
    let canary = Canary::new(Kind::Mariadb);
    let script = &canary.script;
    let url = canary.url(&format!(":{SECRET}"), "");
    for line in [
        format!("run {url}"),
        format!("run {script} {url}"),
        format!("run {script} --target {url}nonsense=1"),
        format!("run oltp_point_select --targt={url}"),
        url.clone(),
        format!("run oltp_point_select --password={SECRET}"),
        format!("run oltp_point_select --mysql-password={SECRET}"),
    ] {
        canary.quiet(&mut command(&line), 2);
    }
    // Nor in the options of a script that takes any option.
    let line = format!("run {script} --target {url} --events 9 --warmup 0 --db-password={SECRET}");
    for more in ["", " --plan", " --json"] {
        let mut command = command(&(line.clone() + more));
        let output = sound(run(&mut command, LIMIT)).success();
        // The script gets the password, and this one prints it; Dyno itself does not.
        assert!(!output.stdout.contains(SECRET), "{}", output.stdout);
    }
}

#[test]
fn a_password_of_the_sysbench_command_line_is_not_shown() {
    for kind in kinds() {
        let canary = Canary::new(kind);
        let prefix = if kind == Kind::Postgres {
            "pgsql"
        } else {
            "mysql"
        };
        let (name, port) = (&canary.database.name, canary.database.server.port);
        let line = |password: &str, command: &str| {
            format!(
                "sysbench {} --db-driver={prefix} --{prefix}-host=127.0.0.1 \
                 --{prefix}-port={port} --{prefix}-user={name} --{prefix}-db={name} \
                 --{prefix}-password={password} --events=9 {command}",
                canary.script
            )
        };
        canary.quiet(&mut command(&line(SECRET, "run")), 0);
        canary.quiet(&mut command(&line(SECRET, "--debug run")), 0);
        let rejected = format!("{SECRET}x");
        if kind != Kind::Postgres {
            canary.quiet(&mut command(&line(&rejected, "run")), 1);
        }
        canary.quiet(&mut command(&line(SECRET, "run extra")), 1);
        let misspelt = format!("--{prefix}-pasword={SECRET} run");
        let stray = format!("sysbench oltp_point_select {misspelt}");
        canary.quiet(&mut command(&stray), 1);
    }
}

#[test]
fn output_of_a_script_contains_no_password() {
    let canary = Canary::new(Kind::Mariadb);
    let text = "local function tell(word)\n\
          dyno.warning('warned of ' .. word)\n\
          dyno.fact('fact', 'a fact ' .. word)\n\
          dyno.figure('a figure ' .. word, 1, 'unit ' .. word)\n\
          pcall(con.query, con, 'SELECT FROM ' .. word)\n\
        end\n\
        function thread_init() con = sysbench.sql.driver():connect() end\n\
        function event()\n\
          if not told then\n\
            told = true\n\
            tell(os.getenv('CANARY_OF_TEST'))\n\
            tell(os.getenv('ENCODED_CANARY'))\n\
          end\n\
          con:query('SELECT 1')\n\
        end\n";
    let script = canary.file("figures.lua", text);
    let record = canary.folder.path().join("figures.db");
    let report = canary.folder.path().join("figures.html");
    let record = record.display();
    let lines = [
        format!(
            "run {script} --target {} -t 2s --warmup 0 --calibrate never --ignore-errors all \
             --results {record}",
            canary.url(&format!(":{ENCODED}"), "")
        ),
        format!("show 1 --results {record}"),
        format!("show 1 --json --results {record}"),
        format!("report 1 -o {} --results {record}", report.display()),
    ];
    for line in &lines {
        let mut command = command(line);
        command.env("CANARY_OF_TEST", SECRET);
        let output = sound(run(command.env("ENCODED_CANARY", ENCODED), LIMIT)).success();
        let printed = output.stdout + &output.stderr;
        assert!(
            !printed.contains(SECRET) && !printed.contains(ENCODED),
            "{line}:\n{printed}"
        );
    }
    for path in [record.to_string(), report.display().to_string()] {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET) && !text.contains(ENCODED), "{path}");
        assert!(text.contains("warned of ***"), "{path}");
    }
}

#[test]
fn names_declared_by_a_script_contain_no_password() {
    let canary = Canary::new(Kind::Mariadb);
    let target = canary.url(&format!(":{SECRET}"), "");
    let declared = [
        ("operation", "dyno.operation('to_' .. word)"),
        ("sum", "dyno.sum('of_' .. word)"),
        (
            "role",
            "function roles() return {{name = word, sessions = 1, event = function() end}} end",
        ),
        (
            "unit",
            "function phases() return {{name = 'one', unit = word, events = 1}} end",
        ),
        (
            "phase",
            "function phases() return {{name = word, events = 1}} end",
        ),
    ];
    for (what, declared) in declared {
        let text =
            format!("local word = os.getenv('CANARY_OF_TEST')\n{declared}\nfunction event() end\n");
        let script = canary.file("named.lua", &text);
        for more in ["", " --plan"] {
            let mut command = command(&format!("run {script} --target {target}{more}"));
            let output = run(command.env("CANARY_OF_TEST", SECRET), LIMIT);
            let output = sound(output).failure(1);
            let printed = format!("{}{}", output.stdout, output.stderr);
            let why = format!("the {what} '");
            assert!(
                printed.contains(&why) && printed.contains("has a password in"),
                "{printed}"
            );
            assert!(!printed.contains(SECRET), "{printed}");
        }
    }
}
