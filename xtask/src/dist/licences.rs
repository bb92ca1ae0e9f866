//! Collects the licences that the binary must be distributed with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::output;
use crate::repository;

/// How the names of licence files start.
const FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The copyright file of the Debian package, with Dyno's own licences.
///
/// # Errors
/// A licence is missing.
pub(super) fn copyright(sources: &Path) -> Result<String> {
    let mit = read(&sources.join("LICENSE-MIT"))?;
    let indented: String = mit
        .lines()
        .map(|line| match line {
            "" => " .\n".to_owned(),
            line => format!(" {line}\n"),
        })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: dyno\n\
         Comment: What the program has within of other projects stands, with its licences,\n \
         in third-party-licences.gz beside this file.\n\n\
         Files: *\n\
         Copyright: The Dyno developers\n\
         License: Apache-2.0 or MIT\n\n\
         License: Apache-2.0\n \
         The whole text is in /usr/share/common-licenses/Apache-2.0.\n\n\
         License: MIT\n{indented}"
    ))
}

/// The components linked into the binary, with their licences.
///
/// # Errors
/// cargo fails, or a crate has no licence.
pub(super) fn others() -> Result<String> {
    let mut cargo = crate::cargo();
    cargo.args(["metadata", "--format-version=1", "--locked"]);
    cargo.arg(format!("--filter-platform={}", super::build::triple()?));
    let text = output(&mut cargo)?;
    let metadata: Value = serde_json::from_str(&text).context("cargo's metadata is not JSON")?;
    let mut whole = String::from(
        "The dyno program has the following within. After this list stand the licences' texts.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked(&metadata)? {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} {}", word("name"), word("version"));
        let licence = package["license"]
            .as_str()
            .or(package["license_file"].as_str());
        let licence = licence.with_context(|| format!("{name} does not name its licence"))?;
        whole += &format!("{name}: {licence}\n");
        let manifest = PathBuf::from(word("manifest_path"));
        let folder = manifest.parent().unwrap_or(Path::new("."));
        for file in files(folder)? {
            texts.entry(read(&file)?).or_default().push(name.clone());
        }
    }
    whole += "LLVM's libunwind, as zig brings it: Apache-2.0 WITH LLVM-exception\n";
    let charts = repository().join("crates/dyno-report/assets");
    for file in files(&charts)? {
        let name = "Apache ECharts".to_owned();
        texts.entry(read(&file)?).or_default().push(name);
    }
    for (text, names) in texts {
        let names = names.join(", ");
        whole += &format!("\n{}\n{names}\n\n{}\n", "-".repeat(78), text.trim_end());
    }
    Ok(whole)
}

/// The packages in the binary: its dependencies, and the C sources that they build.
fn linked(metadata: &Value) -> Result<Vec<&Value>> {
    let list = |json: &'static str| metadata[json].as_array().into_iter().flatten();
    let packages: BTreeMap<&str, &Value> = list("packages")
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array();
    let nodes: BTreeMap<&str, &Value> = nodes
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let own = |package: &&&Value| package["name"] == "dyno" && package["source"].is_null();
    let root = packages.values().find(own);
    let root = root.and_then(|package| package["id"].as_str());
    let mut open = vec![root.context("cargo does not know dyno")?];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let deps = nodes.get(id).and_then(|node| node["deps"].as_array());
        for dep in deps.into_iter().flatten() {
            let kinds = dep["dep_kinds"].as_array().into_iter().flatten();
            let mut kinds = kinds.map(|kind| &kind["kind"]);
            let name = dep["name"].as_str().unwrap_or_default();
            if kinds.any(|kind| kind.is_null() || (kind == "build" && name.ends_with("_src"))) {
                open.extend(dep["pkg"].as_str());
            }
        }
    }
    let found = seen.iter().filter_map(|id| packages.get(id).copied());
    let mut found: Vec<&Value> = found
        .filter(|package| !package["source"].is_null())
        .collect();
    if found.is_empty() {
        bail!("cargo lists no crate that dyno depends on");
    }
    found.sort_by_key(|package| package["name"].as_str());
    Ok(found)
}

/// The licence files in a folder and its direct subfolders.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), true)];
    while let Some((folder, outer)) = folders.pop() {
        let failed = || format!("cannot list {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let path = entry.with_context(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.to_uppercase();
            if path.is_dir() && outer {
                folders.push((path, false));
            } else if path.is_file() && FILES.iter().any(|file| names(&name, file)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name starts or ends with the word: `LICENSE-MIT`, `echarts.LICENSE`.
fn names(name: &str, word: &str) -> bool {
    name.starts_with(word) || name.ends_with(&format!(".{word}"))
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
