//! Scripts resolve C functions in the executable, so tests must export them as the binary does; and
//! what the binary says of itself.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rustc-link-arg=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
    // `cargo run` hands these on to the program, which takes its target from DYNO_TARGET.
    for (name, variable) in [("TRIPLE", "TARGET"), ("PROFILE", "PROFILE")] {
        let value = std::env::var(variable).unwrap_or_default();
        println!("cargo:rustc-env=DYNO_BUILD_{name}={value}");
    }
    println!("cargo:rustc-env=DYNO_BUILD_COMMIT={}", commit());
}

/// The commit that is built; `released` where the sources have no history.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A commit changes one of these.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let commit = git(&["rev-parse", "--short=10", "HEAD"]);
    commit.unwrap_or_else(|| "released".to_owned())
}
