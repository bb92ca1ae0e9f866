//! What scripts get from statements: the first row as values, on every server.

use std::fs;

use crate::common::{QUIET, everywhere};

/// Reads rows of one column that are larger than a read buffer, with NULL and empty texts; an empty
/// result; and no result. Each is read by a prepared statement and as text.
const SCRIPT: &str = r##"
function event()
  local con = sysbench.sql.driver():connect()
  local function answers(text, kinds, ...)
    local statement = dyno.statement(con, text, kinds)
    for _ = 1, 100 do
      statement:row(...)
    end
    return select("#", statement:row(...)), { statement:row(...) }
  end
  local function is(seen, wanted, what)
    if seen ~= wanted then
      error(("%s: %s instead of %s"):format(what, tostring(seen), tostring(wanted)))
    end
  end
  con:query("CREATE TABLE few (a INT PRIMARY KEY, b VARCHAR(20), c VARCHAR(20))")
  con:query("INSERT INTO few VALUES (1, NULL, ''), (2, 'two', NULL), (3, '', 'three')")
  local texts = { { "1", nil, "" }, { "2", "two", nil }, { "3", "", "three" } }
  for id = 1, 3 do
    local count, row = answers("SELECT a, b, c FROM few WHERE a = ?", "i", id)
    is(count, 3, "columns")
    for column = 1, 3 do
      is(row[column], texts[id][column], "row " .. id .. ", column " .. column)
    end
  end
  is(answers("SELECT b FROM few WHERE a = ?", "i", 4), 1, "nothing, which is nil")
  local count, row = answers("SELECT a FROM few ORDER BY a DESC", "")
  is(count, 1, "columns of many rows")
  is(row[1], "3", "the first of many rows")
  local wide = {}
  for column = 1, 100 do
    wide[column] = column % 9 == 0 and "NULL" or tostring(column)
  end
  for _, columns in ipairs { 64, 65, 100 } do
    local text = "SELECT " .. table.concat(wide, ", ", 1, columns) .. " FROM few WHERE a = ?"
    local count, row = answers(text, "i", 1)
    is(count, columns, "columns")
    for column = 1, columns do
      is(row[column], column % 9 ~= 0 and wide[column] or nil, "column " .. column)
    end
  end
  local change = dyno.statement(con, "UPDATE few SET c = 'x' WHERE a = ?", "i")
  is(change:row(1), nil, "what an UPDATE answers")
  is(con:query_row("SELECT c, b, a FROM few WHERE a = 1"), "x", "query_row()")
  is(con:query_row("SELECT c FROM few WHERE a = 5"), nil, "query_row() without a row")
  con:query("DROP TABLE few")
  con:disconnect()
end
"##;

#[test]
fn scripts_get_first_rows_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("rows.lua");
    fs::write(&script, SCRIPT).unwrap();
    for place in everywhere() {
        for prepared in ["auto", "disable"] {
            let line = format!(
                "run {} {QUIET} --events 1 -c 1 --ps-mode {prepared}",
                script.display()
            );
            place.dyno(&line).success();
        }
    }
}
