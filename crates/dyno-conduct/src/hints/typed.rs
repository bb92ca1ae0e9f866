//! The words of a command line that another command on the same tables also needs.

use dyno_core::Target;
use dyno_core::redact::HIDDEN;
use dyno_core::text::shell_word;
use dyno_run::Ready;
use dyno_script::{OptionKind, ScriptOption};

/// The commands whose options are those of `prepare` and `cleanup`.
const COMMANDS: [&str; 7] = [
    "run", "prepare", "cleanup", "check", "warmup", "prewarm", "saturate",
];
/// The names of the option with the number of sessions, which may decide the number of tables.
const SESSIONS: [&str; 4] = ["--sessions", "--threads", "--clients", "-c"];

/// A command on the same tables, with the target and the script's options as typed. If the command
/// line does not show them, with the target's URL and a note to repeat the options.
pub(super) fn command(name: &str, workload: &str, ready: &Ready) -> String {
    let options = ready.description.options.as_deref().unwrap_or_default();
    match typed(&ready.job.argv, options) {
        Some(words) if !ready.job.sysbench => format!("`dyno {name} {workload} {words}`"),
        _ => {
            let label = ready.job.target.as_ref().map(Target::label);
            let target = label.unwrap_or_default();
            format!("`dyno {name} {workload} --target '{target}'` with the same options")
        }
    }
}

/// The target, the sessions and the script's options; `None` if the command line does not have one
/// target, or hides a secret.
fn typed(argv: &[String], options: &[ScriptOption]) -> Option<String> {
    let command = argv.get(1)?;
    if !COMMANDS.contains(&command.as_str()) {
        return None;
    }
    let (mut words, mut targets) = (Vec::new(), 0);
    let mut rest = argv.iter().skip(2).peekable();
    while let Some(word) = rest.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let is_target = matches!(name, "--target" | "-T");
        let is_sessions = SESSIONS.contains(&name);
        let option = name.strip_prefix("--").map(|name| name.replace('-', "_"));
        let option = options
            .iter()
            .find(|own| Some(own.name.replace('-', "_")) == option);
        if !is_target && !is_sessions && option.is_none() {
            continue;
        }
        targets += usize::from(is_target);
        let is_flag = option.is_some_and(|option| option.kind == OptionKind::Bool);
        let next = rest.next_if(|_| value.is_none() && !is_flag);
        // A schedule is only for a run.
        let given = value.or(next.map(String::as_str)).unwrap_or_default();
        if is_sessions && given.contains(' ') {
            continue;
        }
        words.push(shell_word(word));
        words.extend(next.map(|value| shell_word(value)));
    }
    let words = words.join(" ");
    (targets == 1 && !words.contains(HIDDEN)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, kind: OptionKind) -> ScriptOption {
        ScriptOption {
            name: name.to_owned(),
            description: String::new(),
            kind,
            default: None,
        }
    }

    #[test]
    fn a_command_is_suggested_as_typed() {
        let options = [
            option("tables", OptionKind::Int),
            option("create_secondary", OptionKind::Bool),
            option("rows", OptionKind::Int),
        ];
        let of = |line: &str| {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            typed(&argv, &options)
        };
        let line = "dyno run oltp_read_write --target server:mariadb --time 5 --tables 99 -v";
        assert_eq!(
            of(line).as_deref(),
            Some("--target server:mariadb --tables 99")
        );
        let line = "dyno run --create-secondary x -T mysql://me@db/a?socket=/b&c=d --tables=9";
        assert_eq!(
            of(line).as_deref(),
            Some("--create-secondary -T 'mysql://me@db/a?socket=/b&c=d' --tables=9")
        );
        // The sessions may decide how many tables there are, but only a run has a schedule.
        let line = "dyno run insert_benchmark -T mysql://me@db/a -c 8 -t 30m --rows=9";
        assert_eq!(
            of(line).as_deref(),
            Some("-T mysql://me@db/a -c 8 --rows=9")
        );
        let scheduled = ["dyno", "run", "x", "-c", "1 for 9s", "-T", "sqlite:a"];
        let scheduled = scheduled.map(str::to_owned);
        assert_eq!(typed(&scheduled, &options).as_deref(), Some("-T sqlite:a"));
        // Without exactly one target, or in another command, the options are not on this line.
        for line in ["dyno run x --tables 9", "dyno lab -T sqlite:a", "dyno"] {
            assert_eq!(of(line), None);
        }
        let twice = "dyno run x -T sqlite:a -T sqlite:b";
        assert_eq!(of(twice), None);
        let hidden = "dyno run x -T mysql://me:***@db/a --tables 9";
        assert_eq!(of(hidden), None);
    }
}
