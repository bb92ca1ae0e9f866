//! Loading rows: one prepared INSERT inside one transaction.

use dyno_core::bulk::{BulkFormat, BulkLoad};
use dyno_core::db::{DbError, ParamValue};

use super::errors;
use super::raw::{Database, Statement, Stepped};

/// Bytes of rows requested at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// Loads all rows and returns their number. If one fails, all are rolled back, unless the caller
/// has a transaction open, which the caller must then roll back.
pub(super) fn load(database: &Database, mut load: BulkLoad) -> Result<u64, DbError> {
    let own_transaction = !database.in_transaction();
    if own_transaction {
        database.run("BEGIN IMMEDIATE")?;
    }
    let mut result = insert_all(database, &mut load);
    if !own_transaction {
        return result;
    }
    if result.is_ok()
        && let Err(error) = database.run("COMMIT")
    {
        result = Err(error);
    }
    // Some errors end the transaction by themselves.
    if result.is_err() && database.in_transaction() {
        database.run("ROLLBACK")?;
    }
    result
}

fn insert_all(database: &Database, load: &mut BulkLoad) -> Result<u64, DbError> {
    let marks = vec!["?"; load.columns.len()].join(",");
    let columns = load.columns.join(",");
    let sql = format!("INSERT INTO {}({columns}) VALUES({marks})", load.table);
    let (statement, _) = database.prepare(sql.as_bytes(), false)?;
    let mut statement =
        statement.ok_or_else(|| DbError::misuse("a bulk load needs a table and columns"))?;
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
    let mut fields = Fields::default();
    let mut loaded = 0;
    loop {
        chunk.clear();
        if load.rows.stopped() {
            let message = format!("the load was stopped by the user before row {}", loaded + 1);
            return Err(DbError::misuse(message));
        }
        if load.rows.fill(&mut chunk, BulkFormat::TabText, CHUNK_BYTES) == 0 {
            return Ok(loaded);
        }
        let mut rest = chunk.as_slice();
        while !rest.is_empty() {
            rest = fields.read(rest);
            insert(database, &mut statement, &fields, load.columns.len()).map_err(
                |mut error| {
                    error.message =
                        format!("{} (in row {} of the load)", error.message, loaded + 1);
                    error
                },
            )?;
            loaded += 1;
        }
    }
}

fn insert(
    database: &Database,
    statement: &mut Statement,
    fields: &Fields,
    columns: usize,
) -> Result<(), DbError> {
    if fields.ends.len() != columns {
        return Err(DbError::misuse(format!(
            "the row has {} fields for {columns} columns",
            fields.ends.len()
        )));
    }
    for index in 0..columns {
        let value = fields
            .get(index)
            .map_or(ParamValue::Null, ParamValue::Bytes);
        // SAFETY: `fields` outlives the step below, and all bindings are replaced or cleared before
        // the statement is stepped again. Text becomes a number by the column's affinity.
        if !unsafe { statement.bind(index, value) } {
            return Err(errors::last(database));
        }
    }
    let stepped = statement.step();
    let result = match stepped {
        Stepped::Failed => Err(errors::last(database)),
        Stepped::Row | Stepped::Done => Ok(()),
    };
    statement.reset();
    result
}

/// The fields of one row of tab-separated text, unescaped.
#[derive(Default)]
struct Fields {
    bytes: Vec<u8>,
    /// Start and end of each field; `None` for NULL.
    ends: Vec<Option<(usize, usize)>>,
}

impl Fields {
    fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (*self.ends.get(index)?)?;
        self.bytes.get(start..end)
    }

    /// Reads a row and returns the text after it.
    fn read<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        self.bytes.clear();
        self.ends.clear();
        let mut rest = text;
        let mut start = 0;
        let mut null = false;
        loop {
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'\t' | b'\n' | b'\\'))
                .unwrap_or(rest.len());
            self.bytes.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            match rest {
                [b'\\', b'N', after @ ..] if self.bytes.len() == start => {
                    null = true;
                    rest = after;
                }
                [b'\\', escaped, after @ ..] => {
                    self.bytes.push(unescape(*escaped));
                    rest = after;
                }
                [b'\t', after @ ..] => {
                    self.end_field(start, null);
                    start = self.bytes.len();
                    null = false;
                    rest = after;
                }
                // The end of the line, of the text, or a backslash that escapes nothing.
                _ => {
                    self.end_field(start, null);
                    return rest.get(1..).unwrap_or_default();
                }
            }
        }
    }

    fn end_field(&mut self, start: usize, null: bool) {
        let end = self.bytes.len();
        self.ends.push((!null).then_some((start, end)));
    }
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Fields;

    fn read(text: &str) -> (Vec<Option<String>>, String) {
        let mut fields = Fields::default();
        let rest = fields.read(text.as_bytes());
        let values = (0..fields.ends.len())
            .map(|index| fields.get(index))
            .map(|field| field.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
            .collect();
        (values, String::from_utf8_lossy(rest).into_owned())
    }

    #[test]
    fn fields_nulls_and_escapes() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("1\t\\N\t\ta\\tb\\\\N\\n\nnext"),
            (
                vec![some("1"), None, some(""), some("a\tb\\N\n")],
                "next".to_owned()
            )
        );
        assert_eq!(read("x"), (vec![some("x")], String::new()));
        assert_eq!(read("x\\"), (vec![some("x")], String::new()));
    }

    proptest! {
        #[test]
        fn escaped_text_is_read_back(
            values in prop::collection::vec(prop::option::of("[\\PC\t\n\r\\\\]{0,12}"), 1..6),
        ) {
            let escape = |value: &Option<String>| match value {
                None => "\\N".to_owned(),
                Some(text) => text
                    .replace('\\', "\\\\")
                    .replace('\t', "\\t")
                    .replace('\n', "\\n")
                    .replace('\r', "\\r"),
            };
            let line = values.iter().map(escape).collect::<Vec<_>>().join("\t") + "\n";
            prop_assert_eq!(read(&line), (values, String::new()));
        }
    }
}
