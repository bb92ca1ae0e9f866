//! Checks that the paths in ARCHITECTURE.md and in the lists "Where to change what" exist.

use std::path::{Path, PathBuf};

/// The page that is checked, relative to the root of the repository.
const PAGE: &str = "ARCHITECTURE.md";

/// The headings of the sections in `//!` comments that are checked.
const HEADINGS: &[&str] = &["Where to change what", "A new driver", "A new counter"];

/// A file name with one of these endings is a path even without a folder.
const ENDINGS: &[&str] = &[".rs", ".sql", ".lua", ".toml"];

/// The paths in a file of the repository that do not exist, with their lines.
///
/// Paths on the page are relative to `root`. Paths in a list are relative to `root` or to the
/// folder of the crate.
pub(super) fn missing(root: &Path, path: &Path, text: &str) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = if path == Path::new(PAGE) {
        text.lines().enumerate().collect()
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        listed(text)
    } else {
        Vec::new()
    };
    if lines.is_empty() {
        return Vec::new();
    }
    let mut folders = vec![root.to_owned()];
    folders.extend(crate_folder(root, path));
    let mut missing = Vec::new();
    for (index, line) in lines {
        for word in quoted(line).filter(|word| is_path(word)) {
            if !folders.iter().any(|folder| folder.join(word).exists()) {
                missing.push((index + 1, word.to_owned()));
            }
        }
    }
    missing
}

/// The lines at the top of a Rust file that are in one of the lists, with their indices.
fn listed(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(line) = line.strip_prefix("//!") else {
            break;
        };
        let line = line.trim();
        if line.starts_with('#') {
            inside = HEADINGS.contains(&line.trim_start_matches('#').trim());
        } else if inside {
            lines.push((index, line));
        }
    }
    lines
}

/// The folder of a file's crate.
fn crate_folder(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut folders = path.ancestors().skip(1).map(|folder| root.join(folder));
    folders.find(|folder| folder.join("Cargo.toml").exists())
}

/// The text between backticks on a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a word is a path within the repository. Code, placeholders and absolute paths are not
/// paths.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let named = word.contains('/') || ENDINGS.iter().any(|ending| word.ends_with(ending));
    named && !word.starts_with('/') && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;

    use super::*;

    #[test]
    fn distinguishes_paths_from_other_words() {
        for word in [
            "src/a.rs",
            "docs/",
            "lib.rs",
            "crates/dyno-core",
            ".ci/run",
            "v13.sql",
        ] {
            assert!(is_path(word), "{word}");
        }
        for word in [
            "/proc",
            "dyno-core",
            "Port::submit",
            "a{b,c}.rs",
            "src/*.js",
            "mysql://x",
            "dyno help a/b",
            "",
        ] {
            assert!(!is_path(word), "{word}");
        }
        let words: Vec<&str> = quoted("- A: `a.rs` and `b/c`; `d").collect();
        assert_eq!(words, ["a.rs", "b/c", "d"]);
        assert_eq!(quoted("nothing").count(), 0);
    }

    #[test]
    fn only_the_lists_of_a_head_are_read() {
        let text = "//! A crate with `gone/a.rs`.\n\
                    //!\n\
                    //! # Where to change what\n\
                    //!\n\
                    //! - This: `gone/b.rs`.\n\
                    //! # Other\n\
                    //! `gone/c.rs`\n\
                    \n\
                    //! # Where to change what\n\
                    //! `gone/d.rs`\n";
        assert_eq!(listed(text), [(3, ""), (4, "- This: `gone/b.rs`.")]);
        assert!(listed("use a;\n").is_empty());
    }

    #[test]
    fn missing_paths_are_found_on_the_page_and_in_lists() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let root = root.path();
        fs::create_dir_all(root.join("wheel/src/spoke"))?;
        fs::create_dir(root.join("docs"))?;
        fs::write(root.join("Cargo.toml"), "")?;
        fs::write(root.join("wheel/Cargo.toml"), "")?;
        fs::write(root.join("wheel/src/lib.rs"), "")?;

        let page = "`wheel/src/lib.rs`, `docs/`\n\n`src/lib.rs` and `wheel/x`\n";
        let found = missing(root, Path::new(PAGE), page);
        assert_eq!(
            found,
            [(3, "src/lib.rs".to_owned()), (3, "wheel/x".to_owned())]
        );

        let list = "//! # Where to change what\n//! `src/spoke`, `docs/`, `wheel/src`, `src/hub`\n";
        let found = missing(root, Path::new("wheel/src/lib.rs"), list);
        assert_eq!(found, [(2, "src/hub".to_owned())]);

        assert!(missing(root, Path::new("docs/a.md"), page).is_empty());
        assert!(missing(root, Path::new("wheel/src/lib.rs"), "//! `src/hub`\n").is_empty());
        Ok(())
    }
}
