//! An experiment without a file: `dyno lab --vary sync_binlog=0,1,1000 oltp_write_only`.

use std::fmt::Write as _;

use anyhow::Result;
use dyno_host::Edition;
use dyno_run::{Job, Loaded, Workload};
use dyno_script::ScriptOption;

use crate::commands::target::named;
use crate::options::Parsed;
use crate::settings::usage;

/// Factors of the load.
const OF_LOAD: [&str; 2] = ["sessions", "rate"];

/// Builds the text of an experiment file from the options.
///
/// # Errors
/// Missing or invalid options.
pub(super) fn file(parsed: &Parsed, words: &[String]) -> Result<String> {
    let [workload] = words else {
        return Err(usage(
            "--vary needs one workload, e.g. dyno lab --vary sync_binlog=0,1 oltp_write_only",
        ));
    };
    let found = Workload::find(workload, Edition::Dyno).map_err(|e| usage(e.to_string()))?;
    // The workload's option of that name: only a file has scales.
    if parsed.has("scale") && !parsed.script.iter().any(|(name, _)| name == "scale") {
        return Err(usage(format!(
            "--scale chooses a part of an experiment's file, and {workload} has no option of that \
             name; see `dyno help {workload}`"
        )));
    }
    let mut text = "experiment = 1\n".to_owned();
    let factors: Vec<(&str, Vec<&str>)> =
        parsed.values("vary").map(factor).collect::<Result<_>>()?;
    let names: Vec<&str> = factors.iter().map(|(name, _)| *name).collect();
    let verb = if names.len() == 1 { "does" } else { "do" };
    let question = format!("How {verb} {} affect {workload}?", names.join(" and "));
    put(&mut text, "question", &question);
    let is_of_host = found.test().is_some();
    if !is_of_host {
        text += &server(parsed)?;
    }
    let options: Vec<(String, &str)> = parsed
        .script
        .iter()
        .map(|(name, value)| (name.replace('-', "_"), value.as_deref().unwrap_or("on")))
        .collect();
    let declared = declared(found)?;
    let written = |text: &mut String| {
        for (name, value) in &options {
            let _ = writeln!(text, "options.{} = {}", quoted(name), scalar(value));
        }
    };
    text += "[data]\n";
    put(&mut text, "workload", workload);
    written(&mut text);
    text += "[load]\n";
    put(&mut text, "workload", workload);
    for (name, usual) in [
        ("sessions", Some("8")),
        ("rate", None),
        ("time", Some("30s")),
        ("warmup", Some("5s")),
    ] {
        if let Some(value) = parsed.value(name).or(usual) {
            let _ = writeln!(text, "{name} = {}", scalar(value));
        }
    }
    let of_host = is_of_host.then_some(workload);
    for (name, levels) in &factors {
        text += &as_factor(parsed, (name, levels), &declared, of_host)?;
    }
    let level =
        |(name, levels): &(&str, Vec<&str>)| format!("{} = {}", quoted(name), scalar(levels[0]));
    let base: Vec<String> = factors.iter().map(level).collect();
    let repeats = parsed.value("repeats").unwrap_or("3");
    let _ = write!(
        text,
        "[design]\nrepeats = {repeats}\nbaseline = {{ {} }}\n",
        base.join(", ")
    );
    if !is_of_host && url(parsed).is_none() {
        text += "[reset]\ndata = \"restore\"\n";
    }
    Ok(text)
}

/// A factor in the file's form. `of_host` is the workload's name if it is a test of the host.
fn as_factor(
    parsed: &Parsed,
    (name, levels): (&str, &[&str]),
    declared: &[String],
    of_host: Option<&String>,
) -> Result<String> {
    let levels: Vec<String> = levels.iter().map(|level| scalar(level)).collect();
    let key = name.replace('-', "_");
    let applies = match of_host {
        _ if OF_LOAD.contains(&name) => "client",
        _ if declared.contains(&key) => "load",
        Some(workload) => {
            return Err(usage(format!(
                "--vary: {workload} has no option '{name}'; `dyno help {workload}` lists its \
                 options"
            )));
        }
        None if url(parsed).is_some() => "online",
        None if dyno_server::is_of_data(&key) => "load",
        None => "start",
    };
    let mut text = "[[factor]]\n".to_owned();
    put(&mut text, "name", name);
    put(&mut text, "applies", applies);
    if matches!(applies, "start" | "online") || dyno_server::is_of_data(&key) {
        put(&mut text, "setting", &key);
    }
    let _ = writeln!(text, "levels = [{}]", levels.join(", "));
    Ok(text)
}

/// The running server to use, if one is named. `--server` asks for another one, whatever the
/// environment says.
fn url(parsed: &Parsed) -> Option<String> {
    match parsed.has("server") {
        true => parsed.value("target").map(str::to_owned),
        false => named(parsed),
    }
}

fn server(parsed: &Parsed) -> Result<String> {
    let mut text = "[server]\n".to_owned();
    match (url(parsed), parsed.value("server")) {
        (Some(_), Some(_)) => return Err(usage("--target and --server: give one of them")),
        (Some(url), None) => put(&mut text, "url", &url),
        (None, Some(kind)) => put(&mut text, "kind", kind),
        (None, None) => match dyno_server::installed().first() {
            Some(found) => put(&mut text, "kind", found.product.name()),
            None => {
                return Err(usage(
                    "no database server is installed here: install MariaDB, MySQL or PostgreSQL, \
                     name its folder in $DYNO_SERVER_PATH, or use a running one with --target URL",
                ));
            }
        },
    }
    for setting in parsed.values("set") {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(usage(format!("--set: '{setting}' is not NAME=VALUE")));
        };
        let _ = writeln!(
            text,
            "set.{} = {}",
            quoted(name.trim()),
            scalar(value.trim())
        );
    }
    Ok(text)
}

/// Splits a factor and its levels.
fn factor(text: &str) -> Result<(&str, Vec<&str>)> {
    let wrong = || {
        usage(format!(
            "--vary: '{text}' is not NAME=A,B,…, e.g. --vary sync_binlog=0,1,1000"
        ))
    };
    let (name, levels) = text.split_once('=').ok_or_else(wrong)?;
    let levels: Vec<&str> = levels.split(',').map(str::trim).collect();
    match name.trim().is_empty() || levels.iter().any(|level| level.is_empty()) {
        true => Err(wrong()),
        false => Ok((name.trim(), levels)),
    }
}

/// The options of the workload of this name; `None` if it is unknown or declares none.
pub(super) fn options_of(name: &str) -> Option<Vec<ScriptOption>> {
    let work = Workload::find(name, Edition::Dyno).ok()?;
    Loaded::new(Job::of(work)).ok()?.description.options
}

/// The names of a workload's options.
fn declared(work: Workload) -> Result<Vec<String>> {
    let options = Loaded::new(Job::of(work))?.description.options;
    let options = options.unwrap_or_default();
    Ok(options.iter().map(|option| option.key()).collect())
}

fn put(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name} = {}", quoted(value));
}

/// A TOML string; JSON strings are valid TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A TOML value: numbers as they are, anything else as a string.
fn scalar(text: &str) -> String {
    let is_number = text
        .parse::<i64>()
        .is_ok_and(|number| number.to_string() == text)
        || text.contains('.') && text.parse::<f64>().is_ok_and(|n| n.to_string() == text);
    match is_number {
        true => text.to_owned(),
        false => quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use dyno_lab::Experiment;

    use super::*;
    use crate::definitions::LAB;
    use crate::options::{Grammar, Script, parse};

    fn written(line: &str) -> Result<String> {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let parsed = parse(&args, LAB, Script::TakesAny, Grammar::Dyno)?;
        let words = parsed.words.clone();
        file(&parsed, &words)
    }

    #[test]
    fn vary_options_become_an_experiment() {
        let text = written(
            "--vary sync_binlog=0,1,1000 --vary sessions=4,8 --vary tables=1,2 oltp_write_only \
             --server mysql --set innodb_buffer_pool_size=64M --table-size=1000 -t 9s",
        )
        .unwrap();
        let experiment = Experiment::parse("--vary", &text, None).unwrap();
        let cells = experiment.cells();
        assert_eq!(cells.len(), 12);
        let last = &cells[11].effective;
        let shown = |values: &dyno_lab::file::Values| {
            let pairs = values.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown(&last.server.set),
            "innodb_buffer_pool_size=64M sync_binlog=1000"
        );
        assert_eq!(shown(&last.data.options), "table_size=1000 tables=2");
        assert_eq!(last.load.sessions, Some(8));
    }

    #[test]
    fn scale_is_the_workloads_option() {
        let line = "--vary fillfactor=90,100 tpcb --scale 10 --server postgresql";
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let parsed = super::super::parsed(&args).unwrap();
        let text = file(&parsed, &parsed.words).unwrap();
        let experiment = Experiment::parse("--vary", &text, None).unwrap();
        let cells = experiment.cells();
        let data = &cells[0].effective.data.options;
        assert_eq!(data["scale"].to_string(), "10");
        assert_eq!(super::super::options(&parsed), "");
    }

    #[test]
    fn reports_slips() {
        for (line, why) in [
            ("--vary sync_binlog oltp_read_write", "is not NAME=A,B"),
            ("--vary sync_binlog=1,,2 oltp_read_write", "is not NAME=A,B"),
            ("--vary sync_binlog=1,2", "needs one workload"),
            ("--vary sync_binlog=1,2 oltp_raed", "there is no workload"),
            ("--vary a=1 cpu", "has no option 'a'"),
            (
                "--vary a=1 oltp_read_write --target x --server y",
                "give one of them",
            ),
            (
                "--vary a=1 oltp_read_write --scale laptop",
                "oltp_read_write has no option of that name",
            ),
        ] {
            let error = written(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
