//! The scripts that an experiment names, and the modules that they load, as they were in its
//! trials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use anyhow::{Context as _, Result, bail};
use dyno_conduct::lab::line;
use dyno_core::text::hex;
use dyno_core::{Secret, Target, redact};
use dyno_host::Edition;
use dyno_lab::file::Experiment;
use dyno_results::TrialRow;
use dyno_run::Workload;
use sha2::{Digest as _, Sha256};

use super::OWN;

/// The contents of the files, by their paths in the archive. A script keeps the path that the
/// experiment names; a module keeps the path at which the script finds it.
///
/// # Errors
/// A file is missing, has changed since the trials, or is outside the experiment's folder.
pub(super) fn collect(
    experiment: &Experiment,
    trials: &[TrialRow],
    base: &Path,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for name in names(experiment) {
        let path = line::workload(&name, base);
        if !is_file(&name, &path)? {
            continue;
        }
        let recorded = recorded(trials, &name);
        if recorded.is_empty() {
            bail!("the results do not say which version of the script {path} the trials ran");
        }
        for text in recorded {
            let (own, modules) = hashes(text);
            put(&mut files, &name, read(&path, own)?)?;
            for (module, own) in modules {
                let bytes = read(&module, own)?;
                put(&mut files, &module, bytes)?;
            }
        }
    }
    Ok(files)
}

/// Rejects files with a URL that has a password.
///
/// # Errors
/// Names the first one and its line.
pub(super) fn refuse_passwords(
    files: &BTreeMap<String, Vec<u8>>,
    targets: &[Target],
) -> Result<()> {
    let in_url = |line: &str| {
        let mut words = line.split(|c: char| c.is_whitespace() || "'\"`".contains(c));
        words.any(|word| word.contains("://") && redact::text(word) != word)
    };
    let passwords = targets.iter().filter_map(|target| target.password.as_ref());
    let passwords: Vec<&str> = passwords.map(Secret::expose).collect();
    let is_known = |line: &str| {
        let mut known = passwords.iter().filter(|known| !known.is_empty());
        known.any(|known| line.contains(*known))
    };
    match first_line(files, |line| in_url(line) || is_known(line)) {
        None => Ok(()),
        Some(place) => bail!(
            "{place}: this line has a password; remove it and run the trials again, or pack the \
             script as it is with --force"
        ),
    }
}

/// The first line that seems to contain a password, by the names in it.
pub(super) fn suspect(files: &BTreeMap<String, Vec<u8>>) -> Option<String> {
    first_line(files, |line| redact::text(line) != line)
}

/// File and number of the first such line.
fn first_line(files: &BTreeMap<String, Vec<u8>>, is: impl Fn(&str) -> bool) -> Option<String> {
    files.iter().find_map(|(name, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        let index = text.lines().position(&is)?;
        Some(format!("{name}:{}", index + 1))
    })
}

/// The names of all workloads.
fn names(experiment: &Experiment) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for cell in experiment.cells() {
        let (load, data) = (cell.effective.load, cell.effective.data);
        names.extend(load.workload);
        if !data.none {
            names.extend(data.workload);
        }
    }
    names
}

/// Whether the workload is a file; if not, it is built in.
fn is_file(name: &str, path: &str) -> Result<bool> {
    if dyno_host::find(name).is_some() {
        return Ok(false);
    }
    if Path::new(path).is_file() {
        return Ok(true);
    }
    match Workload::find(path, Edition::Dyno) {
        Ok(work) if work.is_builtin() => Ok(false),
        Ok(work) => bail!(outside(work.path())),
        Err(_) => bail!(missing(path)),
    }
}

/// What the trials recorded about a script: see [`hashes`].
fn recorded<'a>(trials: &'a [TrialRow], name: &str) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    for row in trials {
        for (part, key) in [("load", "script"), ("data", "data_script")] {
            let own = row.made_of["effective"][part]["workload"].as_str();
            if own == Some(name) {
                all.extend(row.made_of[key].as_str());
            }
        }
    }
    all
}

/// A script's hash, and the file and hash of each of its modules: `HASH FILE HASH FILE HASH`.
fn hashes(text: &str) -> (&str, Vec<(String, &str)>) {
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let mut words = text.split(' ');
    let own = words.next().unwrap_or_default();
    let mut modules = Vec::new();
    // A file's name may contain blanks.
    let mut file: Vec<&str> = Vec::new();
    for word in words {
        if is_hash(word) && !file.is_empty() {
            modules.push((file.join(" "), word));
            file.clear();
        } else {
            file.push(word);
        }
    }
    (own, modules)
}

/// A file's content, if it still has this hash.
fn read(path: &str, hash: &str) -> Result<Vec<u8>> {
    if !Path::new(path).is_file() {
        bail!(missing(path));
    }
    let work = Workload::find(path, Edition::Dyno)?;
    if hex(Sha256::digest(work.text())) != hash {
        bail!("{path} has changed since the trials: restore it, or run the trials again");
    }
    fs::read(path).with_context(|| format!("cannot read {path}"))
}

/// Adds a file under its path in the archive.
fn put(files: &mut BTreeMap<String, Vec<u8>>, path: &str, bytes: Vec<u8>) -> Result<()> {
    let Some(name) = within(path) else {
        bail!(outside(path));
    };
    if OWN.contains(&name.as_str()) {
        bail!("the archive has its own file {name}: rename the script {path}");
    }
    match files.get(&name) {
        Some(other) if *other != bytes => {
            bail!("two scripts would be {name} in the archive: rename one of them")
        }
        _ => {
            files.insert(name, bytes);
            Ok(())
        }
    }
}

/// A path relative to the archive's folder; `None` if it leads out of it.
fn within(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn missing(path: &str) -> String {
    format!(
        "the script {path} is missing: restore it, or pack the experiment from the folder in \
         which its trials ran"
    )
}

fn outside(path: &str) -> String {
    format!(
        "the script {path} is outside the experiment's folder: move it there, and run the trials \
         again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        hex(Sha256::digest(text))
    }

    #[test]
    fn paths_stay_within_the_archive() {
        for (path, own) in [
            ("load.lua", Some("load.lua")),
            ("./lib/./a.lua", Some("lib/a.lua")),
            ("my lib/a.lua", Some("my lib/a.lua")),
            ("../a.lua", None),
            ("lib/../../a.lua", None),
            ("/usr/share/lua/5.1/a.lua", None),
            (".", None),
            ("", None),
        ] {
            assert_eq!(within(path).as_deref(), own, "{path}");
        }
    }

    #[test]
    fn hashes_of_modules_are_read_from_the_trials() {
        let [one, two, three] = ["1", "2", "3"].map(hash);
        let text = format!("{one} ./my lib.lua {two} ./b.lua {three}");
        let (own, modules) = hashes(&text);
        assert_eq!(own, one);
        let found: Vec<(&str, &str)> = modules.iter().map(|(f, h)| (f.as_str(), *h)).collect();
        assert_eq!(
            found,
            [("./my lib.lua", two.as_str()), ("./b.lua", three.as_str())]
        );
        assert_eq!(hashes(&one), (one.as_str(), Vec::new()));
    }

    #[test]
    fn a_changed_or_missing_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lua").display().to_string();
        let error = read(&path, &hash("x")).unwrap_err().to_string();
        assert!(
            error.contains(&path) && error.contains("is missing"),
            "{error}"
        );
        // As the loader reads it, a first line `#!` is a comment.
        fs::write(&path, "#!/usr/bin/dyno\nreturn 1\n").unwrap();
        let text = "--#!/usr/bin/dyno\nreturn 1\n";
        assert_eq!(read(&path, &hash(text)).unwrap(), &text.as_bytes()[2..]);
        let error = read(&path, &hash("x")).unwrap_err().to_string();
        assert!(
            error.contains(&path) && error.contains("has changed"),
            "{error}"
        );
    }

    #[test]
    fn names_do_not_collide() {
        let mut files = BTreeMap::new();
        put(&mut files, "./a.lua", b"1".to_vec()).unwrap();
        put(&mut files, "a.lua", b"1".to_vec()).unwrap();
        for (path, why) in [
            ("a.lua", "two scripts would be a.lua"),
            ("./README.md", "its own file README.md"),
            ("../b.lua", "outside the experiment's folder"),
        ] {
            let error = put(&mut files, path, b"2".to_vec())
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(files.len(), 1);
    }

    #[test]
    fn a_script_with_a_password_in_a_url_is_refused() {
        let with = |text: &str| BTreeMap::from([("a.lua".to_owned(), text.as_bytes().to_vec())]);
        let plain = with("con:query('SELECT 1') -- postgres://me@db1:5432/x\n");
        refuse_passwords(&plain, &[]).unwrap();
        assert_eq!(suspect(&plain), None);
        // `secret` may be the name of a column.
        let column = with("\n\ncon:query('UPDATE cards SET secret = 1')\n");
        refuse_passwords(&column, &[]).unwrap();
        assert_eq!(suspect(&column).as_deref(), Some("a.lua:3"));
        let error = refuse_passwords(&with("\nurl = 'mysql://me:c4naryWord@db1/x'\n"), &[]);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("a.lua:2: "), "{error}");
        assert!(!error.contains("c4naryWord"), "{error}");
        let target = Target::parse("mysql://me:c4naryWord@db1/x").unwrap();
        let known = with("con:query('select \\'c4naryWord\\'')");
        assert!(refuse_passwords(&known, &[target]).is_err());
    }
}
