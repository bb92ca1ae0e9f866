//! Test option values that sysbench refuses, in sysbench's words, because programs match them.

use anyhow::{Result, anyhow};
use dyno_core::units;
use dyno_script::{OptionKind, ScriptOption};

use super::CommandLineError;

/// The values that sysbench rejects.
#[derive(Clone, Copy)]
enum Bad {
    /// A number below this one.
    Below(f64),
    /// A number below this one, which sysbench prints with six decimals.
    Fraction(f64),
    /// A size below this one; an unreadable size counts as 0.
    Size(u64),
    /// A size that is not a power of two of at least 8.
    Block,
    /// A word that is not in the list.
    Word(&'static [&'static str]),
}

/// Option, rejected values, and the text around the value.
type Refusal = (&'static str, Bad, &'static str, &'static str);

const REFUSED: [Refusal; 16] = [
    (
        "memory-block-size",
        Bad::Block,
        "Invalid value for memory-block-size: ",
        "",
    ),
    (
        "memory-scope",
        Bad::Word(&["global", "local"]),
        "Invalid value for memory-scope: ",
        "",
    ),
    (
        "memory-oper",
        Bad::Word(&["read", "write", "none"]),
        "Invalid value for memory-oper: ",
        "",
    ),
    (
        "memory-access-mode",
        Bad::Word(&["seq", "rnd"]),
        "Invalid value for memory-access-mode: ",
        "",
    ),
    (
        "file-num",
        Bad::Below(1.0),
        "Invalid value for file-num: ",
        "",
    ),
    (
        "file-total-size",
        Bad::Size(1),
        "Invalid value for file-total-size: ",
        "",
    ),
    (
        "file-block-size",
        Bad::Size(1),
        "Invalid value for file-block-size: ",
        ".",
    ),
    (
        "file-test-mode",
        Bad::Word(&["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]),
        "Invalid IO operations mode: ",
        ".",
    ),
    // Some are Dyno's own.
    (
        "file-io-mode",
        Bad::Word(&["sync", "psync", "async", "libaio", "mmap", "io_uring"]),
        "unknown I/O mode: ",
        "",
    ),
    (
        "file-fsync-mode",
        Bad::Word(&["fsync", "fdatasync"]),
        "Invalid fsync mode: ",
        ".",
    ),
    (
        "file-fsync-freq",
        Bad::Below(0.0),
        "Invalid value for file-fsync-freq: ",
        ".",
    ),
    (
        "file-merged-requests",
        Bad::Below(0.0),
        "Invalid value for file-merged-requests: ",
        ".",
    ),
    (
        "file-rw-ratio",
        Bad::Fraction(0.0),
        "Invalid value for --file-rw-ratio: ",
        ".",
    ),
    (
        "file-async-backlog",
        Bad::Below(1.0),
        "Invalid value of file-async-backlog: ",
        "",
    ),
    (
        "cpu-max-prime",
        Bad::Below(1.0),
        "Invalid value of cpu-max-prime: ",
        ".",
    ),
    (
        "file-extra-flags",
        Bad::Word(&["", "sync", "dsync", "direct"]),
        "Invalid value for file-extra-flags: ",
        "",
    ),
];

/// Rejects the values of a test's options that sysbench rejects. Those that only Dyno cannot use
/// are rejected later.
///
/// # Errors
/// sysbench's message.
pub(super) fn check(declared: &[ScriptOption], given: &[(String, Option<String>)]) -> Result<()> {
    for (name, value) in given {
        let Some(value) = value else { continue };
        let name = name.replace('_', "-");
        let is_unread = |kind| {
            let own = declared
                .iter()
                .find(|own| own.name == name && own.kind == kind);
            own.is_some_and(|own| own.value(Some(Some(value))).is_err())
        };
        if is_unread(OptionKind::Int) {
            return Err(CommandLineError::raise(format!(
                "Invalid value for the '{}' option: '{value}'",
                name.replace('-', "_")
            )));
        }
        let row = REFUSED.iter().find(|(own, ..)| *own == name);
        let shown = row.and_then(|(_, bad, ..)| refused(*bad, value));
        if let (Some((_, _, before, after)), Some(shown)) = (row, shown) {
            return Err(anyhow!("{before}{shown}{after}"));
        }
    }
    Ok(())
}

/// A rejected value as sysbench prints it; `None` if sysbench accepts it.
fn refused(bad: Bad, value: &str) -> Option<String> {
    let shown = || Some(value.to_owned());
    match bad {
        Bad::Below(least) => {
            let number: f64 = value.parse().ok()?;
            shown().filter(|_| number < least)
        }
        Bad::Fraction(least) => {
            let number: f64 = value.parse().ok()?;
            (number < least).then(|| format!("{number:.6}"))
        }
        Bad::Size(least) => {
            let size = units::parse_size(value).unwrap_or(0);
            (size < least).then(|| size.to_string())
        }
        Bad::Block => {
            let size = units::parse_size(value).ok();
            let is_good = size.is_some_and(|size| size >= 8 && size.is_power_of_two());
            shown().filter(|_| !is_good)
        }
        Bad::Word(known) => {
            let other = value
                .split(',')
                .find(|word| !known.contains(&word.trim()))?;
            Some(other.trim().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use OptionKind::{Int, List, Size, String as Text};

    use super::*;

    const WORDS: &[(&str, OptionKind, &str, &str)] = &[
        (
            "memory-block-size",
            Size,
            "abc",
            "Invalid value for memory-block-size: abc",
        ),
        (
            "memory-block-size",
            Size,
            "3",
            "Invalid value for memory-block-size: 3",
        ),
        (
            "memory-scope",
            Text,
            "x",
            "Invalid value for memory-scope: x",
        ),
        (
            "file-num",
            Int,
            "x",
            "Invalid value for the 'file_num' option: 'x'",
        ),
        ("file-num", Int, "0", "Invalid value for file-num: 0"),
        (
            "file-block-size",
            Size,
            "x",
            "Invalid value for file-block-size: 0.",
        ),
        (
            "file-total-size",
            Size,
            "x",
            "Invalid value for file-total-size: 0",
        ),
        (
            "file-test-mode",
            Text,
            "x",
            "Invalid IO operations mode: x.",
        ),
        ("file-io-mode", Text, "x", "unknown I/O mode: x"),
        (
            "file-extra-flags",
            List,
            "sync,x",
            "Invalid value for file-extra-flags: x",
        ),
        ("file-fsync-mode", Text, "x", "Invalid fsync mode: x."),
        (
            "file-fsync-freq",
            Int,
            "-1",
            "Invalid value for file-fsync-freq: -1.",
        ),
        (
            "file-async-backlog",
            Int,
            "0",
            "Invalid value of file-async-backlog: 0",
        ),
        (
            "cpu-max-prime",
            Int,
            "0",
            "Invalid value of cpu-max-prime: 0.",
        ),
        (
            "mutex-num",
            Int,
            "x",
            "Invalid value for the 'mutex_num' option: 'x'",
        ),
    ];

    fn said(name: &str, kind: OptionKind, value: &str) -> Option<String> {
        let declared = ScriptOption {
            name: name.to_owned(),
            description: String::new(),
            kind,
            default: None,
        };
        let given = [(name.to_owned(), Some(value.to_owned()))];
        let checked = check(&[declared], &given);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn values_of_tests_are_refused_in_sysbenchs_words() {
        for (name, kind, value, words) in WORDS {
            let found = said(name, *kind, value);
            assert_eq!(found.as_deref(), Some(*words), "{name} = {value}");
        }
        for (name, kind, value) in [
            ("memory-block-size", Size, "1K"),
            ("file-total-size", Size, "2G"),
            ("file-test-mode", Text, "rndrw"),
            ("file-fsync-freq", Int, "0"),
            ("cpu-max-prime", Int, "10000"),
        ] {
            assert_eq!(said(name, kind, value), None, "{name} = {value}");
        }
    }
}
