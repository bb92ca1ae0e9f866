//! Changing settings and running statements on a running server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::Family;
use dyno_core::suggest::nearest;
use dyno_core::text::sql_string;

use crate::contract::{Reached, complete_target, reach, settings_by_url};
use crate::error::{Result, ServerError, failed};
use crate::home::Home;
use crate::server::Server;
use crate::settings::{Reported, Settings, read_back};

/// Timeout of a statement.
const STATEMENT: Duration = Duration::from_secs(600);

/// Has PostgreSQL read its files again.
const RELOAD: &str = "SELECT pg_reload_conf()";

/// The prefix of a target that is one of Dyno's servers, before its name.
const OWN: &str = "server:";

/// The URL of a target, which may be one of Dyno's servers.
///
/// # Errors
/// The server is unknown, or does not run.
pub fn url_of(target: &str) -> Result<String> {
    let Some(name) = target.strip_prefix(OWN) else {
        return Ok(target.to_owned());
    };
    let server = Server::open(&Home::of_user()?, name)?;
    if server.running()?.is_none() {
        return Err(ServerError::Usage(format!(
            "server '{name}' is not running; start it with `dyno server restart {name}`"
        )));
    }
    server.url(false)
}

/// A connection to a running server, to change it.
pub struct Online {
    reached: Reached,
    target: Target,
}

impl Online {
    /// Connects to the server of a target: a URL, or `server:NAME`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect(target: &str) -> Result<Self> {
        let url = url_of(target)?;
        match complete_target(&url) {
            Ok(target) => Self::of(target),
            Err(why) => failed(format!("cannot query the server: {why}")),
        }
    }

    /// Connects to a target that has its password.
    ///
    /// # Errors
    /// It does not answer.
    pub fn of(target: Target) -> Result<Self> {
        match reach(&target) {
            Ok(reached) => Ok(Self { reached, target }),
            Err(why) => failed(format!("cannot query the server: {why}")),
        }
    }

    /// The statements that change these settings, without a look at their present values.
    pub fn changing(&self, settings: &Settings) -> Vec<String> {
        let is_postgres = self.reached.family == Family::Postgres;
        let changes = settings.iter().map(|(name, value)| match is_postgres {
            true => format!("ALTER SYSTEM SET {name} = {}", sql_string(value)),
            false => format!("SET GLOBAL {name} = {}", literal(value)),
        });
        let reload = (is_postgres && !settings.is_empty()).then(|| RELOAD.to_owned());
        changes.chain(reload).collect()
    }

    /// Runs statements, separated by `;`.
    ///
    /// # Errors
    /// The server's message, with the statement.
    pub fn run(&mut self, sql: &str) -> Result<()> {
        for statement in statements(sql) {
            if let Err(error) = self.reached.control.query(statement, STATEMENT) {
                return failed(format!("{statement}: {error}"));
            }
        }
        Ok(())
    }

    /// The first field of the first row; `None` if there is no row, or for NULL.
    ///
    /// # Errors
    /// The server's message, with the query.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>> {
        match self.reached.control.query(sql, STATEMENT) {
            Ok(rows) => Ok(rows
                .into_iter()
                .next()
                .and_then(|row| row.into_iter().next()?)),
            Err(error) => failed(format!("{sql}: {error}")),
        }
    }

    /// Changes settings of the running server, reads them back, and returns the statements that
    /// restore them.
    ///
    /// # Errors
    /// The server rejects, changes or ignores a setting.
    pub fn set(&mut self, settings: &Settings) -> Result<Vec<String>> {
        if settings.is_empty() {
            return Ok(Vec::new());
        }
        let mut undo = Vec::new();
        if let Err(error) = self.change(settings, &mut undo) {
            return match self.undo(undo) {
                Ok(()) => Err(error),
                Err(left) => failed(format!("{error}; a change could not be undone: {left}")),
            };
        }
        Ok(undo)
    }

    /// The present values of these settings, as the server shows them.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn values(&self, names: &BTreeSet<&str>) -> Result<Vec<(String, String)>> {
        let has = self.settings()?;
        let own = has.into_iter();
        let own = own.filter(|(name, _)| names.contains(name.as_str()));
        Ok(own.map(|(name, own)| (name, own.value)).collect())
    }

    /// The statements that restore these settings to their present values.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn undoing(&mut self, settings: &Settings) -> Result<Vec<String>> {
        if settings.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.settings()?;
        let mut undo = Vec::new();
        for (name, _) in settings.iter() {
            // [`Online::set`] reports those that the server lacks.
            if let Some(was) = before.get(name) {
                undo.push(self.restoring(name, &was.value)?);
            }
        }
        if self.reached.family == Family::Postgres {
            undo.push(RELOAD.to_owned());
        }
        Ok(undo)
    }

    /// Runs the statements that restore settings, all of them even if one fails.
    ///
    /// # Errors
    /// The first error.
    pub fn undo(&mut self, statements: Vec<String>) -> Result<()> {
        let ran = statements.iter().map(|sql| self.run(sql));
        ran.fold(Ok(()), Result::and)
    }

    /// Changes settings and adds the statements that restore them, also on an error.
    fn change(&mut self, settings: &Settings, undo: &mut Vec<String>) -> Result<()> {
        let before = self.settings()?;
        let is_postgres = self.reached.family == Family::Postgres;
        if is_postgres {
            undo.push(RELOAD.to_owned());
        }
        for (name, value) in settings.iter() {
            let Some(was) = before.get(name) else {
                return failed(format!("the server has no setting {name} to change"));
            };
            let restores = self.restoring(name, &was.value)?;
            match self.reached.family {
                Family::Postgres => {
                    self.run(&format!("ALTER SYSTEM SET {name} = {}", sql_string(value)))?;
                    undo.insert(0, restores);
                }
                _ => {
                    self.run(&format!("SET GLOBAL {name} = {}", literal(value)))?;
                    undo.push(restores);
                }
            }
        }
        if is_postgres {
            self.run(RELOAD)?;
            // A session sees the new values once its server process has read them.
            std::thread::sleep(Duration::from_millis(200));
        }
        let has = self.settings()?;
        let comparison = read_back(settings, &has);
        if let Some(wrong) = comparison.mismatches.first() {
            return failed(format!(
                "{} should be {} but is {}",
                wrong.name, wrong.asked, wrong.has
            ));
        }
        Ok(())
    }

    /// The statement that restores a setting to this value, the present one.
    fn restoring(&mut self, name: &str, value: &str) -> Result<String> {
        Ok(match self.reached.family {
            Family::Postgres => put_back(name, self.of_system(name)?.as_deref()),
            _ => format!("SET GLOBAL {name} = {}", literal(value)),
        })
    }

    /// The value of a PostgreSQL setting from the user's ALTER SYSTEM.
    fn of_system(&mut self, name: &str) -> Result<Option<String>> {
        self.value(&format!(
            "SELECT setting FROM pg_file_settings WHERE sourcefile LIKE \
             '%/postgresql.auto.conf' AND lower(name) = lower({}) ORDER BY seqno DESC LIMIT 1",
            sql_string(name)
        ))
    }

    /// The settings that the server lacks, each with the most similar one that it has.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn unknown(&self, settings: &Settings) -> Result<Vec<String>> {
        let has = self.settings()?;
        let wrong = settings.iter().filter(|(name, _)| !has.contains_key(*name));
        Ok(wrong
            .map(
                |(name, _)| match nearest(name, has.keys().map(String::as_str)) {
                    Some(near) => {
                        format!("the server has no setting '{name}'; did you mean '{near}'?")
                    }
                    None => format!("the server has no setting '{name}'"),
                },
            )
            .collect())
    }

    fn settings(&self) -> Result<BTreeMap<String, Reported>> {
        let settings = settings_by_url(reach(&self.target))?;
        Ok(settings.unwrap_or_default())
    }
}

/// The statement that restores a setting of ALTER SYSTEM.
fn put_back(name: &str, was: Option<&str>) -> String {
    match was {
        Some(value) => format!("ALTER SYSTEM SET {name} = {}", sql_string(value)),
        None => format!("ALTER SYSTEM RESET {name}"),
    }
}

/// A value for `SET GLOBAL`: numbers and words unchanged, sizes in bytes, everything else quoted.
fn literal(value: &str) -> String {
    let is_word = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphabetic());
    if value.parse::<f64>().is_ok() || is_word {
        return value.to_owned();
    }
    match dyno_core::units::parse_size(value) {
        Ok(bytes) => bytes.to_string(),
        Err(_) => sql_string(value),
    }
}

/// The statements of a text, split at each `;` outside quotes.
fn statements(sql: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut begin, mut within) = (0, None);
    for (at, letter) in sql.char_indices() {
        match (within, letter) {
            (None, ';') => {
                all.push(&sql[begin..at]);
                begin = at + 1;
            }
            (None, '\'' | '"' | '`') => within = Some(letter),
            (Some(quote), letter) if quote == letter => within = None,
            _ => {}
        }
    }
    all.push(&sql[begin..]);
    let trimmed = all.into_iter().map(str::trim);
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_split_outside_quotes() {
        assert_eq!(
            statements("UPDATE a SET b='x;y'; ;SELECT \"c;\" ;"),
            ["UPDATE a SET b='x;y'", "SELECT \"c;\""]
        );
    }

    #[test]
    fn a_setting_of_alter_system_is_put_back() {
        assert_eq!(put_back("work_mem", None), "ALTER SYSTEM RESET work_mem");
        let text = "ALTER SYSTEM SET work_mem = '7MB'";
        assert_eq!(put_back("work_mem", Some("7MB")), text);
    }

    #[test]
    fn values_are_written_as_set_global_takes_them() {
        for (value, text) in [
            ("1", "1"),
            ("ON", "ON"),
            ("0.5", "0.5"),
            ("16M", "16777216"),
            ("ROW,x", "'ROW,x'"),
            ("it's", "'it''s'"),
            ("", "''"),
        ] {
            assert_eq!(literal(value), text);
        }
    }
}
