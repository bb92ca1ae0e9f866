//! What the binary needs from the system.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use object::read::elf::ElfFile64;
use object::{Endianness, elf};

/// The oldest supported glibc: that of RHEL 8 and Debian 10.
pub const GLIBC: (u32, u32) = (2, 28);

/// What a binary needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    /// Symbol versions, e.g. `GLIBC_2.28`.
    pub versions: BTreeSet<String>,
    /// Shared libraries.
    pub libraries: BTreeSet<String>,
}

impl Needs {
    /// Reads what an executable needs.
    ///
    /// # Errors
    /// The file cannot be read, or is not a 64-bit ELF file.
    pub fn of(path: &Path) -> Result<Self> {
        let failed = || format!("cannot read {}", path.display());
        let bytes = fs::read(path).with_context(failed)?;
        let file = ElfFile64::<Endianness>::parse(&*bytes).with_context(failed)?;
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let mut versions = BTreeSet::new();
        let needed = sections.gnu_verneed(endian, &*bytes);
        // A program without shared libraries has no symbol versions.
        if let Some((libraries, strings)) = needed.with_context(failed)? {
            let strings = sections.strings(endian, &*bytes, strings);
            let strings = strings.with_context(failed)?;
            for library in libraries {
                let (_, of_library) = library.with_context(failed)?;
                for version in of_library {
                    let name = version.and_then(|version| version.name(endian, strings));
                    versions.insert(text(name.with_context(failed)?));
                }
            }
        }
        let table = file.elf_dynamic_table().with_context(failed)?;
        let entries = table.iter().filter(|entry| entry.tag == elf::DT_NEEDED);
        let names = entries.map(|entry| table.string(entry).map(text));
        let libraries = names.collect::<Result<_, _>>().with_context(failed)?;
        Ok(Self {
            versions,
            libraries,
        })
    }

    /// The newest glibc among the symbol versions.
    fn glibc(&self) -> Option<(u32, u32)> {
        self.versions.iter().filter_map(|name| glibc(name)).max()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The version in a symbol version such as `GLIBC_2.28`, if it is glibc's.
fn glibc(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("GLIBC_")?.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Reads what a binary needs, and checks that against the limits.
///
/// # Errors
/// The binary needs a newer glibc or an unknown library, or is too large.
pub fn enforce(path: &Path) -> Result<Needs> {
    let needs = Needs::of(path)?;
    let kept = needs.keep_the_promise();
    kept.with_context(|| format!("{} cannot be released", path.display()))?;
    Ok(needs)
}

impl Needs {
    /// Returns an error if the limits are exceeded.
    fn keep_the_promise(&self) -> Result<()> {
        let newest = self.glibc().context("it needs no glibc at all")?;
        if newest > GLIBC {
            let versions = self.versions.iter().map(String::as_str);
            let newer: Vec<&str> = versions.filter(|name| glibc(name) > Some(GLIBC)).collect();
            bail!(
                "it needs {}, but it is promised to run with glibc {}.{}: `objdump -T` tells \
                 which functions want that",
                newer.join(", "),
                GLIBC.0,
                GLIBC.1
            );
        }
        self.packages().map(|_| ())
    }

    /// The Debian packages that contain the libraries.
    ///
    /// # Errors
    /// The package of a library is unknown.
    pub fn packages(&self) -> Result<Vec<String>> {
        let mut packages = BTreeSet::new();
        for library in &self.libraries {
            let stem = library.split(".so").next().unwrap_or_default();
            packages.insert(match stem {
                "libgcc_s" => "libgcc-s1 (>= 3.0) | libgcc1 (>= 1:3.0)".to_owned(),
                "libc" | "libm" | "libdl" | "libpthread" | "librt" | "libutil" => {
                    format!("libc6 (>= {}.{})", GLIBC.0, GLIBC.1)
                }
                _ if stem.starts_with("ld-linux") => continue,
                _ => bail!("the binary needs {library}, whose package is unknown"),
            });
        }
        Ok(packages.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.34") > Some(GLIBC));
        assert!(glibc("GLIBC_2.4") < Some(GLIBC));
        assert_eq!(glibc("GCC_3.0"), None);
        assert_eq!(glibc("GLIBC_PRIVATE"), None);
    }

    #[test]
    fn the_needs_of_this_program_match_the_loader() {
        let own = std::env::current_exe().unwrap();
        let needs = Needs::of(&own).unwrap();
        assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
        assert!(needs.glibc() >= Some((2, 2)), "{needs:?}");
    }

    #[test]
    fn refuses_programs_that_need_too_much() {
        let needs = |version: &str, library: &str| Needs {
            versions: ["GLIBC_2.2.5", version].map(str::to_owned).into(),
            libraries: ["libc.so.6", library].map(str::to_owned).into(),
        };
        let good = needs("GLIBC_2.28", "libm.so.6");
        good.keep_the_promise().unwrap();
        for (bad, expected) in [
            (needs("GLIBC_2.29", "libm.so.6"), "it needs GLIBC_2.29"),
            (needs("GLIBC_2.17", "libz.so.1"), "libz.so.1"),
        ] {
            let error = bad.keep_the_promise().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn names_libraries_as_packages() {
        let needs = |library: &str| Needs {
            versions: BTreeSet::new(),
            libraries: [library, "libc.so.6"].map(str::to_owned).into(),
        };
        let packages = needs("libm.so.6").packages().unwrap();
        assert_eq!(packages, ["libc6 (>= 2.28)"]);
        assert_eq!(needs("libgcc_s.so.1").packages().unwrap().len(), 2);
        assert!(needs("libssl.so.3").packages().is_err());
    }
}
