//! Creates a load from a script's description of rows.

use dyno_core::bulk::BulkLoad;
use mlua::Table;

use crate::context::with;
use crate::generate::{Backslash, Column, GeneratedRows, RowRange};
use dyno_core::plan::{RandKind, RandPlan};

/// Reads `{table=, columns=, from=, rows=, table_number=, generate={…}}` and keeps the load for the
/// call that sends it.
pub(crate) fn prepare(seed: u64, rand: &RandPlan, mysql: bool, spec: &Table) -> Result<(), String> {
    let backslash = if mysql {
        Backslash::Escapes
    } else {
        Backslash::Plain
    };
    let load =
        read(seed, rand, backslash, spec).map_err(|error| format!("dyno.bulk_load(): {error}"))?;
    with(
        Err("dyno.bulk_load(): no session is running".to_owned()),
        |cx| {
            cx.session.load = Some(Box::new(load));
            Ok(())
        },
    )
}

/// Keeps the session's rows for the call that sends them.
pub(crate) fn prepare_rows(
    driver: Option<&str>,
    table: String,
    columns: Vec<String>,
) -> Result<u64, String> {
    let backslash = match driver {
        Some("mysql") => Backslash::Escapes,
        _ => Backslash::Plain,
    };
    with(Err("no session is running".to_owned()), |cx| {
        let (count, rows) = cx.session.rows.take(backslash, driver == Some("sqlite"));
        cx.session.load = Some(Box::new(BulkLoad {
            table,
            columns,
            rows: Box::new(rows),
        }));
        Ok(count)
    })
}

fn read(
    seed: u64,
    rand: &RandPlan,
    backslash: Backslash,
    spec: &Table,
) -> Result<BulkLoad, String> {
    let columns: Vec<String> = spec
        .get("columns")
        .map_err(|_| "'columns' must be a list of names".to_owned())?;
    let generate: Vec<Table> = spec
        .get("generate")
        .map_err(|_| "'generate' must be a list of tables".to_owned())?;
    if columns.len() != generate.len() || columns.is_empty() {
        return Err(format!(
            "{} columns are named, but {} are generated",
            columns.len(),
            generate.len()
        ));
    }
    let specs = generate
        .iter()
        .map(|column| read_column(rand.kind, column))
        .collect::<Result<Vec<Column>, String>>()?;
    let range = RowRange {
        seed,
        table: number(spec, "table_number", Some(1.0))?,
        first: number(spec, "from", Some(1.0))?,
        count: number(spec, "rows", None)?,
    };
    let by_inserts = spec
        .get::<Option<bool>>("by_inserts")
        .map_err(|_| "'by_inserts' must be true or false".to_owned())?
        .unwrap_or(false);
    let rows = GeneratedRows::new(range, &specs, rand, backslash).by_inserts(by_inserts);
    Ok(BulkLoad {
        table: text(spec, "table")?,
        columns,
        rows: Box::new(rows),
    })
}

fn text(spec: &Table, name: &str) -> Result<String, String> {
    let value = spec.get::<Option<String>>(name).ok().flatten();
    value.ok_or_else(|| format!("'{name}' must be a string"))
}

fn number(spec: &Table, name: &str, otherwise: Option<f64>) -> Result<u64, String> {
    spec.get::<Option<f64>>(name)
        .ok()
        .flatten()
        .or(otherwise)
        .filter(|number| *number >= 0.0 && number.fract() == 0.0)
        .map(|number| number as u64)
        .ok_or_else(|| format!("'{name}' must be a whole number"))
}

/// `{"sequence"}`, `{"group", rows}`, `{"random", low, high}` (by the default distribution),
/// `{"uniform", low, high}`, `{"pattern", text}`, `{"const", text}` or `{"null"}`.
fn read_column(kind: RandKind, column: &Table) -> Result<Column, String> {
    let name: String = column
        .get(1)
        .map_err(|_| "a column's kind must be a string".to_owned())?;
    let bound = |index: i32| -> Result<u64, String> {
        let value = column.get::<Option<f64>>(index).ok().flatten();
        value
            .filter(|value| *value >= 0.0)
            .map(|value| value as u64)
            .ok_or_else(|| format!("'{name}' needs two bounds"))
    };
    let bytes = || -> Result<Vec<u8>, String> {
        let value = column.get::<Option<mlua::LuaString>>(2).ok().flatten();
        value
            .map(|value| value.as_bytes().to_vec())
            .ok_or_else(|| format!("'{name}' needs a text"))
    };
    match name.as_str() {
        "sequence" => Ok(Column::Sequence),
        "group" => match column.get::<Option<f64>>(2).ok().flatten() {
            Some(size) if size >= 1.0 => Ok(Column::Group(size as u64)),
            _ => Err("'group' needs its number of rows".to_owned()),
        },
        "random" => Ok(Column::Random(kind, bound(2)?, bound(3)?)),
        "uniform" => Ok(Column::Random(RandKind::Uniform, bound(2)?, bound(3)?)),
        "pattern" => Ok(Column::Pattern(bytes()?)),
        "const" => Ok(Column::Const(bytes()?)),
        "null" => Ok(Column::Null),
        _ => Err(format!(
            "unknown column kind '{name}' (sequence, group, random, uniform, pattern, const, null)"
        )),
    }
}
