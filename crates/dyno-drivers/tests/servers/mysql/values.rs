//! The binary protocol's values must read as the text protocol's do: the server is the oracle.

use super::{Server, root, servers};

/// Columns and their values, as SQL.
const COLUMNS: &[(&str, &[&str])] = &[
    ("TINYINT", &["-128", "0", "127"]),
    ("TINYINT UNSIGNED", &["255"]),
    ("SMALLINT", &["-32768", "32767"]),
    ("SMALLINT UNSIGNED", &["65535"]),
    ("MEDIUMINT", &["-8388608", "8388607"]),
    ("MEDIUMINT UNSIGNED", &["16777215"]),
    ("INT", &["-2147483648", "2147483647"]),
    ("INT UNSIGNED", &["4294967295"]),
    ("INT(7) ZEROFILL", &["42", "123456789"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    (
        "DECIMAL(30,10)",
        &["-0.1", "12345678901234567890.0123456789"],
    ),
    ("DECIMAL(8,2) ZEROFILL", &["1.5"]),
    (
        "DOUBLE(12,3)",
        &["-1.0005", "0.0015", "123456789.1239", "0"],
    ),
    ("DOUBLE(12,3) ZEROFILL", &["3.14159"]),
    ("FLOAT(8,2)", &["-1.005", "1234.567", "999999.99"]),
    (
        "DATE",
        &[
            "'0000-00-00'",
            "'1000-01-01'",
            "'9999-12-31'",
            "'2024-02-29'",
        ],
    ),
    (
        "DATETIME",
        &[
            "'0000-00-00'",
            "'2024-02-29 23:59:58'",
            "'2024-02-29 00:00:00'",
        ],
    ),
    (
        "DATETIME(3)",
        &["'0000-00-00'", "'2024-02-29 23:59:58.120'", "'2024-02-29'"],
    ),
    (
        "DATETIME(6)",
        &["'2024-02-29 00:00:00.000001'", "'2024-02-29 01:02:03'"],
    ),
    ("TIMESTAMP NULL", &["'2024-02-29 12:00:00'"]),
    (
        "TIMESTAMP(2) NULL",
        &["'2024-02-29 12:00:00.07'", "'2024-02-29 12:00:00'"],
    ),
    (
        "TIME",
        &[
            "'-838:59:59'",
            "'838:59:59'",
            "'00:00:00'",
            "'01:02:03'",
            "'-00:00:01'",
        ],
    ),
    (
        "TIME(4)",
        &[
            "'-838:59:58.1234'",
            "'00:00:00'",
            "'00:00:00.0001'",
            "'100:00:00'",
        ],
    ),
    ("YEAR", &["1901", "2155", "0"]),
    ("BIT(1)", &["b'1'", "b'0'"]),
    ("BIT(20)", &["b'10101010101010101010'"]),
    ("CHAR(5)", &["'ab'", "''"]),
    (
        "VARCHAR(300)",
        &["REPEAT('x', 250)", "REPEAT('y', 251)", "'é€𐍈'"],
    ),
    ("BINARY(4)", &["x'00ff'"]),
    ("VARBINARY(10)", &["x'00fffe'"]),
    ("BLOB", &["x'0001020304fbfcfdfeff'"]),
    ("LONGTEXT", &["REPEAT('z', 70000)"]),
    ("ENUM('a','b')", &["'b'"]),
    ("SET('a','b','c')", &["'a,c'", "''"]),
    ("JSON", &[r#"'{"a": [1, 2.5, "x", null]}'"#]),
    ("GEOMETRY", &["ST_GeomFromText('POINT(1 2)')"]),
    ("INET6", &["'::1'"]),
    ("UUID", &["'123e4567-e89b-12d3-a456-426655440000'"]),
    ("VECTOR(3)", &["TO_VECTOR('[1,2,3]')"]),
];

fn has(server: Server, kind: &str) -> bool {
    match kind {
        "INET6" | "UUID" => server == Server::MariaDb,
        "VECTOR(3)" => server == Server::MySql,
        _ => true,
    }
}

/// Doubles and floats around every value at which the format changes.
fn reals(float: bool) -> Vec<String> {
    let mut values = Vec::new();
    let (most, low, high) = if float { (8, -45, 38) } else { (17, -323, 308) };
    for exponent in low + 1..high {
        for digits in ["1", "1.5", "9.99999949", "1.2345678901234567", "4.000001"] {
            values.push(format!("{digits}e{exponent}"));
            values.push(format!("-{digits}e{exponent}"));
        }
    }
    for digits in 1..=most {
        let whole = &"12345678987654321"[..digits];
        values.extend([whole.to_owned(), format!("{whole}.5"), format!("0.{whole}")]);
    }
    values.extend(
        [
            "0", "-0e0", "16777216", "16777217", "0.1", "3.4e38", "1e15", "1e14",
        ]
        .map(str::to_owned),
    );
    values
}

#[test]
fn every_type_reads_the_same_by_both_protocols() {
    for server in servers() {
        let mut connection = root(server, "types");
        connection.query("SET sql_mode = ''").unwrap();
        for (kind, values) in COLUMNS.iter().filter(|(kind, _)| has(server, kind)) {
            connection.query("DROP TABLE IF EXISTS t").unwrap();
            connection
                .query(format!(
                    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v {kind})"
                ))
                .unwrap();
            for value in values.iter().chain(&["NULL"]) {
                connection
                    .query(format!("INSERT INTO t (v) VALUES ({value})"))
                    .unwrap();
            }
            compare(
                &mut connection,
                "SELECT v, id, v FROM t ORDER BY id",
                values.len() + 1,
            );
        }
        let sql = "SELECT 1, -1, 1.50, 1e0, 'a', NULL, NOW(6) - NOW(6), SEC_TO_TIME(1.5), \
            CAST('2024-01-02 03:04:05.678' AS DATETIME(3)), 1/3, SUM(1), AVG(2), PI(), \
            18446744073709551615, CAST(1 AS UNSIGNED), TIME('10:11:12.5'), \
            MAKETIME(-1,2,3), x'00ff'";
        compare(&mut connection, sql, 1);
    }
}

#[test]
fn real_numbers_read_the_same_by_both_protocols() {
    for server in servers() {
        let mut connection = root(server, "reals");
        connection.query("SET sql_mode = ''").unwrap();
        connection
            .query("CREATE TABLE f (id INT PRIMARY KEY AUTO_INCREMENT, v FLOAT)")
            .unwrap();
        connection
            .query("CREATE TABLE d (id INT PRIMARY KEY AUTO_INCREMENT, v DOUBLE)")
            .unwrap();
        for (table, float) in [("f", true), ("d", false)] {
            let values = reals(float);
            let tuples: Vec<_> = values.iter().map(|value| format!("({value})")).collect();
            let sql = format!("INSERT INTO {table} (v) VALUES {}", tuples.join(","));
            connection.query(sql).unwrap();
            compare(
                &mut connection,
                &format!("SELECT v FROM {table} ORDER BY id"),
                values.len(),
            );
        }
    }
}

fn compare(connection: &mut super::Blocking, sql: &str, rows: usize) {
    let text = connection.select(sql);
    let statement = connection.prepare(sql, &[]).unwrap();
    connection.execute(statement, &[]).unwrap();
    let binary = connection.rows();
    assert_eq!((text.len(), binary.len()), (rows, rows), "{sql}");
    for (text, binary) in text.iter().zip(&binary) {
        assert_eq!(text, binary, "{sql}");
    }
    connection.close_statement(statement).unwrap();
}
