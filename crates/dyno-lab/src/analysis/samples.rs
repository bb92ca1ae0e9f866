//! Synthetic trials for tests.

use std::collections::BTreeMap;

use dyno_core::finding::Verdict;
use dyno_core::rand::Stream;

use super::{Figure, Figures, Measured};
use crate::Experiment;

/// Two factors of two levels.
pub(super) fn crossed() -> Experiment {
    let text = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
        [[factor]]\nname = 'engine'\napplies = 'load'\nlevels = ['a', 'b']\n\
        [[factor]]\nname = 'memory'\napplies = 'start'\nsetting = 'm'\nlevels = ['1G', '2G']\n\
        [design]\nbaseline = { engine = 'a' }\n";
    Experiment::parse("x.toml", text, None).unwrap()
}

/// Trials of this many blocks, with rates by level and a noise of 1 %.
pub(super) fn trials(
    experiment: &Experiment,
    blocks: usize,
    mut rate: impl FnMut(&BTreeMap<String, String>, f64) -> f64,
) -> Vec<Measured> {
    let mut stream = Stream::new(42, blocks as u64);
    let planned = experiment.trials_of(blocks);
    let measured = planned.trials.iter().enumerate().map(|(index, trial)| {
        let levels = planned.cells[trial.cell].levels.clone();
        let value = rate(&levels, 1.0 + 0.02 * (stream.next_f64() - 0.5));
        let figures = Figures::from([(
            "rate".to_owned(),
            Figure {
                value,
                error: Some(0.005),
                includes: None,
                duet: None,
            },
        )]);
        Measured {
            levels,
            block: trial.block,
            verdict: Some(Verdict::Valid),
            runs: vec![index as i64 + 1],
            steps: BTreeMap::from([(String::new(), figures)]),
        }
    });
    measured.collect()
}
