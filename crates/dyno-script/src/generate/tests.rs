//! Rows do not depend on chunks, nor values on the format.

use dyno_core::bulk::{BulkFormat, RowSource};
use dyno_core::plan::{RandKind, RandPlan};
use proptest::prelude::*;

use super::{BLOCK_ROWS, Backslash, Column, GeneratedRows, RowRange};

const C: &[u8] = b"###########-###########-###########-###########-###########-\
    ###########-###########-###########-###########-###########";

fn oltp_columns() -> Vec<Column> {
    vec![
        Column::Sequence,
        Column::Random(RandKind::Zipfian, 1, 10_000),
        Column::Pattern(C.to_vec()),
        Column::Pattern(b"@@##".to_vec()),
    ]
}

fn rows(first: u64, count: u64, columns: &[Column], backslash: Backslash) -> GeneratedRows {
    let range = RowRange {
        seed: 42,
        table: 3,
        first,
        count,
    };
    GeneratedRows::new(range, columns, &RandPlan::default(), backslash)
}

fn all(mut source: impl RowSource, format: BulkFormat, max_bytes: usize) -> (Vec<u8>, u64) {
    let (mut out, mut total) = (Vec::new(), 0);
    loop {
        let before = out.len();
        let filled = source.fill(&mut out, format, max_bytes);
        if filled == 0 {
            assert_eq!(out.len(), before);
            return (out, total);
        }
        total += filled;
        if format == BulkFormat::SqlTuples {
            out.push(b',');
        }
    }
}

fn tab_text(first: u64, count: u64) -> Vec<u8> {
    let source = rows(first, count, &oltp_columns(), Backslash::Plain);
    let (text, total) = all(source, BulkFormat::TabText, usize::MAX);
    assert_eq!(total, count);
    text
}

#[test]
fn rows_match_the_columns() {
    let columns = [
        Column::Sequence,
        Column::Random(RandKind::Uniform, 5, 5),
        Column::Const(b"it's a\ttab \\ ".to_vec()),
        Column::Null,
        Column::Pattern(b"'".to_vec()),
    ];
    let text = |format, backslash| {
        let (out, _) = all(rows(9, 2, &columns, backslash), format, usize::MAX);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        text(BulkFormat::TabText, Backslash::Plain),
        "9\t5\tit's a\\ttab \\\\ \t\\N\t'\n10\t5\tit's a\\ttab \\\\ \t\\N\t'\n"
    );
    assert_eq!(
        text(BulkFormat::SqlTuples, Backslash::Plain),
        "(9,5,'it''s a\ttab \\ ',NULL,''''),(10,5,'it''s a\ttab \\ ',NULL,''''),"
    );
    assert_eq!(
        text(BulkFormat::SqlTuples, Backslash::Escapes),
        "(9,5,'it''s a\ttab \\\\ ',NULL,''''),(10,5,'it''s a\ttab \\\\ ',NULL,''''),"
    );
}

#[test]
fn rows_are_fixed_for_ever() {
    // Published results name their seed: these rows must not change between versions. (Skewed
    // numbers may, in rare cases, because they depend on the platform's logarithms.)
    let columns = [
        Column::Sequence,
        Column::Random(RandKind::Uniform, 1, 10_000),
        Column::Pattern(b"###########-###########-@@".to_vec()),
    ];
    let (text, _) = all(
        rows(1_000, 2, &columns, Backslash::Plain),
        BulkFormat::TabText,
        1,
    );
    assert_eq!(String::from_utf8(text).unwrap(), FIXED_ROWS);
}

const FIXED_ROWS: &str = "1000\t777\t91960200678-38800297960-wx\n\
    1001\t3373\t60439347308-55850621773-eh\n";

#[test]
fn tables_seeds_and_blocks_differ() {
    let of = |seed, table, first| {
        let range = RowRange {
            seed,
            table,
            first,
            count: 1,
        };
        let columns = [Column::Pattern(C.to_vec())];
        let source = GeneratedRows::new(range, &columns, &RandPlan::default(), Backslash::Plain);
        all(source, BulkFormat::TabText, usize::MAX).0
    };
    let base = of(1, 1, 1);
    assert_eq!(base, of(1, 1, 1));
    for other in [
        of(2, 1, 1),
        of(1, 2, 1),
        of(1, 1, 2),
        of(1, 1, 1 + BLOCK_ROWS),
    ] {
        assert_ne!(base, other);
    }
    assert_ne!(of(1, 2, 1), of(2, 1, 1));
}

#[test]
fn a_fill_stops_at_its_size_and_gives_at_least_a_row() {
    let mut source = rows(1, 10, &oltp_columns(), Backslash::Plain);
    let mut out = Vec::new();
    assert_eq!(source.fill(&mut out, BulkFormat::TabText, 0), 1);
    let row_bytes = out.len();
    out.clear();
    assert_eq!(source.fill(&mut out, BulkFormat::TabText, row_bytes + 1), 2);
    assert_eq!(source.fill(&mut out, BulkFormat::TabText, usize::MAX), 7);
    assert_eq!(source.fill(&mut out, BulkFormat::TabText, usize::MAX), 0);
}

#[test]
fn rows_may_be_numbered_from_zero_and_to_the_end() {
    let columns = [Column::Sequence, Column::Pattern(b"#".to_vec())];
    let lines = |first, count| {
        let source = rows(first, count, &columns, Backslash::Plain);
        String::from_utf8(all(source, BulkFormat::TabText, 1).0).unwrap()
    };
    assert_eq!(lines(0, 3).lines().count(), 3);
    assert!(lines(0, 1).starts_with("0\t"));
    let last = format!("{}\t", u64::MAX);
    assert!(
        lines(u64::MAX - 1, 2)
            .lines()
            .nth(1)
            .unwrap()
            .starts_with(&last)
    );
}

/// Parses the output of `fill` back into values, `None` for NULL.
fn read_tab_text(text: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
    let unescape = |field: &[u8]| {
        if field == b"\\N" {
            return None;
        }
        let mut plain = Vec::new();
        let mut bytes = field.iter();
        while let Some(&byte) = bytes.next() {
            plain.push(match byte {
                b'\\' => match bytes.next().unwrap() {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    other => *other,
                },
                other => other,
            });
        }
        Some(plain)
    };
    let lines = text.strip_suffix(b"\n").unwrap().split(|&b| b == b'\n');
    lines
        .map(|line| line.split(|&b| b == b'\t').map(unescape).collect())
        .collect()
}

fn read_tuples(text: &[u8], backslash: Backslash) -> Vec<Vec<Option<Vec<u8>>>> {
    let (mut result, mut i) = (Vec::new(), 0);
    while i < text.len() {
        assert_eq!(text[i], b'(');
        let mut row = Vec::new();
        while text[i] != b')' {
            i += 1;
            let mut value = Vec::new();
            if text[i] == b'\'' {
                i += 1;
                while text[i] != b'\'' || text.get(i + 1) == Some(&b'\'') {
                    let escapes = backslash == Backslash::Escapes && text[i] == b'\\';
                    i += usize::from(escapes || text[i] == b'\'');
                    value.push(text[i]);
                    i += 1;
                }
                i += 1;
                row.push(Some(value));
            } else {
                while text[i] != b',' && text[i] != b')' {
                    value.push(text[i]);
                    i += 1;
                }
                row.push((value != b"NULL").then_some(value));
            }
        }
        result.push(row);
        i += 1;
        assert_eq!(text[i], b',');
        i += 1;
    }
    result
}

fn any_column() -> impl Strategy<Value = Column> {
    let bytes = || {
        let byte = prop_oneof![
            Just(b'#'),
            Just(b'@'),
            Just(b'\''),
            Just(b'\\'),
            any::<u8>()
        ];
        proptest::collection::vec(byte, 0..40)
    };
    prop_oneof![
        Just(Column::Sequence),
        Just(Column::Null),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Column::Random(RandKind::Uniform, a, b)),
        (0u64..100, 0u64..100).prop_map(|(a, b)| Column::Random(RandKind::Zipfian, a, b)),
        bytes().prop_map(Column::Pattern),
        bytes().prop_map(Column::Const),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_split_gives_the_same_rows(
        mut cuts in proptest::collection::vec(0u64..2_500, 0..6),
        first in 1u64..5_000,
        max_bytes in 1usize..5_000,
    ) {
        cuts.extend([0, 2_500]);
        cuts.sort_unstable();
        let mut parts = Vec::new();
        for pair in cuts.windows(2) {
            let (start, count) = (first + pair[0], pair[1] - pair[0]);
            let source = rows(start, count, &oltp_columns(), Backslash::Plain);
            parts.extend(all(source, BulkFormat::TabText, max_bytes).0);
        }
        prop_assert!(parts == tab_text(first, 2_500));
    }

    #[test]
    fn both_formats_hold_the_same_values(
        columns in proptest::collection::vec(any_column(), 1..6),
        first in 0u64..3_000,
        max_bytes in 1usize..500,
        escapes: bool,
    ) {
        let backslash = if escapes { Backslash::Escapes } else { Backslash::Plain };
        let of = |format| all(rows(first, 30, &columns, backslash), format, max_bytes).0;
        let lines = read_tab_text(&of(BulkFormat::TabText));
        prop_assert_eq!(lines.len(), 30);
        prop_assert_eq!(lines, read_tuples(&of(BulkFormat::SqlTuples), backslash));
    }

    #[test]
    fn rewinding_repeats(first in 0u64..3_000, taken in 1usize..50_000) {
        let mut source = rows(first, 300, &oltp_columns(), Backslash::Plain);
        source.fill(&mut Vec::new(), BulkFormat::SqlTuples, taken);
        source.rewind();
        let (again, _) = all(source, BulkFormat::TabText, usize::MAX);
        prop_assert!(again == tab_text(first, 300));
    }
}
