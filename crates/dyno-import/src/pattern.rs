//! The location of logs, as a path with named parts: `…/{fs}-{binlog}/BP{memory}/res.txt`.

use dyno_core::factors::{Factors, parse_factor};
use regex::Regex;

/// Wildcards for any number of folders, including ASCII forms.
const ANYWHERE: [&str; 3] = ["…", "...", "**"];

/// A path pattern whose named parts are factors.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
    names: Vec<String>,
}

impl Pattern {
    /// Parses a pattern: `{name}` matches the shortest part of a folder's or file's name; `*` is
    /// the same without a name; `…`, `...` or `**` as a whole path component matches any number of
    /// folders, including zero.
    ///
    /// # Errors
    /// What is wrong with it, as the rest of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix("./").unwrap_or(text);
        if bare.is_empty() {
            return Err("an empty pattern matches no path".to_owned());
        }
        if bare.starts_with('/') {
            return Err(format!(
                "'{text}' begins with /; a pattern matches the path below the imported folder, and \
                 a leading … matches any folders there"
            ));
        }
        let mut names = Vec::new();
        let mut regex = String::from("^");
        let steps: Vec<&str> = bare.split('/').collect();
        for (index, step) in steps.iter().enumerate() {
            let last = index + 1 == steps.len();
            match ANYWHERE.contains(step) {
                true if last => regex.push_str(".+"),
                true => regex.push_str("(?:.*/)?"),
                false => {
                    of_step(text, step, &mut regex, &mut names)?;
                    regex.push_str(if last { "" } else { "/" });
                }
            }
        }
        regex.push('$');
        let regex = Regex::new(&regex).map_err(|_| format!("'{text}' is too long"))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
            names,
        })
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its parts, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The levels in a path; `None` if it does not match.
    ///
    /// # Errors
    /// A part that cannot be a level, as the rest of a sentence.
    pub fn read(&self, path: &str) -> Option<Result<Factors, String>> {
        let found = self.regex.captures(path)?;
        let parts = self.names.iter().zip(found.iter().skip(1));
        let levels = parts.filter_map(|(name, part)| {
            let text = format!("{name}={}", part?.as_str());
            Some(parse_factor(&text))
        });
        Some(levels.collect())
    }
}

/// One component of the path: a folder, or the file.
fn of_step(
    text: &str,
    step: &str,
    regex: &mut String,
    names: &mut Vec<String>,
) -> Result<(), String> {
    let mut rest = step;
    let mut open_ended = false;
    while let Some(at) = rest.find(['{', '}', '*', '…']) {
        regex.push_str(&regex::escape(&rest[..at]));
        open_ended &= at == 0;
        let sign = &rest[at..];
        if let Some(after) = sign.strip_prefix('{') {
            let (name, after) = after.split_once('}').ok_or_else(|| {
                format!("'{text}' has a {{ without a }}; write for example {{memory}}")
            })?;
            check_name(text, name, names)?;
            if open_ended {
                return Err(format!(
                    "'{text}': {{{name}}} needs text before it, to separate it from the previous \
                     part"
                ));
            }
            names.push(name.to_owned());
            regex.push_str("([^/]+?)");
            rest = after;
        } else if sign.starts_with('}') {
            return Err(format!(
                "'{text}' has a }} without a {{; write for example {{memory}}"
            ));
        } else {
            regex.push_str("[^/]*?");
            rest = sign.trim_start_matches(['*', '…']);
        }
        open_ended = true;
    }
    regex.push_str(&regex::escape(rest));
    Ok(())
}

fn check_name(text: &str, name: &str, names: &[String]) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    if name.trim() != name || name.is_empty() || !name.chars().all(fits) {
        return Err(format!(
            "'{text}': '{{{name}}}' is not a factor's name; write for example {{memory}}"
        ));
    }
    if names.iter().any(|other| other == name) {
        return Err(format!(
            "'{text}' has {{{name}}} twice; a factor has one level"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(pattern: &str, path: &str) -> Option<String> {
        let found = Pattern::parse(pattern).unwrap().read(path)?.unwrap();
        let words: Vec<String> = found
            .iter()
            .map(|(n, level)| format!("{n}={level}"))
            .collect();
        Some(words.join(" "))
    }

    #[test]
    fn named_parts_are_levels() {
        let pattern = "…/{fs}-{binlog}-sync{sync}/BP{memory}/res.txt";
        assert_eq!(
            levels(pattern, "xfs-off-sync0/BP5/res.txt").unwrap(),
            "binlog=off fs=xfs memory=5 sync=0"
        );
        assert_eq!(
            levels(pattern, "a/b/ext4-on-sync1/BP128G/res.txt").unwrap(),
            "binlog=on fs=ext4 memory=128G sync=1"
        );
        for path in [
            "xfs-off-sync0/BP5/other.txt",
            "xfs-off-sync/BP5/res.txt",
            "xfs-off-sync0/deep/BP5/res.txt",
            "xfs-off-sync0/BP5/res.txt.old",
        ] {
            assert_eq!(levels(pattern, path), None, "{path}");
        }
        // The first part matches the shortest text, and the last one the rest.
        assert_eq!(levels("{a}-{b}", "x-y-z").unwrap(), "a=x b=y-z");
        assert_eq!(levels("{a}-1.log", "x-1-1.log").unwrap(), "a=x-1");
        assert_eq!(levels("*/t{n}*.log", "any/t16-1.log").unwrap(), "n=1");
        assert_eq!(levels("**/t{n}-*.log", "t16-1.log").unwrap(), "n=16");
        assert_eq!(levels("./res+(1).txt", "res+(1).txt").unwrap(), "");
        assert_eq!(levels("{n}/...", "5/a/b").unwrap(), "n=5");
    }

    #[test]
    fn rejects_an_invalid_pattern() {
        for (text, why) in [
            ("", "empty"),
            ("/abs/{a}", "begins with /"),
            ("BP{memory/res.txt", "a { without a }"),
            ("BP{memory", "a { without a }"),
            ("BPmemory}", "a } without a {"),
            ("{a}/{a}", "has {a} twice"),
            ("{a}{b}", "{b} needs text before it"),
            ("*{b}", "{b} needs text before it"),
            ("{}", "'{}' is not a factor's name"),
            ("{a=b}", "is not a factor's name"),
            ("{a,b}", "is not a factor's name"),
        ] {
            let error = Pattern::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let comma = Pattern::parse("{a}.log").unwrap().read("1,2.log").unwrap();
        assert!(comma.unwrap_err().contains("comma"));
    }

    proptest! {
        #[test]
        fn a_path_built_from_levels_yields_them(
            levels in prop::collection::vec("[a-z0-9_.]{1,8}", 3),
            folders in prop::collection::vec("[a-z]{1,5}", 0..3),
        ) {
            let mut path: String = folders.iter().map(|folder| format!("{folder}/")).collect();
            path += &format!("{}-{}/BP{}/res", levels[0], levels[1], levels[2]);
            let found = Pattern::parse("…/{a}-{b}/BP{c}/res").unwrap().read(&path).unwrap();
            let found: Vec<String> = found.unwrap().into_values().collect();
            prop_assert_eq!(found, levels);
        }

        #[test]
        fn arbitrary_patterns_never_panic(text in "[a{}*…/.\\-(+]*", path in "\\PC*") {
            if let Ok(pattern) = Pattern::parse(&text) {
                let _ = pattern.read(&path);
            }
        }
    }
}
