//! Everything needed to repeat the run: plan, options, environment, configuration, tool.

use std::time::Duration;

use dyno_core::plan::OptionValue;
use dyno_core::record::{Profile, Setting, Source};
use dyno_core::text::shell_word;
use maud::html;

use super::blocks;
use super::markup::Text;
use super::page::Page;
use super::run::View;
use super::time::utc;
use crate::document::{self, Block, Table, Value};
use crate::number;
use crate::terminal::Ink;

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
    page.put(html! {
        div class="panel" {
            h3 { "Command line" }
            @if head.argv.is_empty() {
                p class="source" { "Not recorded." }
            } @else {
                pre { (Text(command(&head.argv))) }
            }
        }
        div class="pair" {
            div class="panel" { h3 { "Drive" } (blocks::of(drive(view))) }
            div class="panel" { h3 { "Tool" } (blocks::of(tool(view))) }
        }
    });
    options(page, view);
    page.end_section();
}

fn fact(name: &str, value: impl Into<String>) -> Block {
    Block::row(name, Ink::Plain, value)
}

fn drive(view: &View<'_>) -> Vec<Block> {
    let Some(drive) = &view.run.head.drive else {
        return vec![fact("load", "not recorded in the imported log")];
    };
    let seconds = |duration: Duration| number::length(duration.as_secs_f64());
    let no_limit = || "no limit".to_owned();
    let events = drive.events.map(number::thousands);
    let mut rows = vec![
        fact("load", document::load(drive, view.run.summary.as_ref())),
        fact("time", drive.time.map_or_else(no_limit, seconds)),
        fact("events", events.unwrap_or_else(no_limit)),
        fact("warm-up", seconds(drive.warmup)),
        fact("grace", seconds(drive.grace)),
    ];
    let limit = drive.latency_limit;
    rows.extend(limit.map(|limit| fact("latency limit", seconds(limit))));
    rows.push(fact("interval", seconds(drive.interval)));
    rows.push(fact("seed", drive.seed.to_string()));
    rows
}

fn tool(view: &View<'_>) -> Vec<Block> {
    let head = &view.run.head;
    let (workload, target) = (&head.workload, &head.target);
    let profile = match head.profile {
        Profile::Standard => "standard",
        Profile::Reference => "reference: bug-compatible with the tool being reproduced",
    };
    let created = match head.source {
        Source::Dyno => "prepared",
        _ => "imported",
    };
    let script = match head.script_sha256.as_str() {
        "" => "not recorded",
        script => script,
    };
    let mut rows = vec![
        fact("run", &*head.name),
        fact(created, utc(head.created_unix_s)),
        fact("tool", &*head.tool),
        fact("profile", profile),
    ];
    rows.extend(head.phase.iter().flat_map(document::phase));
    rows.extend([
        fact(
            "workload",
            format!("{} {}", workload.shown(), workload.command),
        ),
        fact("script, SHA-256", script),
        fact("target", &*target.url),
        fact(
            "server",
            format!("{} {}", target.product, target.version).trim(),
        ),
        fact(
            "connections",
            target.tls.as_deref().unwrap_or("in the clear"),
        ),
    ]);
    rows
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
    }
    let is_changed = |name: &String| workload.changed.contains(name);
    let table = Table::of(&workload.options)
        .text("option", 0, |(name, _)| {
            let ink = if is_changed(name) {
                Ink::Notable
            } else {
                Ink::Plain
            };
            (ink, Value::Code(name.clone()))
        })
        .text("value", 0, |(_, value)| option(value))
        .text("default", 0, |(name, _)| {
            let is_default = if is_changed(name) {
                "no: as given"
            } else {
                "yes"
            };
            (Ink::Faint, is_default.to_owned())
        })
        .source("");
    page.titled("Options of the workload", vec![Block::Table(table)]);
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
    } else {
        page.boxed([Block::Table(document::facts(facts))]);
        page.titled("Tables", vec![Block::Table(document::tables(facts))]);
    }
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
    let heads = html! {
        th scope="col" { "setting" }
        th scope="col" { "at the start" }
        th scope="col" { "at the end" }
    };
    let rows = html! {
        @for setting in settings {
            tr data-moved[has_moved(setting)] {
                td class="key" { (Text(&setting.name)) }
                td { (Text(setting.start.as_deref().unwrap_or("–"))) }
                td { (Text(at_the_end(setting))) }
            }
        }
    };
    page.put(html! {
        details class="panel" id=(id) open[moved > 0] {
            summary {
                (number::thousands(settings.len() as u64)) " settings, " (moved)
                " of which changed during the run"
            }
            div class="filter" data-filter=(id) {
                label {
                    "Filter " input type="search" placeholder="words of a name or value";
                }
                label { input type="checkbox"; " only changed" }
                output {}
            }
            div class="scroll bounded" tabindex="0" role="region"
                aria-label="Server configuration" {
                (blocks::bare("grid", Some(&heads), &rows))
            }
        }
        "\n"
    });
    page.end_section();
}

fn at_the_end(setting: &Setting) -> &str {
    match &setting.end {
        _ if !has_moved(setting) && setting.end.is_some() => "same",
        Some(end) => end,
        None => "not read again",
    }
}

fn has_moved(setting: &Setting) -> bool {
    setting.end.is_some() && setting.start != setting.end
}

fn gaps(page: &mut Page, view: &View<'_>) {
    let table = Table::of(&view.run.not_observed)
        .text("what", 0, |gap| Value::Code(gap.what.clone()))
        .text("reason and remedy", 0, |gap| gap.why.clone())
        .source("");
    let title = ("gaps", "What was not observed");
    let blocks = vec![Block::Table(table)];
    page.panel(view, title, blocks, "All requested observers answered.");
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
