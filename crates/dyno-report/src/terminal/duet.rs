//! The result of a duet.

use dyno_core::duet::DuetSummary;

use super::look::{Ink, Look};
use super::page::Page;
use crate::document::{self, duet_answer};

/// The result: the answer in a sentence, the verdict, the sides, the figures with their ratios, and
/// findings. An empty line comes first and a line end last.
pub fn duet(summary: &DuetSummary, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&duet_answer(summary));
    let (ink, word) = document::marked(summary.verdict, false);
    page.line("verdict", ink, &[(ink, &word)]);
    page.show(document::duet_sides(summary));
    page.blank();
    page.table(document::duet_figures(&summary.figures));
    page.blank();
    page.show(document::duet_notes(summary, look.verbose));
    page.finish()
}

/// The duet that a run is a side of, in a row: the answer, and the runs of both sides.
pub fn duet_row(summary: &DuetSummary, look: &Look) -> String {
    let runs = summary.sides.iter().filter_map(|side| side.run.as_ref());
    let runs: Vec<String> = runs.map(|run| run.id.to_string()).collect();
    let mut page = Page::new(*look);
    let answer = duet_answer(summary);
    let text = format!("{answer} (A and B are the runs {})", runs.join(" and "));
    page.row("duet", Ink::Plain, &text);
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::duet::{DuetAnswer, DuetDifference};
    use dyno_core::finding::DurabilityClass;
    use dyno_samples::duet::duet as summary;

    #[test]
    fn the_answer_is_a_sentence() {
        let slower = summary(0.979, 0.972, 0.986, DuetAnswer::Different);
        assert_eq!(
            duet_answer(&slower),
            "B is 2.1 % slower (1.4–2.8 %), 480 blocks in 4 min"
        );
        let mut same = summary(
            1.001,
            0.9995,
            1.0025,
            DuetAnswer::Same { measurable: false },
        );
        same.margin = Some(0.02);
        assert_eq!(
            duet_answer(&same),
            "A and B are the same within 2.0 %: B seems 0.10 % faster (−0.05 to +0.25 %), 480 \
             blocks in 4 min"
        );
        let undecided = DuetAnswer::Undecided {
            needs_s: Some(400.0),
        };
        assert_eq!(
            duet_answer(&summary(0.99, 0.97, 1.01, undecided)),
            "Undecided: B seems 1.0 % slower (−3.0 to +1.0 %), 480 blocks in 4 min; at this \
             ratio, a duet of about 7 min would decide"
        );
        let mut open = summary(1.021, 1.014, 1.028, DuetAnswer::Different);
        open.figures.remove(0);
        assert_eq!(
            duet_answer(&open),
            "p95 of B is 2.1 % longer (1.4–2.8 %), 480 blocks in 4 min"
        );
        let mut nothing = summary(1.0, 1.0, 1.0, DuetAnswer::Undecided { needs_s: None });
        nothing.figures[0].ratio = None;
        nothing.blocks = 3;
        nothing.measured_s = 1.5;
        assert_eq!(
            duet_answer(&nothing),
            "Undecided: 3 blocks in 1.5 s are too few; a ratio needs 20 blocks"
        );
    }

    #[test]
    fn differences_and_a_with_itself_have_rows() {
        let look = Look {
            columns: 80,
            ..Look::default()
        };
        let mut found = summary(0.979, 0.972, 0.986, DuetAnswer::Different);
        found.a_with_itself = found.figures.first().cloned();
        found.differences = vec![
            DuetDifference {
                what: "setting sync_binlog".to_owned(),
                a: "0".to_owned(),
                b: "1".to_owned(),
            };
            12
        ];
        let text = duet(&found, &look);
        assert!(
            text.contains("A with A      0.972 – 0.986, which excludes 1"),
            "{text}"
        );
        assert!(
            text.contains("differs       setting sync_binlog: 0 → 1"),
            "{text}"
        );
        assert!(text.contains("and 2 more (-v)"), "{text}");
        let row = duet_row(&found, &look);
        assert!(row.contains("duet          B is 2.1 % slower"), "{row}");
    }

    #[test]
    fn sides_with_other_durability_are_marked() {
        let look = Look {
            columns: 80,
            ..Look::default()
        };
        let mut found = summary(1.841, 1.82, 1.86, DuetAnswer::Different);
        assert!(!duet(&found, &look).contains("durability"));
        found.sides[0].durability = Some(DurabilityClass::Durable);
        assert!(!duet(&found, &look).contains("durability"));
        found.sides[1].durability = Some(DurabilityClass::Process);
        let text = duet(&found, &look);
        assert!(
            text.contains("durability    each commit durable → lost on process crash"),
            "{text}"
        );
    }

    #[test]
    fn a_page_fits_80_columns() {
        let look = Look {
            columns: 80,
            ..Look::default()
        };
        let text = duet(&summary(0.979, 0.972, 0.986, DuetAnswer::Different), &look);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("worse") && text.contains("better"), "{text}");
        assert!(text.contains("0.972 – 0.986"), "{text}");
    }
}
