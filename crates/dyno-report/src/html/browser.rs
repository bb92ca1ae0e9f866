//! Pages in Chromium: no errors, no requests, every chart drawn and reachable.

use std::fs;
use std::path::PathBuf;

use dyno_samples::full as samples;
use serde_json::{Value, json};

use super::hostile::{HOSTILE, hostile};
use super::tests::{SHORT, Several, bare, by_factors, page_of, several};
use chromium::Tab;

mod chromium;

/// Charts that paint no more than they would without data.
const EMPTY: &str = "(async () => {
    document.querySelectorAll('details:not(.data)').forEach((one) => one.setAttribute('open', ''));
    await new Promise((done) => setTimeout(done, 50));
    dynoReport.drawAll();
    const small = Object.assign(document.createElement('canvas'), { width: 400, height: 200 });
    const context = small.getContext('2d', { willReadFrequently: true });
    const painted = (place) => {
        context.clearRect(0, 0, 400, 200);
        place.querySelectorAll('canvas').forEach((c) => context.drawImage(c, 0, 0, 400, 200));
        const { data } = context.getImageData(0, 0, 400, 200);
        let sum = 0;
        for (let at = 3; at < data.length; at += 4) sum += data[at];
        return sum;
    };
    const empty = [];
    for (const { id, place, drawn } of dynoReport.charts.values()) {
        drawn.getZr().flush();
        const full = painted(place);
        drawn.setOption({ series: [] }, { replaceMerge: ['series'] });
        drawn.getZr().flush();
        if (full <= painted(place)) empty.push(id);
    }
    dynoReport.drawAll();
    return { empty, count: dynoReport.charts.size };
})()";

/// Draws everything, including folded runs.
const DRAWN: &str = "(async () => {
    document.querySelectorAll('details').forEach((details) => { details.open = true; });
    await new Promise((done) => setTimeout(done, 300));
    dynoReport.drawAll();
})()";

/// Elements that overflow the page horizontally.
const OVERFLOW: &str = "(() => {
    const wide = document.documentElement.clientWidth;
    return {
        over: document.documentElement.scrollWidth - wide,
        what: [...document.querySelectorAll('main *')]
            .filter((e) => e.getBoundingClientRect().right > wide + 1 && !e.closest('.scroll'))
            .slice(0, 5).map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`),
    };
})()";

/// A page opened in a separate tab.
fn opened(name: &str, page: &str, width: u32, dark: bool) -> (tempfile::TempDir, Tab) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{name}.html"));
    fs::write(&file, page).unwrap();
    keep(&format!("{name}.html"), page.as_bytes());
    let mut tab = Tab::new(folder.path());
    tab.look(width, 900, dark);
    tab.open(&file);
    (folder, tab)
}

/// Stores a test's output for inspection, if `DYNO_REPORT_LOOK` names a folder.
fn keep(name: &str, content: &[u8]) {
    if let Some(folder) = std::env::var_os("DYNO_REPORT_LOOK") {
        fs::write(PathBuf::from(folder).join(name), content).unwrap();
    }
}

/// No error, and no request except the page itself.
fn assert_quiet(tab: &mut Tab) {
    let (errors, requests) = tab.errors_and_requests();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("file://"), "{requests:?}");
}

fn assert_all_painted(tab: &mut Tab, least: u64) {
    let charts = tab.evaluate(EMPTY);
    assert!(charts["count"].as_u64().unwrap() >= least, "{charts}");
    assert_eq!(charts["empty"], json!([]));
}

fn assert_fits(tab: &mut Tab, width: u32) {
    let overflow = tab.evaluate(OVERFLOW);
    assert!(
        overflow["over"].as_i64().unwrap() <= 0,
        "{width}: {overflow}"
    );
    assert_eq!(overflow["what"], json!([]), "{width}");
}

#[test]
fn a_run_is_drawn_whole_and_asks_for_nothing() {
    let page = page_of(&[samples::run(SHORT)]);
    for (width, dark) in [(1280, false), (1280, true), (390, false)] {
        let name = format!("run-{width}-{}", if dark { "dark" } else { "light" });
        let (_folder, mut tab) = opened(&name, &page, width, dark);
        assert_all_painted(&mut tab, 20);
        assert_fits(&mut tab, width);
        keep(&format!("{name}.png"), &tab.picture());
        assert_quiet(&mut tab);
    }
}

#[test]
fn several_runs_are_drawn() {
    are_drawn("several", &several(), 1280, false);
}

#[test]
fn several_runs_are_drawn_on_a_narrow_page() {
    are_drawn("several", &several(), 390, false);
}

#[test]
fn runs_by_factors_are_drawn() {
    are_drawn("by-factors", &by_factors(), 800, true);
}

fn are_drawn(kind: &str, runs: &Several, width: u32, dark: bool) {
    let name = format!("{kind}-{width}");
    let (_folder, mut tab) = opened(&name, &runs.page(), width, dark);
    assert_all_painted(&mut tab, 60);
    assert_fits(&mut tab, width);
    keep(&format!("{name}.png"), &tab.picture());
    assert_quiet(&mut tab);
}

#[test]
fn hostile_text_does_nothing() {
    let hostile = hostile(HOSTILE);
    for width in [1280, 390] {
        let page = hostile.page();
        let (_folder, mut tab) = opened("hostile", &page, width, false);
        tab.evaluate(DRAWN);
        assert_eq!(tab.evaluate("document.images.length"), json!(0));
        assert_eq!(tab.evaluate("document.scripts.length"), json!(3));
        assert_fits(&mut tab, width);
        assert_quiet(&mut tab);
    }
}

#[test]
fn a_run_without_data_has_a_page() {
    let (_folder, mut tab) = opened("bare", &page_of(&[bare()]), 390, true);
    assert_fits(&mut tab, 390);
    assert_quiet(&mut tab);
}

#[test]
fn the_keyboard_reaches_everything() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_folder, mut tab) = opened("keyboard", &page, 1280, false);
    tab.key("Tab");
    let first = tab.evaluate("document.activeElement.className");
    assert_eq!(first, json!("skip"));
    let wanted = "[...document.querySelectorAll('a[href], button, select, input, summary, \
                  [tabindex=\"0\"]')].filter((e) => e.checkVisibility() && !e.disabled).length";
    let wanted = tab.evaluate(wanted).as_u64().unwrap();
    tab.evaluate("window.reached = new Set([document.activeElement])");
    for _ in 0..wanted + 20 {
        tab.key("Tab");
        tab.evaluate("void window.reached.add(document.activeElement)");
    }
    let missed = "[...document.querySelectorAll('a[href], button, select, input, summary, \
                  [tabindex=\"0\"]')].filter((e) => e.checkVisibility() && !reached.has(e)) \
                  .map((e) => e.outerHTML.slice(0, 80))";
    assert_eq!(tab.evaluate(missed), json!([]));
    // The table of a chart opens by key.
    tab.evaluate("document.querySelector('details.data > summary').focus()");
    tab.key("Enter");
    let rows = "new Promise((done) => setTimeout(() => \
                done(document.querySelectorAll('details.data tbody tr').length), 300))";
    assert_eq!(tab.evaluate(rows), json!(140));
    assert_quiet(&mut tab);
}

#[test]
fn the_controls_work() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_folder, mut tab) = opened("controls", &page, 1280, false);
    let clicked = |tab: &mut Tab, what: &str| {
        tab.evaluate(&format!("document.querySelector('{what}').click()"));
    };
    clicked(&mut tab, "#theme");
    assert_eq!(
        tab.evaluate("document.documentElement.dataset.theme"),
        json!("dark")
    );

    tab.evaluate(
        "(async () => {
            document.querySelectorAll('details:not(.data)').forEach((one) => { one.open = true; });
            await new Promise((done) => setTimeout(done, 50));
            dynoReport.drawAll();
        })()",
    );
    let axis = "dynoReport.charts.get('r1-distribution').drawn.getOption().xAxis[0].type";
    assert_eq!(tab.evaluate(axis), json!("log"));
    clicked(
        &mut tab,
        "[data-controls=r1-distribution] .switch button:last-of-type",
    );
    assert_eq!(tab.evaluate(axis), json!("value"));

    // All charts of a run follow the zoom of one.
    let zoom = "dynoReport.charts.get('r1-over-time').drawn.dispatchAction(\
                { type: 'dataZoom', start: 25, end: 50 })";
    tab.evaluate(zoom);
    let start = "dynoReport.charts.get('r1-cpu-states').drawn.getOption().dataZoom[0].start";
    assert_eq!(tab.evaluate(start), json!(25));
    clicked(&mut tab, "#reset-zoom");
    assert_eq!(tab.evaluate(start), json!(0));

    let lines = "dynoReport.charts.get('r1-picked').drawn.getOption().series.length";
    let before = tab.evaluate(lines).as_u64().unwrap();
    clicked(&mut tab, ".pick[aria-pressed=true]");
    assert_eq!(tab.evaluate(lines).as_u64().unwrap(), before - 1);

    let filter = "(() => {
        const field = document.querySelector('[data-filter=r1-settings] input');
        field.value = 'io_capacity';
        field.dispatchEvent(new Event('input'));
        return document.querySelectorAll('#r1-settings tbody tr:not([hidden])').length;
    })()";
    assert_eq!(tab.evaluate(filter), json!(1));
    assert_quiet(&mut tab);
}

#[test]
fn a_cross_hair_spans_all_charts_and_keys_move_it() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_folder, mut tab) = opened("cross", &page, 1280, false);
    tab.evaluate("dynoReport.drawAll()");
    let press = |tab: &mut Tab, key: &str| {
        tab.evaluate(&format!(
            "document.querySelector('[data-chart=r1-over-time]').dispatchEvent(\
             new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))"
        ))
    };
    press(&mut tab, "Home");
    press(&mut tab, "ArrowRight");
    let text = tab.evaluate("document.getElementById('said').textContent");
    let text = text.as_str().unwrap();
    assert!(
        text.contains("tx/s ") && text.contains("p95 latency "),
        "{text}"
    );
    let lines = "document.querySelectorAll('i.cross:not([hidden])').length";
    let shown = tab.evaluate(lines).as_u64().unwrap();
    assert!(shown > 10, "{shown}");
    // All point to the same time: the second interval of the warm-up.
    let at = "(() => {
        const { drawn, cross } = dynoReport.charts.get('r1-events');
        const x = parseFloat(cross.style.left);
        return Math.round(drawn.convertFromPixel({ xAxisIndex: 0 }, x));
    })()";
    let at = tab.evaluate(at).as_f64().unwrap();
    assert!((at + 18_500.0).abs() < 200.0, "{at}");
    press(&mut tab, "Escape");
    assert_eq!(tab.evaluate(lines), json!(0));
    assert_quiet(&mut tab);
}

#[test]
fn axes_have_steps_of_one_two_or_five() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_folder, mut tab) = opened("steps", &page, 1280, false);
    tab.evaluate("dynoReport.drawAll()");
    let steps = "[...dynoReport.charts.values()]
        .filter(({ drawn, spec }) => drawn && spec.kind === 'time')
        .flatMap(({ drawn, spec }) => drawn.getOption().yAxis.map((y, i) => [spec.axes[i], y]))
        .filter(([axis, y]) => y.interval && !axis.unit.startsWith('bytes'))
        .map(([, y]) => Number(y.interval.toExponential(6).split('e')[0]))";
    let steps = tab.evaluate(steps);
    let steps = steps.as_array().unwrap();
    assert!(steps.len() > 8, "{steps:?}");
    for step in steps {
        assert!(
            [1.0, 2.0, 5.0].contains(&step.as_f64().unwrap()),
            "{steps:?}"
        );
    }
    assert_quiet(&mut tab);
}

#[test]
fn paper_shows_every_chart_in_the_light() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_folder, mut tab) = opened("paper", &page, 1280, true);
    tab.evaluate(
        "window.addEventListener('beforeprint', () => { window.printed = \
         [...dynoReport.charts.values()].filter(({ drawn }) => drawn).length; })",
    );
    // Folded sections stay folded in print.
    let pdf = tab.pdf();
    assert!(pdf.starts_with(b"%PDF"));
    keep("paper.pdf", &pdf);
    let all = tab.evaluate(
        "[...dynoReport.charts.values()].filter(({ place }) => place.checkVisibility()).length",
    );
    assert!(all.as_u64().unwrap() > 15, "{all}");
    assert_eq!(tab.evaluate("window.printed"), all);
    // On the screen it is dark again.
    let axis = "dynoReport.charts.get('r1-over-time').drawn.getOption().legend[0].textStyle.color";
    assert_eq!(tab.evaluate(axis), Value::from("#e4e7ea"));
    assert_quiet(&mut tab);
}
