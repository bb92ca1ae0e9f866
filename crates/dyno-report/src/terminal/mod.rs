//! Text for terminals.

mod advice;
mod brief;
mod compare;
mod duet;
mod facts;
mod findings;
mod history;
mod latency;
mod live;
mod look;
pub mod markdown;
mod page;
mod parts;
mod phases;
mod pivot;
mod profiles;
mod progress;
mod reported;
mod runs;
mod saturation;
mod scatter;
mod search;
mod sections;
mod sheet;
mod spark;
mod statements;
mod table;
mod trials;
mod verdict;
#[cfg(test)]
mod widths;
mod words;

pub use crate::document::duet_answer;
pub use advice::advice;
pub use compare::comparison;
pub(crate) use compare::{answer, label, outcome, plain_name, product, rank};
pub use duet::{duet, duet_row};
pub use facts::facts;
pub use findings::findings;
pub use history::history;
pub use live::{live_line, scheduled_line, warmup_line};
pub(crate) use look::{Ink, columns, cut, wrap};
pub use look::{Look, PIPE_COLUMNS};
pub use phases::phases;
pub use pivot::pivot;
pub use profiles::profiles;
pub use progress::{Progress, progress_line};
pub use runs::{RunRow, runs};
pub use saturation::saturation;
pub use search::{search, search_answer, search_trial};
pub use sheet::{claims, paragraph, plans, sheet};
pub use trials::{TrialLine, Trials, trials};
pub use words::EventWord;

use dyno_core::summary::RunSummary;

use crate::document;
use page::Page;

/// The summary of a run: lines no wider than `look.columns`, an empty line first and a line end
/// last. The figures come first; everything else follows if `look.verbose`.
pub fn summary(run: &RunSummary, look: &Look) -> String {
    match look.verbose {
        false => brief::summary(run, look),
        true => full(run, look),
    }
}

/// Everything known of a run.
fn full(run: &RunSummary, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    title(run, &mut page);
    page.show(document::ended(run, true));
    sections::throughput(run, &mut page);
    parts::section(run, true, &mut page);
    page.blank();
    latency::section(run, &mut page);
    page.blank();
    page.show(document::roles(run));
    page.show([document::agents(run)]);
    page.blank();
    page.show(document::machine(run));
    page.blank();
    page.show(document::operations(run));
    statements::section(run, true, &mut page);
    page.show(document::figures(run));
    page.blank();
    sections::trouble(run, &mut page);
    page.blank();
    verdict::verdict(run, &mut page);
    verdict::durability(run, &mut page);
    page.show(document::thresholds(run));
    page.show(document::remarks(run));
    page.blank();
    page.show(document::uneven(run));
    sections::endpoints(run, &mut page);
    page.show(document::client(run));
    page.show(document::server_host(run));
    verdict::costs(run, &mut page);
    page.blank();
    set_up(run, &mut page);
    page.finish()
}

/// A comparison of the runs 3 and 4.
#[cfg(test)]
pub(crate) fn sample_comparison() -> dyno_verdict::Comparison {
    compare::tests::compared(&["sync_binlog"], 0)
}

/// Workload and target.
fn title(run: &RunSummary, page: &mut Page) {
    let target = &run.target;
    let server = match (target.product.is_empty(), target.version.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!(" on {}", target.product),
        (false, false) => format!(" on {} {}", target.product, target.version),
    };
    page.title(&format!("{}{server}", sections::named(run)));
}

/// The measurement's parameters.
fn set_up(run: &RunSummary, page: &mut Page) {
    let target = &run.target;
    if !target.url.is_empty() {
        let tls = target.tls.as_ref().map(|tls| format!(", {tls}"));
        page.row(
            "target",
            Ink::Plain,
            &(target.url.clone() + &tls.unwrap_or_default()),
        );
    }
    page.show(run.phase.iter().flat_map(document::phase));
    sections::options(run, page);
    reported::facts(run, page);
    sections::drive(run, page);
    verdict::note_and_record(run, page);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::finding::{Cause, Durability, DurabilityClass, Outcome};
    use dyno_core::summary::{ClientCost, RunEnd};
    use dyno_samples::{summaries as samples, values};
    use std::sync::LazyLock;

    fn plain(run: &RunSummary) -> String {
        let look = Look {
            verbose: true,
            ..Look::default()
        };
        summary(run, &look)
    }

    /// The brief summary at three widths and in a pipe.
    fn brief(run: &RunSummary) -> String {
        let shown = |columns| {
            let look = Look {
                columns,
                ..Look::default()
            };
            format!("── {columns}\n{}", summary(run, &look))
        };
        [60, 80, 120, PIPE_COLUMNS].map(shown).concat()
    }

    #[test]
    fn brief_good() {
        insta::assert_snapshot!(brief(&samples::good()));
    }

    #[test]
    fn brief_overloaded() {
        insta::assert_snapshot!(brief(&samples::overloaded()));
    }

    #[test]
    fn brief_errors() {
        insta::assert_snapshot!(brief(&samples::errors()));
    }

    #[test]
    fn brief_worked() {
        insta::assert_snapshot!(brief(&samples::worked()));
    }

    #[test]
    fn brief_failed() {
        insta::assert_snapshot!(brief(&samples::few()));
    }

    #[test]
    fn brief_host() {
        insta::assert_snapshot!(brief(&samples::host()));
    }

    #[test]
    fn a_valid_run_fits_sixteen_lines() {
        for run in [samples::good(), samples::sqlite()] {
            let text = summary(&run, &Look::default());
            assert!(text.lines().count() <= 16, "{text}");
        }
    }

    #[test]
    fn a_script_that_fails_at_once_is_three_lines() {
        let mut run = samples::few();
        run.totals = Default::default();
        run.end = RunEnd::Failed("session 0: line 12: attempt to index a nil value".into());
        insta::assert_snapshot!(summary(&run, &Look::default()), @r"

        oltp_read_write · MariaDB 10.11.6 · 1 session · 3.2 s of 10 s
          failed        session 0: line 12: attempt to index a nil value
        ");
    }

    #[test]
    fn a_good_run() {
        insta::assert_snapshot!(plain(&samples::good()));
    }

    #[test]
    fn an_overloaded_open_loop() {
        insta::assert_snapshot!(plain(&samples::overloaded()));
    }

    #[test]
    fn errors_and_several_endpoints() {
        insta::assert_snapshot!(plain(&samples::errors()));
    }

    #[test]
    fn too_few_samples() {
        insta::assert_snapshot!(plain(&samples::few()));
    }

    #[test]
    fn an_interrupted_run_without_an_event() {
        insta::assert_snapshot!(plain(&samples::interrupted()));
    }

    #[test]
    fn operations_with_retries_and_a_ledger() {
        insta::assert_snapshot!(plain(&samples::worked()));
    }

    #[test]
    fn the_class_of_durability_has_a_row() {
        let mut run = samples::good();
        assert!(!plain(&run).contains("durability"));
        let mut finding = values::finding("durability", 38, Outcome::Pass, "Whatever it says.");
        finding.durability = Some(Durability {
            class: DurabilityClass::Process,
            because: vec!["synchronous_commit = off".to_owned()],
        });
        run.findings.push(finding);
        let line = "\n  durability    lost on process crash because synchronous_commit = off\n";
        assert!(plain(&run).contains(line), "{}", plain(&run));
    }

    #[test]
    fn costs_with_the_work_of_other_clients_are_marked() {
        let mut run = samples::good();
        let line = "\n    shared      server CPU: with the work of other clients\n";
        for text in [plain(&run), summary(&run, &Look::default())] {
            assert!(!text.contains("other clients"), "{text}");
        }
        run.costs[0].includes = Some(Cause::OtherClients);
        for text in [plain(&run), summary(&run, &Look::default())] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn one_session_on_sqlite() {
        insta::assert_snapshot!(plain(&samples::sqlite()));
    }

    #[test]
    fn a_test_of_the_host() {
        insta::assert_snapshot!(plain(&samples::host()));
    }

    #[test]
    fn narrow_and_in_ascii() {
        let look = Look {
            columns: 48,
            ascii: true,
            verbose: true,
            ..Look::default()
        };
        insta::assert_snapshot!(summary(&samples::errors(), &look));
    }

    #[test]
    fn in_colour() {
        let look = Look {
            colour: true,
            verbose: true,
            ..Look::default()
        };
        insta::assert_snapshot!(summary(&samples::few(), &look).replace('\x1b', "ESC"));
    }

    #[test]
    fn every_look_keeps_to_its_width() {
        for run in samples::all() {
            for columns in [20, 40, 48, 60, 80, 120, 200, PIPE_COLUMNS] {
                for (ascii, verbose) in [(false, false), (true, true), (true, false)] {
                    let look = Look {
                        columns,
                        ascii,
                        colour: false,
                        verbose,
                    };
                    let text = summary(&run, &look);
                    for line in text.lines() {
                        let width = unicode_width::UnicodeWidthStr::width(line);
                        assert!(width <= columns.max(40), "{columns}: {width} {line:?}");
                        assert_eq!(line.trim_end(), line);
                        assert!(!ascii || line.is_ascii(), "{line:?}");
                    }
                    assert!(!text.contains("\n\n\n"), "{text}");
                }
            }
        }
    }

    #[test]
    fn colours_change_only_colours() {
        for run in samples::all() {
            let look = Look {
                colour: true,
                verbose: true,
                ..Look::default()
            };
            let coloured = summary(&run, &look);
            assert!(coloured.contains("\x1b["));
            let mut bare = String::new();
            let mut rest = coloured.as_str();
            while let Some((before, after)) = rest.split_once('\x1b') {
                bare.push_str(before);
                rest = after.split_once('m').unwrap().1;
            }
            assert_eq!(bare + rest, plain(&run));
        }
    }

    proptest::proptest! {
        /// Summaries may come from a file, so their figures may be anything.
        #[test]
        fn arbitrary_figures_never_panic(
            figures in proptest::collection::vec(proptest::num::f64::ANY, 12),
            counts in proptest::collection::vec(0..u64::MAX / 8, 6),
            columns in 0usize..300,
            ascii: bool,
        ) {
            let look = Look { columns, colour: false, ascii, verbose: ascii };
            // Recording them for every case would take most of the time.
            static SAMPLES: LazyLock<Vec<RunSummary>> = LazyLock::new(samples::all);
            for mut run in SAMPLES.iter().cloned() {
                run.measured_s = figures[0];
                run.rates.events_per_s = figures[1];
                run.service.min_ms = Some(figures[2]);
                run.service.count = counts[0];
                run.service.percentiles[0].percent = figures[3];
                run.service.percentiles[1].value_ms = Some(figures[4]);
                if let Some(bucket) = run.service.buckets.first_mut() {
                    bucket.from_ms = figures[5];
                    bucket.to_ms = figures[6];
                    bucket.count = counts[1];
                }
                run.client = Some(ClientCost {
                    us_per_event: figures[7],
                    worker_busy: vec![figures[8], figures[9]],
                    rss_max_bytes: counts[2],
                    ..ClientCost::default()
                });
                run.totals.events = counts[3];
                run.totals.reads = counts[4];
                if let Some(fairness) = &mut run.fairness {
                    fairness.events_stddev = figures[10];
                }
                for interval in &mut run.intervals {
                    interval.length_s = figures[11];
                    interval.counters.events = counts[5];
                    let line = live_line(interval, EventWord::Transaction, true, None, &look);
                    proptest::prop_assert!(
                        unicode_width::UnicodeWidthStr::width(line.as_str()) <= columns.max(40)
                    );
                }
                for line in summary(&run, &look).lines() {
                    let width = unicode_width::UnicodeWidthStr::width(line);
                    proptest::prop_assert!(width <= columns.max(40), "{}", line);
                }
            }
        }
    }

    #[test]
    fn a_server_cannot_steer_the_terminal() {
        let mut run = samples::errors();
        run.target.version = "1\x1b[2J\x07\n2\u{9b}3".into();
        run.warnings = vec!["a\x1b]0;title\x07b".into()];
        let text = plain(&run);
        assert!(text.contains("1 [2J"), "{text}");
        assert!(text.contains("a ]0;title b"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    }
}
