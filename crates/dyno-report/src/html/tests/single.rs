//! Pages of one run.

use dyno_core::finding::{Outcome, Verdict};
use dyno_core::record::Source;
use dyno_samples::full as samples;
use dyno_samples::values;

use super::{SHORT, page_of, text_of};

#[test]
fn the_title_has_the_verdict() {
    let titled = |verdict: Option<Verdict>, outcome: Outcome| {
        let mut run = samples::run(SHORT);
        run.verdict = verdict;
        run.findings = vec![values::finding("client-cpu", 2, outcome, "Evidence.")];
        let page = page_of(&[run]);
        let (_, rest) = page.split_once("<title>").unwrap();
        let (title, _) = rest.split_once(" – Dyno</title>").unwrap();
        title.to_owned()
    };
    let plain = titled(None, Outcome::Pass);
    assert!(plain.contains(" on "), "{plain}");
    for (verdict, outcome, word) in [
        (Verdict::Valid, Outcome::Pass, "valid"),
        (Verdict::Valid, Outcome::NotChecked, "valid, partly checked"),
        (Verdict::Refused, Outcome::Refuse, "refused"),
    ] {
        let expected = format!("{plain} – {word}");
        assert_eq!(titled(Some(verdict), outcome), expected);
    }
}

/// Part of a log may lack what shows that its loop is open.
#[test]
fn only_a_loop_known_to_be_closed_is_explained_as_one() {
    const CLOSED: &str = "A closed loop: each session starts";
    let mut run = samples::run(SHORT);
    assert!(text_of(&page_of(std::slice::from_ref(&run))).contains(CLOSED));
    run.head.source = Source::Sysbench;
    assert!(!text_of(&page_of(&[run])).contains(CLOSED));
}
