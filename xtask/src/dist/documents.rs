//! Manual pages and static completions, made from what the binary tells of its commands.

use std::path::Path;
use std::process::Command as Process;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::Value;

use super::output;

/// What the binary tells of its commands.
pub struct Catalogue {
    json: Value,
    /// The commit's day, for the pages.
    date: String,
}

/// What the pages tell besides.
const ENVIRONMENT: &str = include_str!("pages/environment.roff");
/// What the page of the program tells besides.
const PROGRAM: &str = include_str!("pages/dyno.roff");

impl Catalogue {
    /// Asks the binary.
    ///
    /// # Errors
    /// It does not run, or answers something else.
    pub fn of(binary: &Path) -> Result<Self> {
        let text = output(Process::new(binary).args(["help", "--format", "json"]))?;
        let json = serde_json::from_str(&text).context("dyno's catalogue is no JSON")?;
        let epoch = super::package::epoch()?;
        let mut date = Process::new("date");
        let date = output(date.args(["-u", "-d", &format!("@{epoch}"), "+%Y-%m-%d"]))?;
        Ok(Self {
            json,
            date: date.trim().to_owned(),
        })
    }

    /// The program's version.
    ///
    /// # Errors
    /// The catalogue has none.
    pub fn version(&self) -> Result<&str> {
        text(&self.json, "version")
    }

    /// The names of the commands.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        list(&self.json, "commands").filter_map(|command| command["name"].as_str())
    }

    /// The names of a command's options.
    pub fn options(&self, command: &str) -> Vec<&str> {
        let mut commands = list(&self.json, "commands");
        let found = commands.find(|each| each["name"] == command);
        let options = found.into_iter().flat_map(|found| list(found, "options"));
        options.filter_map(|opt| opt["name"].as_str()).collect()
    }

    /// The manual pages by their files' names.
    ///
    /// # Errors
    /// A catalogue that lacks something.
    pub fn pages(&self) -> Result<Vec<(String, String)>> {
        let mut pages = vec![("dyno.1".to_owned(), self.main_page()?)];
        for command in list(&self.json, "commands") {
            let name = text(command, "name")?;
            pages.push((format!("dyno-{name}.1"), self.page(command)?));
        }
        Ok(pages)
    }

    /// The static completion for a shell.
    ///
    /// # Errors
    /// A catalogue that lacks something.
    pub fn completion(&self, shell: Shell) -> Result<String> {
        let mut command = self.command()?;
        for each in list(&self.json, "commands") {
            let name = text(each, "name")?.to_owned();
            let own = bare(name).about(text(each, "about")?.to_owned());
            command = command.subcommand(own.args(self.arguments(each)?));
        }
        let mut bytes = Vec::new();
        clap_complete::generate(shell, &mut command, "dyno", &mut bytes);
        String::from_utf8(bytes).context("a completion is no UTF-8")
    }

    fn command(&self) -> Result<Command> {
        Ok(bare("dyno".to_owned())
            .version(self.version()?.to_owned())
            .about("a dynamometer for databases"))
    }

    fn main_page(&self) -> Result<String> {
        let mut page = self.head(self.command()?, "[command] [options]")?;
        page += "Puts a load on a database server, measures what the server does, and says how far \
                 the figures can be believed.\n";
        page += ".SH COMMANDS\n";
        for command in list(&self.json, "commands") {
            let (name, arguments) = (text(command, "name")?, text(command, "arguments")?);
            page += &format!(
                ".TP\n\\fB{}\\fR {}\n{}; see dyno\\-{}(1)\n",
                escaped(name),
                escaped(arguments),
                escaped(text(command, "about")?),
                escaped(name)
            );
        }
        for (heading, key) in [("WORKLOADS", "workloads"), ("TESTS OF THE HOST", "tests")] {
            page += &format!(".SH \"{heading}\"\n");
            for each in list(&self.json, key) {
                let (name, about) = (text(each, "name")?, text(each, "about")?);
                page += &format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(about));
            }
        }
        let names: Vec<String> = self.commands().map(also).collect();
        Ok(page + PROGRAM + ENVIRONMENT + ".SH \"SEE ALSO\"\n" + &names.join(",\n") + "\n")
    }

    fn page(&self, json: &Value) -> Result<String> {
        let name = text(json, "name")?;
        let about = text(json, "about")?;
        let options = self.arguments(json)?;
        let usage = match options.is_empty() {
            true => text(json, "arguments")?.to_owned(),
            false => format!("{} [options]", text(json, "arguments")?),
        };
        let command = bare(format!("dyno-{name}")).about(about.to_owned());
        let command = command.args(options);
        let mut page = self.head(command.clone(), usage.trim())?;
        page += &sentence(about);
        if json["arguments"] == "WORKLOAD" {
            page +=
                "The workload\\(aqs own options are told by \\fBdyno help\\fR \\fIWORKLOAD\\fR.\n";
        }
        let mut bytes = Vec::new();
        Man::new(command).render_options_section(&mut bytes)?;
        page += &body(&String::from_utf8(bytes)?);
        Ok(page + ENVIRONMENT + ".SH \"SEE ALSO\"\n.BR dyno (1)\n")
    }

    /// A page down to its description.
    fn head(&self, command: Command, usage: &str) -> Result<String> {
        let name = command.get_name().to_owned();
        let typed = name.replacen('-', " ", 1);
        let man = Man::new(command)
            .date(self.date.clone())
            .source(format!("dyno {}", self.version()?))
            .manual("Dyno");
        let mut bytes = Vec::new();
        man.render_title(&mut bytes)?;
        man.render_name_section(&mut bytes)?;
        let head = String::from_utf8(bytes)?;
        let usage = escaped(usage);
        Ok(format!(
            "{head}.SH SYNOPSIS\n\\fB{typed}\\fR {usage}\n.SH DESCRIPTION\n"
        ))
    }

    fn arguments(&self, command: &Value) -> Result<Vec<Arg>> {
        let equals = command["equals_only"].as_bool().unwrap_or_default();
        let options = list(command, "options");
        options.map(|json| argument(json, equals)).collect()
    }
}

/// A command of clap's without what it adds by itself.
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
        // The help tells them already.
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

/// A text that means nothing to roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let text = text.replace('\'', "\\(aq").replace('…', "...");
    match text.starts_with('.') {
        true => format!("\\&{text}"),
        false => text,
    }
}

fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let end = if about.ends_with(['.', '?']) { "" } else { "." };
    format!(
        "{}{}{end}\n",
        escaped(&first.unwrap_or_default()),
        escaped(letters.as_str())
    )
}

fn also(command: &str) -> String {
    format!(".BR dyno\\-{} (1)", escaped(command))
}

/// A page without what roff begins each document with.
fn body(page: &str) -> String {
    let lines = page.lines().skip_while(|line| !line.starts_with(".SH"));
    lines.map(|line| format!("{line}\n")).collect()
}
