//! Scripts resolve C functions in the executable, so tests must export them as the binary does.

use std::env;
use std::path::Path;

fn main() {
    let own = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let list = Path::new(&own).join("../dyno-script/exported.list");
    println!("cargo:rerun-if-changed={}", list.display());
    println!("cargo:rustc-link-arg=-Xlinker");
    println!("cargo:rustc-link-arg=--dynamic-list={}", list.display());
}
