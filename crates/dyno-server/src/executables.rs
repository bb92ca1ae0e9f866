//! Servers started by a user's executables: a folder of small programs, here or on another host
//! over the user's `ssh`. `docs/servers.md` describes each of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dyno_core::text::shell_word;
use serde::{Deserialize, Serialize};

use crate::contract::{Contract, connect_to, settings_by_url};
use crate::error::{OnPath, Result, failed, usage};
use crate::server::{Context, GRACE_S};
use crate::settings::{Reported, Settings};
use crate::supervisor::{Launch, Stop};

/// The programs; those without `true` are optional.
const PROGRAMS: [(&str, bool); 9] = [
    ("install", false),
    ("start", true),
    ("stop", false),
    ("ready", false),
    ("url", true),
    ("settings", false),
    ("snapshot", false),
    ("restore", false),
    ("data-size", false),
];

/// A folder of executables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executables {
    /// The folder, on the host below.
    pub path: PathBuf,
    /// The argument of `ssh`; `None` for this host.
    pub host: Option<String>,
    /// The existing programs.
    pub programs: Vec<String>,
}

impl Executables {
    /// Lists the programs in a folder: `./folder`, or `ssh:HOST:/folder`.
    ///
    /// # Errors
    /// The folder is missing, or lacks a required program.
    pub fn find(text: &str) -> Result<Self> {
        let (host, path) = match text.strip_prefix("ssh:") {
            None => (None, std::path::absolute(text).on("find", Path::new(text))?),
            Some(rest) => match rest.split_once(':') {
                Some((host, path)) if is_host(host) && path.starts_with('/') => {
                    (Some(host.to_owned()), PathBuf::from(path))
                }
                _ => {
                    return usage(format!(
                        "'{text}' is not a server on another host; write ssh:HOST:/FOLDER with \
                         an absolute path"
                    ));
                }
            },
        };
        let mut found = Self {
            path,
            host,
            programs: Vec::new(),
        };
        found.programs = found.look()?;
        for (name, needed) in PROGRAMS {
            if needed && !found.has(name) {
                return usage(format!(
                    "{text} contains no executable `{name}`; every server needs `start` and `url`"
                ));
            }
        }
        if found.host.is_some() && !found.has("stop") {
            // The end of ssh does not end the program that it started.
            return usage(format!(
                "{text} contains no executable `stop`, which a server on another host needs"
            ));
        }
        Ok(found)
    }

    fn look(&self) -> Result<Vec<String>> {
        let known = |name: &str| PROGRAMS.iter().any(|(known, _)| *known == name);
        let Some(host) = &self.host else {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path).on("read the folder", &self.path)? {
                let entry = entry.on("read", &self.path)?;
                let data = fs::metadata(entry.path()).on("read", &entry.path())?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if known(&name) && data.is_file() && data.permissions().mode() & 0o111 != 0 {
                    names.push(name);
                }
            }
            return Ok(names);
        };
        let script = "cd \"$1\" && for f in *; do [ -f \"$f\" ] && [ -x \"$f\" ] && echo \"$f\"; \
                      done; true";
        let mut ssh = ssh(host);
        ssh.arg(format!(
            "sh -c {} sh {}",
            shell_word(script),
            quoted_path(&self.path)
        ));
        let output = output_of(&mut ssh, host)?;
        let names = output.lines().filter(|name| known(name)).map(str::to_owned);
        Ok(names.collect())
    }

    fn has(&self, name: &str) -> bool {
        self.programs.iter().any(|program| program == name)
    }

    /// The command for one of the programs, with the server's environment.
    fn words(&self, context: &Context<'_>, name: &str, arguments: &[&str]) -> Vec<String> {
        let program = self.path.join(name);
        let Some(host) = &self.host else {
            let mut words = vec![program.display().to_string()];
            words.extend(arguments.iter().map(|&text| text.to_owned()));
            return words;
        };
        // ssh passes a single line to a shell on the other host.
        let mut line = "env".to_owned();
        for (variable, value) in self.environment(context) {
            line += &format!(" {variable}={}", shell_word(&value));
        }
        line += &format!(" {}", quoted_path(&program));
        for argument in arguments {
            line += &format!(" {}", shell_word(argument));
        }
        let mut words: Vec<String> = SSH.map(str::to_owned).into();
        words.extend([host.clone(), line]);
        words
    }

    /// The programs' variables. On another host, they create the server's folder themselves.
    fn environment(&self, context: &Context<'_>) -> Vec<(String, String)> {
        let mut environment = vec![
            (
                "DYNO_SERVER_NAME".to_owned(),
                context.folder.name().to_owned(),
            ),
            ("DYNO_SERVER_PORT".to_owned(), context.port.to_string()),
        ];
        if self.host.is_none() {
            let text = |path: PathBuf| path.display().to_string();
            environment.push(("DYNO_SERVER_DIR".to_owned(), text(context.folder.join(""))));
            environment.push(("DYNO_SERVER_DATA".to_owned(), text(context.folder.data())));
        }
        environment
    }

    /// The user for its programs: over ssh, the calling user, who has the keys.
    fn whom(
        &self,
        unprivileged: Option<crate::process::Identity>,
    ) -> Option<crate::process::Identity> {
        unprivileged.filter(|_| self.host.is_none())
    }

    fn run(&self, context: &Context<'_>, name: &str, arguments: &[&str]) -> Result<Output> {
        let words = self.words(context, name, arguments);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.envs(self.environment(context));
        crate::process::become_user(&mut command, self.whom(context.folder.identity()));
        command.output().on("run", &self.path.join(name))
    }

    /// Calls the program that copies data, if it exists; false if Dyno must do it.
    fn keeps_copies(&self, context: &Context<'_>, program: &str, name: &str) -> Result<bool> {
        match (self.has(program), &self.host) {
            (true, _) => self.ask(context, program, &[name]).map(|_| true),
            (false, None) => Ok(false),
            (false, Some(host)) => failed(format!(
                "there is no executable `{program}` in {} on {host}: Dyno cannot copy data there",
                self.path.display()
            )),
        }
    }

    /// Runs a program that must succeed, and returns its output.
    fn ask(&self, context: &Context<'_>, name: &str, arguments: &[&str]) -> Result<String> {
        let output = self.run(context, name, arguments)?;
        text_of(&output, &format!("`{name}` of {}", self.path.display()))
    }
}

/// Without prompts, which could not be answered.
const SSH: [&str; 5] = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];

fn ssh(host: &str) -> Command {
    let mut command = Command::new(SSH[0]);
    command.args(&SSH[1..]).arg(host).stdin(Stdio::null());
    command
}

/// A possible host name, which cannot be an option of ssh.
fn is_host(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
}

fn output_of(command: &mut Command, host: &str) -> Result<String> {
    let output = command.output().on("run", Path::new("ssh"))?;
    text_of(&output, &format!("ssh {host}"))
}

/// What a program printed; an error if it failed.
fn text_of(output: &Output, what: &str) -> Result<String> {
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return failed(format!("{what} failed ({}): {}", output.status, why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn quoted_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

impl Contract for Executables {
    fn install(&self, context: &Context<'_>) -> Result<()> {
        match self.has("install") {
            true => self.ask(context, "install", &[]).map(drop),
            false => Ok(()),
        }
    }

    fn launch(&self, context: &Context<'_>) -> Result<Launch> {
        let lines = |settings: &Settings| -> String {
            settings
                .iter()
                .map(|(name, value)| format!("{name}={value}\n"))
                .collect()
        };
        Ok(Launch {
            command: self.words(context, "start", &[]),
            environment: self.environment(context),
            inherits: true,
            input: lines(context.settings),
            identity: self.whom(context.folder.identity()),
            stop: match self.has("stop") {
                true => Stop::Program(self.words(context, "stop", &[])),
                false => Stop::Signal(libc::SIGTERM),
            },
            grace_s: GRACE_S,
            daemon: self.has("stop"),
            groups: Vec::new(),
        })
    }

    fn url(&self, context: &Context<'_>, _tcp: bool) -> Result<String> {
        let text = self.ask(context, "url", &[])?;
        match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(url) => Ok(url.to_owned()),
            None => failed(format!("`url` of {} prints nothing", self.path.display())),
        }
    }

    fn ready(&self, context: &Context<'_>) -> std::result::Result<(), String> {
        match self.has("ready") {
            true => self
                .ask(context, "ready", &[])
                .map(drop)
                .map_err(|error| error.to_string()),
            false => {
                let url = self
                    .url(context, false)
                    .map_err(|error| error.to_string())?;
                connect_to(&url).map(drop)
            }
        }
    }

    fn welcome(&self, _context: &Context<'_>) -> Result<()> {
        Ok(())
    }

    fn settings(&self, context: &Context<'_>) -> Result<Option<BTreeMap<String, Reported>>> {
        if !self.has("settings") {
            return settings_by_url(self.connect(context));
        }
        let text = self.ask(context, "settings", &[])?;
        let mut reported = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut setting = Settings::default();
            setting.put(line)?;
            reported.extend(setting.iter().map(|(name, value)| {
                let value = Reported {
                    value: value.to_owned(),
                    ..Reported::default()
                };
                (name.to_owned(), value)
            }));
        }
        Ok(Some(reported))
    }

    fn data_size(&self, context: &Context<'_>) -> Result<Option<u64>> {
        if !self.has("data-size") {
            return Ok(None);
        }
        let text = self.ask(context, "data-size", &[])?;
        match text.trim().parse() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) => failed(format!(
                "`data-size` of {} prints '{}', which is not a number of bytes",
                self.path.display(),
                text.trim()
            )),
        }
    }

    fn snapshot(&self, context: &Context<'_>, name: &str) -> Result<bool> {
        self.keeps_copies(context, "snapshot", name)
    }

    fn restore(&self, context: &Context<'_>, name: &str) -> Result<bool> {
        self.keeps_copies(context, "restore", name)
    }
}
