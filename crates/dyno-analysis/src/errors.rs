//! Errors by kind.

use std::cmp::Reverse;

use dyno_core::db::ErrorKind;
use dyno_core::interval::ErrorsByCode;

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount<'a> {
    /// The kind.
    pub kind: ErrorKind,
    /// Number of errors.
    pub count: u64,
    /// Their codes, in order.
    pub codes: Vec<&'a str>,
}

/// The errors by kind, the most frequent first.
pub fn by_kind(errors: &ErrorsByCode) -> Vec<KindCount<'_>> {
    let mut kinds: Vec<KindCount<'_>> = Vec::new();
    for (code, error) in errors {
        match kinds.iter_mut().find(|sum| sum.kind == error.kind) {
            Some(sum) => {
                sum.count = sum.count.saturating_add(error.count);
                sum.codes.push(code);
            }
            None => kinds.push(KindCount {
                kind: error.kind,
                count: error.count,
                codes: vec![code],
            }),
        }
    }
    kinds.sort_by_key(|sum| (Reverse(sum.count), sum.kind));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::interval::count_error;

    #[test]
    fn codes_of_a_kind_are_added_up() {
        let mut errors = ErrorsByCode::new();
        for (code, kind, count) in [
            ("1062", ErrorKind::Duplicate, 7),
            ("1205", ErrorKind::Conflict, 3),
            ("1213", ErrorKind::Conflict, 5),
            ("9", ErrorKind::Other, 7),
        ] {
            count_error(&mut errors, code, kind, count, String::new);
        }
        let kinds: Vec<_> = by_kind(&errors)
            .into_iter()
            .map(|sum| (sum.kind, sum.count, sum.codes.join(" ")))
            .collect();
        let expected = [
            (ErrorKind::Conflict, 8, "1205 1213"),
            (ErrorKind::Duplicate, 7, "1062"),
            (ErrorKind::Other, 7, "9"),
        ];
        assert_eq!(
            kinds,
            expected.map(|(k, n, codes)| (k, n, codes.to_owned()))
        );
    }
}
