//! Everything needed to repeat the run: plan, options, environment, configuration, tool.

use dyno_core::plan::{Arrivals, Drive, OptionValue};
use dyno_core::record::{Profile, Setting, Source};
use dyno_core::tables::label_of;
use dyno_core::text::shell_word;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use super::tables;
use super::time::utc;
use crate::number;

/// Writes the sections on plan, environment, configuration and gaps.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    plan(page, view);
    environment(page, view);
    configuration(page, view);
    gaps(page, view);
}

fn plan(page: &mut Page, view: &View<'_>) {
    let head = &view.run.head;
    page.section(view, "plan", "Plan and tool");
    put!(page, "<div class=\"panel\"><h3>Command line</h3>");
    if head.argv.is_empty() {
        put!(page, "<p class=\"source\">Not recorded.</p>");
    } else {
        put!(page, "<pre>{}</pre>", Text(command(&head.argv)));
    }
    put!(
        page,
        "</div><div class=\"pair\"><div class=\"panel\"><h3>Drive</h3><dl class=\"facts\">"
    );
    match &head.drive {
        Some(drive) => drive_facts(page, drive, !view.agents().is_empty()),
        None => put!(
            page,
            "<dt>Drive</dt><dd>not recorded in the imported log</dd>"
        ),
    }
    put!(
        page,
        "</dl></div><div class=\"panel\"><h3>Tool</h3><dl class=\"facts\">"
    );
    let profile = match head.profile {
        Profile::Standard => "standard",
        Profile::Reference => "reference: bug-compatible with the tool being reproduced",
    };
    fact(page, "Run", &head.name);
    let created = match head.source {
        Source::Dyno => "Prepared",
        _ => "Imported",
    };
    fact(page, created, &utc(head.created_unix_s));
    fact(page, "Tool", &head.tool);
    fact(page, "Profile", profile);
    if let Some(phase) = &head.phase {
        let text = format!(
            "{}, {} of {} in {}",
            phase.name, phase.number, phase.of, phase.sequence
        );
        fact(page, "Phase", &text);
    }
    fact(
        page,
        "Workload",
        &format!("{} {}", head.workload.shown(), head.workload.command),
    );
    let script = if head.script_sha256.is_empty() {
        "not recorded"
    } else {
        &head.script_sha256
    };
    fact(page, "Script, SHA-256", script);
    fact(page, "Target", &head.target.url);
    fact(
        page,
        "Server",
        &format!("{} {}", head.target.product, head.target.version),
    );
    fact(
        page,
        "Connections",
        head.target.tls.as_deref().unwrap_or("in the clear"),
    );
    put!(page, "</dl></div></div>");
    options(page, view);
    page.end_section();
}

fn fact(page: &mut Page, name: &str, value: &str) {
    put!(page, "<dt>{}</dt><dd>{}</dd>", Text(name), Text(value));
}

fn drive_facts(page: &mut Page, drive: &Drive, agents: bool) {
    let seconds = |duration: std::time::Duration| number::length(duration.as_secs_f64());
    fact(page, "Sessions", &number::thousands(drive.sessions.into()));
    if let Some(shard) = &drive.shard {
        let text = format!("{} of {}", shard.number, shard.of);
        fact(page, "Load generator", &text);
    }
    if let Some(schedule) = drive.session_schedule() {
        fact(page, "Sessions over time", &schedule.to_string());
    }
    let workers = number::thousands(drive.workers.into());
    match agents {
        true => fact(
            page,
            "Workers, at most",
            &format!("{workers} of each load generator"),
        ),
        false => fact(page, "Workers", &workers),
    }
    fact(
        page,
        "Time",
        &drive.time.map_or("no limit".to_owned(), seconds),
    );
    fact(
        page,
        "Events",
        &drive
            .events
            .map_or("no limit".to_owned(), number::thousands),
    );
    fact(page, "Warm-up", &seconds(drive.warmup));
    fact(page, "Grace", &seconds(drive.grace));
    fact(page, "Ramp-up", &seconds(drive.ramp_up));
    let open = drive.open_loop.map(|open| {
        let spaced = match open.arrivals {
            Arrivals::Poisson => "exponential gaps (Poisson)",
            Arrivals::Constant => "equal gaps",
        };
        let rate = match drive.rate_schedule() {
            Some(schedule) => schedule.to_string(),
            None => figures::value(open.per_second, "count/s"),
        };
        format!("open, {rate}, {spaced}")
    });
    fact(page, "Loop", &open.unwrap_or_else(|| "closed".to_owned()));
    if let Some(limit) = drive.latency_limit {
        fact(page, "Latency limit", &seconds(limit));
    }
    fact(page, "Interval", &seconds(drive.interval));
    fact(page, "Seed", &drive.seed.to_string());
}

/// A command line quoted for a shell.
fn command(argv: &[String]) -> String {
    let words = argv.iter().map(|word| shell_word(word));
    words.collect::<Vec<_>>().join(" ")
}

fn options(page: &mut Page, view: &View<'_>) {
    let workload = &view.run.head.workload;
    if workload.options.is_empty() {
        page.nothing("No options of the workload are recorded.");
        return;
    }
    put!(
        page,
        "<div class=\"panel\"><h3>Options of the workload</h3>"
    );
    page.table(&["option", "value", "default"]);
    for (name, value) in &workload.options {
        let changed = workload.changed.contains(name);
        put!(
            page,
            "<tr{}><td class=\"key\">{}</td><td>{}</td><td class=\"why\">{}</td></tr>",
            if changed { " data-moved" } else { "" },
            Text(name),
            Text(option(value)),
            if changed { "no: as given" } else { "yes" }
        );
    }
    page.end_table();
    put!(page, "</div>\n");
}

fn option(value: &OptionValue) -> String {
    match value {
        OptionValue::List(texts) => texts.join(", "),
        other => other.to_string(),
    }
}

fn environment(page: &mut Page, view: &View<'_>) {
    page.section(view, "environment", "Environment");
    let facts = &view.run.facts;
    if facts.is_empty() {
        page.nothing("Nothing is recorded about the host, the server or the client.");
        page.end_section();
        return;
    }
    let id = view.id("facts");
    put!(page, "<div class=\"panel\" id=\"{id}\">");
    page.table(&["fact", "value", "source"]);
    // Tables have their own panel.
    for known in facts.iter().filter(|fact| label_of(&fact.name).is_none()) {
        let as_size = known
            .name
            .ends_with("memory.total")
            .then(|| known.value.parse::<f64>().ok())
            .flatten();
        let value = as_size.map_or(known.value.clone(), |size| figures::value(size, "bytes"));
        put!(
            page,
            "<tr><td class=\"key\">{}</td><td>{}</td><td class=\"why\">{}</td></tr>",
            Text(&known.name),
            Text(value),
            Text(&known.source)
        );
    }
    page.end_table();
    put!(page, "</div>\n");
    tables::write(page, view);
    page.end_section();
}

fn configuration(page: &mut Page, view: &View<'_>) {
    page.section(view, "configuration", "Server configuration");
    let settings = &view.run.settings;
    if settings.is_empty() {
        page.nothing(&match view.run.not_observed("settings") {
            Some(why) => format!("Not observed: {why}"),
            None => "The server's configuration is not recorded.".to_owned(),
        });
        page.end_section();
        return;
    }
    let id = view.id("settings");
    let moved = settings.iter().filter(|setting| has_moved(setting)).count();
    put!(
        page,
        "<details class=\"panel\" id=\"{id}\"{}><summary>{} settings, {moved} of which changed \
         during the run</summary><div class=\"filter\" data-filter=\"{id}\"><label>Filter <input \
         type=\"search\" placeholder=\"words of a name or value\"></label><label><input \
         type=\"checkbox\"> only changed</label><output></output></div><div class=\"scroll \
         bounded\" tabindex=\"0\" role=\"region\" aria-label=\"Server configuration\"><table \
         class=\"grid\"><thead><tr><th scope=\"col\">setting</th><th scope=\"col\">at the \
         start</th><th scope=\"col\">at the end</th></tr></thead><tbody>",
        if moved > 0 { " open" } else { "" },
        number::thousands(settings.len() as u64)
    );
    for setting in settings {
        let start = setting.start.as_deref().unwrap_or("–");
        let end = match &setting.end {
            _ if !has_moved(setting) && setting.end.is_some() => "same",
            Some(end) => end,
            None => "not read again",
        };
        put!(
            page,
            "<tr{}><td class=\"key\">{}</td><td>{}</td><td>{}</td></tr>",
            if has_moved(setting) {
                " data-moved"
            } else {
                ""
            },
            Text(&setting.name),
            Text(start),
            Text(end)
        );
    }
    page.end_table();
    put!(page, "</details>\n");
    page.end_section();
}

fn has_moved(setting: &Setting) -> bool {
    setting.end.is_some() && setting.start != setting.end
}

fn gaps(page: &mut Page, view: &View<'_>) {
    page.section(view, "gaps", "What was not observed");
    let gaps = &view.run.not_observed;
    if gaps.is_empty() {
        page.nothing("All requested observers answered.");
        page.end_section();
        return;
    }
    put!(page, "<div class=\"panel\">");
    page.table(&["what", "reason and remedy"]);
    for gap in gaps {
        put!(
            page,
            "<tr><td class=\"key\">{}</td><td>{}</td></tr>",
            Text(&gap.what),
            Text(&gap.why)
        );
    }
    page.end_table();
    put!(page, "</div>\n");
    page.end_section();
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn command_lines_can_be_pasted() {
        let argv = ["dyno", "run", "my load", "--note=it's", ""].map(str::to_owned);
        assert_eq!(command(&argv), "dyno run 'my load' '--note=it'\\''s' ''");
    }
}
