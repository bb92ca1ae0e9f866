//! Scripts look up C functions in the executable, so the tests must export them as the binary does.
fn main() {
    println!("cargo:rustc-link-arg=-rdynamic");
}
