//! Pages of several runs.

use dyno_core::catalogue::names;
use dyno_core::duet::{DuetAnswer, DuetSummary};
use dyno_core::finding::{DurabilityClass, Verdict};
use dyno_core::record::RunRecord;
use dyno_samples::full::{self as samples, Shape};
use dyno_verdict::{CompareOptions, Comparison, Group, Layout, compare, level, pivot};

use super::{SHORT, data_of, page_of, text_of, written};
use crate::Pivot;
use crate::html::{ReportInput, refusals};

/// Runs with what commands derive from them.
pub(in crate::html) struct Several {
    pub(in crate::html) runs: Vec<RunRecord>,
    pub(in crate::html) sides: Vec<Vec<usize>>,
    pub(in crate::html) compared: Vec<Result<Comparison, String>>,
    pub(in crate::html) pivot: Option<Pivot>,
}

impl Several {
    fn of(runs: Vec<RunRecord>, sides: Vec<Vec<usize>>) -> Self {
        let options = CompareOptions::default();
        let of =
            |side: &Vec<usize>| -> Vec<&RunRecord> { side.iter().map(|run| &runs[*run]).collect() };
        let against = |side| compare(&of(&sides[0]), &of(side), &options);
        let compared = sides[1..]
            .iter()
            .map(|side| against(side).map_err(|e| e.to_string()));
        Self {
            compared: compared.collect(),
            runs,
            sides,
            pivot: None,
        }
    }

    fn input(&self) -> ReportInput<'_> {
        ReportInput {
            runs: &self.runs,
            costs: &[],
            sides: &self.sides,
            compared: &self.compared,
            pivot: self.pivot.as_ref(),
            experiment: None,
            generated_unix_s: 0.0,
            title: "",
        }
    }

    pub(in crate::html) fn page(&self) -> String {
        written(&self.runs, &self.sides, &self.compared, self.pivot.as_ref())
    }
}

fn run_of(id: i64, speed: f64, factors: &[(&str, &str)]) -> RunRecord {
    let mut run = samples::run(Shape {
        stream: id as u64,
        speed,
        ..SHORT
    });
    (run.id, run.head.name) = (id, format!("run-{id}"));
    let pairs = factors.iter();
    run.head.factors = pairs.map(|(n, l)| (n.to_string(), l.to_string())).collect();
    run
}

/// Three runs with different memory, compared.
pub(in crate::html) fn several() -> Several {
    let run = |id, speed, memory| run_of(id, speed, &[("memory", memory)]);
    let runs = vec![run(1, 1.0, "5G"), run(2, 0.77, "8G"), run(3, 1.1, "12G")];
    Several::of(runs, vec![vec![0], vec![1], vec![2]])
}

/// Twelve runs by two factors, two of each kind, as a table.
pub(in crate::html) fn by_factors() -> Several {
    let mut runs = Vec::new();
    for id in 0..12 {
        let memory = ["5G", "8G", "12G"][id % 3];
        let engine = ["innodb", "myrocks"][id / 3 % 2];
        let speed = [1.0, 1.4, 1.6][id % 3] * [1.0, 0.7][id / 3 % 2];
        runs.push(run_of(
            id as i64 + 1,
            speed,
            &[("memory", memory), ("engine", engine)],
        ));
    }
    let layout = Layout::of(&runs, level, "memory", Some("engine")).unwrap();
    let places: Vec<Vec<usize>> = layout.places.values().cloned().collect();
    let groups: Vec<Group<'_>> = (layout.places.iter())
        .map(|((row, column), places)| Group {
            row: *row,
            column: *column,
            runs: places.iter().map(|place| &runs[*place]).collect(),
        })
        .collect();
    let (cells, _) = pivot(
        &groups,
        "events",
        dyno_verdict::Base::Column(0),
        &CompareOptions::default(),
    )
    .unwrap();
    drop(groups);
    let mut all = Several::of(runs, places.clone());
    all.pivot = Some(Pivot {
        figure: "rate".to_owned(),
        unit: "per second".to_owned(),
        base: "engine=innodb".to_owned(),
        rows: layout.rows,
        columns: layout.columns,
        cells,
        runs: places,
        by_block: false,
        pooled: None,
    });
    all
}

/// Both sides of a duet, and its answer.
fn sides_of_a_duet() -> (Several, DuetSummary) {
    let mut found = dyno_samples::duet::duet(0.979, 0.972, 0.986, DuetAnswer::Different);
    found.sides[0].durability = Some(DurabilityClass::Durable);
    found.sides[1].durability = Some(DurabilityClass::Process);
    let answer = serde_json::to_string(&found).unwrap();
    let mut runs = vec![run_of(1, 1.0, &[]), run_of(2, 0.7, &[])];
    for run in &mut runs {
        dyno_samples::fact(run, names::DUET_ANSWER, &answer);
    }
    (Several::of(runs, vec![vec![0], vec![1]]), found)
}

#[test]
fn the_page_of_a_duet_has_its_answer() {
    const ANSWER: &str = "B is 2.1 % slower (1.4–2.8 %), 480 blocks in 4 min – valid";
    let (several, _) = sides_of_a_duet();
    let page = several.page();
    let text = text_of(&page);
    assert!(page.contains(&format!("<title>{ANSWER} – Dyno</title>")));
    assert!(text.contains(&format!("<h1 id=\"runs-h\">{ANSWER}</h1>")));
    for part in [
        "0.972 – 0.986",
        "50.0 ms each",
        "each commit durable → lost on process crash",
        "waited while the other worked",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // The ratio of the runs, 0.7, is no answer, and the JSON is not for readers.
    assert!(!text.contains("id=\"ratios\"") && !text.contains("schema_version"));
    let alone = page_of(&several.runs[..1]);
    assert!(text_of(&alone).contains(&format!("<p class=\"lead\">{ANSWER}</p>")));
}

#[test]
fn runs_of_different_duets_are_compared() {
    let (mut several, mut found) = sides_of_a_duet();
    found.name = "another".to_owned();
    let answer = serde_json::to_string(&found).unwrap();
    let facts = several.runs[1].facts.iter_mut();
    let mut facts = facts.filter(|fact| fact.name == names::DUET_ANSWER);
    facts.next().unwrap().value = answer;
    let page = several.page();
    assert!(text_of(&page).contains("id=\"ratios\""));
}

#[test]
fn several_runs_are_compared() {
    let several = several();
    let page = several.page();
    let (text, data) = (text_of(&page), data_of(&page));
    // The answer, with each run named by its difference.
    assert!(
        text.contains("<h1 id=\"runs-h\">Throughput from "),
        "{}",
        &text[..3_000]
    );
    for name in ["memory 5G", "memory 8G", "memory 12G", "Against memory 5G"] {
        assert!(text.contains(name), "{name}");
    }
    assert!(
        text.contains("memory 8G: 0.7"),
        "{}",
        text.split_once("Against memory 5G").unwrap().1
    );
    assert!(text.contains("factor memory"));
    assert_eq!(text.matches("<details class=\"run\"").count(), 3);
    let lines = |chart: &str| data["charts"][chart]["lines"].as_array().unwrap().clone();
    assert_eq!(lines("rate-overlay").len(), 3);
    assert_eq!(lines("rate-overlay")[1]["name"], "memory 8G");
    assert_eq!(lines("percentile-overlay").len(), 3);
    assert_eq!(lines("ecdf").len(), 3);
    // Overlaid lines begin with their measurements.
    let times = &data["times"][lines("rate-overlay")[0]["x"].as_u64().unwrap() as usize];
    assert_eq!(times[0], 500);
    // Memory is a number, so there is a curve over it with a point for each run.
    let over = lines("throughput-by");
    assert_eq!(
        (over.len(), over[0]["points"].as_array().unwrap().len()),
        (1, 6)
    );
    let groups = data["charts"]["seconds"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    assert_eq!(groups[0]["dots"].as_array().unwrap().len(), 120);
    assert_eq!(groups[2]["five"].as_array().unwrap().len(), 5);
}

#[test]
fn factors_are_rows_and_columns() {
    let several = by_factors();
    let page = several.page();
    let (text, data) = (text_of(&page), data_of(&page));
    let (_, table) = text.split_once("id=\"pivot\"").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    // Rows sorted by size, columns with their colours, two runs in each cell.
    let place = |what: &str| {
        table
            .find(what)
            .unwrap_or_else(|| panic!("{what}: {table}"))
    };
    assert!(place("scope=\"row\">5G<") < place("scope=\"row\">8G<"));
    assert!(place("scope=\"row\">8G<") < place("scope=\"row\">12G<"));
    assert!(place("engine innodb") < place("engine myrocks"));
    assert_eq!(table.matches("<p class=\"figure\">").count(), 6);
    assert_eq!(table.matches("class=\"ratio-of\">0.").count(), 3, "{table}");
    assert_eq!(table.matches("href=\"#r").count(), 12);
    assert!(table.contains("no stalls") && table.contains("varies by"));
    // The box plots are in the same order, under the level of their row.
    let groups = data["charts"]["seconds"]["groups"].as_array().unwrap();
    let headings: Vec<String> = groups
        .iter()
        .map(|group| format!("{} {}", group["heading"], group["name"]))
        .collect();
    assert_eq!(headings[1], "\"memory 5G\" \"engine myrocks\"");
    assert_eq!(headings[4], "\"memory 12G\" \"engine innodb\"");
    assert_eq!(groups[0]["dots"].as_array().unwrap().len(), 240);
    // A line for each engine over the memory.
    let lines = data["charts"]["throughput-by"]["lines"].as_array().unwrap();
    assert_eq!(lines[1]["name"], "engine myrocks");
}

#[test]
fn the_title_of_a_comparison_has_its_outcome_and_the_worst_verdict() {
    let two = |speed: f64, verdict: Verdict| {
        let mut runs = vec![run_of(1, 1.0, &[]), run_of(2, speed, &[])];
        runs[1].verdict = Some(verdict);
        Several::of(runs, vec![vec![0], vec![1]]).page()
    };
    let title = |page: &str| -> String {
        let (_, rest) = page.split_once("<title>").unwrap();
        rest.split_once(" – Dyno</title>").unwrap().0.to_owned()
    };
    let slower = two(0.77, Verdict::Doubtful);
    assert!(
        title(&slower).ends_with(" – slower, doubtful"),
        "{}",
        title(&slower)
    );
    let heading = format!("<h1 id=\"runs-h\">{}</h1>", title(&slower));
    assert!(slower.contains(&heading), "{heading}");
    let refused = title(&two(1.3, Verdict::Refused));
    assert!(refused.ends_with(" – faster, refused"), "{refused}");
    let three = title(&several().page());
    assert!(
        three.contains("1 slower") && three.ends_with("doubtful"),
        "{three}"
    );
}

/// The cells with figures of each side, by row of the first table.
fn figures_of(page: &str) -> Vec<Vec<String>> {
    let (_, table) = page.split_once("id=\"runs\"").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let rows = table.split("<tr>").skip(2);
    let cell = |text: &str| text.split('<').next().unwrap().to_owned();
    rows.map(|row| row.split("<td class=\"n\">").skip(1).map(cell).collect())
        .collect()
}

#[test]
fn runs_that_are_not_repetitions_have_no_common_figures() {
    let with = |id: i64, sessions: u32| {
        let mut run = run_of(id, 1.0, &[]);
        run.head.drive.as_mut().unwrap().sessions = sessions;
        run
    };
    let runs = vec![with(1, 8), with(2, 32), with(3, 8), with(4, 8)];
    let page = Several::of(runs, vec![vec![0, 1], vec![2, 3]]).page();
    assert!(page.contains("Cannot use run 1 (run-1) and run 2 (run-2) as repetitions"));
    // Mean, median, variation, p50 and p99.
    let figures = figures_of(&page);
    for cell in [0, 2, 3, 4, 5] {
        assert_eq!(figures[0][cell], "–", "{figures:?}");
        assert_ne!(figures[1][cell], "–", "{figures:?}");
    }
}

#[test]
fn a_refused_run_is_named_at_the_top() {
    let mut runs = vec![run_of(1, 1.0, &[]), run_of(2, 1.0, &[])];
    runs[1].verdict = Some(Verdict::Refused);
    let several = Several::of(runs, vec![vec![0], vec![1]]);
    let named = refusals(&several.input());
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].starts_with("runs-listed: ") && named[0].ends_with(" 2 was refused."));
    let banner = format!("<p class=\"banner\">{}</p>", named[0]);
    assert!(several.page().contains(&banner), "{banner}");
}

#[test]
fn a_page_of_many_long_runs_stays_small() {
    let hour = samples::run(Shape {
        seconds: 3_600,
        ..SHORT
    });
    let page = |count| super::page_of(&vec![hour.clone(); count]).len() as f64 / 1e6;
    let (one, six) = (page(1), page(6));
    assert!(six < 5.0 && six < one * 2.7, "{one} {six}");
}

#[test]
fn errors_of_logs_have_no_codes_and_may_be_unknown() {
    let run = |id: i64, errors: u64| {
        let number = id.to_string();
        let mut run = run_of(id, 1.0, &[("number", number.as_str())]);
        let summary = run.summary.as_mut().unwrap();
        summary.errors.clear();
        summary.totals.errors = errors;
        run
    };
    let mut unknown = run(2, 0);
    let gap = dyno_samples::values::gap("errors", "the log does not contain them");
    unknown.not_observed.push(gap);
    let page = Several::of(vec![run(1, 54_321), unknown], vec![vec![0], vec![1]]).page();
    let figures = figures_of(&page);
    let errors = figures.iter().map(|row| row[6].as_str());
    assert_eq!(errors.collect::<Vec<_>>(), ["54,321", "–"]);
}
