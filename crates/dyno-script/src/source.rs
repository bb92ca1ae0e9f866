//! Finding a script: a built-in name, a path, a module on Lua's path, or standard input.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use dyno_core::suggest::nearest;

/// A script's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name as typed; `None` for standard input.
    pub name: Option<String>,
    /// Its path, for messages.
    pub path: String,
    /// Its text as bytes, with a `#!` line made ineffective.
    pub text: Vec<u8>,
}

/// The beginning of compiled Lua.
const COMPILED: &[u8] = b"\x1bL";

/// The scripts in the binary: name (without `.lua`) and text.
pub type Builtins = &'static [(&'static str, &'static str)];

/// The suggestion if a script is not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The name is a directory's.
    Directory,
    /// A built-in script has a similar name.
    Nearest(String),
    /// No particular suggestion.
    List,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("it is a directory; a workload is a Lua or SQL file"),
            Self::Nearest(name) => write!(f, "did you mean '{name}'?"),
            Self::List => f.write_str("`dyno list` shows the built-in workloads"),
        }
    }
}

/// A script that is not available.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The name was not found.
    #[error("there is no workload '{name}', neither built in nor as a file or module; {hint}")]
    NotFound {
        /// The name as typed.
        name: String,
        /// A suggestion.
        hint: Hint,
    },
    /// The file exists but cannot be read.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// The path.
        path: String,
        /// The cause.
        cause: std::io::Error,
    },
}

/// Finds the script as sysbench does: a file of this exact name first, then Lua's path, then the
/// built-in ones. `-` is standard input.
///
/// # Errors
/// A script that is not found or cannot be read.
pub fn find(name: &str, builtins: Builtins) -> Result<Source, SourceError> {
    if name == "-" {
        return from_stdin();
    }
    let path = Path::new(name);
    if path.is_file() {
        return read(name, path);
    }
    // As `require` looks for it.
    for candidate in candidates(&name.replace('.', "/"), &search_path()) {
        if Path::new(&candidate).is_file() {
            return read(name, Path::new(&candidate));
        }
    }
    if let Some((_, text)) = builtin(name, builtins) {
        let (path, text) = (format!("{name}.lua"), strip_shebang((*text).into()));
        return Ok(Source {
            name: Some(name.to_owned()),
            path,
            text,
        });
    }
    Err(SourceError::NotFound {
        name: name.to_owned(),
        hint: hint(name, builtins),
    })
}

/// Wraps an SQL file in a call of the built-in script that runs such files.
fn sql_file(path: &Path, text: &[u8]) -> Vec<u8> {
    let mut level = String::new();
    let holds = |end: String| text.windows(end.len()).any(|part| part == end.as_bytes());
    while holds(format!("]{level}]")) {
        level.push('=');
    }
    // Lua drops a first line break within long brackets.
    let name = path
        .display()
        .to_string()
        .replace(['"', '\\', '\n', '\r'], "?");
    let before = format!("require(\"sql_file\")([{level}[\n");
    let after = format!("]{level}], \"{name}\")\n");
    [before.as_bytes(), text, after.as_bytes()].concat()
}

/// Finds a module for `require`: its text and path, or the list of places tried.
pub(crate) fn find_module(
    name: &str,
    path: &str,
    builtins: Builtins,
) -> Result<(Vec<u8>, String), String> {
    let file_name = name.replace('.', "/");
    let mut tried = String::new();
    for candidate in candidates(&file_name, path) {
        if let Ok(text) = fs::read(&candidate) {
            return Ok((strip_shebang(text), candidate));
        }
        tried.push_str(&format!("\n\tno file '{candidate}'"));
    }
    if let Some((_, text)) = builtin(name, builtins) {
        return Ok((strip_shebang((*text).into()), format!("{name}.lua")));
    }
    tried.push_str(&format!("\n\tno built-in script '{name}'"));
    Err(tried)
}

/// Lua's path for modules, `LUA_PATH` respected.
pub(crate) fn search_path() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let default = format!(
        "./?.lua;./?/init.lua;./src/lua/?.lua;{home}/.luarocks/share/lua/5.1/?.lua;\
         {home}/.luarocks/share/lua/5.1/?/init.lua;{home}/.luarocks/share/lua/?.lua;\
         {home}/.luarocks/share/lua/?/init.lua;/usr/local/share/lua/5.1/?.lua;\
         /usr/share/lua/5.1/?.lua"
    );
    with_default(std::env::var("LUA_PATH").ok(), &default)
}

/// Lua's path for C modules, `LUA_CPATH` respected.
pub(crate) fn search_cpath() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let default = format!(
        "./?.so;{home}/.luarocks/lib/lua/5.1/?.so;{home}/.luarocks/lib/lua/?.so;\
         /usr/local/lib/lua/5.1/?.so;/usr/lib/lua/5.1/?.so"
    );
    with_default(std::env::var("LUA_CPATH").ok(), &default)
}

fn with_default(given: Option<String>, default: &str) -> String {
    match given {
        Some(given) => given.replace(";;", &format!(";{default};")),
        None => default.to_owned(),
    }
}

fn candidates(name: &str, path: &str) -> Vec<String> {
    path.split(';')
        .map(str::trim)
        .filter(|template| !template.is_empty())
        .map(|template| template.replace('?', name))
        .collect()
}

fn builtin<'a>(name: &str, builtins: Builtins) -> Option<&'a (&'static str, &'static str)> {
    let bare = name.strip_suffix(".lua").unwrap_or(name);
    builtins.iter().find(|(builtin, _)| *builtin == bare)
}

fn hint(name: &str, builtins: Builtins) -> Hint {
    if Path::new(name).is_dir() {
        return Hint::Directory;
    }
    let nearest = nearest(name, builtins.iter().map(|(builtin, _)| *builtin));
    nearest.map_or(Hint::List, |builtin| Hint::Nearest(builtin.to_owned()))
}

fn read(name: &str, path: &Path) -> Result<Source, SourceError> {
    let unreadable = |cause| SourceError::Unreadable {
        path: path.display().to_string(),
        cause,
    };
    let text = fs::read(path).map_err(unreadable)?;
    if text.starts_with(COMPILED) {
        let why = "it is compiled Lua, which is not accepted: use its source";
        return Err(unreadable(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            why,
        )));
    }
    let is_sql = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("sql"));
    Ok(Source {
        name: Some(name.to_owned()),
        path: path.display().to_string(),
        text: match is_sql {
            true => sql_file(path, &text),
            false => strip_shebang(text),
        },
    })
}

fn from_stdin() -> Result<Source, SourceError> {
    let mut text = Vec::new();
    std::io::stdin()
        .read_to_end(&mut text)
        .map_err(|cause| SourceError::Unreadable {
            path: "standard input".to_owned(),
            cause,
        })?;
    Ok(Source {
        name: None,
        path: "stdin".to_owned(),
        text: strip_shebang(text),
    })
}

/// Turns a first line `#!…` into a comment, to preserve line numbers.
fn strip_shebang(text: Vec<u8>) -> Vec<u8> {
    match text.first() {
        Some(b'#') => [b"--", text.as_slice()].concat(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILTINS: Builtins = &[("oltp_read_write", "-- rw"), ("oltp_common", "return 1")];

    #[test]
    fn built_in_names_with_and_without_suffix() {
        for name in ["oltp_read_write", "oltp_read_write.lua"] {
            assert_eq!(find(name, BUILTINS).unwrap().text, b"-- rw");
        }
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let message = find("oltp_readwrite", BUILTINS).unwrap_err().to_string();
        assert!(
            message.contains("did you mean 'oltp_read_write'"),
            "{message}"
        );
        let message = find("zzz", BUILTINS).unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
    }

    #[test]
    fn shebang_keeps_line_numbers() {
        assert_eq!(
            strip_shebang("#!/usr/bin/sysbench\nx".into()),
            b"--#!/usr/bin/sysbench\nx"
        );
    }

    #[test]
    fn modules_come_from_the_path_or_the_binary() {
        let found = find_module("oltp_common", "./nowhere/?.lua", BUILTINS).unwrap();
        assert_eq!(found.0, b"return 1");
        assert!(
            find_module("x.y", "./?.lua", BUILTINS)
                .unwrap_err()
                .contains("./x/y.lua")
        );
    }
}
