//! Scripts resolve C functions in the executable, so tests must export them as the binary does; and
//! what the binary says of itself.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built into the binary, seen from the repository's root. Other changes do not matter.
const SOURCES: [&str; 4] = ["crates", "workloads", "Cargo.toml", "Cargo.lock"];

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
    // `cargo run` hands these on to the program, which takes its target from DYNO_TARGET.
    for (name, value) in built {
        println!("cargo:rustc-env=DYNO_BUILD_{name}={value}");
    }
}

/// The commit that is built, with its day, and whether the sources differ from it.
fn commit() -> String {
    let Some(root) = repository() else {
        return archived().unwrap_or_else(|| "commit not known".to_owned());
    };
    watch(&root);
    let Some(commit) = git(&["show", "-s", "--abbrev=10", "--format=%h of %cs", "HEAD"]) else {
        return "commit not known".to_owned();
    };
    let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    let sources = SOURCES.map(|name| root.join(name).display().to_string());
    status.extend(sources.iter().map(String::as_str));
    match git(&status) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}, changed"),
    }
}

/// The root of the repository, if this is one of git's and the crate's own.
fn repository() -> Option<PathBuf> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?)
        .ancestors()
        .nth(2)?
        .canonicalize()
        .ok()?;
    let known = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    (known.canonicalize().ok()? == root).then_some(root)
}

/// The commit that `git archive` has noted.
fn archived() -> Option<String> {
    println!("cargo:rerun-if-changed=archived.txt");
    let text = fs::read_to_string("archived.txt").ok()?;
    (!text.starts_with('$')).then(|| text.trim().to_owned())
}

/// Has cargo run this again when a commit is made, or when what is built in changes.
fn watch(root: &Path) {
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    for name in SOURCES.iter().skip(1) {
        println!("cargo:rerun-if-changed={}", root.join(name).display());
    }
    // Tests of the crates are not built in.
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten();
    for entry in crates.filter_map(Result::ok) {
        let sources = entry.path().join("src");
        if sources.exists() {
            println!("cargo:rerun-if-changed={}", sources.display());
        }
    }
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
