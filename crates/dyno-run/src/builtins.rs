//! The built-in workloads.

use dyno_script::{Builtins, Source};

macro_rules! workloads {
    ($($name:literal: $about:literal),* $(,)?) => {
        /// The name and the script of each.
        pub const SCRIPTS: Builtins =
            &[$(($name, include_str!(concat!("../../../workloads/", $name, ".lua")))),*];
        /// The name of each, with one line about it. The line is empty for scripts that are not
        /// workloads.
        pub const ABOUT: &[(&str, &str)] = &[$(($name, $about)),*];
    };
}

workloads! {
    "oltp_read_write": "the classic transaction: reads by id and range, updates, delete, insert",
    "oltp_read_only": "the reads of oltp_read_write: 10 rows by id, 4 ranges",
    "oltp_write_only": "the writes of oltp_read_write",
    "oltp_point_select": "one row by its id, no transaction",
    "oltp_insert": "one row inserted, no transaction",
    "oltp_delete": "one row deleted by its id, no transaction",
    "oltp_update_index": "one row's indexed column updated, no transaction",
    "oltp_update_non_index": "one row's other column updated, no transaction",
    "bulk_insert": "rows inserted in large statements, each session into its own table",
    "select_random_points": "rows by a list of random keys",
    "select_random_ranges": "counts over a list of random key ranges",
    "tpcb": "pgbench's TPC-B-like transaction: five statements, hot branch rows, a ledger of money",
    "simple_update": "tpcb without tellers and branches: no hot rows",
    "select_only": "one account's balance by its id, no transaction",
    "tpcc": "order entry after TPC-C: five transactions over nine tables, with a check",
    "insert_benchmark": "the Insert Benchmark: load, index, write, then queries during writes",
    "linkbench": "a social graph after LinkBench: nodes, links and their counts, with a check",
    "many_tables": "a schema for each customer: create, use and drop up to millions of tables",
    "oltp_fair": "one OLTP transaction for comparing servers: same statements, keys, isolation",
    "oltp_common": "",
    "oltp_load": "",
    "foreign_keys": "",
    "pgbench_common": "",
    "pgbench_load": "",
    "tpcc_common": "",
    "tpcc_dataset": "",
    "tpcc_load": "",
    "tpcc_transactions": "",
    "tpcc_check": "",
    "tpcc_purge": "",
    "tpcc_reference": "",
    "insert_benchmark_common": "",
    "insert_benchmark_rest": "",
    "insert_benchmark_plans": "",
    "linkbench_common": "",
    "linkbench_load": "",
    "linkbench_operations": "",
    "linkbench_check": "",
    "many_tables_common": "",
    "many_tables_state": "",
    "many_tables_guard": "",
    "many_tables_law": "",
    "many_tables_space": "",
    "many_tables_steps": "",
    "many_tables_ladder": "",
    "sql_file": "",
    "sql_file_execution": "",
    "sql_file_expression": "",
}

/// Whether the script is a built-in one, without changes.
pub fn is_builtin(source: &Source) -> bool {
    // A first line `#!…` was turned into a comment.
    let bare = source
        .text
        .strip_prefix(b"--#!")
        .map(|rest| [b"#!", rest].concat());
    let text = bare.as_deref().unwrap_or(&source.text);
    SCRIPTS.iter().any(|(_, known)| known.as_bytes() == text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn built_in_scripts_are_known_again() {
        let mut source = dyno_script::find("oltp_read_write", super::SCRIPTS).unwrap();
        assert!(super::is_builtin(&source));
        source.text.push(b' ');
        assert!(!super::is_builtin(&source));
    }

    #[test]
    fn every_script_of_the_folder_is_in_the_binary() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "lua"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut known: Vec<&str> = super::SCRIPTS.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
