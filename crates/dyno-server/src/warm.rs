//! Servers that fill their caches at start: switched off for a cold start, with a report of what
//! remains.

use std::fs;

use dyno_core::units::human_size;

use crate::home::Folder;
use crate::kinds::{Installation, Product};
use crate::settings::Settings;

/// A server's list of cached pages: its file in the data directory, and the setting that loads it
/// at start.
struct Warming {
    file: &'static str,
    load: &'static str,
    dump: &'static str,
}

const INNODB: Warming = Warming {
    file: "ib_buffer_pool",
    load: "innodb_buffer_pool_load_at_startup",
    dump: "innodb_buffer_pool_dump_at_shutdown",
};
/// One setting of PostgreSQL's module does both.
const PREWARM: Warming = Warming {
    file: "autoprewarm.blocks",
    load: "pg_prewarm.autoprewarm",
    dump: "pg_prewarm.autoprewarm",
};

/// The additional settings for a cold start, and what they do, in words. Settings of the user take
/// precedence, and are reported.
pub(crate) fn cold(
    installation: &Installation,
    settings: &Settings,
    folder: &Folder,
) -> (Settings, Vec<String>) {
    let mut all = settings.clone();
    let mut said = Vec::new();
    let warming = match installation.product {
        Product::Postgres => PREWARM,
        Product::Mariadb | Product::Mysql => INNODB,
    };
    let modules = settings.get("shared_preload_libraries").unwrap_or_default();
    match installation.product {
        // Without the module there is no such setting, and nothing warms the cache.
        Product::Postgres if !modules.contains("pg_prewarm") => {
            said.push("pg_prewarm is not loaded: the server's cache is empty at start".to_owned());
        }
        // Older versions have neither the setting nor the list.
        Product::Mariadb | Product::Mysql if !installation.version.is_at_least(&[5, 6]) => {
            said.push("this version keeps no list of cached pages".to_owned());
        }
        _ => switch_off(&warming, &mut all, &mut said),
    }
    let path = folder.data().join(warming.file);
    if let Ok(data) = fs::metadata(&path) {
        let read = match is_on(all.get(warming.load)) {
            true => "read at start",
            false => "not read",
        };
        let size = human_size(data.len());
        said.push(format!("{} ({size}) exists and is {read}", warming.file));
    }
    (all, said)
}

fn switch_off(warming: &Warming, all: &mut Settings, said: &mut Vec<String>) {
    let mut names = vec![warming.load, warming.dump];
    names.dedup();
    for name in names {
        match all.get(name) {
            Some(value) if is_on(Some(value)) => said.push(format!(
                "you set {name}={value}: the server's cache is not cold"
            )),
            Some(value) => said.push(format!("you set {name}={value}")),
            None => {
                all.insert(name, "off");
                said.push(format!("{name}=off"));
            }
        }
    }
}

fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        ["on", "true", "yes", "1"].contains(&value.to_ascii_lowercase().as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;
    use crate::kinds::Version;

    fn started(product: Product, version: &str, given: &[&str], file: &str) -> (Settings, String) {
        let outer = tempfile::tempdir().expect("a folder");
        let home = Home::at(&outer.path().join("home")).expect("a home");
        let folder = home.make("one").expect("a folder");
        if !file.is_empty() {
            fs::write(folder.data().join(file), "1,2\n").expect("a list");
        }
        let mut settings = Settings::default();
        for text in given {
            settings.put(text).expect("a setting");
        }
        let installation = Installation {
            product,
            version: Version::find(version).expect("a version"),
            described: String::new(),
            program: "/x".into(),
            basedir: "/".into(),
        };
        let (all, said) = cold(&installation, &settings, &folder);
        (all, said.join("\n"))
    }

    #[test]
    fn lists_of_cached_pages_are_not_read() {
        let (all, said) = started(Product::Mariadb, "10.11.1", &[], "ib_buffer_pool");
        assert_eq!(all.get("innodb_buffer_pool_load_at_startup"), Some("off"));
        assert!(
            said.contains("ib_buffer_pool (4 B) exists and is not read"),
            "{said}"
        );
        let (all, said) = started(Product::Mysql, "5.5.9", &[], "");
        assert!(all.is_empty(), "{said}");
        let preloaded = ["shared_preload_libraries=pg_prewarm"];
        let (all, said) = started(Product::Postgres, "15.2", &preloaded, "");
        assert_eq!(all.get("pg_prewarm.autoprewarm"), Some("off"));
        assert_eq!(said, "pg_prewarm.autoprewarm=off");
        let (all, said) = started(Product::Postgres, "15.2", &[], "");
        assert!(all.is_empty() && said.contains("not loaded"), "{said}");
    }

    #[test]
    fn a_setting_of_the_user_is_kept() {
        let given = ["innodb_buffer_pool_load_at_startup=ON"];
        let (all, said) = started(Product::Mysql, "9.7.1", &given, "ib_buffer_pool");
        assert_eq!(all.get("innodb_buffer_pool_load_at_startup"), Some("ON"));
        assert!(said.contains("is not cold"), "{said}");
        assert!(said.contains("exists and is read at start"), "{said}");
    }
}
