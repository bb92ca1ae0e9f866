//! Exports runs for other programs and for readers.

use std::fs;

use dyno_tests::Kind;
use dyno_tests::schema::violations;

use crate::common::{Lab, SHORT, has, prepared};

#[test]
fn exports_a_run_in_every_format() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    lab.dyno(&format!("run oltp_point_select {target} {SHORT} -c 2 -q"))
        .success();
    let exported = lab.json("export");
    let faults = violations("export.json", &exported).unwrap();
    assert!(faults.is_empty(), "{faults:#?}");

    let lines = |format: &str| {
        lab.dyno(&format!("export 1 --format {format}"))
            .success()
            .stdout
    };
    let intervals = lab.number("SELECT count(*) FROM interval");
    assert_eq!(lines("csv").lines().count() as f64, intervals + 1.0);
    let samples = lab.number("SELECT count(*) FROM sample");
    assert!(lines("series").lines().count() as f64 > samples);
    assert!(lines("hlog").starts_with("#["), "{}", lines("hlog"));
    charts(&lab);

    lab.dyno("export last -o run.json").success();
    let first = fs::read_to_string(lab.path("run.json")).unwrap();
    assert!(first.starts_with('{'), "{first}");
    // Existing files are not replaced.
    let taken = lab.dyno("export last --format csv -o run.json").failure(1);
    has(&taken, &["run.json already exists", "--force"]);
    assert_eq!(fs::read_to_string(lab.path("run.json")).unwrap(), first);
    lab.dyno("export last --format csv -o run.json --force")
        .success();
    let second = fs::read_to_string(lab.path("run.json")).unwrap();
    assert_eq!(second, lines("csv"));
    for command in ["export 1", "report 1", "compare 1 1 --force --json"] {
        let flag = if command.ends_with("json") {
            "="
        } else {
            " -o "
        };
        let output = lab.dyno(&format!("{command}{flag}dyno.db"));
        has(&output.failure(1), &["dyno.db", "it is an SQLite database"]);
    }
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1.0);
    has(
        &lab.dyno("export --format xml").failure(2),
        &["not one of json, csv, series, hlog, openmetrics"],
    );
    has(&lab.dyno("export 7").failure(1), &["there is no run `7`"]);
}

/// Exports the charts of the first run as files, and lists their names.
fn charts(lab: &Lab) {
    let output = lab.dyno("export 1 --format svg --chart over-time");
    let chart = output.success().stdout;
    assert!(
        chart.starts_with("<svg ") && chart.ends_with("</svg>\n"),
        "{chart}"
    );
    for (chart, why) in [
        (
            "",
            "--format svg needs --chart NAME; run 1 has over-time, events, ",
        ),
        (
            " --chart heap",
            "--chart: run 1 has no chart 'heap'; it has over-time, events, ",
        ),
    ] {
        let output = lab.dyno(&format!("export 1 --format svg{chart}"));
        has(&output.failure(2), &[why, "percentiles, heat, "]);
    }
}

#[test]
fn reports_several_runs_on_one_page() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for note in ["base", "new"] {
        lab.dyno(&format!(
            "run oltp_point_select {target} {SHORT} -q --note {note}"
        ))
        .success();
    }
    let output = lab
        .dyno("report 1 2 -o page.html --title 'Old and new'")
        .success();
    has(&output, &["page.html: 2 runs"]);
    let taken = lab.dyno("report 1 -o page.html").failure(1);
    has(&taken, &["page.html already exists", "--force"]);
    let page = fs::read_to_string(lab.path("page.html")).unwrap();
    for line in lab.json("list runs --json").as_array().unwrap() {
        let name = line["name"].as_str().unwrap();
        assert!(page.contains(name), "{name}");
    }
    assert!(page.contains("Old and new"));
    has(
        &lab.dyno("report 1 -o no/such/page.html").failure(1),
        &["cannot write", "no/such/page.html"],
    );
    has(&lab.dyno("report 9").failure(1), &["there is no run `9`"]);
}

#[test]
fn exports_runs_comparisons_and_tables_as_markdown() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for memory in ["5G", "12G"] {
        lab.dyno(&format!(
            "run oltp_point_select {target} {SHORT} -q --factor memory={memory}"
        ))
        .success();
    }
    for (line, parts) in [
        (
            "report 1 --format markdown",
            &[
                "## oltp_point_select · SQLite ",
                "| tx/s | q/s | ",
                "### Settings",
                "| factors | memory=5G |",
            ][..],
        ),
        (
            "report 1 2 --format markdown",
            &[
                "| run | what differs | ",
                "| 2 | memory 12G | ",
                "### Comparison",
            ],
        ),
        (
            "compare 1 2 --format markdown --fail-if 'rate < 0.001x' --junit compare.xml",
            &["| figure | base | new | new/base | ", "rate \\< 0.001x: "],
        ),
        (
            "table --rows memory --format markdown",
            &["| memory | rate |", "| 12G | "],
        ),
    ] {
        let printed = lab.dyno(line).success().stdout;
        assert!(printed.starts_with("## "), "{line}: {printed}");
        for part in parts {
            assert!(printed.contains(part), "{line}: no '{part}' in {printed}");
        }
    }
    let file = fs::read_to_string(lab.path("compare.xml")).unwrap();
    for part in [
        "<testsuite name=\"comparison\" ",
        "<property name=\"new\" value=\"2\"/>",
        "name=\"rate &lt; 0.001x\"",
    ] {
        assert!(file.contains(part), "no '{part}' in {file}");
    }
    let output = lab
        .dyno("report 1 2 --format markdown -o runs.md")
        .success();
    has(&output, &["runs.md: 2 runs, ", " kB"]);
    for (line, why) in [
        ("report 1 --format pdf", "not one of html, markdown"),
        ("compare 1 2 --format html", "neither text nor markdown"),
        (
            "table --rows memory --csv --format markdown",
            "cannot be used together",
        ),
    ] {
        has(&lab.dyno(line).failure(2), &[why]);
    }
}

#[test]
fn runs_are_selected_by_their_factors() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for (memory, fs) in [("5G", "xfs"), ("12G", "xfs"), ("5G", "zfs"), ("12G", "zfs")] {
        lab.dyno(&format!(
            "run oltp_point_select {target} {SHORT} -q --factor memory={memory} --factor fs={fs}"
        ))
        .success();
    }
    let output = lab.dyno("show --where fs=xfs").success();
    has(&output, &["fs=xfs, memory=5G", "fs=xfs, memory=12G"]);
    assert!(!output.stdout.contains("zfs"), "{}", output.stdout);
    let output = lab.dyno("compare --where fs=xfs").success();
    has(&output, &["memory 12G", "memory 5G"]);
    // `export` takes exactly one run.
    has(&lab.dyno("export --where fs=xfs").failure(2), &["not 1, 2"]);
    has(
        &lab.dyno("export --where fs=ufs").failure(2),
        &["--where: fs has no level 'ufs'; it has xfs, zfs"],
    );
    has(
        &lab.dyno("export --where fs=xfs,memory=5G,fs=zfs")
            .failure(2),
        &["--where: fs has two levels, xfs and zfs"],
    );
    lab.dyno("export --where fs=xfs,memory=5G -o one.json")
        .success();
    has(
        &lab.dyno("report 1 --where fs=xfs").failure(2),
        &["give one of them"],
    );
    has(
        &lab.dyno("report 1 2 --columns fs").failure(2),
        &["--columns needs --rows"],
    );

    let page = |line: &str| {
        lab.dyno(&format!("{line} -o page.html --force")).success();
        fs::read_to_string(lab.path("page.html")).unwrap()
    };
    let selected = page("report --where fs=xfs");
    assert!(selected.contains("Against memory 5G") && !selected.contains("zfs"));
    // A table is printed on request, and by default if two factors vary.
    for line in ["report --rows memory --columns fs", "report 1 2 3 4"] {
        let page = page(line);
        assert!(page.contains("<section id=\"pivot\""), "{line}");
        assert!(page.contains("<p class=\"figure\">"), "{line}");
    }
    assert!(!page("report 1 2").contains("<section id=\"pivot\""));
    let sides = page("report 1,3 2,4");
    assert!(sides.contains("4 runs, 2 kinds"), "sides");
}
