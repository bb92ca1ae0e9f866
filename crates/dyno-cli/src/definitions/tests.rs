//! Compares the guide's list of options with their definitions.

use super::{NOT_OF_SEARCHES, OF_SEARCHES, RUN};

const GUIDE: &str = include_str!("../../../../docs/options.md");

/// The guide's table rows about options: name, default, and the whole row.
fn rows() -> Vec<(&'static str, &'static str, &'static str)> {
    GUIDE
        .lines()
        .filter_map(|row| {
            let rest = row.strip_prefix("| `--")?;
            let end = rest.find(|c: char| c != '-' && !c.is_ascii_lowercase())?;
            // Bars in cells are escaped, so an unescaped one with spaces is a border.
            let default = rest.split(" | ").nth(1)?.trim();
            Some((&rest[..end], default, row))
        })
        .collect()
}

#[test]
fn the_guide_documents_every_option_of_run_and_no_other() {
    let documented: Vec<_> = rows().iter().map(|(name, _, _)| *name).collect();
    for opt in RUN {
        let count = documented.iter().filter(|name| **name == opt.name).count();
        assert_eq!(count, 1, "docs/options.md: rows about --{}", opt.name);
    }
    for name in documented {
        assert!(
            RUN.iter().any(|opt| opt.name == name),
            "docs/options.md tells of --{name}, which does not exist"
        );
    }
}

#[test]
fn the_guide_gives_defaults_values_and_letters_as_help_does() {
    for (name, default, row) in rows() {
        let Some(opt) = RUN.iter().find(|opt| opt.name == name) else {
            panic!("docs/options.md tells of --{name}, which does not exist");
        };
        let in_help = opt.help.strip_suffix(']').and_then(|help| {
            let at = help.rfind('[')?;
            Some(&help[at + 1..])
        });
        let documented = (default != "–").then_some(default);
        assert_eq!(documented, in_help, "the default of --{name}");
        if let Some(value) = opt.value {
            let value = value.replace('|', "\\|");
            assert!(row.contains(&value), "--{name} takes {value}: {row}");
        }
        if let Some(letter) = opt.short {
            assert!(row.contains(&format!("`-{letter}`")), "-{letter}: {row}");
        }
    }
}

#[test]
fn the_guide_documents_every_option_of_a_search() {
    let guide = include_str!("../../../../docs/search.md");
    for opt in OF_SEARCHES {
        let value = opt.value.map_or(String::new(), |value| format!(" {value}"));
        let row = format!("| `--{}{value}` |", opt.name);
        assert_eq!(guide.matches(&row).count(), 1, "docs/search.md: {row}");
    }
    for (name, _) in NOT_OF_SEARCHES {
        assert!(RUN.iter().any(|opt| opt.name == name), "--{name}");
        assert!(
            guide.contains(&format!("`--{name}`")),
            "docs/search.md: --{name}"
        );
    }
}
