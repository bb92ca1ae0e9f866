//! 1.0.20's old names of options, and values that it refuses.

use anyhow::Result;

use super::CommandLineError;
use crate::console;
use crate::definitions::SYSBENCH;
use crate::options::{Parsed, as_typed};
use crate::settings::usage;

/// Old name, new name, and the value up to which the old option has no effect.
const RENAMED: [(&str, &str, i64); 4] = [
    ("num-threads", "threads", 1),
    ("max-requests", "events", 0),
    ("max-time", "time", 0),
    ("tx-rate", "rate", 0),
];

/// Resolves old option names as sysbench does: an old option with a value above its default
/// overrides the new one, with a warning; any other has no effect.
pub(super) fn renamed(mut args: Vec<String>) -> (Vec<String>, Vec<String>) {
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
pub(super) fn refuse(args: &[String]) -> Result<()> {
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

/// Rejects other values of switches than sysbench takes, as typed, and a stack without a size.
///
/// # Errors
/// With sysbench's message.
pub(super) fn refuse_values(args: &[String]) -> Result<()> {
    let switches = SYSBENCH.iter().filter(|opt| opt.value == Some("on|off"));
    for typed in switches.filter_map(|opt| as_typed(args, opt.name)) {
        let value = typed.split_once('=').map(|(_, value)| value);
        if !matches!(
            value,
            None | Some("on" | "true" | "1" | "off" | "false" | "0")
        ) {
            return Err(CommandLineError::raise(format!("invalid option: {typed}")));
        }
    }
    let size = as_typed(args, "thread-stack-size").and_then(|typed| Some(typed.split_once('=')?.1));
    match size.is_none_or(is_size) {
        true => Ok(()),
        // sysbench prints the size that it has read.
        false => Err(usage("Invalid value for thread-stack-size: 0.")),
    }
}

/// Whether it is a positive number, perhaps with a unit: `64K`.
fn is_size(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &text[..text.len() - unit.len()];
    let has_unit = unit.starts_with(['K', 'k', 'M', 'm', 'G', 'g']);
    number.parse::<u64>().is_ok_and(|number| number > 0) && (unit.is_empty() || has_unit)
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
pub(super) fn warn_of_options_without_effect(parsed: &Parsed) {
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

    #[test]
    fn values_that_sysbench_refuses_are_refused_in_its_words() {
        let said = |line: &str| refuse_values(&args(line)).unwrap_err().to_string();
        for option in [
            "--histogram=yes",
            "--validate=maybe",
            "--histogram=ON",
            "--db_debug=",
        ] {
            let line = format!("cpu {option} run");
            assert_eq!(said(&line), format!("invalid option: {option}"));
        }
        for size in ["abc", "0", "-5", "12x", "0.5M", ""] {
            let line = format!("cpu --thread-stack-size={size} run");
            assert_eq!(said(&line), "Invalid value for thread-stack-size: 0.");
        }
        let fine = "cpu --histogram --validate=1 --debug=false --thread-stack-size=64k run";
        assert!(refuse_values(&args(fine)).is_ok());
        assert!(refuse_values(&args("cpu --thread_stack_size=65536 run")).is_ok());
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
