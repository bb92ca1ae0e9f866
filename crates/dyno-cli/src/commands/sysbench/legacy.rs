//! 1.0.20's old names of options.

use crate::console;

/// Old name and new name.
const RENAMED: [(&str, &str); 4] = [
    ("num-threads", "threads"),
    ("max-requests", "events"),
    ("max-time", "time"),
    ("tx-rate", "rate"),
];

/// Warns of old names, as sysbench does.
pub fn warn(args: &[String]) {
    for arg in args {
        let Some(name) = arg.strip_prefix("--") else {
            continue;
        };
        let name = name.split('=').next().unwrap_or(name).replace('_', "-");
        if let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == name) {
            console::out(&format!(
                "WARNING: --{old} is deprecated, use --{new} instead\n"
            ));
        }
        if name == "test" {
            console::note(
                "WARNING: the --test option is deprecated. You can pass a script name or path on \
                 the command line without any options.",
            );
        }
    }
}
