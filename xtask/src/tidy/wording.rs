//! Turns of phrase that comments and pages avoid, each with what to write instead.

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
    ("anew", "again"),
    ("thereof", "of it"),
];

/// The phrases in the prose of a file: its line, the phrase and what to write instead.
pub fn phrases_in(path: &Path, text: &str) -> Vec<(usize, &'static str, &'static str)> {
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
        // What Dyno prints is quoted as it is, indented or in a cell of code.
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
