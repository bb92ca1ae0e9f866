//! Manual pages, as the binary prints them, and static completions generated from its catalogue.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;
use serde_json::Value;

use super::output;

/// The commands and options of a binary.
pub(super) struct Catalogue {
    json: Value,
    binary: PathBuf,
}

impl Catalogue {
    /// Reads the catalogue that the binary prints.
    ///
    /// # Errors
    /// The binary does not run, or prints something else.
    pub(super) fn of(binary: &Path) -> Result<Self> {
        let text = output(Process::new(binary).args(["help", "--format", "json"]))?;
        let json = serde_json::from_str(&text).context("dyno's catalogue is not JSON")?;
        Ok(Self {
            json,
            binary: binary.to_owned(),
        })
    }

    /// The program's version.
    ///
    /// # Errors
    /// The catalogue has no version.
    pub(super) fn version(&self) -> Result<&str> {
        text(&self.json, "version")
    }

    /// The names of the commands.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        list(&self.json, "commands").filter_map(|command| command["name"].as_str())
    }

    /// The names of a command's options.
    pub(super) fn options(&self, command: &str) -> Vec<&str> {
        let mut commands = list(&self.json, "commands");
        let found = commands.find(|each| each["name"] == command);
        let options = found.into_iter().flat_map(|found| list(found, "options"));
        options.filter_map(|opt| opt["name"].as_str()).collect()
    }

    /// The manual pages by file name.
    ///
    /// # Errors
    /// The binary does not print one of them.
    pub(super) fn pages(&self) -> Result<Vec<(String, String)>> {
        let print = |args: &[&str]| output(Process::new(&self.binary).arg("man").args(args));
        let mut pages = vec![("dyno.1".to_owned(), print(&[])?)];
        for name in self.commands() {
            pages.push((format!("dyno-{name}.1"), print(&[name])?));
        }
        Ok(pages)
    }

    /// The static completion for a shell.
    ///
    /// # Errors
    /// The catalogue is incomplete.
    pub(super) fn completion(&self, shell: Shell) -> Result<String> {
        let mut command = self.command()?;
        for each in list(&self.json, "commands") {
            let name = text(each, "name")?.to_owned();
            let own = bare(name).about(text(each, "about")?.to_owned());
            command = command.subcommand(own.args(self.arguments(each)?));
        }
        let mut bytes = Vec::new();
        clap_complete::generate(shell, &mut command, "dyno", &mut bytes);
        String::from_utf8(bytes).context("a completion is not UTF-8")
    }

    fn command(&self) -> Result<Command> {
        Ok(bare("dyno".to_owned())
            .version(self.version()?.to_owned())
            .about("a dynamometer for databases"))
    }

    fn arguments(&self, command: &Value) -> Result<Vec<Arg>> {
        let equals = command["equals_only"].as_bool().unwrap_or_default();
        let options = list(command, "options");
        options.map(|json| argument(json, equals)).collect()
    }
}

/// A clap command without clap's default options.
fn bare(name: String) -> Command {
    let command = Command::new(name).disable_help_flag(true);
    command
        .disable_help_subcommand(true)
        .disable_version_flag(true)
}

fn argument(json: &Value, equals: bool) -> Result<Arg> {
    let name = text(json, "name")?.to_owned();
    let mut arg = Arg::new(name.clone())
        .long(name)
        .help(text(json, "help")?.to_owned())
        .help_heading(text(json, "group")?.to_owned());
    arg = arg.short(
        json["short"]
            .as_str()
            .and_then(|short| short.chars().next()),
    );
    let aliases = list(json, "aliases").filter_map(Value::as_str);
    arg = arg.aliases(aliases.map(str::to_owned).collect::<Vec<_>>());
    let Some(value) = json["value"].as_str() else {
        return Ok(arg.action(ArgAction::SetTrue));
    };
    arg = arg.value_name(value.to_owned()).action(ArgAction::Append);
    if json["value_is_optional"] == true {
        arg = arg.num_args(0..=1).require_equals(true);
    } else if equals {
        arg = arg.require_equals(true);
    }
    let values: Vec<String> = list(json, "values")
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if !values.is_empty() {
        // The help already lists the values.
        arg = arg.value_parser(PossibleValuesParser::new(values));
        arg = arg.hide_possible_values(true);
    } else if value == "FILE" {
        arg = arg.value_hint(ValueHint::FilePath);
    }
    Ok(arg)
}

fn text<'a>(json: &'a Value, key: &str) -> Result<&'a str> {
    match json[key].as_str() {
        Some(text) => Ok(text),
        None => bail!("dyno's catalogue lacks '{key}' in {json}"),
    }
}

fn list<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    json[key].as_array().into_iter().flatten()
}
