//! The processor's caches, as reported by the kernel.

use std::fs;
use std::path::Path;

/// A data cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    /// 1 is closest to the core.
    pub(crate) level: u32,
    pub(crate) bytes: u64,
}

/// The data caches of the first processor, closest first; empty if the kernel does not report them.
pub(crate) fn caches() -> Vec<Cache> {
    read(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

fn read(folder: &Path) -> Vec<Cache> {
    let mut caches: Vec<Cache> = (0..8)
        .filter_map(|index| {
            let at = folder.join(format!("index{index}"));
            let text = |name: &str| fs::read_to_string(at.join(name)).ok();
            if text("type")?.trim() == "Instruction" {
                return None;
            }
            Some(Cache {
                level: text("level")?.trim().parse().ok()?,
                bytes: size(text("size")?.trim())?,
            })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Converts `48K` to bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("48K"), Some(49_152));
        assert_eq!(size("2M"), Some(2_097_152));
        assert_eq!(size("64"), Some(64));
        assert_eq!(size("much"), None);
        assert_eq!(size(""), None);
    }

    #[test]
    fn instruction_caches_are_passed_over() {
        let folder = std::env::temp_dir().join(format!("dyno-caches-{}", std::process::id()));
        for (index, level, kind, size) in [
            (0, 1, "Instruction", "32K"),
            (1, 3, "Unified", "8M"),
            (2, 1, "Data", "48K"),
        ] {
            let at = folder.join(format!("index{index}"));
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("level"), format!("{level}\n")).unwrap();
            fs::write(at.join("type"), format!("{kind}\n")).unwrap();
            fs::write(at.join("size"), format!("{size}\n")).unwrap();
        }
        let caches = read(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let cache = |level, bytes| Cache { level, bytes };
        assert_eq!(caches, [cache(1, 49_152), cache(3, 8_388_608)]);
    }
}
