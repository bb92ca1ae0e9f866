//! Answers of duets.

use dyno_core::duet::{DuetAnswer, DuetEnd, DuetFigure, DuetMode, DuetSide, DuetSummary};
use dyno_core::finding::Verdict;
use dyno_core::reported::Better;
use dyno_core::summary::Recorded;

/// A duet of the runs 1 and 2 in four minutes, with this ratio and interval of its figures.
pub fn duet(ratio: f64, low: f64, high: f64, answer: DuetAnswer) -> DuetSummary {
    let figure = |name: &str, unit: &str, better| DuetFigure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        a: Some(12_000.0),
        b: Some(12_000.0 * ratio),
        ratio: Some(ratio),
        low: Some(low),
        high: Some(high),
        p_corrected: Some(if low <= 1.0 && high >= 1.0 {
            0.5
        } else {
            0.001
        }),
        pairs: 480,
    };
    let side = |label: &str, id| DuetSide {
        label: label.to_owned(),
        server: "MariaDB 10.11.19".to_owned(),
        run: Some(Recorded {
            id,
            name: format!("run-{id}"),
            file: "dyno.db".to_owned(),
        }),
        events: 1,
        verdict: None,
        durability: None,
    };
    DuetSummary {
        schema_version: 1,
        tool: "dyno 0.1.0".to_owned(),
        name: "one".to_owned(),
        sides: vec![side("mysql://a/db", 1), side("mysql://b/db", 2)],
        mode: DuetMode::Alternating,
        slice_ms: 50.0,
        cut_ms: 3.0,
        blocks: 480,
        measured_s: 240.0,
        end: DuetEnd::Precise,
        figures: vec![
            figure("rate", "per s", Better::Higher),
            figure("p95", "ms", Better::Lower),
        ],
        a_with_itself: None,
        differences: Vec::new(),
        margin: None,
        answer,
        findings: Vec::new(),
        verdict: Verdict::Valid,
    }
}
