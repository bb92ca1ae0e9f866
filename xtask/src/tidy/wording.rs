//! Phrases that comments and pages must not use, each with a better one.

use std::path::Path;

/// Phrases in lower case, as whole words.
const PHRASES: &[(&str, &str)] = &[
    ("is told", "is reported, is known"),
    ("are told", "are reported, are known"),
    ("be told", "be reported, be known"),
    ("tells of", "reports, says"),
    ("tell of", "report, say"),
    ("told of", "reported"),
    ("of its own", "its own"),
    ("of their own", "their own"),
    ("to be had", "available"),
    ("for want of", "without, because … is missing"),
    ("nothing but", "only"),
    ("next to nothing", "almost nothing"),
    ("has no use for", "does not use"),
    ("stands beside", "is next to"),
    ("lies beside", "is next to"),
    ("is none of", "is not one of"),
    ("there is none", "there is no …, … is missing"),
    ("now and then", "occasionally, rarely"),
    ("likewise", "the same words again, also"),
    ("anew", "again"),
    ("thereof", "of it"),
];

/// Identifiers that do not say what they name, each with a hint.
const NAMES: &[(&str, &str)] = &[
    ("told", "what it holds: text, line, sentence, printed"),
    ("Told", "what it holds"),
    ("besides", "others, extra"),
    ("Besides", "what it holds"),
];
/// Parts of function names that must not be used, each with a better one.
const PARTS: &[(&str, &str)] = &[
    ("_of_its_own", "`its_own` before the noun"),
    ("fn what_is_no_", "`refuses_invalid_` or the noun"),
];
/// Type names that do not say what the type holds.
const TYPES: &[&str] = &["Found", "Given", "Kept", "Made", "Seen"];

/// The identifiers in masked Rust that do not say what they name: line, identifier, and a hint.
pub(super) fn names_in(masked: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (index, line) in masked.lines().enumerate() {
        for (name, instead) in NAMES {
            if has_words(line, name) {
                found.push((index + 1, *name, *instead));
            }
        }
        for (part, instead) in PARTS {
            if line.contains(part) {
                found.push((index + 1, *part, *instead));
            }
        }
        for name in TYPES {
            let defines = |kind: &str| has_words(line, &format!("{kind} {name}"));
            if ["struct", "enum", "trait", "type"].into_iter().any(defines) {
                found.push((index + 1, *name, "what it holds"));
            }
        }
    }
    found
}

/// The phrases in the prose of a file: line, phrase, and a better one.
pub(super) fn phrases_in(path: &Path, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let mark = match extension {
        Some("md") => "",
        Some("rs") => "//",
        Some("lua" | "sql") => "--",
        Some("sh" | "toml") => "#",
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        // Output of Dyno is quoted as it is, either indented or in code.
        if !line.starts_with(mark) {
            continue;
        }
        let prose = line.to_lowercase();
        for (phrase, instead) in PHRASES {
            if has_words(&prose, phrase) {
                found.push((index + 1, *phrase, *instead));
            }
        }
    }
    found
}

fn has_words(prose: &str, phrase: &str) -> bool {
    let is_letter =
        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    prose.match_indices(phrase).any(|(at, _)| {
        let before = prose[..at].chars().next_back();
        let after = prose[at + phrase.len()..].chars().next();
        !is_letter(before) && !is_letter(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_whole_identifiers() {
        let lines = |text: &str| -> Vec<usize> {
            let all = names_in(text);
            all.into_iter().map(|(line, _, _)| line).collect()
        };
        let name = concat!("to", "ld");
        let kind = concat!("Ma", "de");
        assert_eq!(lines(&format!("let {name} = 1;")), [1]);
        assert_eq!(lines(&format!("let {name}_at = 1;\nstruct {kind};")), [2]);
        let part = concat!("fn what_is", "_no_plan() {}");
        assert_eq!(lines(part), [1]);
        assert_eq!(lines("let made = Outcome::Found;"), [] as [usize; 0]);
    }

    #[test]
    fn phrases_are_found_in_prose_and_not_in_code() {
        let of = |path: &str, text: &str| -> Vec<usize> {
            let all = phrases_in(Path::new(path), text);
            all.into_iter().map(|(line, _, _)| line).collect()
        };
        let phrase = concat!("it ", "is to", "ld");
        assert_eq!(
            of(
                "a.rs",
                &format!("/// So {phrase}.\nlet a = \"{phrase}\";\n")
            ),
            [1]
        );
        assert_eq!(of("a.md", &format!("So\n{phrase}.\n")), [2]);
        assert_eq!(
            of("a.md", concat!("a re", "newal, a", "newable\n")),
            [] as [usize; 0]
        );
        assert_eq!(of("a.csv", phrase), [] as [usize; 0]);
    }
}
