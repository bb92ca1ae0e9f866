//! `dyno man`: generate manual pages from the table of commands.

use std::fmt::Write as _;

use anyhow::Result;
use dyno_run::builtins;

use super::command::{Command, Words};
use crate::options::{Grammar, Opt};
use crate::settings::usage;
use crate::{STATUS_DONE, console};

const USAGE: &str = "\
Usage: dyno man [COMMAND]

Print the manual page of dyno, or of one of its commands, in the format of man(7):
  dyno man run | man -l -
  dyno man run > ~/.local/share/man/man1/dyno-run.1
";

/// The program page's sections after commands and workloads.
const PROGRAM: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
success
.TP
\fB1\fR
the run failed, or a check found a mismatch
.TP
\fB2\fR
invalid command line
.TP
\fB3\fR
the verdict is refused and \fB\-\-gate\fR was given,
or the run did not begin because it would be refused
.TP
\fB4\fR
a limit of \fB\-\-fail\-if\fR is broken, or could not be checked
.TP
\fB130\fR
the user interrupted the run
.SH FILES
.TP
\fIdyno.db\fR
the results file, an SQLite database, in the current folder
.TP
\fI~/.my.cnf\fR, \fI~/.pgpass\fR
passwords, read as the servers\(aq own clients read them
"#;

/// A section of every page.
const ENVIRONMENT: &str = r#".SH ENVIRONMENT
.TP
\fBDYNO_TARGET\fR
the target, where \fB\-\-target\fR is not given
.TP
\fBDYNO_RESULTS\fR
the results file, where \fB\-\-results\fR is not given; none for no file
.TP
\fBDYNO_CONFIG\fR
the only file of defaults to read, instead of dyno.toml; none for no file
.TP
\fBNO_COLOR\fR
no colours, if set
.TP
\fBTMPDIR\fR
the folder for temporary databases
"#;

/// Prints the page of the program, or of one of its commands.
///
/// # Errors
/// The word is not a command.
pub(super) fn main(args: &[String], commands: &[Command]) -> Result<u8> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let page = match words[..] {
        ["--help" | "-h"] => {
            console::help(USAGE);
            return Ok(STATUS_DONE);
        }
        [] | ["dyno"] => program(commands),
        [name] => match commands.iter().find(|command| command.name == name) {
            Some(command) => of_command(command),
            None => {
                return Err(usage(format!(
                    "there is no command '{name}'; see dyno --help"
                )));
            }
        },
        _ => return Err(usage("dyno man takes one command at most")),
    };
    console::raw(page.as_bytes());
    Ok(STATUS_DONE)
}

fn program(commands: &[Command]) -> String {
    let mut page = head("dyno", "a dynamometer for databases", "<command> [options]");
    page += "Dyno applies a load to a database server, observes what the server does, and says how \
             far the figures can be trusted.\n.SH COMMANDS\n";
    for command in commands {
        let name = escaped(command.name);
        item(
            &mut page,
            &format!("\\fB{name}\\fR {}", escaped(command.arguments)),
            &format!("{}; see dyno-{}(1)", command.about, command.name),
        );
    }
    page += ".SH WORKLOADS\n";
    for (name, about) in builtins::ABOUT
        .iter()
        .filter(|(_, about)| !about.is_empty())
    {
        item(&mut page, &format!("\\fB{}\\fR", escaped(name)), about);
    }
    page += ".SH \"TESTS OF THE HOST\"\n";
    for test in dyno_host::TESTS {
        item(
            &mut page,
            &format!("\\fB{}\\fR", escaped(test.name)),
            test.about,
        );
    }
    let names = commands.iter().map(|command| command.name);
    let names: Vec<String> = names
        .map(|name| format!(".BR dyno\\-{} (1)", escaped(name)))
        .collect();
    page + PROGRAM + ENVIRONMENT + ".SH \"SEE ALSO\"\n" + &names.join(",\n") + "\n"
}

fn of_command(command: &Command) -> String {
    let options = command.options();
    let shown: Vec<&Opt> = options.iter().filter(|opt| !opt.help.is_empty()).collect();
    let usage = match shown.is_empty() {
        true => command.arguments.to_owned(),
        false => format!("{} [options]", command.arguments),
    };
    let mut page = head(
        &format!("dyno-{}", command.name),
        command.about,
        usage.trim(),
    );
    let _ = writeln!(page, "{}.", escaped(command.about));
    if command.words == Words::Workload {
        page += "\\fBdyno help\\fR \\fIWORKLOAD\\fR prints the workload\\(aqs own options.\n";
    }
    let mut group = "";
    for opt in shown {
        if opt.group != group {
            if group.is_empty() {
                page += ".SH OPTIONS\n";
            }
            group = opt.group;
            if group != "Options" {
                let _ = writeln!(page, ".SS \"{}\"", escaped(group));
            }
        }
        item(&mut page, &spelt(opt, command.grammar()), opt.help);
    }
    page + ENVIRONMENT + ".SH \"SEE ALSO\"\n.BR dyno (1)\n"
}

/// An option's syntax, with its value.
fn spelt(opt: &Opt, grammar: Grammar) -> String {
    let short = opt.short.map(|short| format!("\\fB\\-{short}\\fR, "));
    let value = opt.value.map(|value| {
        let value = format!("\\fI{}\\fR", escaped(value));
        match (opt.bare, grammar) {
            (true, _) => format!("[={value}]"),
            (false, Grammar::Sysbench) => format!("={value}"),
            (false, Grammar::Dyno) => format!(" {value}"),
        }
    });
    format!(
        "{}\\fB\\-\\-{}\\fR{}",
        short.unwrap_or_default(),
        escaped(opt.name),
        value.unwrap_or_default()
    )
}

/// A page up to its description.
fn head(name: &str, about: &str, usage: &str) -> String {
    let typed = name.replacen('-', " ", 1);
    format!(
        ".TH {} 1 \"\" \"dyno {}\" Dyno\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{typed}\\fR {}\n\
         .SH DESCRIPTION\n",
        escaped(name),
        env!("CARGO_PKG_VERSION"),
        escaped(name),
        escaped(about),
        escaped(usage)
    )
}

/// Adds a term with its explanation. The term is already roff.
fn item(page: &mut String, term: &str, text: &str) {
    let _ = writeln!(page, ".TP\n{term}\n{}", escaped(text));
}

/// Escapes a text for roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let text = text.replace('\'', "\\(aq").replace('…', "...");
    match text.starts_with('.') {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::catalogue::COMMANDS;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        for command in COMMANDS {
            let page = of_command(command);
            assert!(page.starts_with(&format!(".TH dyno\\-{} 1", command.name)));
            for opt in command.options().iter().filter(|opt| !opt.help.is_empty()) {
                let name = format!("\\fB\\-\\-{}\\fR", escaped(opt.name));
                assert!(page.contains(&name), "{} {name}", command.name);
            }
        }
        let page = program(COMMANDS);
        assert!(page.contains("\\fBrun\\fR WORKLOAD\n"), "{page}");
        let error = main(&["rnu".to_owned()], COMMANDS).unwrap_err().to_string();
        assert_eq!(error, "there is no command 'rnu'; see dyno --help");
    }

    #[test]
    fn text_that_roff_would_read_is_escaped() {
        assert_eq!(escaped(".a-b\\c'd…"), "\\&.a\\-b\\ec\\(aqd...");
    }
}
