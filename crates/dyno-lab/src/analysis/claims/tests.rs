use super::super::samples::trials;
use super::bounds::bound;
use super::*;

fn experiment(claims: &str) -> Experiment {
    let text = format!(
        "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
         [[factor]]\nname = 'engine'\napplies = 'load'\nlevels = ['a', 'b']\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 8, 32]\n\
         [design]\nbaseline = {{ engine = 'a' }}\n{claims}"
    );
    Experiment::parse("x.toml", &text, None).unwrap()
}

fn claim(check: &str) -> Experiment {
    experiment(&format!(
        "[[claim]]\ntext = 'it is so'\ncheck = {{ {check} }}\n"
    ))
}

fn rate(levels: &BTreeMap<String, String>, noise: f64) -> f64 {
    // Engine b loses more and more from 8 sessions on.
    let sessions: f64 = levels["sessions"].parse().unwrap();
    let factor = match (levels["engine"].as_str(), sessions as u32) {
        ("b", 8) => 0.9,
        ("b", 32) => 0.7,
        _ => 1.0,
    };
    1_000.0 * sessions.sqrt() * factor * noise
}

fn judged(check: &str, blocks: usize) -> Answer {
    let experiment = claim(check);
    let all = trials(&experiment, blocks, rate);
    experiment.judge(&all).remove(0)
}

#[test]
fn claims_are_judged_by_the_interval() {
    for (check, judgement) in [
        (
            "ratio = 'rate', of = { engine = 'b', sessions = 32 }, \
             to = { engine = 'a', sessions = 32 }, between = [0.6, 0.8]",
            Judgement::Agrees,
        ),
        (
            "ratio = 'rate', of = { engine = 'b' }, where = { sessions = 'max' }, below = 0.75",
            Judgement::Agrees,
        ),
        (
            "ratio = 'rate', of = { engine = 'b' }, where = { sessions = 'min' }, below = 0.95",
            Judgement::Differs,
        ),
        (
            "ratio = 'rate', of = { engine = 'b' }, where = { sessions = 1 }, above = 1.0",
            Judgement::CannotTell,
        ),
        (
            "first = 'sessions', where = { engine = 'b' }, ratio_below = 0.95, is = 8",
            Judgement::Agrees,
        ),
        (
            "first = 'sessions', where = { engine = 'b' }, ratio_below = 0.95, is = 32",
            Judgement::Differs,
        ),
        (
            "first = 'sessions', where = { engine = 'b' }, ratio_below = 0.5, is = 32",
            Judgement::CannotTell,
        ),
        (
            "spread = 'rate', over = 'engine', where = { sessions = 1 }, below = 0.1",
            Judgement::Agrees,
        ),
        (
            "spread = 'rate', over = 'sessions', where = { engine = 'a' }, below = 0.1",
            Judgement::Differs,
        ),
        (
            "figure = 'rate', where = { engine = 'a', sessions = 1 }, is = 1000, within = 30",
            Judgement::Agrees,
        ),
        (
            "figure = 'p99', where = { engine = 'a' }, below = 10",
            Judgement::CannotTell,
        ),
    ] {
        let answer = judged(check, 5);
        assert_eq!(answer.judgement, judgement, "{check}: {answer:?}");
    }
}

#[test]
fn one_block_is_judged_by_the_variation_within_its_trials() {
    let check = "ratio = 'rate', of = { engine = 'b' }, where = { sessions = 32 }, below = 0.75";
    let answer = judged(check, 1);
    assert_eq!(answer.judgement, Judgement::Agrees);
    assert!(
        answer.evidence.contains("within single trials"),
        "{answer:?}"
    );
    // A figure without a standard error is not judged from one block.
    let experiment = claim(check);
    let mut all = trials(&experiment, 1, rate);
    for trial in &mut all {
        let figures = trial.steps.get_mut("").unwrap();
        figures.get_mut("rate").unwrap().error = None;
    }
    let answer = experiment.judge(&all).remove(0);
    assert_eq!(answer.judgement, Judgement::CannotTell);
    assert!(answer.evidence.contains("no interval"), "{answer:?}");
}

#[test]
fn refused_trials_are_not_used() {
    let check = "ratio = 'rate', of = { engine = 'b' }, below = 0.95";
    let experiment = claim(check);
    let mut all = trials(&experiment, 3, rate);
    for trial in all.iter_mut().filter(|trial| trial.levels["engine"] == "b") {
        trial.verdict = Some(dyno_core::finding::Verdict::Refused);
    }
    let answer = experiment.judge(&all).remove(0);
    assert_eq!(answer.judgement, Judgement::CannotTell);
    assert_eq!(answer.evidence, NOTHING);
}

#[test]
fn stalls_are_counted_in_the_named_cells() {
    let experiment = claim("stalls = { engine = 'b' }");
    let stalled = |of: &str| {
        let mut all = trials(&experiment, 2, rate);
        for trial in &mut all {
            let value = if trial.levels["engine"] == of {
                3.0
            } else {
                0.0
            };
            let figures = trial.steps.get_mut("").unwrap();
            let stalled = Figure {
                value,
                error: None,
                includes: None,
                duet: None,
            };
            figures.insert("stalled_s".to_owned(), stalled);
        }
        experiment.judge(&all).remove(0).judgement
    };
    assert_eq!(stalled("b"), Judgement::Agrees);
    assert_eq!(stalled("a"), Judgement::Differs);
}

#[test]
fn bounds_are_numbers_shares_and_times() {
    let of = |text: &str| bound(&Scalar::Text(text.to_owned()));
    assert_eq!(
        (of("0.6"), of("60 %"), of("60%")),
        (Some(0.6), Some(0.6), Some(0.6))
    );
    assert_eq!(
        (of("100ms"), of("2s"), of("1G")),
        (Some(100.0), Some(2000.0), Some(1073741824.0))
    );
    assert_eq!((of("x"), of("% 6"), of("inf")), (None, None, None));
    // A share of the claimed value, or an absolute number.
    for (within, expected) in [("'50 %'", (100.0, 300.0)), ("50", (150.0, 250.0))] {
        let experiment = claim(&format!("figure = 'rate', is = 200, within = {within}"));
        let allowed = Allowed::of(&experiment.claims[0].check).unwrap();
        assert_eq!((allowed.low, allowed.high), expected, "{within}");
    }
}

#[test]
fn reports_senseless_claims_before_anything_runs() {
    for (check, expected) in [
        (
            "ratio = 'rate', between = [0.6, 0.4]",
            "no value is between 0.6 and 0.4",
        ),
        (
            "ratio = 'rate', above = 2, below = 1",
            "no value is between 2 and 1",
        ),
        (
            "ratio = 'rate', spread = 'rate', over = 'engine', below = 1",
            "both `ratio` and `spread`",
        ),
        ("ratio = 'rate'", "has no expected value"),
        ("", "nothing to check"),
        ("ratio = 'rate', below = 'x'", "`below = x` is not a bound"),
        (
            "figure = 'rate', is = 1, within = -1",
            "`within = -1` is not a bound",
        ),
    ] {
        let text = format!(
            "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
             [[factor]]\nname = 'engine'\napplies = 'load'\nlevels = ['a', 'b']\n\
             [[claim]]\ntext = 'it is so'\ncheck = {{ {check} }}\n"
        );
        let error = Experiment::parse("x.toml", &text, None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("x.toml:10:8: the claim 'it is so'"),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn reports_doubtful_trials_next_to_their_answer() {
    let experiment = claim("ratio = 'rate', of = { engine = 'b' }, below = 1.0");
    let mut all = trials(&experiment, 6, rate);
    let evidence = |all: &[Measured]| experiment.judge(all).remove(0).evidence;
    assert!(!evidence(&all).contains("doubtful"), "{}", evidence(&all));
    all[0].verdict = Some(Verdict::Doubtful);
    assert!(
        evidence(&all).contains("1 of its 36 trials are doubtful"),
        "{}",
        evidence(&all)
    );
    for trial in &mut all {
        trial.verdict = Some(Verdict::Doubtful);
    }
    assert!(
        evidence(&all).ends_with("all its trials are doubtful"),
        "{}",
        evidence(&all)
    );
}

/// A requested rate says nothing about the server; a rate that was not kept does.
#[test]
fn the_rate_of_an_open_loop_decides_no_claim() {
    let experiment = claim("ratio = 'rate', of = { engine = 'b' }, above = 0.95");
    let answered = |share: f64| {
        let mut all = trials(&experiment, 4, |_, noise| {
            1_000.0 * noise.powf(0.01) * share
        });
        for trial in &mut all {
            for figures in trial.steps.values_mut() {
                let offered = Figure {
                    value: 1_000.0,
                    error: None,
                    includes: None,
                    duet: None,
                };
                figures.insert("offered".to_owned(), offered);
            }
        }
        experiment.judge(&all).remove(0)
    };
    let asked = answered(1.0);
    assert_eq!(asked.judgement, Judgement::CannotTell);
    assert!(asked.evidence.contains("open loops"), "{asked:?}");
    assert_eq!(answered(0.5).judgement, Judgement::Agrees);
}
