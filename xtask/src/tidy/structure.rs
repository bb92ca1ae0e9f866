//! Code that belongs in a single place, and modules that must not import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::mask;

/// Words that only one place may contain, and why.
const HOMES: &[(&str, &str, &str)] = &[
    ("</table>", TABLES, ONE_TABLE),
    (" table class=", TABLES, ONE_TABLE),
];
const TABLES: &str = "crates/dyno-report/src/html/blocks.rs";
const ONE_TABLE: &str = "a page's tables are written in one place";

/// The folder whose modules must not import each other in a circle.
pub(super) const WITHOUT_CIRCLES: &str = "crates/dyno-cli/src";

/// The words in a Rust file that do not belong there: line, word, and why.
pub(super) fn misplaced(path: &Path, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    if !path.starts_with("crates") || path.extension().is_none_or(|end| end != "rs") {
        return Vec::new();
    }
    if is_test(path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (word, _, why) in HOMES.iter().filter(|(_, home, _)| !path.starts_with(home)) {
        let line = text.lines().position(|line| line.contains(word));
        found.extend(line.map(|line| (line + 1, *word, *why)));
    }
    found
}

fn is_test(path: &Path) -> bool {
    path.iter()
        .any(|part| part == "tests" || part == "tests.rs" || part == "benches")
}

/// The modules of a crate and what each imports.
#[derive(Default)]
pub(super) struct Modules {
    /// Masked code without tests, by the path of the module.
    code: BTreeMap<Vec<String>, String>,
}

impl Modules {
    /// Adds a file, if it belongs to the crate that must have no circles.
    pub(super) fn add(&mut self, path: &Path, text: &str) {
        let Ok(inside) = path.strip_prefix(WITHOUT_CIRCLES) else {
            return;
        };
        if inside.extension().is_none_or(|end| end != "rs") || is_test(inside) {
            return;
        }
        let mut module: Vec<String> = inside
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if ["lib", "mod"].contains(&module.last().map_or("", String::as_str)) {
            module.pop();
        }
        let code = mask::rust(text);
        let end = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
        self.code.insert(module, code[..end].to_owned());
    }

    /// The circles. Each is given as the names of its modules.
    pub(super) fn circles(&self) -> Vec<String> {
        let imports: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = self
            .code
            .iter()
            .map(|(module, code)| (module, self.imports(module, code)))
            .collect();
        let from = |module: &Vec<String>| reached(&imports, module);
        let mut circles = BTreeSet::new();
        for module in self.code.keys() {
            let reached = from(module);
            let circle: Vec<String> = self
                .code
                .keys()
                .filter(|other| reached.contains(other))
                .filter(|other| from(other).contains(module))
                .map(|other| other.join("::"))
                .collect();
            if !circle.is_empty() {
                circles.insert(circle.join(", "));
            }
        }
        circles.into_iter().collect()
    }

    /// The modules that a module's code names.
    fn imports(&self, module: &[String], code: &str) -> BTreeSet<&Vec<String>> {
        let mut found = BTreeSet::new();
        for (at, _) in code.match_indices("::") {
            let start = code[..at]
                .rfind(|c: char| c.is_ascii() && !is_name(c))
                .map_or(0, |end| end + 1);
            // A path is resolved at its first part, so skip the later parts.
            if code[..start].ends_with("::") || start == at {
                continue;
            }
            for path in paths(&code[start..]) {
                found.extend(self.resolve(module, &path));
            }
        }
        // A module and its submodules count as one.
        found.retain(|other| !module.starts_with(other));
        found
    }

    /// The innermost module that the path names.
    fn resolve(&self, module: &[String], path: &[&str]) -> Option<&Vec<String>> {
        let mut at = module.to_vec();
        let mut names = path.iter().peekable();
        match *names.peek()? {
            &"crate" => {
                at.clear();
                names.next();
            }
            &"self" => {
                names.next();
            }
            &"super" => {
                while names.next_if(|name| **name == "super").is_some() {
                    at.pop();
                }
            }
            child => {
                at.push((*child).to_owned());
                self.code.get_key_value(&at)?;
                names.next();
            }
        }
        for name in names {
            at.push((*name).to_owned());
            if !self.code.contains_key(&at) {
                at.pop();
                break;
            }
        }
        self.code.get_key_value(&at).map(|(known, _)| known)
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The modules that can be reached from a module through imports. It reaches itself only in a
/// circle.
fn reached<'a>(
    imports: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
    from: &Vec<String>,
) -> BTreeSet<&'a Vec<String>> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Vec<String>> = imports.get(from).into_iter().flatten().copied().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(imports.get(module).into_iter().flatten());
        }
    }
    reached
}

/// The paths at the start of a text: a single one, or those in its braces.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let mut start = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        if end == 0 {
            return vec![start];
        }
        start.push(&rest[..end]);
        rest = &rest[end..];
        let Some(after) = rest.strip_prefix("::") else {
            return vec![start];
        };
        rest = after;
        if let Some(group) = rest.strip_prefix('{') {
            let group = &group[..group_end(group)];
            let members = split(group).into_iter().flat_map(paths);
            return members
                .map(|member| start.iter().copied().chain(member).collect())
                .collect();
        }
    }
}

/// The position of the closing brace of a group.
fn group_end(text: &str) -> usize {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The members of a group.
fn split(group: &str) -> Vec<&str> {
    let (mut members, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                members.push(group[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    members.push(group[start..].trim());
    members.retain(|member| !member.is_empty());
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let mut modules = Modules::default();
        for (path, text) in files {
            modules.add(&Path::new(WITHOUT_CIRCLES).join(path), text);
        }
        modules.circles()
    }

    #[test]
    fn circles_of_modules_are_found() {
        let lib = ("lib.rs", "mod a;\nmod b;\nfn main() { a::run(); }\n");
        let a = ("a.rs", "use crate::{b::{self, B}, c};\n");
        assert!(circles(&[lib, a, ("b.rs", "use std::fmt;\n")]).is_empty());
        let found = circles(&[lib, a, ("b.rs", "fn f() { super::a::run(); }\n")]);
        assert_eq!(found, ["a, b"]);
        let nested = [
            ("a/mod.rs", "mod inner;\nfn f() { inner::g(); }\n"),
            ("a/inner.rs", "use super::Value;\n"),
        ];
        assert!(circles(&nested).is_empty());
        let tested = [
            ("a.rs", "use crate::b;\n"),
            (
                "b.rs",
                "// crate::a\n#[cfg(test)]\nmod tests { use crate::a; }\n",
            ),
        ];
        assert!(circles(&tested).is_empty());
    }

    #[test]
    fn words_outside_their_home_are_found() {
        for text in [
            "put!(page, \"</table>\");\n",
            "html! { table class=\"grid\" {} }\n",
        ] {
            let words = |at: &str| misplaced(Path::new(at), text).len();
            assert_eq!(words("crates/dyno-lab/src/a.rs"), 1);
            assert_eq!(words(TABLES), 0);
            assert_eq!(words("crates/dyno-lab/src/tests.rs"), 0);
        }
    }
}
