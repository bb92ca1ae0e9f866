//! Advice on the server's settings from its counters.

use dyno_verdict::Counsel;

use super::look::{Ink, Look};
use super::page::Page;

/// Settings to look at, each with its counters; then the inconspicuous ones.
pub fn advice(counsel: Option<&Counsel>, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title("Advice from the server's counters");
    let Some(counsel) = counsel else {
        let text = "The database's counters were not observed in this run, or it is not MySQL, \
                    MariaDB or PostgreSQL.";
        page.row("none", Ink::Faint, text);
        return page.finish();
    };
    for one in &counsel.settings {
        let value = match &one.value {
            Some(value) => format!(" = {value}"),
            None => String::new(),
        };
        page.row("look at", Ink::Warning, &format!("{}{value}", one.setting));
        page.row("", Ink::Plain, &one.evidence);
        page.row("", Ink::Plain, one.about);
        page.row(
            "",
            Ink::Plain,
            &format!("Counters: {}", one.counters.join(", ")),
        );
    }
    if counsel.settings.is_empty() {
        page.row(
            "none",
            Ink::Good,
            "No counter suggests a setting to change.",
        );
    }
    let mut label = "statements";
    for statement in &counsel.statements {
        page.row(std::mem::take(&mut label), Ink::Warning, statement);
    }
    let mut label = "disks";
    for disk in &counsel.disks {
        page.row(label, Ink::Plain, disk);
        label = "";
    }
    if !counsel.quiet.is_empty() {
        page.row("quiet", Ink::Faint, &counsel.quiet.join(", "));
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use dyno_verdict::Advice;

    use super::*;

    #[test]
    fn settings_come_with_their_counters() {
        let counsel = Counsel {
            settings: vec![Advice {
                setting: "table_open_cache",
                value: Some("400".to_owned()),
                evidence: "120/s tables were opened that were not in the cache, 12 % of all."
                    .into(),
                about: "How many open tables are kept for the next statement.",
                counters: &["Table_open_cache_misses", "Table_open_cache_overflows"],
            }],
            quiet: vec!["Sort_merge_passes", "Innodb_log_waits"],
            disks: vec!["vda, reads: 12.0/s of 16.0 KiB; writes: 431/s of 5.12 KiB".to_owned()],
            statements: vec!["3 temporary tables went to disk: SELECT a FROM t".to_owned()],
        };
        insta::assert_snapshot!(advice(Some(&counsel), &Look::default()), @r"
        Advice from the server's counters
          look at       table_open_cache = 400
                        120/s tables were opened that were not in the cache, 12 % of
                        all.
                        How many open tables are kept for the next statement.
                        Counters: Table_open_cache_misses, Table_open_cache_overflows
          statements    3 temporary tables went to disk: SELECT a FROM t
          disks         vda, reads: 12.0/s of 16.0 KiB; writes: 431/s of 5.12 KiB
          quiet         Sort_merge_passes, Innodb_log_waits
        ");
        assert!(advice(None, &Look::default()).contains("not observed"));
    }
}
