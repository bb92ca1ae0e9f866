//! Packs the charts' library, a third of a megabyte that most commands never show.

use std::path::Path;

const LIBRARY: &str = "assets/echarts.min.js";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={LIBRARY}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = std::fs::read(LIBRARY)?;
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&text, 10);
    let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&folder).join("echarts.z"), packed)
}
