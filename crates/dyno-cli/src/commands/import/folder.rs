//! Finds the logs of a folder, and the system logs that belong to each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dyno_core::factors::Factors;
use dyno_import::{Looks, Pattern, pgbench_stem};

use super::text::{COMPRESSED, Text, uncompressed};
use crate::settings::usage;

/// Maximum depth of nested folders: links may form cycles.
const DEPTH_MAX: usize = 64;
/// Number of paths in the error when none matches.
const NEAREST: usize = 3;

/// A log, and the files that belong to it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FolderLog {
    /// Its path below the folder, separated by `/`.
    pub path: String,
    /// Files with more data of the same run.
    pub parts: Vec<String>,
    /// The factors that the pattern reads from the path.
    pub factors: Factors,
    /// System logs by option: the path of a file below the folder.
    pub beside: BTreeMap<&'static str, String>,
    /// Why it must not be imported.
    pub damage: Option<String>,
}

impl FolderLog {
    /// All files of the run itself.
    pub(super) fn files(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.path).chain(&self.parts)
    }
}

/// The kinds of system logs and configuration files: the option that names one, and parts of its
/// file name.
pub(super) const EXTRA_FILES: [(&str, &[&str]); 5] = [
    ("vmstat", &["vmstat"]),
    ("iostat", &["iostat"]),
    ("mpstat", &["mpstat"]),
    ("sar", &["sar"]),
    ("config", &[".cnf", "cnf."]),
];

/// Common words in file names; they do not identify a run.
const COMMON: [&str; 16] = [
    "mpstat", "sar", "sysbench", "vmstat", "iostat", "result", "res", "log", "txt", "out", "my",
    "cnf", "pgbench", "fio", "hammerdb", "json",
];

/// The contents of a folder: logs sorted by path, and remarks.
pub(super) struct Folder {
    pub logs: Vec<FolderLog>,
    pub notes: Vec<String>,
}

/// Finds logs: all files that match the pattern, or without one all that look like the tool's.
///
/// # Errors
/// The folder cannot be read, no path matches, or no file looks like a log.
pub(super) fn find(folder: &str, pattern: Option<&Pattern>, looks: Looks) -> Result<Folder> {
    let (mut paths, mut notes) = (Vec::new(), Vec::new());
    walk(Path::new(folder), "", 0, &mut paths, &mut notes)
        .with_context(|| format!("cannot read the folder {folder}"))?;
    paths.sort_by_key(|path| natural(path));
    let mut logs = match pattern {
        Some(pattern) => fitting(folder, pattern, &paths)?,
        None => looking(folder, looks, &paths)?,
    };
    if looks == Looks::Pgbench {
        transactions(folder, &mut logs, &paths, &mut notes);
    }
    pair(&mut logs, &paths, &mut notes);
    notes.extend(unread(folder, &logs, &paths));
    Ok(Folder { logs, notes })
}

/// All files below a folder, by relative path. Notes subfolders that cannot be read.
fn walk(
    at: &Path,
    below: &str,
    depth: usize,
    paths: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(at)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        let path = match below {
            "" => name.to_owned(),
            below => format!("{below}/{name}"),
        };
        // Follow links to files only.
        if entry.file_type()?.is_dir() {
            if depth < DEPTH_MAX
                && let Err(error) = walk(&entry.path(), &path, depth + 1, paths, notes)
            {
                notes.push(format!("{path}: the folder cannot be read: {error}"));
            }
        } else if entry.path().is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// A sort key that orders numbers by value: `t8` before `t16`.
fn natural(path: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let word = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, tail) = rest.split_at(word);
        let number = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (digits, tail) = tail.split_at(number);
        parts.push((0, text.to_owned()));
        parts.push((digits.parse().unwrap_or(u64::MAX), digits.to_owned()));
        rest = tail;
    }
    parts
}

fn fitting(folder: &str, pattern: &Pattern, paths: &[String]) -> Result<Vec<FolderLog>> {
    let mut logs = Vec::new();
    for path in paths {
        let read = pattern
            .read(path)
            .or_else(|| pattern.read(uncompressed(path)));
        let Some(read) = read else {
            continue;
        };
        let (factors, damage) = match read {
            Ok(factors) => (factors, None),
            Err(why) => (Factors::new(), Some(why)),
        };
        logs.push(FolderLog {
            path: path.clone(),
            factors,
            damage,
            ..FolderLog::default()
        });
    }
    if logs.is_empty() {
        return Err(usage(nothing_fits(folder, pattern.text(), paths)));
    }
    Ok(logs)
}

fn nothing_fits(folder: &str, pattern: &str, paths: &[String]) -> String {
    let mut near: Vec<(f64, &String)> = paths
        .iter()
        .map(|path| (strsim::normalized_damerau_levenshtein(pattern, path), path))
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near
        .iter()
        .take(NEAREST)
        .map(|(_, path)| path.as_str())
        .collect();
    match near.is_empty() {
        true => format!("--pattern: there is no file in {folder}"),
        false => format!(
            "--pattern: none of {} in {folder} matches '{pattern}'; the nearest {} {}",
            files(paths.len()),
            if near.len() == 1 { "is" } else { "are" },
            near.join(", ")
        ),
    }
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// The files that look like the tool's, and similarly named files that do not.
fn looking(folder: &str, looks: Looks, paths: &[String]) -> Result<Vec<FolderLog>> {
    let mut seen: Vec<(&String, Result<Option<Looks>, String>)> = Vec::new();
    for path in paths {
        let read = Text::head(&format!("{folder}/{path}"));
        let read = read.map(|text| Looks::of(&text));
        seen.push((
            path,
            read.map_err(|error| format!("{:#}", error.root_cause())),
        ));
    }
    let is_log = |read: &Result<Option<Looks>, String>| matches!(read, Ok(Some(l)) if *l == looks);
    let shapes: BTreeSet<String> = seen
        .iter()
        .filter(|(_, read)| is_log(read))
        .map(|(path, _)| shape(path))
        .collect();
    let logged = looks == Looks::Pgbench
        && seen
            .iter()
            .any(|(_, read)| matches!(read, Ok(Some(Looks::PgbenchLog))));
    if shapes.is_empty() && !logged {
        return Err(anyhow::anyhow!(
            "none of {} in {folder} looks like {looks}; use --pattern to say which to read anyway",
            files(paths.len())
        ));
    }
    let found = seen.into_iter().filter_map(|(path, read)| {
        let damage = match read {
            Ok(Some(own)) if own == looks => None,
            Ok(Some(_)) => return None,
            Ok(None) if shapes.contains(&shape(path)) => Some(format!(
                "nothing in it looks like {looks}, although it has the name of such logs here"
            )),
            Err(why) if shapes.contains(&shape(path)) => Some(why),
            _ => return None,
        };
        Some(FolderLog {
            path: path.clone(),
            damage,
            ..FolderLog::default()
        })
    });
    Ok(found.collect())
}

/// The file's name without numbers and compression suffix.
fn shape(path: &str) -> String {
    let name = uncompressed(path.rsplit('/').next().unwrap_or(path));
    let mut shape = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

/// Assigns transaction logs to pgbench's output: all in its folder if it is the only output there
/// and they are of one run, else those with its name. Each of the others is a separate run.
fn transactions(
    folder: &str,
    logs: &mut Vec<FolderLog>,
    paths: &[String],
    notes: &mut Vec<String>,
) {
    let own: BTreeSet<String> = logs.iter().map(|log| log.path.clone()).collect();
    let mut runs: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for path in paths.iter().filter(|path| !own.contains(*path)) {
        let looks = Text::head(&format!("{folder}/{path}")).map(|text| Looks::of(&text));
        if matches!(looks, Ok(Some(Looks::PgbenchLog))) {
            runs.entry(pgbench_stem(path)).or_default().push(path);
        }
    }
    let mut more = Vec::new();
    for (stem, files) in &runs {
        let here = |log: &&mut FolderLog| split(&log.path).0 == split(stem).0;
        let alone = runs
            .keys()
            .filter(|one| split(one).0 == split(stem).0)
            .count()
            == 1;
        let mut there: Vec<&mut FolderLog> = logs.iter_mut().filter(here).collect();
        // Drop the process number.
        let prefix = stem
            .rsplit_once('.')
            .map_or(stem.as_str(), |(prefix, _)| prefix);
        let called = |log: &&mut FolderLog| which(&log.path) == which(prefix);
        let log = match there.as_mut_slice() {
            [log] if alone => Some(log),
            all => {
                let mut named = all
                    .iter_mut()
                    .filter(|log| called(log) && log.parts.is_empty());
                named.next().filter(|_| named.next().is_none())
            }
        };
        let files = files.iter().map(|path| (*path).clone());
        match log {
            Some(log) => log.parts.extend(files),
            None => more.push((there.is_empty(), files.collect::<Vec<String>>())),
        }
    }
    for (without, mut files) in more {
        let path = files.remove(0);
        if !without {
            notes.push(format!(
                "{path} is imported as a separate run: its name does not say which output in the \
                 folder it belongs to"
            ));
        }
        logs.push(FolderLog {
            path,
            parts: files,
            ..FolderLog::default()
        });
    }
}

/// Assigns system logs to each log: all in its folder if the log is the only one there, else those
/// with its name.
fn pair(logs: &mut [FolderLog], paths: &[String], notes: &mut Vec<String>) {
    let own: BTreeSet<String> = logs.iter().flat_map(FolderLog::files).cloned().collect();
    let mut folders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, log) in logs.iter().enumerate() {
        folders
            .entry(split(&log.path).0.to_owned())
            .or_default()
            .push(index);
    }
    for (folder, members) in folders {
        let here = paths
            .iter()
            .filter(|path| split(path).0 == folder && !own.contains(*path));
        let here: Vec<&String> = here.collect();
        for (option, words) in EXTRA_FILES {
            let fits = |path: &&&String| {
                let name = split(path).1.to_ascii_lowercase();
                words.iter().any(|word| has(&name, word))
            };
            let files: Vec<&String> = here.iter().filter(fits).copied().collect();
            of_kind(logs, &members, option, &files, notes);
        }
    }
}

/// Files next to the logs from tools that Dyno knows but cannot read.
fn unread(folder: &str, logs: &[FolderLog], paths: &[String]) -> Vec<String> {
    let taken = |log: &FolderLog| -> Vec<String> {
        let beside = log.beside.values();
        log.files().chain(beside).cloned().collect()
    };
    let taken: BTreeSet<String> = logs.iter().flat_map(taken).collect();
    let folders: BTreeSet<&str> = logs.iter().map(|log| split(&log.path).0).collect();
    let left = paths
        .iter()
        .filter(|path| !taken.contains(*path) && folders.contains(split(path).0));
    let unread_logs = left.filter_map(|path| {
        let text = Text::head(&format!("{folder}/{path}")).ok()?;
        let looks = Looks::of(&text).filter(|looks| looks.is_unread())?;
        Some(format!("{path} is {looks}, which is not read"))
    });
    unread_logs.collect()
}

/// Whether a file's name contains this part. A short part must be a whole word.
fn has(name: &str, part: &str) -> bool {
    match part.len() > 3 {
        true => name.contains(part),
        false => name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word == part),
    }
}

/// Assigns files of one kind to the logs of one folder.
fn of_kind(
    logs: &mut [FolderLog],
    members: &[usize],
    option: &'static str,
    files: &[&String],
    notes: &mut Vec<String>,
) {
    if let ([log], [file]) = (members, files) {
        logs[*log].beside.insert(option, (*file).clone());
        return;
    }
    for file in files {
        let named = |index: &&usize| which(&logs[**index].path) == which(file);
        let same: Vec<usize> = members.iter().filter(named).copied().collect();
        match same.as_slice() {
            [log] if !logs[*log].beside.contains_key(option) => {
                logs[*log].beside.insert(option, (*file).clone());
            }
            // One configuration file applies to every log there.
            _ if option == "config" && files.len() == 1 => {
                for log in members {
                    logs[*log].beside.insert(option, (*file).clone());
                }
            }
            _ => notes.push(format!(
                "{file} is left out: its name does not say which log in the folder it belongs to"
            )),
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The words of a file's name that identify its run.
fn which(path: &str) -> Vec<String> {
    let name = split(path).1.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !COMMON.contains(word));
    let compressed = |word: &&str| COMPRESSED.iter().any(|ending| ending[1..] == **word);
    words
        .filter(|word| !compressed(word))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests;
