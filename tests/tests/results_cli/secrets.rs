//! The record of a run must never contain a password.

use std::fs;

use dyno_tests::command::run;
use dyno_tests::{Database, Kind, kinds};

use crate::common::{LIMIT, Lab, SHORT, finding, sound};

const SECRET: &str = "c4naryWord";

fn holds(bytes: &[u8]) -> bool {
    bytes
        .windows(SECRET.len())
        .any(|part| part == SECRET.as_bytes())
}

/// Creates a user with the password in the database.
fn user(database: &Database) -> String {
    let name = &database.name;
    match database.server.kind {
        Kind::Postgres => {
            database.execute(&format!("CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'"));
            database.execute(&format!(
                "GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}"
            ));
        }
        _ => {
            let user = format!("{name}@'127.0.0.1'");
            database.execute(&format!("CREATE USER {user} IDENTIFIED BY '{SECRET}'"));
            database.execute(&format!("GRANT ALL ON {name}.* TO {user}"));
        }
    }
    name.clone()
}

#[test]
fn a_password_is_in_no_record() {
    for kind in kinds() {
        let lab = Lab::new();
        let database = Database::new(kind);
        let plain = database.url();
        lab.dyno(&format!(
            "prepare oltp_point_select --target {plain} --table-size 1000"
        ))
        .success();
        let name = user(&database);
        let administrator = format!("{}@", database.server.user());
        let with = |account: &str| plain.replace(&administrator, &format!("{account}@"));
        let by_url = with(&format!("{name}:{SECRET}"));
        let by_variable = format!("{}?password_env=DYNO_CANARY", with(&name));
        for url in [&by_url, &by_variable] {
            let line = format!(
                "run oltp_point_select --target {url} --table-size 1000 {SHORT} --json=result.json \
                 --note 'was {by_url}'"
            );
            let mut command = lab.command(&line);
            let output = sound(run(command.env("DYNO_CANARY", SECRET), LIMIT)).success();
            assert!(!holds(output.stdout.as_bytes()) && !holds(output.stderr.as_bytes()));
            let result = lab.json("show --json");
            assert_eq!(finding(&result, "secrets")["outcome"], "pass", "{kind}");
            // The plan has no password, either. It names the source of the password if the URL
            // does.
            let plan = lab.dyno("show --plan").success().stdout;
            assert!(!holds(plan.as_bytes()), "{plan}");
            lab.file("p.json", &plan);
            let line = match url.contains("password_env") {
                true => "run --plan p.json".to_owned(),
                false => format!("run --plan p.json --target {url}"),
            };
            let mut command = lab.command(&line);
            sound(run(command.env("DYNO_CANARY", SECRET), LIMIT)).success();
        }
        for line in [
            "report -o report.html",
            "report --format markdown",
            "report --format junit",
            "export -o export.json",
            "show --findings",
        ] {
            let output = lab.dyno(line).success();
            assert!(!holds(output.stdout.as_bytes()), "{line}");
        }
        let mut files = 0;
        for entry in fs::read_dir(lab.path("")).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                files += 1;
                assert!(
                    !holds(&fs::read(entry.path()).unwrap()),
                    "{kind}: {entry:?}"
                );
            }
        }
        assert!(files >= 4, "{files} files");
        if kind == Kind::Postgres {
            database.execute(&format!("DROP OWNED BY {name}; DROP ROLE {name}"));
        } else {
            database.execute(&format!("DROP USER {name}@'127.0.0.1'"));
        }
    }
}
