//! Compresses the charts' library from 680 kB to 230 kB, because most commands never use it.

use std::path::Path;

const LIBRARY: &str = "assets/echarts.min.js";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={LIBRARY}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = std::fs::read(LIBRARY)?;
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&text, 10);
    let folder =
        std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("OUT_DIR is not set"))?;
    std::fs::write(Path::new(&folder).join("echarts.z"), packed)
}
