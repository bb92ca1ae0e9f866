//! The table of the test command: where the minutes went.

/// The number of test binaries in the table.
const SLOWEST: usize = 10;

/// The duration of a stage or of a test binary.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Time {
    pub(super) name: String,
    pub(super) seconds: f64,
}

/// All stages in the given order, and the slowest test binaries, the slowest first.
pub(super) fn table(stages: &[Time], binaries: &[Time]) -> String {
    let mut lines = vec!["Where the minutes went:".to_owned()];
    lines.extend(stages.iter().map(line));
    let mut slowest: Vec<&Time> = binaries.iter().collect();
    slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    slowest.truncate(SLOWEST);
    if !slowest.is_empty() {
        let (shown, all) = (slowest.len(), binaries.len());
        lines.push(format!("The slowest {shown} of {all} test binaries:"));
        lines.extend(slowest.into_iter().map(line));
    }
    lines.join("\n")
}

fn line(time: &Time) -> String {
    format!("{:>10.1} s  {}", time.seconds, time.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(name: &str, seconds: f64) -> Time {
        Time {
            name: name.to_owned(),
            seconds,
        }
    }

    #[test]
    fn lists_stages_in_their_order_and_the_slowest_binaries_first() {
        let stages = [time("tidy", 0.26), time("cargo test", 12.0)];
        let binaries = [time("a", 1.0), time("b", 9.5), time("c", 1.5)];
        let expected = [
            "Where the minutes went:",
            "       0.3 s  tidy",
            "      12.0 s  cargo test",
            "The slowest 3 of 3 test binaries:",
            "       9.5 s  b",
            "       1.5 s  c",
            "       1.0 s  a",
        ];
        assert_eq!(table(&stages, &binaries), expected.join("\n"));
    }

    #[test]
    fn leaves_out_fast_binaries() {
        let binaries: Vec<Time> = (0..30)
            .map(|n| time(&format!("b{n}"), f64::from(n)))
            .collect();
        let table = table(&[], &binaries);
        assert!(
            table.contains("The slowest 10 of 30 test binaries:"),
            "{table}"
        );
        assert!(table.ends_with("20.0 s  b20"), "{table}");
    }

    #[test]
    fn has_no_binaries_if_none_ran() {
        let table = table(&[time("fmt", 2.0)], &[]);
        assert_eq!(table, "Where the minutes went:\n       2.0 s  fmt");
    }
}
