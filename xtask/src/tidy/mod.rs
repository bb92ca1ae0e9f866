//! The lint rules of the repository as a test: `cargo xtask tidy`.
//!
//! These rules go beyond rustfmt and clippy. Each violation is reported with its line.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

mod functions;
mod mask;
mod paths;
mod structure;
mod wording;

use crate::say;
use functions::Language;

/// The maximum number of lines of a source file, exclusive.
const FILE_LINES: usize = 500;
/// The maximum number of lines of a function, exclusive, from its head to its last line.
const FUNCTION_LINES: usize = 70;
/// The maximum number of characters in a line.
const LINE_CHARS: usize = 100;

/// Marks of unfinished work. Split, so that this file does not break the rule itself.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("db", "g!"),
    concat!("unimple", "mented!"),
];

/// Text about a machine or the development process, which does not belong in the project.
const FOREIGN: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("../sha", "red"),
    concat!("session ", "helper"),
    concat!("issue ", "#"),
];

/// The rules that a file may be exempted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    FileLength,
    FunctionLength,
    LineLength,
    Unfinished,
    Foreign,
    TrailingSpace,
    Lints,
    Architecture,
    Paths,
    Wording,
    DocTests,
    Structure,
}

/// A file that may break a rule, with the reason.
struct Exception {
    path: &'static str,
    rule: Rule,
    reason: &'static str,
}

/// Keep this short.
const EXCEPTIONS: &[Exception] = &[];

/// One violation of a rule.
#[derive(Debug)]
pub struct Violation {
    path: PathBuf,
    line: usize,
    rule: Rule,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// Every violation in the repository at `root`, in the order of paths and lines.
///
/// # Errors
/// A file cannot be read, or an exception names a file that does not exist.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    let mut modules = structure::Modules::default();
    for path in files(root)? {
        let bytes = fs::read(root.join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(text) = String::from_utf8(bytes) else {
            continue; // not text: nothing to check
        };
        check_text(&path, &text, &mut violations);
        modules.add(&path, &text);
        for (line, word, why) in structure::misplaced(&path, &text) {
            violations.push(Violation {
                path: path.clone(),
                line,
                rule: Rule::Structure,
                what: format!("`{word}` does not belong here: {why}"),
            });
        }
        for (line, missing) in paths::missing(root, &path, &text) {
            violations.push(Violation {
                path: path.clone(),
                line,
                rule: Rule::Paths,
                what: format!("`{missing}` does not exist in this repository"),
            });
        }
    }
    violations.extend(modules.circles().into_iter().map(|circle| Violation {
        path: structure::WITHOUT_CIRCLES.into(),
        line: 1,
        rule: Rule::Structure,
        what: format!("these modules import each other: {circle}"),
    }));
    check_crates(root, &mut violations)?;
    for exception in EXCEPTIONS {
        if !root.join(exception.path).exists() {
            bail!(
                "tidy names an exception for {} ({}), which does not exist: remove it",
                exception.path,
                exception.reason
            );
        }
    }
    violations.retain(|violation| !excepted(violation));
    violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(violations)
}

/// Reports every violation in the repository at `root`.
///
/// # Errors
/// There are violations, or a file cannot be read.
pub fn enforce(root: &Path) -> Result<()> {
    let violations = check(root)?;
    for violation in &violations {
        say(&violation.to_string());
    }
    match violations.len() {
        0 => Ok(()),
        count => bail!("{count} violations of the lint rules, which CONTRIBUTING.md explains"),
    }
}

fn excepted(violation: &Violation) -> bool {
    EXCEPTIONS.iter().any(|exception| {
        violation.rule == exception.rule && violation.path == Path::new(exception.path)
    })
}

/// The files of the repository, relative to `root`, without build output and hidden files.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let at = root.join(&folder);
        let entries = fs::read_dir(&at).with_context(|| format!("cannot list {}", at.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {}", at.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !matches!(&*name, ".ci" | ".cargo");
            // What cargo and the fuzzer write.
            let fuzzed = matches!(&*name, "artifacts" | "corpus" | "coverage");
            let made = name == "target" || (folder == Path::new("fuzz") && fuzzed);
            if hidden || made {
                continue;
            }
            let path = folder.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn check_text(path: &Path, text: &str, violations: &mut Vec<Violation>) {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let language = match extension {
        Some("rs") => Some(Language::Rust),
        Some("lua") => Some(Language::Lua),
        _ => None,
    };
    let mut report = |line, rule, what| {
        let path = path.to_owned();
        violations.push(Violation {
            path,
            line,
            rule,
            what,
        });
    };
    check_lines(extension, text, &mut report);
    for (line, phrase, instead) in wording::phrases_in(path, text) {
        report(line, Rule::Wording, format!("`{phrase}`: write {instead}"));
    }
    let Some(language) = language else { return };
    if language == Language::Rust {
        for (line, name, instead) in wording::names_in(&mask::rust(text)) {
            report(
                line,
                Rule::Wording,
                format!("`{name}`: name it by {instead}"),
            );
        }
    }
    let lines = text.lines().count();
    if lines >= FILE_LINES {
        let what = format!("the file has {lines} lines; the limit is under {FILE_LINES}");
        report(1, Rule::FileLength, what);
    }
    for function in functions::find(language, text) {
        if function.lines >= FUNCTION_LINES {
            let what = format!(
                "function `{}` has {} lines; the limit is under {FUNCTION_LINES}",
                function.name, function.lines
            );
            report(function.line, Rule::FunctionLength, what);
        }
    }
}

fn check_lines(extension: Option<&str>, text: &str, report: &mut impl FnMut(usize, Rule, String)) {
    // Recorded output stays as it was, and a lock file belongs to cargo.
    let recorded = matches!(extension, Some("snap" | "out" | "csv" | "lock"));
    let code = matches!(extension, Some("rs" | "lua" | "sh" | "c"));
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if !recorded && line.ends_with([' ', '\t', '\r']) {
            report(
                number,
                Rule::TrailingSpace,
                "trailing white space".to_owned(),
            );
        }
        let chars = line.chars().count();
        if code && chars > LINE_CHARS {
            let what = format!("the line has {chars} characters; the limit is {LINE_CHARS}");
            report(number, Rule::LineLength, what);
        }
        for word in UNFINISHED {
            if code && contains_word(line, word) {
                report(
                    number,
                    Rule::Unfinished,
                    format!("unfinished work: `{word}`"),
                );
            }
        }
        let comment = line.trim_start();
        let in_docs = comment.starts_with("///") || comment.starts_with("//!");
        if extension == Some("rs") && in_docs && comment.contains("```") {
            let what = "doc tests are off (they cost a build each): write a unit test".to_owned();
            report(number, Rule::DocTests, what);
        }
        for word in FOREIGN {
            if line.to_lowercase().contains(word) {
                let what = format!("`{word}` does not belong in this repository");
                report(number, Rule::Foreign, what);
            }
        }
    }
}

/// Whether `line` contains `word` as a whole word.
fn contains_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let after = line[at + word.len()..].chars().next();
        !part(line[..at].chars().next_back()) && (word.ends_with('!') || !part(after))
    })
}

/// Checks that every crate inherits the workspace's lints and is listed in ARCHITECTURE.md.
fn check_crates(root: &Path, violations: &mut Vec<Violation>) -> Result<()> {
    let path = root.join("ARCHITECTURE.md");
    let architecture =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    for path in files(root)? {
        if path.file_name().is_none_or(|name| name != "Cargo.toml") {
            continue;
        }
        let manifest = fs::read_to_string(root.join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let Some(name) = toml_value(&manifest, "package", "name") else {
            continue; // the workspace's own manifest
        };
        let mut report = |rule, what| {
            let path = path.clone();
            violations.push(Violation {
                path,
                line: 1,
                rule,
                what,
            });
        };
        if toml_value(&manifest, "lints", "workspace") != Some("true") {
            let what = format!("crate `{name}` must have `[lints] workspace = true`");
            report(Rule::Lints, what);
        }
        if !architecture.contains(&format!("`{name}`")) {
            let what = format!("crate `{name}` is not named in ARCHITECTURE.md");
            report(Rule::Architecture, what);
        }
    }
    Ok(())
}

/// The value of `key` in `[table]`, without quotes. Supports only the part of TOML that the
/// manifests use.
fn toml_value<'a>(text: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            inside = head.strip_suffix(']') == Some(table);
        } else if inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            return Some(value.trim().trim_matches('"'));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<Rule> {
        let mut violations = Vec::new();
        check_text(Path::new(path), text, &mut violations);
        violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn limits_are_strict() {
        let file = |lines| "//\n".repeat(lines);
        assert_eq!(rules("a.rs", &file(499)), []);
        assert_eq!(rules("a.rs", &file(500)), [Rule::FileLength]);
        assert_eq!(rules("a.md", &file(500)), []);
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "\n".repeat(lines - 2));
        assert_eq!(rules("a.rs", &function(69)), []);
        assert_eq!(rules("a.rs", &function(70)), [Rule::FunctionLength]);
        let line = |chars: usize| format!("//{}\n", "é".repeat(chars - 2));
        assert_eq!(rules("a.lua", &line(100)), []);
        assert_eq!(rules("a.rs", &line(101)), [Rule::LineLength]);
        assert_eq!(rules("a.md", &line(101)), []);
    }

    #[test]
    fn unfinished_and_foreign_words_are_found() {
        for word in UNFINISHED {
            assert_eq!(rules("a.rs", &format!("// {word} x\n")), [Rule::Unfinished]);
            assert_eq!(rules("a.rs", &format!("// A{word}\n")), [], "{word}");
        }
        for word in FOREIGN {
            assert_eq!(rules("a.md", &format!("see {word}1\n")), [Rule::Foreign]);
        }
    }

    #[test]
    fn examples_in_doc_comments_are_found() {
        assert_eq!(rules("a.rs", "/// ```\n"), [Rule::DocTests]);
        assert_eq!(rules("a.rs", "// ```\n"), []);
    }

    #[test]
    fn trailing_space_is_found_but_not_in_recorded_output() {
        assert_eq!(rules("a.toml", "a \n"), [Rule::TrailingSpace]);
        assert_eq!(rules("a.snap", "a \n"), []);
    }

    #[test]
    fn crates_must_follow_lints_and_architecture() -> Result<()> {
        let root = tempfile::tempdir()?;
        let manifest = "[package]\nname = \"wheel\"\n\n[lints]\nworkspace = true\n";
        fs::create_dir(root.path().join("wheel"))?;
        fs::write(root.path().join("wheel/Cargo.toml"), manifest)?;
        fs::write(root.path().join("ARCHITECTURE.md"), "| `wheel` | turns |\n")?;
        assert!(check(root.path())?.is_empty());
        fs::write(root.path().join("ARCHITECTURE.md"), "nothing\n")?;
        fs::write(
            root.path().join("wheel/Cargo.toml"),
            "[package]\nname = \"wheel\"\n",
        )?;
        let broken: Vec<Rule> = check(root.path())?.iter().map(|b| b.rule).collect();
        assert_eq!(broken, [Rule::Lints, Rule::Architecture]);
        Ok(())
    }

    #[test]
    fn paths_of_the_architecture_must_exist() -> Result<()> {
        let root = tempfile::tempdir()?;
        fs::create_dir(root.path().join("wheel"))?;
        fs::write(root.path().join("ARCHITECTURE.md"), "`wheel/`\n")?;
        assert!(check(root.path())?.is_empty());
        fs::write(root.path().join("ARCHITECTURE.md"), "\n`wheel/hub`\n")?;
        let broken = check(root.path())?;
        let broken: Vec<(usize, Rule)> = broken.iter().map(|b| (b.line, b.rule)).collect();
        assert_eq!(broken, [(2, Rule::Paths)]);
        Ok(())
    }
}
