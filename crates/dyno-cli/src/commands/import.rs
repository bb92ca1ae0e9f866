//! `dyno import`: import other tools' logs as runs.

mod folder;
mod options;
mod store;
mod text;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use dyno_core::catalogue::names;
use dyno_core::factors::Factors;
use dyno_core::text::number_of;
use dyno_import::{ImportError, Imported, Log, Looks, Monitor, Options, Pattern, Tool};
use dyno_report::terminal::runs as table;
use dyno_results::{Filter, Results, ResultsError};

use self::folder::{EXTRA_FILES, FolderLog};
use self::store::{Shelf, StoreOutcome, Words};
use self::text::Text;
use super::{runs, show};
use crate::definitions::IMPORT;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::output::Output;
use crate::record_options::factors;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_FAILED, console, run_store, window};

const USAGE: &str = "Usage: dyno import TOOL FILE… [--vmstat FILE] [--iostat FILE]\n       \
                     dyno import TOOL FOLDER [--pattern '…/{fs}/BP{memory}/res.txt']";

/// Options that apply to a single log.
const OF_ONE: [&str; 6] = ["vmstat", "iostat", "mpstat", "sar", "config", "started"];

/// Imports logs.
///
/// # Errors
/// A log cannot be read or has no data of the tool, or the results file cannot be written. Runs
/// imported before an error remain.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(&args[2..], IMPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "{USAGE}\n\n\
             Import results of other tools, and judge them by the same rules. TOOL is one of\n\
             \x20 sysbench  reports, interval lines, histograms, CSV; also of sysbench-tpcc\n\
             \x20 pgbench   reports, lines of --progress, files of --log\n\
             \x20 fio       --output-format=json or json+\n\
             \x20 hammerdb  the log of a timed TPROC-C run, its transaction counter, its time \
             profile\n\
             Several runs in one file become several runs. Columns of vmstat, iostat, mpstat and \
             sar are found by name. Files may be compressed with gzip or xz; - is standard input. \
             In a folder, all logs are imported, each with the files next to it: *.cnf, and files \
             named vmstat, iostat, mpstat or sar.\n\
             {}",
            help(IMPORT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let (tool, files) = tool(&parsed.words)?;
    let options = options::options(&parsed)?;
    let words = Words {
        factors: factors(&parsed)?,
        note: parsed.value("note").unwrap_or_default().to_owned(),
        window: options::window(&parsed)?,
        workload: options::name(&parsed, "workload")?,
        server: options::name(&parsed, "server")?,
        ..Words::default()
    };
    let pattern = parsed.value("pattern").map(Pattern::parse).transpose();
    let pattern = pattern.map_err(|why| usage(format!("--pattern: {why}")))?;
    match files {
        [folder] if std::path::Path::new(folder).is_dir() => {
            // Paths below it are printed with one slash.
            let folder = match folder.trim_end_matches('/') {
                "" => "/",
                folder => folder,
            };
            of_folder(&parsed, (tool, folder), pattern.as_ref(), &options, &words)
        }
        _ if pattern.is_some() => Err(usage("--pattern needs one folder instead of files")),
        _ => of_files(&parsed, tool, files, &options, words),
    }
}

/// The tool, and the names of its logs.
fn tool(words: &[String]) -> Result<(Tool, &[String])> {
    let names = Tool::ALL.map(Tool::name).join(", ");
    let Some((word, files)) = words.split_first() else {
        return Err(usage(format!(
            "dyno import needs a TOOL, one of {names}\n{USAGE}"
        )));
    };
    let Some(tool) = Tool::named(word) else {
        let looks = std::path::Path::new(word)
            .is_file()
            .then(|| Text::head(word));
        let looks = looks.and_then(Result::ok).and_then(|text| Looks::of(&text));
        let of_tool = |looks| Tool::ALL.into_iter().find(|tool| tool.looks() == looks);
        let what = match looks.map(|looks| (looks, of_tool(looks))) {
            Some((looks, Some(tool))) => {
                let tool = tool.name();
                format!("{word} looks like {looks}: dyno import {tool} {word}")
            }
            Some((looks, None)) => format!(
                "{word} looks like {looks}, which is not a benchmark; tools whose logs can be \
                 imported are {names}"
            ),
            None if std::path::Path::new(word).is_dir() => format!(
                "'{word}' is a folder: name the tool of its logs first, e.g. `dyno import sysbench \
                 {word}`; tools are {names}"
            ),
            None => format!("'{word}' is not one of the tools whose logs can be imported: {names}"),
        };
        return Err(usage(what));
    };
    if files.is_empty() {
        return Err(usage(format!("no file to import was named\n{USAGE}")));
    }
    Ok((tool, files))
}

/// Reads logs with the system logs taken during the run.
fn read(
    tool: Tool,
    logs: &[Text],
    beside: &BTreeMap<&'static str, Text>,
    options: &Options,
    words: &mut Words,
) -> Result<Imported> {
    let logs: Vec<Log<'_>> = logs.iter().map(Text::log).collect();
    let log = |name: &str| beside.get(name).map(Text::log);
    let host = Monitor::ALL.into_iter();
    let host = host.filter_map(|monitor| Some((monitor, log(monitor.name())?)));
    let host: Vec<(Monitor, Log<'_>)> = host.collect();
    let mut imported = dyno_import::import(tool, &logs, &host, options)?;
    words.configured.clear();
    if let Some(log) = log("config") {
        let (facts, warnings) = dyno_import::configured(&log);
        words.configured = facts;
        imported.warnings.extend(warnings);
    }
    for run in &mut imported.runs {
        words.give(run);
    }
    if let Some(window) = words.window {
        let runs = std::mem::take(&mut imported.runs);
        let parts = runs.into_iter().map(|run| window::part(run, window));
        imported.runs = parts.collect::<Result<_>>()?;
    }
    Ok(imported)
}

/// Imports the named files: all of them, or nothing if one cannot be read. Reports runs that
/// already exist; it is an error if there are no others.
fn of_files(
    parsed: &Parsed,
    tool: Tool,
    files: &[String],
    options: &Options,
    mut words: Words,
) -> Result<u8> {
    if let Some(folder) = files
        .iter()
        .find(|file| std::path::Path::new(file).is_dir())
    {
        return Err(anyhow!(
            "{folder} is a folder: import it alone, without other files"
        ));
    }
    let mut imported = Imported::default();
    for (files, beside) in paired(parsed, files)? {
        let texts: Vec<Text> = files.iter().map(Text::read).collect::<Result<_>>()?;
        let beside = beside
            .into_iter()
            .map(|(name, file)| Ok((name, Text::read(file)?)));
        let beside = beside.collect::<Result<BTreeMap<_, _>>>()?;
        let more = read(tool, &texts, &beside, options, &mut words)?;
        imported.runs.extend(more.runs);
        imported.logs.extend(more.logs);
        imported.warnings.extend(more.warnings);
    }
    keep(parsed, &imported)
}

/// Stores runs, and prints them. Warnings about logs matter only if something was imported.
fn keep(parsed: &Parsed, imported: &Imported) -> Result<u8> {
    let mut results = Results::open(&run_store::required(parsed)?)?;
    let path = results.path().display().to_string();
    let mut shelf = Shelf::of(&mut results, parsed.has("replace"))?;
    let mut warnings = imported.warnings.iter();
    let mut there = Vec::new();
    for (run, log) in imported.runs.iter().zip(&imported.logs) {
        let place = run.fact(names::IMPORT_SOURCE).unwrap_or("the log");
        match shelf.keep(run, log)? {
            StoreOutcome::New(record, alike) => {
                for warning in warnings.by_ref() {
                    console::note(&format!("warning: {warning}"));
                }
                if let Some(id) = alike {
                    console::note(&format!("note: {place} {}", other_log(id)));
                }
                if !parsed.has("quiet") {
                    let summary = show::summary_with_intervals(*record, &path);
                    Output::of(parsed)?.write(&summary, &console::look(parsed))?;
                }
            }
            StoreOutcome::Already(id) => there.push(format!(
                "{place} is already in {path}, as run {id}: --replace imports it again in its \
                 place"
            )),
            StoreOutcome::Shorter(id) => there.push(format!(
                "{place} is already in {path}, as run {id}, from a shorter version of the log: \
                 --replace imports it again in its place"
            )),
        }
    }
    if there.len() == imported.runs.len() && !there.is_empty() {
        return Err(anyhow!("{}", there.join("\n")));
    }
    for reason in there {
        console::note(&format!("left out: {reason}"));
    }
    Ok(STATUS_DONE)
}

/// The note about a log that begins like that of another run.
fn other_log(id: i64) -> String {
    format!("begins like the log of run {id}, but then differs, so it is stored as a separate run")
}

/// Files that are read together, and the system logs taken during the run.
type Together<'a> = (&'a [String], BTreeMap<&'static str, String>);

/// Pairs logs with system logs: one of each kind for all, or several, each for the log in its
/// folder.
fn paired<'a>(parsed: &Parsed, files: &'a [String]) -> Result<Vec<Together<'a>>> {
    let several = |name: &&str| parsed.values(name).count() > 1;
    let Some(twice) = EXTRA_FILES.iter().map(|(name, _)| *name).find(several) else {
        let beside = EXTRA_FILES.iter().filter_map(|(name, _)| {
            let file = parsed.value(name)?.to_owned();
            Some((*name, file))
        });
        return Ok(vec![(files, beside.collect())]);
    };
    if files.len() == 1 {
        return Err(usage(format!(
            "--{twice} is given more than once, but there is one log; with several logs, each file \
             belongs to the log in its folder"
        )));
    }
    let folder = |file: &str| {
        std::path::Path::new(file)
            .parent()
            .map(std::path::Path::to_owned)
    };
    let mut sets: Vec<Together<'_>> = files.chunks(1).map(|one| (one, BTreeMap::new())).collect();
    for (name, _) in EXTRA_FILES {
        for file in parsed.values(name) {
            let mut there = sets
                .iter_mut()
                .filter(|(logs, _)| folder(&logs[0]) == folder(file));
            let (Some((_, beside)), None) = (there.next(), there.next()) else {
                return Err(usage(format!(
                    "--{name} {file}: its folder must contain exactly one log"
                )));
            };
            if beside.insert(name, file.to_owned()).is_some() {
                return Err(usage(format!(
                    "--{name} {file}: the log in its folder already has one"
                )));
            }
        }
    }
    Ok(sets)
}

/// The result of a folder's import.
#[derive(Default)]
struct Tally {
    ids: Vec<i64>,
    already: usize,
    remarks: usize,
    failed: Vec<String>,
    /// Logs that were imported without their system logs, and why.
    without: Vec<String>,
    /// Logs that have grown since their import.
    shorter: Vec<String>,
    /// Imported logs that begin like that of another run.
    alike: Vec<String>,
    /// Logs that repeat another one of this import, and which.
    twice: Vec<String>,
    /// The log of each imported run, by the hash of its lines.
    seen: BTreeMap<String, String>,
}

/// Imports a folder. Reports and skips damaged logs.
fn of_folder(
    parsed: &Parsed,
    (tool, folder): (Tool, &str),
    pattern: Option<&Pattern>,
    options: &Options,
    words: &Words,
) -> Result<u8> {
    if let Some(one) = OF_ONE.iter().find(|name| parsed.has(name)) {
        return Err(usage(format!(
            "--{one} applies to one log, but {folder} is a folder, in which files next to each log \
             are found by name"
        )));
    }
    let named = pattern.map_or(&[][..], Pattern::names);
    if let Some(name) = named.iter().find(|name| words.factors.contains_key(*name)) {
        return Err(usage(format!(
            "--factor {name}=… and {{{name}}} in --pattern: a factor has one level"
        )));
    }
    let path = run_store::required(parsed)?;
    let found = folder::find(folder, pattern, tool.looks())?;
    let mut results = Results::open(&path)?;
    let mut shelf = Shelf::of(&mut results, parsed.has("replace"))?;
    let mut tally = Tally::default();
    let count = found.logs.len();
    for (index, log) in found.logs.iter().enumerate() {
        if !parsed.has("quiet") {
            console::progress(&format!("{} of {count}: {}", index + 1, log.path));
        }
        let log_of = (tool, folder, log);
        let kept = one_of_folder(log_of, options, words, &mut shelf, &mut tally);
        if let Err(error) = kept {
            let of_file = format!("{folder}/{}", log.path);
            let text = format!("{error:#}");
            let names_it = error.is::<ImportError>()
                || error.is::<std::io::Error>()
                || error.is::<ResultsError>();
            tally.failed.push(match names_it {
                true => text,
                false => format!("{of_file}: {text}"),
            });
        }
    }
    console::progress("");
    for note in &found.notes {
        console::note(&format!("note: {folder}/{note}"));
    }
    print_result(parsed, folder, shelf.results(), count, &tally)
}

/// Imports one log of a folder. An error of the results file ends only this log's import: the next
/// import also fails and is reported.
fn one_of_folder(
    (tool, folder, log): (Tool, &str, &FolderLog),
    options: &Options,
    words: &Words,
    shelf: &mut Shelf<'_>,
    tally: &mut Tally,
) -> Result<()> {
    if let Some(damage) = &log.damage {
        return Err(anyhow!("{damage}"));
    }
    let texts = log
        .files()
        .map(|path| Text::read(format!("{folder}/{path}")));
    let texts: Vec<Text> = texts.collect::<Result<_>>()?;
    let mut beside = BTreeMap::new();
    for (name, file) in &log.beside {
        match Text::read(format!("{folder}/{file}")) {
            Ok(text) => drop(beside.insert(*name, text)),
            Err(error) => tally.without.push(format!("{}: {error:#}", log.path)),
        }
    }
    let mut factors: Factors = words.factors.clone();
    factors.extend(log.factors.clone());
    let mut words = Words {
        factors,
        path: Some(log.path.clone()),
        ..words.clone()
    };
    // Listings need something to distinguish the runs by.
    if words.note.is_empty() && log.factors.is_empty() {
        words.note.clone_from(&log.path);
    }
    let imported = match read(tool, &texts, &beside, options, &mut words) {
        Err(error) if !beside.is_empty() => {
            // The log itself may be intact.
            let imported = read(tool, &texts, &BTreeMap::new(), options, &mut words)?;
            tally.without.push(format!("{}: {error:#}", log.path));
            imported
        }
        other => other?,
    };
    tally.remarks += imported.warnings.len();
    for (run, known) in imported.runs.iter().zip(&imported.logs) {
        let digest = run
            .fact(names::IMPORT_SHA256)
            .unwrap_or_default()
            .to_owned();
        if let Some(other) = tally.seen.get(&digest) {
            tally
                .twice
                .push(format!("{}: the same log as {other}", log.path));
            continue;
        }
        tally.seen.insert(digest, log.path.clone());
        let kept = shelf.keep(run, known);
        match kept.with_context(|| format!("cannot keep {folder}/{}", log.path))? {
            StoreOutcome::New(record, alike) => {
                tally.ids.push(record.id);
                (tally.alike).extend(alike.map(|id| format!("{} {}", log.path, other_log(id))));
            }
            StoreOutcome::Already(_) => tally.already += 1,
            StoreOutcome::Shorter(id) => tally.shorter.push(format!(
                "{}: run {id} is from a shorter version of it (--replace replaces that run)",
                log.path
            )),
        }
    }
    Ok(())
}

/// Reports the result of a folder's import.
fn print_result(
    parsed: &Parsed,
    folder: &str,
    results: &Results,
    count: usize,
    tally: &Tally,
) -> Result<u8> {
    if !parsed.has("quiet") && !tally.ids.is_empty() {
        let mut lines = results.runs(&Filter::default())?;
        lines.retain(|line| tally.ids.contains(&line.id));
        let rows: Vec<_> = lines.iter().map(runs::row).collect();
        console::page(&console::look(parsed), |look| table(&rows, look));
    }
    let mut summary = format!(
        "{} of {} imported into {}, {}",
        count - tally.failed.len(),
        number_of(count, "log"),
        results.path().display(),
        number_of(tally.ids.len(), "new run"),
    );
    if tally.already > 0 {
        summary += &format!(
            "; {} already imported (--replace imports them again)",
            number_of(tally.already, "run")
        );
    }
    if tally.remarks > 0 {
        summary += &format!(
            "; {} on the logs, kept with the runs (dyno show RUN)",
            number_of(tally.remarks, "remark")
        );
    }
    console::note(&summary);
    for twice in tally.twice.iter().chain(&tally.shorter) {
        console::note(&format!("left out: {folder}/{twice}"));
    }
    for alike in &tally.alike {
        console::note(&format!("note: {folder}/{alike}"));
    }
    for without in &tally.without {
        console::note(&format!("imported without the files next to it: {without}"));
    }
    for failed in &tally.failed {
        console::note(&format!("not imported: {failed}"));
    }
    Ok(match tally.failed.is_empty() && tally.without.is_empty() {
        true => STATUS_DONE,
        false => STATUS_FAILED,
    })
}
