//! Marks rows whose figures include other work than that of the trials.

use dyno_conduct::lab::figures::Done;
use dyno_core::finding::Cause;
use dyno_report::others;
use dyno_report::sheet::Sheet;

/// Whose work any of these figures includes in any of these trials, except refused ones.
pub(super) fn included(trials: &[&Done], figures: &[&str]) -> Option<Cause> {
    let mut usable = trials.iter().filter(|done| done.measured.is_usable());
    usable.find_map(|done| figures.iter().find_map(|figure| done.includes(figure)))
}

/// If figures include the work of others, adds a column that names this work for each row.
pub(super) fn mark(table: &mut Sheet, rows: &[Option<Cause>]) {
    if rows.iter().all(Option::is_none) {
        return;
    }
    table.columns.push(("includes".to_owned(), false));
    for (row, cause) in table.rows.iter_mut().zip(rows) {
        row.push(cause.map_or_else(String::new, |cause| others(cause).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dyno_core::finding::Verdict;
    use dyno_lab::{Figure, Figures, Measured};

    use super::*;

    fn done(includes: Option<Cause>, verdict: Verdict) -> Done {
        let figure = |includes| Figure {
            value: 1.0,
            error: None,
            includes,
            duet: None,
        };
        let figures = Figures::from([
            ("rate".to_owned(), figure(None)),
            ("server_cpu".to_owned(), figure(includes)),
        ]);
        Done {
            position: 0,
            measured: Measured {
                verdict: Some(verdict),
                steps: BTreeMap::from([(String::new(), figures)]),
                ..Measured::default()
            },
            runs: Vec::new(),
            captured: None,
            duet: None,
        }
    }

    #[test]
    fn figures_with_the_work_of_other_clients_are_found() {
        let alone = done(None, Verdict::Valid);
        let shared = done(Some(Cause::OtherClients), Verdict::Doubtful);
        let refused = done(Some(Cause::OtherClients), Verdict::Refused);
        let figures = ["rate", "server_cpu"];
        let both = included(&[&alone, &shared], &figures);
        assert_eq!(both, Some(Cause::OtherClients));
        assert_eq!(included(&[&alone, &shared], &["rate"]), None);
        assert_eq!(included(&[&alone, &refused], &figures), None);
    }

    #[test]
    fn only_tables_with_such_figures_have_the_column() {
        let mut table = Sheet {
            columns: vec![("rate".to_owned(), true)],
            rows: vec![vec!["1".to_owned()], vec!["2".to_owned()]],
            ..Sheet::default()
        };
        mark(&mut table, &[None, None]);
        assert_eq!(table.csv().unwrap(), "rate\n1\n2\n");
        mark(&mut table, &[None, Some(Cause::OtherClients)]);
        assert_eq!(table.csv().unwrap(), "rate,includes\n1,\n2,other clients\n");
    }
}
