//! Imports pgbench's output and its logs of transactions.

mod connecting;
mod counts;
mod doubts;
mod ending;
mod figures;
mod gaps;
mod holes;
mod longest;
mod messages;
mod of_lines;
mod of_scripts;
mod of_statements;
mod output;
mod progress;
mod record;
mod report;
mod scripts;
mod single;
mod single_laws;
mod skipped;
mod sum_laws;
mod sums;
mod transactions;
mod usable;

use std::path::Path;

use dyno_core::text::number_of;

use crate::identity::LogHash;
use crate::{ImportError, Log, Looks, Options, ParsedRun, Warning};
use output::Output;
use transactions::Transactions;

/// One run's data: its output and its log.
struct Parts {
    output: Option<Output>,
    /// All files of the log, one per thread.
    logged: Option<Logged>,
}

struct Logged {
    /// Its first file.
    file: String,
    log: Transactions,
    /// All lines, for the run's name.
    digest: LogHash,
}

/// The runs in these logs. Logs of transactions belong to the only run of the others; without one,
/// files with the same name form a run.
///
/// # Errors
/// A log that is neither pgbench's output nor one of its logs.
pub(crate) fn read(
    logs: &[Log<'_>],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ParsedRun>, ImportError> {
    let mut outputs: Vec<Output> = Vec::new();
    let mut logged: Vec<(String, Logged)> = Vec::new();
    let has_text = |log: &Log<'_>| !log.text.trim().is_empty();
    let any = logs.iter().any(has_text);
    for log in logs {
        if any && !has_text(log) {
            warnings.push(Warning::new(log.name, None, "it is empty".to_owned()));
            continue;
        }
        if let Some(read) = transactions::read(log.text) {
            add(log, read, &mut logged, warnings);
            continue;
        }
        let runs = output::read(log.name, log.text);
        if runs.is_empty() {
            return Err(not_pgbench(log));
        }
        outputs.extend(runs);
    }
    join(&mut outputs);
    let mut all: Vec<Parts> = Vec::new();
    let alone = outputs.len() == 1 && logged.len() == 1;
    if let (true, Some((_, log))) = (alone, logged.pop_if(|_| alone)) {
        all.push(Parts {
            output: outputs.pop(),
            logged: Some(log),
        });
    }
    if !outputs.is_empty() && !logged.is_empty() {
        let text = format!(
            "{} with {} of transactions: it is unclear which belong together, so each counts as a \
             run; import each run alone, or a folder",
            number_of(outputs.len(), "output"),
            number_of(logged.len(), "log")
        );
        warnings.push(Warning::new(&outputs[0].file, None, text));
    }
    all.extend(outputs.into_iter().map(|output| Parts {
        output: Some(output),
        logged: None,
    }));
    all.extend(logged.into_iter().map(|(_, log)| Parts {
        output: None,
        logged: Some(log),
    }));
    let all = all.into_iter().enumerate();
    let run = |(index, parts)| record::parsed_run(parts, &crate::of_run(index, options));
    Ok(all.map(run).collect())
}

/// Whether a text is a log of transactions.
pub(crate) fn is_log(text: &str) -> bool {
    transactions::read(text).is_some()
}

/// The common name of the files of all threads: `pgbench_log.4711` for `pgbench_log.4711` and
/// `pgbench_log.4711.1`. A prefix may contain points, too.
pub fn stem(name: &str) -> String {
    let path = Path::new(name);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let file = path.file_name().and_then(|name| name.to_str());
    let parts: Vec<&str> = file.unwrap_or(name).split('.').collect();
    let stem = match parts.as_slice() {
        // The first number is the process, the second the thread.
        [.., before, process, thread]
            if number(process) && number(thread) && !before.is_empty() =>
        {
            parts[..parts.len() - 1].join(".")
        }
        _ => parts.join("."),
    };
    path.with_file_name(stem).display().to_string()
}

/// Adds progress lines from a separate file, such as standard error, to the report.
fn join(outputs: &mut Vec<Output>) {
    let [one, other] = outputs.as_slice() else {
        return;
    };
    let at = match (one.is_progress_alone(), other.is_progress_alone()) {
        (true, false) if other.points.is_empty() => 0,
        (false, true) if one.points.is_empty() => 1,
        _ => return,
    };
    let progress = outputs.remove(at);
    if let Some(report) = outputs.first_mut() {
        report.points = progress.points;
        report.mixed = progress.mixed;
        report.complaints.extend(progress.complaints);
        report.aborted |= progress.aborted || progress.ends_foreign;
        report.foreign = report.foreign.or(progress.foreign);
    }
}

/// Adds a log's lines to those of the same run.
fn add(
    log: &Log<'_>,
    mut read: Transactions,
    logged: &mut Vec<(String, Logged)>,
    warnings: &mut Vec<Warning>,
) {
    if read.odd > 0 {
        let text = match read.odd {
            1 => "this line is not a transaction and is skipped".to_owned(),
            odd => {
                format!("{odd} lines are not transactions and are skipped; this is the first")
            }
        };
        warnings.push(Warning::new(log.name, Some(read.first_odd), text));
    }
    let repeated = read.read_once();
    if repeated > 0 {
        let text = match repeated {
            1 => "1 line occurs twice; it is read once".to_owned(),
            several => format!("{several} lines occur twice; each is read once"),
        };
        warnings.push(Warning::new(log.name, None, text));
    }
    let stem = stem(log.name);
    match logged.iter_mut().find(|(own, _)| *own == stem) {
        Some((_, own)) => {
            own.log.all.extend(read.all);
            own.log.sums.extend(read.sums);
            own.digest.update(log.text.as_bytes());
        }
        None => {
            let mut digest = LogHash::default();
            digest.update(log.text.as_bytes());
            let own = Logged {
                file: log.name.to_owned(),
                log: read,
                digest,
            };
            logged.push((stem, own));
        }
    }
}

fn not_pgbench(log: &Log<'_>) -> ImportError {
    let what = match () {
        () if log.text.trim().is_empty() => "it is empty",
        () if Looks::of(log.text) == Some(Looks::Pgbench) => {
            "it has no complete progress line and no totals"
        }
        () => {
            "nothing in it looks like pgbench's progress lines, its report or its logs of \
             transactions"
        }
    };
    crate::not_recognised(
        log,
        what.to_owned(),
        Looks::Pgbench,
        "give pgbench's standard output and error (> FILE 2>&1), and optionally the files of its \
         option --log",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_threads_form_one_run() {
        for (name, of) in [
            ("a/pgbench_log.4711", "a/pgbench_log.4711"),
            ("a/pgbench_log.4711.1", "a/pgbench_log.4711"),
            ("lat.v1.99.12", "lat.v1.99"),
            ("x.txt", "x.txt"),
        ] {
            assert_eq!(stem(name), of);
        }
    }
}
