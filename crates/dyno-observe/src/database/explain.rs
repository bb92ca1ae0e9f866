//! Execution plans by EXPLAIN, which does not execute the statement.

use std::time::Duration;

use dyno_core::db::{DbError, Family};
use dyno_core::redact;
use dyno_core::summary::{Access, StatementPlan};
use dyno_drivers::Control;
use serde_json::Value;

/// The longest plan text kept, in bytes.
const TEXT_MAX: usize = 32_768;
/// Statements with a plan, by their first word.
const EXPLAINED: [&str; 8] = [
    "select", "insert", "update", "delete", "replace", "with", "values", "table",
];

/// Whether a statement is of a kind that has a plan.
pub fn has_plan(sql: &str) -> bool {
    let bare = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let word: String = bare.chars().take_while(char::is_ascii_alphabetic).collect();
    EXPLAINED.contains(&word.to_ascii_lowercase().as_str())
}

/// Asks for the plan of a statement with this shape.
pub fn explain(
    control: &mut Control,
    family: Family,
    (shape, sql): (&str, &str),
    timeout: Duration,
) -> StatementPlan {
    let sql = sql.trim().trim_end_matches(';');
    let explanation = match family {
        Family::Mysql => mysql(control, sql, timeout),
        Family::Postgres => postgres(control, sql, timeout),
        Family::Sqlite => sqlite(control, sql, timeout),
    };
    let mut plan = match explanation {
        Ok((accesses, other_steps, text)) => StatementPlan {
            accesses,
            other_steps,
            text: cut(&redact::text(&text)),
            ..StatementPlan::default()
        },
        Err(error) => StatementPlan {
            why_not: redact::text(&format!("the server returned no plan: {error}")),
            ..StatementPlan::default()
        },
    };
    for access in &mut plan.accesses {
        like_shape(access, shape);
    }
    shape.clone_into(&mut plan.shape);
    plan
}

/// The accesses to tables, other steps, and the server's own text.
type Explanation = (Vec<Access>, Vec<String>, String);

fn text_of(control: &mut Control, sql: &str, timeout: Duration) -> Result<String, DbError> {
    let rows = control.query(sql, timeout)?;
    let lines = rows.into_iter().filter_map(|row| row.into_iter().next()?);
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn mysql(control: &mut Control, sql: &str, timeout: Duration) -> Result<Explanation, DbError> {
    /// The columns of EXPLAIN before MySQL 5.6: id, select_type, table, type, possible_keys, key,
    /// key_len, ref, rows, Extra.
    const COLUMNS: usize = 10;
    // The first of MySQL's two formats shows more about constant tables, UPDATE and DELETE. The
    // hypergraph optimizer writes the second whatever the setting. Other servers do not know the
    // variable.
    let _ = control.query("SET SESSION explain_json_format_version = 1", timeout);
    match text_of(control, &format!("EXPLAIN FORMAT=JSON {sql}"), timeout) {
        Ok(text) => {
            let (mut accesses, mut steps) = (Vec::new(), Vec::new());
            if let Ok(value) = serde_json::from_str(&text) {
                of_mysql(&value, &mut accesses, &mut steps);
            }
            Ok((accesses, steps, text))
        }
        Err(error) if control.is_open() => {
            let rows = control.query(&format!("EXPLAIN {sql}"), timeout);
            let Ok(rows) = rows else { return Err(error) };
            let of = |row: &Vec<Option<String>>| {
                (row.len() == COLUMNS).then(|| Access {
                    table: row[2].clone().unwrap_or_default(),
                    how: row[3].clone().unwrap_or_default(),
                    key: row[5].clone(),
                    rows: row[8].as_deref().and_then(|rows| rows.parse().ok()),
                })
            };
            let line = |row: &Vec<Option<String>>| {
                let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
                cells.collect::<Vec<_>>().join(" | ")
            };
            let lines: Vec<String> = rows.iter().map(line).collect();
            let extra = lines.join("\n");
            let steps = ["filesort", "temporary"].into_iter();
            let steps = steps.filter(|word| extra.contains(&format!("Using {word}")));
            let steps = steps.map(str::to_owned).collect();
            Ok((rows.iter().filter_map(of).collect(), steps, extra))
        }
        Err(error) => Err(error),
    }
}

/// Finds tables at any depth: versions nest them differently.
fn of_mysql(value: &Value, accesses: &mut Vec<Access>, steps: &mut Vec<String>) {
    match value {
        Value::Object(fields) if fields.contains_key("query_plan") => {
            of_iterators(&fields["query_plan"], accesses, steps);
        }
        Value::Array(all) => all.iter().for_each(|one| of_mysql(one, accesses, steps)),
        Value::Object(fields) => {
            for (names, word) in [
                (["using_filesort", "filesort"], "filesort"),
                (
                    ["using_temporary_table", "temporary_table"],
                    "temporary table",
                ),
            ] {
                let mut found = names.iter().filter_map(|name| fields.get(*name));
                if found.any(|value| *value != Value::Bool(false)) {
                    add(steps, word);
                }
            }
            if let Some(table) = fields.get("table_name").and_then(Value::as_str) {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                let rows = ["rows", "rows_examined_per_scan"];
                let rows = rows.iter().find_map(|name| fields.get(*name)?.as_f64());
                let how = text("access_type").unwrap_or_default();
                accesses.push(Access {
                    table: table.to_owned(),
                    how: if is_insert(fields) { "insert" } else { how }.to_owned(),
                    key: text("key")
                        .map(str::to_owned)
                        .or_else(|| merged(fields.get("index_merge")?)),
                    rows,
                });
            }
            let values = fields.values();
            values.for_each(|one| of_mysql(one, accesses, steps));
        }
        _ => {}
    }
}

/// MySQL's second format, iterators and their inputs, expressed as in the first.
fn of_iterators(node: &Value, accesses: &mut Vec<Access>, steps: &mut Vec<String>) {
    let text = |name: &str| node[name].as_str();
    let kind = text("access_type").unwrap_or_default();
    if kind == "sort" {
        add(steps, "filesort");
    }
    if node["temp_table"] == Value::Bool(true) {
        add(steps, "temporary table");
    }
    // The server's internal tables have names such as `<temporary>`.
    if let Some(table) = text("table_name").filter(|table| !table.starts_with('<')) {
        let writes = kind.starts_with("insert") || kind.starts_with("replace");
        let single = (text("operation")).is_some_and(|words| words.starts_with("Single-row"));
        let how = match text("index_access_type").unwrap_or(kind) {
            _ if writes => "insert",
            "table" => "ALL",
            "index_lookup" if single => "eq_ref",
            "index_lookup" => "ref",
            "index_range_scan" => "range",
            "index_scan" => "index",
            other => other,
        };
        accesses.push(Access {
            table: table.to_owned(),
            how: how.to_owned(),
            key: text("index_name").map(str::to_owned),
            rows: node["estimated_rows"].as_f64().filter(|_| !writes),
        });
    }
    let inputs = node["inputs"].as_array();
    for input in inputs.into_iter().flatten() {
        of_iterators(input, accesses, steps);
    }
}

/// The indexes whose results MariaDB merges.
fn merged(value: &Value) -> Option<String> {
    fn collect(value: &Value, keys: &mut Vec<String>) {
        match value {
            Value::Array(all) => all.iter().for_each(|one| collect(one, keys)),
            Value::Object(fields) => {
                keys.extend(fields.get("key").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|one| collect(one, keys));
            }
            _ => {}
        }
    }
    let mut keys = Vec::new();
    collect(value, &mut keys);
    (!keys.is_empty()).then(|| keys.join("+"))
}

fn add(steps: &mut Vec<String>, word: &str) {
    if !steps.iter().any(|own| own == word) {
        steps.push(word.to_owned());
    }
}

fn is_insert(fields: &serde_json::Map<String, Value>) -> bool {
    let says = |name: &str| fields.get(name).and_then(Value::as_bool) == Some(true);
    says("insert") || says("replace")
}

fn postgres(control: &mut Control, sql: &str, timeout: Duration) -> Result<Explanation, DbError> {
    let text = text_of(control, &format!("EXPLAIN (FORMAT JSON) {sql}"), timeout)?;
    let (mut accesses, mut steps) = (Vec::new(), Vec::new());
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let plans = value.as_array().into_iter().flatten();
        plans.for_each(|plan| of_postgres(&plan["Plan"], &mut accesses, &mut steps));
    }
    Ok((accesses, steps, text))
}

fn of_postgres(node: &Value, accesses: &mut Vec<Access>, steps: &mut Vec<String>) {
    let text = |name: &str| node[name].as_str();
    let own = text("Node Type").unwrap_or_default();
    if own.contains("Sort") || own.contains("Hash") && own != "Hash" {
        add(steps, own);
    }
    let writes = own == "ModifyTable";
    let children = || node["Plans"].as_array().into_iter().flatten();
    if let Some(table) = text("Relation Name") {
        // The index of a bitmap scan is in a node below.
        let below = || children().find_map(|child| child["Index Name"].as_str());
        accesses.push(Access {
            table: table.to_owned(),
            how: match writes {
                true => text("Operation").unwrap_or(own).to_lowercase(),
                false => own.to_owned(),
            },
            key: text("Index Name")
                .or_else(below)
                .filter(|_| !writes)
                .map(str::to_owned),
            rows: node["Plan Rows"].as_f64().filter(|_| !writes),
        });
    }
    for child in children() {
        of_postgres(child, accesses, steps);
    }
}

fn sqlite(control: &mut Control, sql: &str, timeout: Duration) -> Result<Explanation, DbError> {
    let rows = control.query(&format!("EXPLAIN QUERY PLAN {sql}"), timeout)?;
    let lines = rows.into_iter().filter_map(|mut row| row.pop()?);
    let lines: Vec<String> = lines.collect();
    let accesses = lines.iter().filter_map(|line| of_sqlite(line)).collect();
    let steps = lines.iter().filter(|line| line.starts_with("USE "));
    let steps = steps.map(|line| line.replacen("USE ", "", 1)).collect();
    Ok((accesses, steps, lines.join("\n")))
}

fn of_sqlite(line: &str) -> Option<Access> {
    let mut words = line.split(' ');
    let how = words
        .next()
        .filter(|how| ["SCAN", "SEARCH"].contains(how))?;
    // Before 3.36 it said SCAN TABLE t.
    let table = words.find(|word| *word != "TABLE")?;
    let key = line.split_once("INDEX ").map(|(_, rest)| rest);
    let key = key.and_then(|rest| rest.split(' ').next());
    let primary = line.contains("PRIMARY KEY").then_some("PRIMARY KEY");
    Some(Access {
        table: table.to_owned(),
        how: how.to_owned(),
        key: key.or(primary).map(str::to_owned),
        rows: None,
    })
}

/// Replaces a table's number with `N` if the shape does so, also in the key's name.
fn like_shape(access: &mut Access, shape: &str) {
    let bare = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
            + "N"
    };
    let table = bare(&access.table);
    if table.len() == access.table.len() + 1 || !shape.contains(&table) {
        return;
    }
    let own = std::mem::replace(&mut access.table, table);
    if let Some(key) = &mut access.key {
        *key = match key.ends_with(|c: char| c.is_ascii_digit()) {
            true => bare(key),
            // PostgreSQL's sbtest1_pkey.
            false => key.replace(&own, &access.table),
        };
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(accesses: Vec<Access>) -> String {
        let plan = StatementPlan {
            accesses,
            ..StatementPlan::default()
        };
        format!("{} ({})", plan.words(), plan.rows_words())
    }

    #[test]
    fn tables_are_found_in_servers_plans() {
        let of = |text: &str| {
            let (mut found, mut steps) = (Vec::new(), Vec::new());
            let value = serde_json::from_str(text).unwrap();
            of_mysql(&value, &mut found, &mut steps);
            match steps.is_empty() {
                true => plan(found),
                false => format!("{}; {}", plan(found), steps.join(", ")),
            }
        };
        let mariadb = r#"{"query_block": {"select_id": 1, "nested_loop": [{"table":
            {"table_name": "sbtest3", "access_type": "ref", "key": "k_3", "rows": 182}},
            {"table": {"table_name": "b", "access_type": "eq_ref", "key": "PRIMARY",
            "rows": 1}}]}}"#;
        assert_eq!(of(mariadb), "ref sbtest3.k_3, eq_ref b.PRIMARY (182, 1)");
        let mysql = r#"{"query_block": {"ordering_operation": {"using_filesort": true, "table":
            {"table_name": "t", "access_type": "ALL", "rows_examined_per_scan": 99015}}}}"#;
        assert_eq!(of(mysql), "ALL t (99,015); filesort");
        let merge = r#"{"query_block": {"table": {"table_name": "t", "access_type": "index_merge",
            "index_merge": {"union": [{"range": {"key": "a", "used_key_parts": ["a"]}},
            {"range": {"key": "b"}}]}, "rows": 20}}}"#;
        assert_eq!(of(merge), "index_merge t.a+b (20)");
        let insert = r#"{"query_block": {"table": {"insert": true, "table_name": "t",
            "access_type": "ALL"}}}"#;
        assert_eq!(of(insert), "insert t (–)");
    }

    #[test]
    fn iterators_of_mysql_have_tables_keys_rows_and_sorts() {
        let of = |node: &str| {
            let (mut found, mut steps) = (Vec::new(), Vec::new());
            let text = format!(r#"{{"query": "…", "query_plan": {node}, "query_type": "select"}}"#);
            of_mysql(
                &serde_json::from_str(&text).unwrap(),
                &mut found,
                &mut steps,
            );
            format!("{}; {}", plan(found), steps.join(", "))
        };
        let sorted = r#"{"operation": "Sort: b.c", "access_type": "sort", "inputs": [{
            "operation": "Index range scan on b using k_1 over (k = 5)", "index_name": "k_1",
            "table_name": "b", "access_type": "index", "estimated_rows": 12.0,
            "index_access_type": "index_range_scan"}]}"#;
        assert_eq!(of(sorted), "range b.k_1 (12); filesort");
        let joined = r#"{"access_type": "table", "table_name": "<temporary>", "inputs": [{
            "access_type": "materialize", "temp_table": true, "inputs": [
            {"access_type": "join", "inputs": [{"access_type": "table", "table_name": "a",
            "estimated_rows": 3.0}, {"access_type": "filter", "inputs": [{"access_type": "index",
            "operation": "Single-row index lookup on b using PRIMARY (id = a.id)",
            "index_access_type": "index_lookup", "index_name": "PRIMARY", "table_name": "b",
            "estimated_rows": 1.0}]}]}]}]}"#;
        assert_eq!(
            of(joined),
            "ALL a, eq_ref b.PRIMARY (3, 1); temporary table"
        );
        let insert = r#"{"operation": "Replace into b", "table_name": "b",
            "access_type": "replace_values",
            "inputs": [{"access_type": "rows_fetched_before_execution"}]}"#;
        assert_eq!(of(insert), "insert b (–); ");
    }

    #[test]
    fn nodes_of_postgres_have_the_index_of_their_bitmap() {
        let text = r#"{"Node Type": "Sort", "Plans": [{"Node Type": "Bitmap Heap Scan",
            "Relation Name": "products", "Plan Rows": 178, "Plans": [{"Node Type":
            "Bitmap Index Scan", "Index Name": "by_month"}]}]}"#;
        let (mut found, mut steps) = (Vec::new(), Vec::new());
        let value = serde_json::from_str(text).unwrap();
        of_postgres(&value, &mut found, &mut steps);
        assert_eq!(steps, ["Sort"]);
        assert_eq!(plan(found), "Bitmap Heap Scan products.by_month (178)");
    }

    #[test]
    fn lines_of_sqlite_are_read_in_all_its_versions() {
        let of = |line| plan(of_sqlite(line).into_iter().collect());
        assert_eq!(of("SCAN TABLE t"), "SCAN t (–)");
        assert_eq!(
            of("SEARCH t USING COVERING INDEX k_1 (k=?)"),
            "SEARCH t.k_1 (–)"
        );
        assert_eq!(
            of("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"),
            "SEARCH t.PRIMARY KEY (–)"
        );
        assert_eq!(of("USE TEMP B-TREE FOR ORDER BY"), "no table ()");
    }

    #[test]
    fn tables_of_one_shape_are_one() {
        let mut access = Access {
            table: "sbtest12".to_owned(),
            key: Some("k_12".to_owned()),
            ..Access::default()
        };
        like_shape(&mut access, "SELECT c FROM sbtestN WHERE k = ?");
        assert_eq!(
            (access.table.as_str(), access.key.as_deref()),
            ("sbtestN", Some("k_N"))
        );
        let mut access = Access {
            table: "history2".to_owned(),
            ..Access::default()
        };
        like_shape(&mut access, "SELECT c FROM other");
        assert_eq!(access.table, "history2");
    }

    #[test]
    fn statements_with_a_plan_are_recognised_by_their_first_word() {
        assert!(has_plan("  (SELECT 1)") && has_plan("with x as (select 1) select 1"));
        assert!(!has_plan("BEGIN") && !has_plan("CALL p()") && !has_plan("bulk load"));
    }
}
