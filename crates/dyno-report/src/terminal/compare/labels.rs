//! Names of sides, from what differs.

/// The plain name of a durability class.
const DURABILITY: &str = "durability";

/// A side named by a value, with the plain name of what differs: `sync_binlog 0`, `durability: each
/// commit durable`, `no index k_1`.
pub(crate) fn label(what: &str, value: &str) -> String {
    const ABSENT: &str = "(not there)";
    let name = plain_name(what);
    match (value, name.contains(' ') || name == DURABILITY) {
        (ABSENT, _) => format!("no {name}"),
        (_, true) => format!("{name}: {value}"),
        (_, false) => format!("{name} {value}"),
    }
}

/// The name of a difference without its kind: `sync_binlog`, `key distribution`, `index k_1`.
pub(crate) fn plain_name(what: &str) -> &str {
    let last = what.rsplit(' ').next().unwrap_or(what);
    let (kind, rest) = what.split_once(' ').unwrap_or((what, ""));
    match kind {
        "durability" => DURABILITY,
        "setting" | "option" | "factor" => rest,
        "table" => of_table(rest).unwrap_or(last),
        // The number of sessions together with the user's factor for it.
        "sessions," => last,
        _ => what,
    }
}

/// The part of a table that differs, such as `index k_1`, without the tables' names.
fn of_table(what: &str) -> Option<&str> {
    const PARTS: [&str; 5] = ["column", "constraint", "index", "partition", "trigger"];
    let (before, _) = what.rsplit_once(' ')?;
    let from = before.rfind(' ').map_or(0, |blank| blank + 1);
    PARTS.contains(&&before[from..]).then(|| &what[from..])
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_label_has_the_plain_name_and_the_value() {
        for (what, value, expected) in [
            ("setting sync_binlog", "0", "sync_binlog 0"),
            ("factor memory", "5G", "memory 5G"),
            ("factor disk kind", "nvme", "disk kind: nvme"),
            ("option table_size", "(not there)", "no table_size"),
            ("sessions", "8", "sessions 8"),
            ("sessions, factor threads", "8", "threads 8"),
            ("key distribution", "zipfian", "key distribution: zipfian"),
            (
                "durability class",
                "each commit durable",
                "durability: each commit durable",
            ),
            ("table sbtest1..sbtest4 ENGINE", "Aria", "ENGINE Aria"),
            ("table a, b index k_1", "KEY (`k`)", "index k_1: KEY (`k`)"),
            ("table sbtest1 index k_1", "(not there)", "no index k_1"),
            ("host.cpu.model", "a b", "host.cpu.model a b"),
        ] {
            assert_eq!(label(what, value), expected);
        }
    }
}
