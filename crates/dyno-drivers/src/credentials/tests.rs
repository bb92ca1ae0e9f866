use std::os::unix::fs::PermissionsExt;

use dyno_core::target::Environment;
use tempfile::TempDir;

use super::*;

/// A home directory and an environment.
struct Home {
    directory: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let home = directory.path().display().to_string();
        Self {
            directory,
            variables: vec![("HOME", home)],
        }
    }

    fn write(&self, name: &str, mode: u32, text: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    }

    fn complete(&self, url: &str) -> Result<(Target, Vec<String>), DbError> {
        let environment = Environment {
            user: Some("me".to_owned()),
            exists: |_| false,
        };
        let mut target = Target::parse_in(url, &environment).unwrap();
        let variable = |name: &str| {
            let found = self.variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| value.clone())
        };
        let warnings = complete_in(&mut target, &variable)?;
        Ok((target, warnings))
    }

    /// User, password and first endpoint.
    fn facts(&self, url: &str) -> (String, Option<String>, String) {
        let (target, warnings) = self.complete(url).unwrap();
        assert_eq!(warnings, [""; 0]);
        let password = target.password.as_ref();
        (
            target.user.clone(),
            password.map(|password| password.expose().to_owned()),
            target.endpoints[0].to_string(),
        )
    }
}

fn facts(user: &str, password: Option<&str>, place: &str) -> (String, Option<String>, String) {
    (
        user.to_owned(),
        password.map(str::to_owned),
        place.to_owned(),
    )
}

#[test]
fn a_variable_that_the_user_names() {
    let mut home = Home::new();
    home.variables.push(("MY_PW", "hunter2".to_owned()));
    for scheme in ["mysql", "postgres"] {
        let url = format!("{scheme}://u@h:1?password_env=MY_PW");
        assert_eq!(home.facts(&url), facts("u", Some("hunter2"), "h:1"));
    }
    let error = home.complete("mysql://u@h?password_env=OTHER").unwrap_err();
    assert!(
        error.message.contains("OTHER (password_env) is not set"),
        "{error}"
    );
    let error = home
        .complete("mysql://u:hunter2@h?password_env=MY_PW")
        .unwrap_err();
    assert!(error.message.contains("use only one"), "{error}");
    assert!(!error.message.contains("hunter2"), "{error}");
}

#[test]
fn an_option_file_fills_only_parts_missing_from_the_url() {
    let home = Home::new();
    assert_eq!(home.facts("mysql://"), facts("me", None, "localhost:3306"));
    let text = "[client]\nuser=cu\npassword=cp\nhost=ch\nport=33\nsocket=/cs\n";
    home.write(".my.cnf", 0o600, text);
    for (url, user, password, place) in [
        ("mysql://", "cu", "cp", "ch:33"),
        ("mysql://u@", "u", "cp", "ch:33"),
        ("mysql://u:p@", "u", "p", "ch:33"),
        ("mysql://h", "cu", "cp", "h:33"),
        ("mysql://h:44", "cu", "cp", "h:44"),
        ("mysql://:44", "cu", "cp", "ch:44"),
        ("mysql://localhost", "cu", "cp", "/cs"),
        ("mysql://localhost:44", "cu", "cp", "localhost:44"),
        ("mysql:///?socket=/us", "cu", "cp", "/us"),
    ] {
        assert_eq!(home.facts(url), facts(user, Some(password), place), "{url}");
    }

    home.write(".my.cnf", 0o600, "[client]\nsocket=/cs\n");
    assert_eq!(home.facts("mysql://"), facts("me", None, "/cs"));
    let tcp = facts("me", None, "127.0.0.1:3306");
    assert_eq!(home.facts("mysql://127.0.0.1"), tcp);
    home.write(".my.cnf", 0o600, "[client]\nhost=localhost\nport=33\n");
    assert_eq!(home.facts("mysql://"), facts("me", None, "localhost:33"));
}

#[test]
fn rejects_unusable_option_files() {
    let home = Home::new();
    let other = home.write("other.cnf", 0o600, "[client]\nuser=ou\n!include x\n");
    let (target, warnings) = home
        .complete(&format!("mysql://h?defaults_file={other}"))
        .unwrap();
    assert_eq!(target.user, "ou");
    assert!(warnings[0].contains("not followed"), "{warnings:?}");
    let error = home
        .complete("mysql://h?defaults_file=/nowhere.cnf")
        .unwrap_err();
    assert!(
        error.message.contains("/nowhere.cnf (defaults_file)"),
        "{error}"
    );
    home.write(".my.cnf", 0o666, "[client]\nuser=cu\n");
    let (target, warnings) = home.complete("mysql://h").unwrap();
    assert_eq!(target.user, "me");
    assert!(warnings[0].contains("everybody can write"), "{warnings:?}");
    home.write(".my.cnf", 0o600, "[client]\nport=x\n");
    assert!(
        home.complete("mysql://h")
            .unwrap_err()
            .message
            .contains("is not a number")
    );
    std::fs::remove_file(home.directory.path().join(".my.cnf")).unwrap();
    std::fs::create_dir(home.directory.path().join(".my.cnf")).unwrap();
    let (_, warnings) = home.complete("mysql://h").unwrap();
    assert!(warnings[0].contains("not a regular file"), "{warnings:?}");
}

#[test]
fn password_files_of_postgresql() {
    let mut home = Home::new();
    home.write(".pgpass", 0o600, "h:5432:u:u:one\nh2:*:*:*:two\n");
    let found = |password| facts("u", Some(password), "h:5432");
    assert_eq!(home.facts("postgres://u@h"), found("one"));
    assert_eq!(home.facts("postgres://u:p@h"), found("p"));
    let other = facts("u", None, "other:5432");
    assert_eq!(home.facts("postgres://u@other"), other);
    let error = home.complete("postgres://u@h,h2").unwrap_err();
    assert!(error.message.contains("different passwords"), "{error}");
    assert!(
        !error.message.contains("one\n") && !error.message.contains("two"),
        "{error}"
    );

    let file = home.write("file", 0o600, "*:*:*:*:three\n");
    home.variables.push(("PGPASSFILE", file.clone()));
    assert_eq!(home.facts("postgres://u@h"), found("three"));
    home.variables.push(("PGPASSWORD", "four".to_owned()));
    assert_eq!(home.facts("postgres://u@h"), found("four"));
    let url = format!("postgres://u@h?passfile={file}");
    assert_eq!(home.facts(&url), found("three"));
    let error = home
        .complete("postgres://u@h?passfile=/nowhere")
        .unwrap_err();
    assert!(error.message.contains("/nowhere (passfile)"), "{error}");
}

#[test]
fn a_password_file_that_others_may_read_is_ignored() {
    let home = Home::new();
    for mode in [0o640, 0o604, 0o644] {
        home.write(".pgpass", mode, "*:*:*:*:hunter2\n");
        let (target, warnings) = home.complete("postgres://u@h").unwrap();
        assert_eq!(target.password, None);
        assert!(warnings[0].contains("chmod 0600"), "{warnings:?}");
        assert!(!warnings[0].contains("hunter2"));
    }
}
