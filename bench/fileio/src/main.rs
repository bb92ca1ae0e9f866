//! Compares random reads of Dyno, fio and sysbench: requests per second and CPU time per request,
//! with the same engine, depth, size and files, in turn.
//!
//! `cargo run --release -p fileio-cost [FOLDER [SECONDS [ROUNDS [ENGINE]]]]`: FOLDER is on the
//! device to read and needs 1 GiB of space; ENGINE is `sync`, `libaio` or `io_uring`. Build Dyno
//! first: `cargo build --release -p dyno`.
//!
//! # Figures
//!
//! On a virtual machine with two cores; `sync` in 3 rounds of 10 s, the others in 3 of 5 s. CPU
//! time is that of the whole process, per request in µs; user time is in brackets. For `sync`, a
//! request is one system call.
//!
//! | engine, depth, block | rate / fio's | spread | Dyno | fio | sysbench |
//! |---|---|---|---|---|---|
//! | sync, 1, 16 KiB | 1.038 | 0.981 to 1.058 | 31.4 (1.05) | 34.7 (2.95) | 32.6 (1.34) |
//! | libaio, 16, 16 KiB | 0.951 | 0.840 to 1.071 | 10.1 (0.53) | 11.3 (2.13) | – |
//! | io_uring, 16, 16 KiB | 1.087 | 1.012 to 1.156 | 7.7 (0.58) | 10.6 (1.94) | – |
//! | sync, 1, 4 KiB | 0.978 | 0.957 to 1.048 | 30.7 (0.73) | 32.9 (2.69) | 30.8 (1.21) |
//! | libaio, 16, 4 KiB | 0.984 | 0.974 to 1.149 | 7.9 (0.45) | 9.8 (1.72) | – |
//! | io_uring, 16, 4 KiB | 1.063 | 1.034 to 1.456 | 7.8 (0.50) | 10.3 (1.55) | – |

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use dyno_sys::process::Cpu;
use serde_json::Value;

const FILES: u32 = 4;
const SIZE_MIB: u32 = 1024;

/// What to compare.
struct Case {
    /// The names of the engine in Dyno and in fio.
    engines: (&'static str, &'static str),
    depth: u32,
    block: u32,
}

const CASES: [Case; 6] = [
    case("sync", "psync", 1, 16_384),
    case("libaio", "libaio", 16, 16_384),
    case("io_uring", "io_uring", 16, 16_384),
    case("sync", "psync", 1, 4096),
    case("libaio", "libaio", 16, 4096),
    case("io_uring", "io_uring", 16, 4096),
];

const fn case(dyno: &'static str, fio: &'static str, depth: u32, block: u32) -> Case {
    Case {
        engines: (dyno, fio),
        depth,
        block,
    }
}

/// A tool's figures.
#[derive(Clone, Copy)]
struct Figures {
    per_s: f64,
    /// CPU time of the process per request, in microseconds, including start-up.
    cpu_us: f64,
    /// The part in user mode. This is the tool's own cost, because the kernel does the same work
    /// for each.
    user_us: f64,
}

/// Folder and duration.
struct Bench {
    dyno: PathBuf,
    folder: PathBuf,
    seconds: u32,
}

#[allow(clippy::print_stdout)] // its result
fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word.starts_with('-')) {
        println!("usage: fileio-cost [FOLDER [SECONDS [ROUNDS [ENGINE]]]]");
        return Ok(());
    }
    let number = |index: usize, otherwise: u32| match arguments.get(index) {
        None => Ok(otherwise),
        Some(text) => text
            .parse()
            .with_context(|| format!("'{text}' is no number")),
    };
    let base = arguments.first().map_or(Path::new("."), Path::new);
    let folder = tempfile::tempdir_in(base).context("cannot make a folder for the files")?;
    let bench = Bench {
        dyno: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/dyno"),
        folder: folder.path().to_owned(),
        seconds: number(1, 10)?,
    };
    let rounds = number(2, 5)?.max(1);
    let engine = arguments.get(3);
    let asked = |case: &&Case| engine.is_none_or(|engine| engine == case.engines.0);
    let cases: Vec<&Case> = CASES.iter().filter(asked).collect();
    ensure!(
        !cases.is_empty(),
        "no such engine: sync, libaio or io_uring"
    );
    bench.prepare()?;
    println!(
        "engine    depth block  dyno /s  fio /s  ratio (lowest – highest)  CPU per request \
         (in user mode), µs: dyno fio sysbench"
    );
    for case in cases {
        println!("{}", bench.compare(case, rounds)?);
    }
    Ok(())
}

impl Bench {
    fn prepare(&self) -> Result<()> {
        let size = format!("{SIZE_MIB}M");
        let files = FILES.to_string();
        self.run(
            self.dyno.as_os_str().to_str().context("an odd path")?,
            &[
                "prepare",
                "fileio",
                "-q",
                "--file-num",
                &files,
                "--file-total-size",
                &size,
            ],
        )?;
        Ok(())
    }

    /// Runs a case for this many rounds, with the tools in turn. Every other round reverses the
    /// order.
    fn compare(&self, case: &Case, rounds: u32) -> Result<String> {
        let (mut ours, mut fios, mut sysbenchs) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            if round % 2 == 0 {
                ours.push(self.dyno(case)?);
                fios.push(self.fio(case)?);
            } else {
                fios.push(self.fio(case)?);
                ours.push(self.dyno(case)?);
            }
            if case.depth == 1 {
                sysbenchs.push(self.sysbench(case)?);
            }
        }
        let mut ratios: Vec<f64> = ours
            .iter()
            .zip(&fios)
            .map(|(own, fio)| own.per_s / fio.per_s)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let of = |all: &[Figures], what: fn(&Figures) -> f64| median(all.iter().map(what));
        let cpu = |all: &[Figures]| match all {
            [] => "–".to_owned(),
            all => format!(
                "{:.2} ({:.2})",
                of(all, |f| f.cpu_us),
                of(all, |f| f.user_us)
            ),
        };
        Ok(format!(
            "{:9} {:5} {:5} {:8.0} {:7.0}  {:.3} ({:.3} – {:.3})  {} {} {}",
            case.engines.0,
            case.depth,
            case.block,
            of(&ours, |f| f.per_s),
            of(&fios, |f| f.per_s),
            median(ratios.iter().copied()),
            ratios.first().copied().unwrap_or(0.0),
            ratios.last().copied().unwrap_or(0.0),
            cpu(&ours),
            cpu(&fios),
            cpu(&sysbenchs),
        ))
    }

    fn dyno(&self, case: &Case) -> Result<Figures> {
        let line = format!(
            "run fileio --file-num {FILES} --file-total-size {SIZE_MIB}M --file-block-size {} \
             --file-test-mode rndrd --file-extra-flags direct --file-io-mode {} \
             --file-async-backlog {} --time {} --warmup 0 -q --observe off --results none --json",
            case.block, case.engines.0, case.depth, self.seconds
        );
        let program = self.dyno.as_os_str().to_str().context("an odd path")?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let (text, cpu) = self.run(program, &words)?;
        let result: Value = serde_json::from_str(&text).context("dyno's JSON")?;
        let events = result["totals"]["events"].as_f64().context("no events")?;
        let per_s = result["rates"]["events_per_s"].as_f64();
        figures(per_s.context("no rate")?, cpu, events)
    }

    fn fio(&self, case: &Case) -> Result<Figures> {
        let files: Vec<String> = (0..FILES).map(|file| format!("test_file.{file}")).collect();
        let line = format!(
            "--name=read --rw=randread --norandommap=1 --direct=1 --thread --invalidate=0 \
             --file_service_type=random --time_based --output-format=json --filename={} --bs={} \
             --ioengine={} --iodepth={} --runtime={}",
            files.join(":"),
            case.block,
            case.engines.1,
            case.depth,
            self.seconds
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        let (text, cpu) = self.run("fio", &words)?;
        let start = text.find('{').context("fio printed no JSON")?;
        let result: Value = serde_json::from_str(&text[start..]).context("fio's JSON")?;
        let read = &result["jobs"][0]["read"];
        let requests = read["total_ios"].as_f64().context("no requests")?;
        figures(read["iops"].as_f64().context("no rate")?, cpu, requests)
    }

    fn sysbench(&self, case: &Case) -> Result<Figures> {
        let line = format!(
            "fileio --file-num={FILES} --file-total-size={SIZE_MIB}M --file-block-size={} \
             --file-test-mode=rndrd --file-extra-flags=direct --time={} run",
            case.block, self.seconds
        );
        let words: Vec<&str> = line.split_whitespace().collect();
        let (text, cpu) = self.run("sysbench", &words)?;
        let figure = |label: &str| -> Result<f64> {
            let line = text.lines().find(|line| line.trim().starts_with(label));
            let word = line.and_then(|line| line.split_whitespace().last());
            let number = word.map(|word| word.trim_end_matches('s').parse());
            Ok(number.with_context(|| format!("sysbench printed no '{label}'"))??)
        };
        let events = figure("total number of events:")?;
        figures(events / figure("total time:")?, cpu, events)
    }

    /// The output of a program, and its CPU time.
    fn run(&self, program: &str, words: &[&str]) -> Result<(String, Cpu)> {
        let before = Cpu::of_children()?;
        let output = Command::new(program)
            .args(words)
            .current_dir(&self.folder)
            .output()
            .with_context(|| format!("cannot run {program}"))?;
        let cpu = Cpu::of_children()?.since(before);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{program} failed: {text}{error}");
        }
        Ok((text, cpu))
    }
}

fn figures(per_s: f64, cpu: Cpu, requests: f64) -> Result<Figures> {
    ensure!(requests > 0.0, "nothing was read");
    Ok(Figures {
        per_s,
        cpu_us: cpu.total_us() / requests,
        user_us: cpu.user_us / requests,
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    dyno_stats::median(&values).unwrap_or(f64::NAN)
}
