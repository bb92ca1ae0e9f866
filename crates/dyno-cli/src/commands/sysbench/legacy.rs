//! 1.0.20's old names of options.

use crate::console;
use crate::options::as_typed;

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
            // A value that is not a number stays as typed and is refused later.
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

#[cfg(test)]
mod tests {
    use super::*;

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
