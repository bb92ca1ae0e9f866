//! Exports C functions from test executables as from the binary, because scripts resolve them
//! there, and sets the variables of the version text.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources of the binary outside the crates. Changes elsewhere do not count.
const SOURCES: [&str; 3] = ["workloads", "Cargo.toml", "Cargo.lock"];
/// Folders of crates that are not part of the binary.
const NO_SOURCES: [&str; 3] = ["tests", "benches", "examples"];
/// Letters of an abbreviated commit hash.
const ABBREVIATED: usize = 10;

fn main() {
    println!("cargo:rustc-link-arg=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DYNO_BUILD_LIBC");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let libc = match variable("DYNO_BUILD_LIBC") {
        libc if libc.is_empty() => libc,
        libc => format!(", {libc}"),
    };
    let built = [
        ("COMMIT", commit()),
        ("TRIPLE", variable("TARGET")),
        ("LIBC", libc),
        ("PROFILE", variable("PROFILE")),
    ];
    // `cargo run` passes these variables to the program, which reads its target from DYNO_TARGET.
    for (name, value) in built {
        println!("cargo:rustc-env=DYNO_BUILD_{name}={value}");
    }
}

/// The commit, its date, and whether the sources differ from it.
fn commit() -> String {
    let Some(root) = repository() else {
        return archived().unwrap_or_else(|| "commit not known".to_owned());
    };
    watch(&root);
    let at = root.display().to_string();
    let head = ["-C", &at, "show", "-s", "--format=%H of %cs", "HEAD"];
    let Some(commit) = git(&head) else {
        return "commit not known".to_owned();
    };
    let mut status = vec!["-C", &at, "status", "--porcelain", "--untracked-files=no"];
    status.extend(["--", "crates"].iter().chain(&SOURCES));
    let excluded = NO_SOURCES.map(|name| format!(":(exclude,glob)crates/*/{name}/**"));
    status.extend(excluded.iter().map(String::as_str));
    match git(&status) {
        Some(changes) if changes.is_empty() => abbreviated(&commit),
        _ => format!("{}, changed", abbreviated(&commit)),
    }
}

/// A commit with an abbreviated hash, and its date.
fn abbreviated(commit: &str) -> String {
    let (name, day) = commit.split_once(' ').unwrap_or((commit, ""));
    format!("{} {day}", name.get(..ABBREVIATED).unwrap_or(name))
}

/// The root of the git repository, if it contains this crate.
fn repository() -> Option<PathBuf> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?)
        .ancestors()
        .nth(2)?
        .canonicalize()
        .ok()?;
    let known = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    (known.canonicalize().ok()? == root).then_some(root)
}

/// The commit that `git archive` recorded.
fn archived() -> Option<String> {
    println!("cargo:rerun-if-changed=archived.txt");
    let text = fs::read_to_string("archived.txt").ok()?;
    (!text.starts_with('$')).then(|| abbreviated(text.trim()))
}

/// Makes cargo run this script again after a commit or a change of the sources.
fn watch(root: &Path) {
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    for name in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(name).display());
    }
    for part in entries(&root.join("crates"))
        .iter()
        .flat_map(|path| entries(path))
    {
        let name = part.file_name().unwrap_or_default();
        if !NO_SOURCES.iter().any(|other| name == *other) {
            println!("cargo:rerun-if-changed={}", part.display());
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
