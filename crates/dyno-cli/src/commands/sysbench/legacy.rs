//! 1.0.20's old names of options.

use anyhow::Result;

use super::CommandLineError;
use crate::console;
use crate::options::{Parsed, as_typed};

/// Old name, new name, and the value up to which the old option has no effect.
const RENAMED: [(&str, &str, i64); 4] = [
    ("num-threads", "threads", 1),
    ("max-requests", "events", 0),
    ("max-time", "time", 0),
    ("tx-rate", "rate", 0),
];

/// Resolves old option names as sysbench does: an old option with a value above its default
/// overrides the new one, with a warning; any other has no effect.
pub fn renamed(mut args: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut warnings = Vec::new();
    for (old, new, least) in RENAMED {
        let value = |name| {
            as_typed(&args, name)?
                .split_once('=')
                .map(|(_, value)| value)
        };
        let Some(given) = value(old).and_then(|value| value.parse::<i64>().ok()) else {
            // An invalid number remains as typed and is rejected later.
            continue;
        };
        let kept = if given > least { old } else { new };
        let dropped = if given > least { new } else { old };
        if kept == old {
            warnings.push(format!(
                "WARNING: --{old} is deprecated, use --{new} instead\n"
            ));
        }
        args.retain(|arg| as_typed(std::slice::from_ref(arg), dropped).is_none());
    }
    if as_typed(&args, "test").is_some() {
        console::note(
            "WARNING: the --test option is deprecated. You can pass a script name or path on the \
             command line without any options.",
        );
    }
    (args, warnings)
}

/// Rejects values of old options that are not numbers, by the typed name.
///
/// # Errors
/// With sysbench's message.
pub fn refuse(args: &[String]) -> Result<()> {
    for (old, ..) in RENAMED {
        let value = as_typed(args, old).and_then(|typed| Some(typed.split_once('=')?.1));
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if let Some(value) = value.filter(|value| !is_number(value)) {
            return Err(CommandLineError::raise(format!(
                "Invalid value for the '{}' option: '{value}'",
                old.replace('-', "_")
            )));
        }
    }
    Ok(())
}

/// Options that old command lines may contain and that have no effect.
const WITHOUT_EFFECT: [(&str, &str); 4] = [
    (
        "thread-stack-size",
        "sessions are coroutines, whose stacks grow on demand",
    ),
    ("db-debug", "no such statistics are kept"),
    ("mysql-debug", "there is no client library to trace"),
    (
        "mysql-compression-algorithms",
        "connections are not compressed",
    ),
];

/// Warns on standard error about options that were given but have no effect.
pub fn warn_of_options_without_effect(parsed: &Parsed) {
    for (name, why) in WITHOUT_EFFECT {
        let off = matches!(parsed.value(name), Some("off" | "false" | "0"));
        if parsed.has(name) && !off {
            console::note(&format!("WARNING: --{name} has no effect: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_old_names_are_refused_by_the_name_that_was_typed() {
        let said = |line: &str| refuse(&args(line)).unwrap_err().to_string();
        let words = "Invalid value for the 'max_requests' option: 'x'";
        assert_eq!(said("cpu --max-requests=x run"), words);
        assert_eq!(said("cpu --max_requests=x run"), words);
        assert!(refuse(&args("cpu --max-time=5 --num-threads=1k run")).is_ok());
    }

    fn args(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_old_name_wins_unless_its_value_has_no_effect() {
        for (line, kept, warned) in [
            ("--max-requests=1 --events=2 x", "--max-requests=1 x", 1),
            ("--max_requests=0 --events=2 x", "--events=2 x", 0),
            ("--num-threads=1 --threads=4 x", "--threads=4 x", 0),
            ("--threads=4 --num_threads=2 x", "--num_threads=2 x", 1),
            ("--max-time=0 x", "x", 0),
            ("--tx-rate=x --rate=5 x", "--tx-rate=x --rate=5 x", 0),
        ] {
            let (resolved, warnings) = renamed(args(line));
            assert_eq!((resolved, warnings.len()), (args(kept), warned), "{line}");
        }
        // In sysbench's order.
        let (_, warnings) = renamed(args("--max-requests=9 --num-threads=2"));
        assert!(warnings[0].contains("--num-threads"), "{warnings:?}");
    }
}
