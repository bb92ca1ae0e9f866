//! Messages of pgbench on standard error, which are in the language of its user.

/// A message about clients that were aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abort {
    /// The message says so.
    Certain,
    /// Its language is unknown, and it has no numbers or names. After the report it can only say
    /// that the run was aborted: pgbench prints no other message there (`main` in `pgbench.c`).
    AtEnd,
    /// Its language is unknown, and it has numbers or names.
    Possible,
}

/// Whether a line reports aborted clients; `None` if it does not.
pub(super) fn abort(bare: &str) -> Option<Abort> {
    if aborts(bare) {
        return Some(Abort::Certain);
    }
    let text = foreign(bare)?;
    let has_names = text.contains(|c: char| c.is_ascii_digit() || "\"«»„“”".contains(c));
    Some(match has_names {
        true => Abort::Possible,
        false => Abort::AtEnd,
    })
}

/// `pgbench: error: client 1 aborted in command …`, `Run was aborted; the above results are
/// incomplete.`
fn aborts(bare: &str) -> bool {
    let said = bare.strip_prefix("pgbench: ").unwrap_or(bare);
    // Only version 13 calls it fatal.
    let said = (said.strip_prefix("error: "))
        .or_else(|| said.strip_prefix("fatal: "))
        .unwrap_or(said);
    let client = said.starts_with("client ") || said.starts_with("Client ");
    said.starts_with("Run was aborted") || (client && said.contains(" aborted in "))
}

/// The text of a message that is not in English: `pgbench: Fehler: Client 1 …`. Spanish has the
/// English word for an error.
fn foreign(bare: &str) -> Option<&str> {
    /// Shorter texts are figures.
    const LENGTH_MIN: usize = 8;
    const HARMLESS: [&str; 5] = ["warning", "detail", "hint", "info", "debug"];
    let (level, text) = bare.strip_prefix("pgbench: ")?.split_once(':')?;
    let level = level.trim_end();
    let is_word = !level.is_empty() && level.chars().all(char::is_alphabetic);
    let is_english = matches!(level, "error" | "fatal") && text.is_ascii();
    let is_text = text.trim().chars().count() >= LENGTH_MIN;
    (is_word && is_text && !is_english && !HARMLESS.contains(&level)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_any_language() {
        for (line, expected) in [
            (
                "Run was aborted; the above results are incomplete.",
                Some(Abort::Certain),
            ),
            (
                "pgbench: error: client 1 script 0 aborted in command 4 query 0: x",
                Some(Abort::Certain),
            ),
            ("pgbench: error: could not open file \"x\"", None),
            ("pgbench: warning: scale option ignored (10)", None),
            (
                "pgbench: Fehler: Client 1 Skript 0 in Befehl 4 abgebrochen: x",
                Some(Abort::Possible),
            ),
            (
                "pgbench: erreur : exécution interrompue ; résultats incomplets",
                Some(Abort::AtEnd),
            ),
            (
                "pgbench: error: la ejecución fue abortada",
                Some(Abort::AtEnd),
            ),
            (
                "pgbench: 错误: 运行被中止; 以上结果不完整",
                Some(Abort::AtEnd),
            ),
            ("pgbench: client 0 executing \\set aid", None),
            ("pgbench: duration: 5 s", None),
            ("pgbench (15.4)", None),
            ("progress: 1.0 s, 5.0 tps", None),
        ] {
            assert_eq!(abort(line), expected, "{line}");
        }
    }
}
