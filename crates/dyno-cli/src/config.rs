//! `dyno.toml`: the user's defaults for options. Found like cargo's configuration: in the current
//! folder and those above it, then in the user's configuration folder; the nearer file wins.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use dyno_core::suggest::nearest;
use dyno_host::{Edition, Test};
use dyno_run::Workload;
use toml::de::{DeTable, DeValue};

use crate::commands::catalogue::{Command, Words, find};
use crate::console;
use crate::definitions::RUN;
use crate::options::{Grammar, Opt, Script, find_own, parse};
use crate::settings::usage;

const NAME: &str = "dyno.toml";
/// Names the only file to read, or `none`.
const VARIABLE: &str = "DYNO_CONFIG";
/// Options that environment variables set; they override the files.
const OF_ENVIRONMENT: [(&str, &str); 3] = [
    ("target", "DYNO_TARGET"),
    ("results", "DYNO_RESULTS"),
    ("verbose", "DYNO_VERBOSE"),
];
/// Configuration files are short.
const BYTES_MAX: u64 = 1 << 20;

/// Inserts the defaults of the user's files before the typed arguments, so that those win.
///
/// # Errors
/// A file cannot be read, is not TOML, or sets an unknown option.
pub(crate) fn with_defaults(command: &Command, mut args: Vec<String>) -> Result<Vec<String>> {
    if !is_configurable(command) {
        return Ok(args);
    }
    let options = command.options();
    let typed = parse(&args[2..], &options, Script::Unknown, command.grammar());
    // Mistakes on the command line are reported by its parser.
    let typed = typed.unwrap_or_default();
    let has_plan = typed.value("plan").is_some() && typed.words.is_empty();
    if has_plan || typed.has("help") {
        return Ok(args);
    }
    let workload = typed
        .words
        .first()
        .filter(|_| command.words == Words::Workload);
    let mut defaults = Vec::new();
    for path in files()? {
        let text = read(&path)?;
        let file = File {
            path: &path,
            text: &text,
            test: workload.and_then(|name| dyno_host::find(name)),
        };
        defaults.extend(file.defaults(command, &options, workload.map(String::as_str))?);
    }
    if !defaults.is_empty() && typed.has("verbose") {
        console::note(&format!("note: from {NAME}: {}", defaults.join(" ")));
    }
    args.splice(2..2, defaults);
    Ok(args)
}

/// Commands whose options can have defaults. Laboratory, servers, agents and sysbench's command
/// line do not use them.
fn is_configurable(command: &Command) -> bool {
    use Words::{Lists, Logs, Nothing, Run, Runs, Workload};
    command.name != "agent"
        && matches!(
            command.words,
            Workload | Run | Runs | Lists | Logs | Nothing
        )
}

/// The files, the nearest last.
fn files() -> Result<Vec<PathBuf>> {
    match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(none) if none == "none" => return Ok(Vec::new()),
        Some(file) => return Ok(vec![PathBuf::from(file)]),
        None => {}
    }
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".config"));
    let of_user = set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    let of_user = of_user.map(|folder| folder.join("dyno").join(NAME));
    let here = env::current_dir().unwrap_or_default();
    let mut above: Vec<PathBuf> = here.ancestors().map(|folder| folder.join(NAME)).collect();
    above.reverse();
    let all = of_user.into_iter().chain(above);
    Ok(all
        .filter(|path| path.is_file() && is_trusted(path))
        .collect())
}

/// Options can name programs to run, so a file in a shared folder must belong to the user or root.
fn is_trusted(path: &Path) -> bool {
    // SAFETY: it has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    let owner = fs::metadata(path).map(|found| found.uid()).ok();
    let trusted = owner.is_some_and(|owner| owner == user || owner == 0);
    if !trusted {
        console::note(&format!(
            "warning: {} belongs to another user and is not read",
            path.display()
        ));
    }
    trusted
}

fn read(path: &Path) -> Result<String> {
    let shown = path.display().to_string();
    let text = crate::input::read_text(&shown, BYTES_MAX);
    text.map_err(|error| usage(format!("cannot read {shown}: {error}")))
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    /// The workload, if it is a test of the host, to which some options do not apply.
    test: Option<&'static Test>,
}

impl File<'_> {
    /// The file's settings for the command, as arguments. Top-level keys apply to every command
    /// that has the option; a table applies to the command or workload of its name.
    fn defaults(
        &self,
        command: &Command,
        options: &[Opt],
        workload: Option<&str>,
    ) -> Result<Vec<String>> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, &error.message().replace('\n', "; "))
        })?;
        let mut args = Vec::new();
        for (key, value) in table.get_ref() {
            if matches!(value.get_ref(), DeValue::Table(_)) {
                continue;
            }
            let name = key.get_ref();
            let known = || all_options().any(|opt| find_own(&[opt], name).is_some());
            match find_own(options, name) {
                Some(opt) => {
                    args.extend(self.arguments(opt, value.span().start, value.get_ref())?)
                }
                None if known() => {}
                None => return Err(self.error(key.span().start, &no_option(name, "dyno"))),
            }
        }
        for (key, value) in table.get_ref() {
            let DeValue::Table(table) = value.get_ref() else {
                continue;
            };
            let name = key.get_ref().as_ref();
            self.check_table(name, key.span().start)?;
            let of_command = name == command.name;
            if !of_command && workload != Some(name) {
                continue;
            }
            for (key, value) in table {
                let own = find_own(options, key.get_ref());
                let start = value.span().start;
                match own {
                    // A workload's table is for all its commands.
                    None if !of_command && find_own(RUN, key.get_ref()).is_some() => {}
                    Some(opt) => args.extend(self.arguments(opt, start, value.get_ref())?),
                    // May be an option of the workload's script, which is not loaded yet.
                    None if !of_command => {
                        args.extend(self.value(key.get_ref(), start, value.get_ref())?);
                    }
                    None => {
                        let of = format!("dyno {name}");
                        return Err(self.error(key.span().start, &no_option(key.get_ref(), &of)));
                    }
                }
            }
        }
        Ok(args)
    }

    /// Rejects a table that no command and no built-in workload reads.
    fn check_table(&self, name: &str, at: usize) -> Result<()> {
        // A script may be in another folder.
        let is_script = name.contains(['.', '/']);
        let known = match find(name) {
            Some(command) => is_configurable(command),
            None => is_script || Workload::find(name, Edition::Dyno).is_ok(),
        };
        if known {
            return Ok(());
        }
        let what = format!("[{name}] is neither a command that reads {NAME} nor a workload");
        Err(self.error(at, &what))
    }

    fn arguments(&self, opt: &Opt, at: usize, value: &DeValue<'_>) -> Result<Vec<String>> {
        let variable = OF_ENVIRONMENT.iter().find(|(name, _)| *name == opt.name);
        let applies = self.test.is_none_or(|test| opt.applies_to_test(test));
        if !applies
            || variable
                .is_some_and(|(_, name)| env::var_os(name).is_some_and(|set| !set.is_empty()))
        {
            return Ok(Vec::new());
        }
        match (opt.value, value) {
            (None, DeValue::Boolean(_)) | (Some(_), DeValue::Boolean(true))
                if opt.value.is_none() || opt.bare =>
            {
                self.value(opt.name, at, value)
            }
            (None, _) => Err(self.error(at, &format!("--{} is a switch: true or false", opt.name))),
            (Some(_), DeValue::Array(values)) if opt.repeats => {
                let all = values
                    .iter()
                    .map(|one| self.value(opt.name, at, one.get_ref()));
                Ok(all.collect::<Result<Vec<_>>>()?.concat())
            }
            (Some(_), _) => self.value(opt.name, at, value),
        }
    }

    /// `--name=value`, or for a switch `--name` or nothing.
    fn value(&self, name: &str, at: usize, value: &DeValue<'_>) -> Result<Vec<String>> {
        let text = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(true) => return Ok(vec![format!("--{name}")]),
            DeValue::Boolean(false) => return Ok(Vec::new()),
            _ => {
                let what = format!("--{name} takes one value: a text, a number, true or false");
                return Err(self.error(at, &what));
            }
        };
        Ok(vec![format!("--{name}={text}")])
    }

    fn error(&self, at: usize, what: &str) -> anyhow::Error {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        usage(format!("{}:{line}: {what}", self.path.display()))
    }
}

fn all_options() -> impl Iterator<Item = Opt> {
    let commands = crate::commands::catalogue::COMMANDS.iter();
    commands
        .filter(|command| command.grammar() == Grammar::Dyno)
        .flat_map(Command::options)
}

fn no_option(name: &str, of: &str) -> String {
    match nearest(name, all_options().map(|opt| opt.name)) {
        Some(near) => format!("{of} has no option --{name}; did you mean '{near}'?"),
        None => format!(
            "{of} has no option --{name}; options of a workload go into a table of its name, \
             e.g. [oltp_read_write]"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults(text: &str, command: &str, workload: Option<&str>) -> Result<String, String> {
        let command = find(command).unwrap();
        let file = File {
            path: Path::new("dyno.toml"),
            text,
            test: workload.and_then(dyno_host::find),
        };
        let args = file.defaults(command, &command.options(), workload);
        args.map(|args| args.join(" "))
            .map_err(|error| error.to_string())
    }

    const TEXT: &str = "sessions = 16\nquiet = true\nexpect = [\"a=1\", \"b=2\"]\n\
        [run]\nwarmup = \"10s\"\n[compare]\nall = true\n[oltp_read_write]\ntable-size = 1000\n";

    #[test]
    fn each_command_takes_only_its_options() {
        let run = defaults(TEXT, "run", Some("oltp_read_write")).unwrap();
        let top = "--sessions=16 --quiet --expect=a=1 --expect=b=2";
        assert_eq!(run, format!("{top} --warmup=10s --table-size=1000"));
        assert_eq!(
            defaults(TEXT, "run", Some("tpcc")).unwrap(),
            format!("{top} --warmup=10s")
        );
        let text = "target = \"sqlite:a.db\"\nsessions = 2";
        assert_eq!(defaults(text, "run", Some("cpu")).unwrap(), "--sessions=2");
        assert_eq!(defaults(TEXT, "compare", None).unwrap(), "--all");
        assert_eq!(defaults("quiet = false", "run", None).unwrap(), "");
        let text = "[oltp_read_write]\nrate = \"5/s\"\ntables = 2";
        let of = |command| defaults(text, command, Some("oltp_read_write")).unwrap();
        assert_eq!(of("run"), "--rate=5/s --tables=2");
        assert_eq!(of("prepare"), "--tables=2");
    }

    #[test]
    fn reports_an_unknown_option_with_its_line() {
        for (text, why) in [
            (
                "\nsesions = 1",
                "dyno.toml:2: dyno has no option --sesions; did you mean 'sessions'?",
            ),
            (
                "[run]\nall = true",
                "dyno.toml:2: dyno run has no option --all",
            ),
            (
                "[run]\nsessions = [1]",
                "dyno.toml:2: --sessions takes one value",
            ),
            (
                "quiet = 1",
                "dyno.toml:1: --quiet is a switch: true or false",
            ),
            ("a = = 1", "dyno.toml:1: "),
            ("\n[rnu]\n", "dyno.toml:2: [rnu] is neither a command"),
            ("[lab]\n", "dyno.toml:1: [lab] is neither a command"),
        ] {
            let error = defaults(text, "run", None).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
