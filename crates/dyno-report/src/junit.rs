//! Checks and conditions as JUnit XML, which build servers show as tests.
//!
//! A refusal, a condition of `--fail-if` that holds and a run without a result fail; a check that
//! could not run is skipped. A doubt does not change Dyno's exit status, so its test case passes
//! and has the doubt as output.

use dyno_core::clock::civil;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_core::unknown::TOTALS_UNKNOWN;
use dyno_verdict::Comparison;

use crate::html::xml_text as text;

/// Text of an attribute: readers turn its line feeds and tabs into spaces unless they are escaped.
fn attribute(raw: &str) -> String {
    text(raw).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// The test cases of a run or a comparison.
#[derive(Clone, Debug)]
pub struct Suite {
    name: String,
    /// Distinguishes runs with the same name.
    number: String,
    seconds: f64,
    started_unix_s: Option<f64>,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

#[derive(Clone, Debug)]
struct Case {
    /// `run`, `checks` or `conditions`.
    group: &'static str,
    name: String,
    ended: Ended,
}

#[derive(Clone, Debug)]
enum Ended {
    /// With a text, which may be empty.
    Passed(String),
    /// With a reason.
    Skipped(String),
    /// A sentence, and details.
    Failed(String, String),
    /// There is no result.
    Error(String),
}

/// The test cases of a run: whether it has a result, its checks, and its conditions.
pub fn of_run(run: &RunSummary) -> Suite {
    let mut name = run.workload.shown().to_owned();
    if let Some(phase) = &run.phase {
        name += &format!(", {}", phase.name);
    }
    let target = &run.target;
    let server = format!("{} {}", target.product, target.version);
    let mut properties = vec![
        ("tool", run.tool.clone()),
        ("target", target.url.clone()),
        ("server", server.trim().to_owned()),
        ("note", run.note.clone()),
    ];
    let mut number = String::new();
    if let Some(kept) = &run.recorded {
        number = format!("run {}", kept.id);
        properties.push(("run", kept.name.clone()));
        properties.push(("results", kept.file.clone()));
    }
    if let Some(verdict) = run.verdict {
        properties.push(("verdict", verdict.word().to_owned()));
    }
    let mut suite = Suite {
        name,
        number,
        seconds: run.measured_s,
        started_unix_s: run.started_unix_s,
        properties,
        cases: vec![Case {
            group: "run",
            name: "completed".to_owned(),
            ended: ended(run),
        }],
    };
    suite.cases.extend(run.findings.iter().map(check));
    for held in &run.thresholds {
        suite.condition(&held.condition, Some(held.failed), &held.line());
    }
    suite
}

/// A suite for a command without a result, with the reason: a build server must not use an earlier
/// file.
pub fn without_result(name: &str, why: &str) -> Suite {
    Suite {
        name: name.to_owned(),
        number: String::new(),
        seconds: 0.0,
        started_unix_s: None,
        properties: Vec::new(),
        cases: vec![Case {
            group: "run",
            name: "completed".to_owned(),
            ended: Ended::Error(why.to_owned()),
        }],
    }
}

/// The test cases of a comparison: its checks. [`Suite::condition`] adds the conditions.
pub fn of_comparison(compared: &Comparison) -> Suite {
    let numbers = |side: &dyno_verdict::Side| {
        let runs: Vec<String> = side.runs.iter().map(|run| run.id.to_string()).collect();
        runs.join(",")
    };
    let (base, new) = (numbers(&compared.base), numbers(&compared.new));
    let answer = crate::terminal::answer(compared);
    Suite {
        name: "comparison".to_owned(),
        number: format!("{base} and {new}"),
        seconds: 0.0,
        started_unix_s: None,
        properties: vec![("base", base), ("new", new), ("answer", answer)],
        cases: compared.findings.iter().map(check).collect(),
    }
}

impl Suite {
    /// Adds a condition of `--fail-if`; `failed` is `None` if it could not be decided.
    pub fn condition(&mut self, condition: &str, failed: Option<bool>, detail: &str) {
        let detail = detail.to_owned();
        self.cases.push(Case {
            group: "conditions",
            name: condition.to_owned(),
            ended: match failed {
                None => Ended::Skipped(detail),
                Some(false) => Ended::Passed(detail),
                Some(true) => Ended::Failed(detail, String::new()),
            },
        });
    }

    /// Adds an error that came after the end of the run.
    pub fn errors(&mut self, errors: impl IntoIterator<Item = Option<String>>) {
        let case = |why: String| Case {
            group: "run",
            name: "without errors".to_owned(),
            ended: Ended::Error(why),
        };
        self.cases.extend(errors.into_iter().flatten().map(case));
    }
}

/// Whether a run has a result; without one `dyno run` exits with status 1 or 130.
fn ended(run: &RunSummary) -> Ended {
    let measured = run
        .totals
        .events
        .saturating_sub(run.events_in_grace.unwrap_or(0));
    let is_known = !run
        .not_observed
        .iter()
        .any(|gap| gap.what == TOTALS_UNKNOWN);
    match &run.end {
        RunEnd::Failed(why) => Ended::Error(why.clone()),
        RunEnd::Interrupted => Ended::Error("The run was stopped early.".to_owned()),
        RunEnd::Completed if measured == 0 && is_known => {
            Ended::Error("No event ended in the measurement.".to_owned())
        }
        RunEnd::Completed => Ended::Passed(String::new()),
    }
}

fn check(finding: &Finding) -> Case {
    let evidence = finding.evidence.clone();
    let mut rest = format!("Rule: {}", finding.rule);
    if !finding.advice.is_empty() {
        rest += &format!("\nTry: {}", finding.advice);
    }
    let ended = match (finding.outcome, &finding.waived) {
        (Outcome::Pass, _) => Ended::Passed(evidence),
        (Outcome::NotChecked, _) => Ended::Skipped(evidence),
        (_, Some(reason)) => Ended::Passed(format!("Waived: {reason}\n{evidence}\n{rest}")),
        (Outcome::Doubt, None) => Ended::Passed(format!("Doubt: {evidence}\n{rest}")),
        (Outcome::Refuse, None) => Ended::Failed(evidence, rest),
    };
    Case {
        group: "checks",
        name: finding.check.clone(),
        ended,
    }
}

/// The file.
pub fn xml(suites: &[Suite]) -> String {
    let all = suites.iter().flat_map(|suite| &suite.cases);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dyno\" {}>\n",
        counts(all)
    );
    for suite in suites {
        let alike = suites.iter().filter(|other| other.name == suite.name);
        let name = match alike.count() > 1 {
            true => format!("{}, {}", suite.name, suite.number),
            false => suite.name.clone(),
        };
        out += &written(suite, &name);
    }
    out + "</testsuites>\n"
}

fn written(suite: &Suite, name: &str) -> String {
    let name = attribute(name);
    let started = suite.started_unix_s.map_or_else(String::new, |unix_s| {
        civil(unix_s, " timestamp=\"%Y-%m-%dT%H:%M:%S\"")
    });
    let mut out = format!(
        "<testsuite name=\"{name}\" {} time=\"{:.3}\"{started}>\n<properties>\n",
        counts(suite.cases.iter()),
        suite.seconds,
    );
    let properties = suite.properties.iter();
    for (key, value) in properties.filter(|(_, value)| !value.is_empty()) {
        let value = attribute(value);
        out += &format!("<property name=\"{key}\" value=\"{value}\"/>\n");
    }
    out += "</properties>\n";
    for case in &suite.cases {
        let head = format!(
            "<testcase classname=\"{name}.{}\" name=\"{}\"",
            case.group,
            attribute(&case.name)
        );
        out += &head;
        out += &match &case.ended {
            Ended::Passed(detail) if detail.is_empty() => "/>\n".to_owned(),
            Ended::Passed(detail) => {
                format!("><system-out>{}</system-out></testcase>\n", text(detail))
            }
            Ended::Skipped(why) => {
                format!("><skipped message=\"{}\"/></testcase>\n", attribute(why))
            }
            Ended::Failed(why, rest) => {
                let (message, why, rest) = (attribute(why), text(why), text(rest));
                format!("><failure message=\"{message}\">{why}\n{rest}</failure></testcase>\n")
            }
            Ended::Error(why) => format!("><error message=\"{}\"/></testcase>\n", attribute(why)),
        };
    }
    out + "</testsuite>\n"
}

/// The attributes that count cases.
fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut all, mut failed, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        all += 1;
        match case.ended {
            Ended::Passed(_) => {}
            Ended::Skipped(_) => skipped += 1,
            Ended::Failed(..) => failed += 1,
            Ended::Error(_) => errors += 1,
        }
    }
    format!("tests=\"{all}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::summaries as samples;

    #[test]
    fn every_check_and_every_condition_is_a_test_case() {
        for run in samples::all() {
            let file = xml(&[of_run(&run)]);
            let cases = 1 + run.findings.len() + run.thresholds.len();
            assert_eq!(file.matches("<testcase ").count(), cases, "{file}");
            assert!(file.contains(&format!("tests=\"{cases}\"")), "{file}");
            for finding in &run.findings {
                let head = format!(".checks\" name=\"{}\">", finding.check);
                let (_, rest) = file.split_once(&head).unwrap();
                let (case, _) = rest.split_once("</testcase>").unwrap();
                assert!(case.contains(&text(&finding.evidence)), "{case}");
                let expected = match (finding.outcome, &finding.waived) {
                    (Outcome::Refuse, None) => "<failure message=",
                    (Outcome::NotChecked, _) => "<skipped message=",
                    _ => "<system-out>",
                };
                assert!(case.starts_with(expected), "{case}");
            }
        }
    }

    #[test]
    fn findings_that_change_the_exit_status_are_failures() {
        let file = xml(&[of_run(&samples::overloaded())]);
        // The refusal and two conditions; the waived doubt does not count.
        assert!(
            file.contains("failures=\"3\" errors=\"0\" skipped=\"0\""),
            "{file}"
        );
        let condition = ".conditions\" name=\"p99.9 &gt; 2s\"><failure message=";
        assert!(file.contains(condition), "{file}");
        assert!(file.contains("<system-out>Waived: a known ramp"), "{file}");
        for (run, why) in [
            (samples::few(), "<error message=\"session 0: near line 12"),
            (
                samples::interrupted(),
                "<error message=\"The run was stopped early.\"/>",
            ),
        ] {
            let file = xml(&[of_run(&run)]);
            assert!(file.contains(why), "{file}");
            assert!(file.contains("errors=\"1\""), "{file}");
        }
    }

    #[test]
    fn text_cannot_end_an_element_or_an_attribute() {
        let mut run = samples::overloaded();
        let hostile = "a & b < c > \"d\" ]]> </failure>\u{1b}\u{ffff}\u{0}";
        (run.note, run.findings[0].evidence) = (hostile.to_owned(), hostile.to_owned());
        (run.findings[0].advice, run.workload.name) = (hostile.to_owned(), hostile.to_owned());
        let file = xml(&[of_run(&run)]);
        let escaped =
            "a &amp; b &lt; c &gt; &quot;d&quot; ]]&gt; &lt;/failure&gt;\\x1b\u{fffd}\\x00";
        assert!(
            file.contains(&format!("<failure message=\"{escaped}\">{escaped}\n")),
            "{file}"
        );
        assert!(
            file.contains(&format!("<testsuite name=\"{escaped}\"")),
            "{file}"
        );
        for forbidden in ['\u{1b}', '\u{0}', '\u{ffff}'] {
            assert!(!file.contains(forbidden), "{file}");
        }
    }

    #[test]
    fn attributes_keep_their_line_feeds() {
        let mut run = samples::overloaded();
        run.findings[0].evidence = "first\nsecond\tthird".to_owned();
        let file = xml(&[of_run(&run)]);
        let expected = "<failure message=\"first&#10;second&#9;third\">first\nsecond\tthird\n";
        assert!(file.contains(expected), "{file}");
    }

    #[test]
    fn runs_with_the_same_name_have_numbers() {
        let mut runs = [samples::good(), samples::good()];
        runs[1].recorded.as_mut().unwrap().id = 13;
        runs[1].started_unix_s = Some(1_795_266_134.0);
        let file = xml(&runs.each_ref().map(of_run));
        for part in [
            "<testsuite name=\"oltp_read_write, run 12\"",
            "<testsuite name=\"oltp_read_write, run 13\"",
            " time=\"30.000\" timestamp=\"2026-11-21T13:02:14\">",
            "<property name=\"verdict\" value=\"valid\"/>",
        ] {
            assert!(file.contains(part), "no '{part}' in {file}");
        }
        let one = xml(&[of_run(&runs[0])]);
        assert!(
            one.contains("<testsuite name=\"oltp_read_write\" "),
            "{one}"
        );
    }

    #[test]
    fn conditions_of_a_comparison_may_be_undecided() {
        let compared = crate::terminal::sample_comparison();
        let mut suite = of_comparison(&compared);
        suite.condition("rate < 0.95x", Some(true), "rate < 0.95x: 0.9x");
        suite.condition("p99 > 1.1x", None, "p99 > 1.1x: 1.0x");
        let file = xml(&[suite]);
        for part in [
            "name=\"rate &lt; 0.95x\"><failure message=",
            "name=\"p99 &gt; 1.1x\"><skipped message=",
            "<property name=\"base\" value=\"3\"/>",
        ] {
            assert!(file.contains(part), "no '{part}' in {file}");
        }
        let checks = compared.findings.len() + 2;
        assert_eq!(file.matches("<testcase ").count(), checks, "{file}");
    }
}
