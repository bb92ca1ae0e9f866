//! Parses sysbench's output before a run begins, and the command line if a log shows it.

use dyno_core::plan::{RandKind, RandPlan};
use dyno_core::redact;

use super::model::Draft;
use crate::number;

/// The version of a banner: `sysbench 1.0.20 (using system LuaJIT …)`,
/// `sysbench 0.4.12:  multi-threaded system evaluation benchmark`.
pub(crate) fn banner(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("sysbench ")?;
    let version = rest.split([' ', ':']).next()?;
    let rest = &rest[version.len()..];
    let digits = version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.');
    let known = rest.starts_with(" (using") || rest.starts_with(':') || rest.trim().is_empty();
    (digits && known).then_some(version)
}

/// Where a banner begins within a line, after text that lacks its line feed. A version alone is no
/// banner there.
pub(crate) fn banner_within(line: &str) -> Option<usize> {
    const NAME: &str = "sysbench ";
    let begins = |at: &usize| {
        let own = line[*at..].trim_end();
        let longer = |version: &str| own.len() > NAME.len() + version.len();
        *at > 0 && banner(own).is_some_and(longer)
    };
    let mut starts = line.match_indices(NAME).map(|(at, _)| at);
    starts.find(begins)
}

/// Parses a line of the header; returns `false` if it is not one.
pub(crate) fn take(draft: &mut Draft, line: &str) -> bool {
    let line = line.trim();
    let value = |label: &str| {
        let rest = line.strip_prefix(label)?;
        number::leading(rest).map(|(value, _)| value)
    };
    let whole = |value: f64| (value >= 0.0 && value <= f64::from(u32::MAX)).then_some(value as u32);
    if let Some(threads) = value("Number of threads:") {
        draft.threads = whole(threads);
    } else if let Some(seconds) = value("Report intermediate results every") {
        draft.report_interval_s = (seconds > 0.0).then_some(seconds);
    } else if let Some(seconds) = value("Warmup time:") {
        draft.warmup_s = (seconds >= 0.0).then_some(seconds);
    } else if let Some(per_s) = value("Target transaction rate:") {
        draft.rate_per_s = (per_s > 0.0).then_some(per_s);
    } else if let Some((_, seed)) = line.split_once("generator from seed (") {
        draft.seed = number::leading_count(seed).map(|(seed, _)| seed);
    } else if let Some(bytes) = block(line) {
        draft.block_bytes = Some(bytes);
    } else if let Some(files) = files(line) {
        draft.files = Some(files);
    } else if line.starts_with("Calling fsync() after each write") {
        draft.syncs_each_write = true;
    } else if let Some(count) = value("Number of unfinished transactions on forced shutdown:") {
        draft.unfinished = (count >= 0.0).then_some(count as u64);
    } else if line.starts_with("Merging requests up to") {
        // Then a request of a file test has several blocks.
        draft.block_bytes = None;
    } else if let Some(rand) = distribution(line) {
        draft.rand = Some(rand);
    } else if let Some(kind) = kind(line) {
        draft.kind = Some(kind);
    } else {
        return false;
    }
    true
}

/// `Using Special distribution (12 iterations,  1 pct of values are returned in 75 pct cases)`,
/// `Using Uniform distribution`.
fn distribution(line: &str) -> Option<RandPlan> {
    let (name, rest) = line.strip_prefix("Using ")?.split_once(" distribution")?;
    let kind = match name {
        "Special" => RandKind::Special,
        "Uniform" => RandKind::Uniform,
        "Gaussian" => RandKind::Gaussian,
        _ => return None,
    };
    let words = rest.split(|c: char| !c.is_ascii_digit());
    let mut figures = words.filter_map(|word| word.parse::<u32>().ok());
    let known = RandPlan::default();
    Some(RandPlan {
        kind,
        spec_iter: figures.next().unwrap_or(known.spec_iter),
        spec_pct: figures.next().unwrap_or(known.spec_pct),
        spec_res: figures.next().unwrap_or(known.spec_res),
        ..known
    })
}

/// `128 files, 16MiB each`.
fn files(line: &str) -> Option<u64> {
    let (files, rest) = number::leading_count(line)?;
    let fits = rest.starts_with(" files, ") && rest.ends_with(" each");
    fits.then_some(files)
}

/// `Block size 16KiB` in a file test, `block size: 1KiB` in a memory test; 0.4 prints `16Kb`, and
/// `Memory block size: 1K`.
fn block(line: &str) -> Option<f64> {
    let starts = ["Block size ", "block size:", "Memory block size:"];
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    let (size, unit) = number::leading(rest)?;
    let scale = match unit.trim() {
        "B" | "" => 1.0,
        "KiB" | "Kb" | "K" => 1024.0,
        "MiB" | "Mb" | "M" => 1_048_576.0,
        "GiB" | "Gb" | "G" => 1_073_741_824.0,
        _ => return None,
    };
    Some(size * scale)
}

/// The built-in test that prints this line.
fn kind(line: &str) -> Option<&'static str> {
    const SIGNS: [(&str, &str); 8] = [
        ("Prime numbers limit:", "cpu"),
        ("Running memory speed test", "memory"),
        ("Doing memory operations speed test", "memory"),
        ("Extra file open flags:", "fileio"),
        ("Doing CPU performance benchmark", "cpu"),
        ("Doing thread subsystem performance test", "threads"),
        ("Doing mutex performance test", "mutex"),
        ("Doing OLTP test.", "oltp"),
    ];
    SIGNS
        .iter()
        .find(|(sign, _)| line.starts_with(sign))
        .map(|(_, kind)| *kind)
}

/// The command line in a line that shows one (`+ sysbench … run`, `$ ./tpcc.lua --threads=8 run`),
/// without its secrets.
pub(crate) fn command(line: &str) -> Option<Vec<String>> {
    let words = redact::words(line.trim_start_matches(['+', '$', '#', '>', ' ']));
    let is_program = |word: &String| {
        // `LUA_PATH=/usr/share/sysbench/?.lua` is a variable.
        let variable = word
            .split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        let name = word.rsplit('/').next().unwrap_or(word);
        if variable {
            return false;
        }
        name == "sysbench" || (name.ends_with(".lua") && !word.starts_with('-'))
    };
    // Variables and wrappers such as `time` and `numactl` may precede it.
    let at = words.iter().position(is_program)?;
    let argv = &words[at..];
    let options = argv.iter().filter(|word| word.starts_with("--")).count();
    let runs = argv.iter().any(|word| word == "run");
    if at > 8 || !runs || (options == 0 && argv.len() > 3) {
        return None;
    }
    let end = argv
        .iter()
        .position(|word| matches!(word.as_str(), "|" | ">" | ">>" | "2>&1" | "&" | ";" | "&&"))
        .unwrap_or(argv.len());
    Some(redact::argv(&argv[..end]))
}

/// The value of an option of a command line under any of its names. The last one counts.
pub(crate) fn option<'a>(argv: &'a [String], names: &[&str]) -> Option<&'a str> {
    argv.iter().rev().find_map(|word| {
        let (name, value) = word.strip_prefix("--")?.split_once('=')?;
        let name = name.replace('_', "-");
        names.contains(&name.as_str()).then_some(value)
    })
}

/// The workload of a command line: its first word that is neither an option nor the program.
pub(crate) fn workload(argv: &[String]) -> Option<String> {
    let script = option(argv, &["test"]).map(str::to_owned);
    let first = argv.first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let name = if program == "sysbench" {
        let mut bare = argv[1..].iter().filter(|word| !word.starts_with('-'));
        script.or_else(|| bare.find(|word| *word != "run").cloned())?
    } else {
        program.to_owned()
    };
    let base = name.rsplit('/').next().unwrap_or(&name);
    Some(base.strip_suffix(".lua").unwrap_or(base).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_variable_before_the_program_is_not_the_program() {
        let argv =
            command("LUA_PATH='/usr/share/?.lua' sysbench oltp_insert --time=9 run").unwrap();
        assert_eq!(workload(&argv).as_deref(), Some("oltp_insert"));
        let alone = "LUA_PATH=./?.lua ./tpcc.lua --threads=8 --time=60 run";
        assert_eq!(workload(&command(alone).unwrap()).as_deref(), Some("tpcc"));
    }

    #[test]
    fn banners() {
        for (line, version) in [
            (
                "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
                Some("1.0.20"),
            ),
            (
                "sysbench 0.4.12:  multi-threaded system evaluation benchmark",
                Some("0.4.12"),
            ),
            (
                "sysbench 1.1.0-3ceba0b (using bundled LuaJIT 2.1.0-beta3)",
                Some("1.1.0-3ceba0b"),
            ),
            ("sysbench oltp_read_write run", None),
            ("sysbench 1.0.20 was used for all tests", None),
        ] {
            assert_eq!(banner(line), version, "{line}");
        }
        let glued = "[ 6s ] thds: 4 tps: 871.89 qpsysbench 1.0.20 (using system LuaJIT)";
        assert_eq!(banner_within(glued), glued.find("sysbench"));
        for line in [
            "sysbench 1.0.20 (using",
            "tps: 8sysbench 1.0.20",
            "µsysbench x",
        ] {
            assert_eq!(banner_within(line), None, "{line}");
        }
    }

    #[test]
    fn a_shown_command_names_the_test_and_no_secret() {
        let argv = command(
            "+ sysbench --mysql-password=geheim --threads=16 --time=600 oltp_read_write \
             --tables='10' run | tee log",
        )
        .unwrap();
        assert_eq!(argv.last().unwrap(), "run");
        assert!(!argv.join(" ").contains("geheim"));
        assert_eq!(workload(&argv).as_deref(), Some("oltp_read_write"));
        assert_eq!(option(&argv, &["time", "max-time"]), Some("600"));
        assert_eq!(option(&argv, &["tables"]), Some("10"));
        let tpcc = command("$ ./tpcc.lua --mysql-user=root --scale=100 run").unwrap();
        assert_eq!(workload(&tpcc).as_deref(), Some("tpcc"));
        let old = command("sysbench --test=/x/oltp.lua --max-time=60 run").unwrap();
        assert_eq!(workload(&old).as_deref(), Some("oltp"));
        for line in [
            "we run sysbench in this run on several machines at once today",
            "sysbench --version",
            "",
        ] {
            assert_eq!(command(line), None, "{line}");
        }
    }

    #[test]
    fn old_versions_print_the_distribution() {
        let mut draft = Draft::default();
        let line = "Using Special distribution (12 iterations,  2 pct of values are returned in 80 \
                    pct cases)";
        assert!(take(&mut draft, line));
        let rand = draft.rand.unwrap();
        assert_eq!(
            (rand.kind, rand.spec_pct, rand.spec_res),
            (RandKind::Special, 2, 80)
        );
        assert_eq!(
            distribution("Using Uniform distribution").unwrap().kind,
            RandKind::Uniform
        );
        assert_eq!(distribution("Using odd distribution"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in "\\PC*") {
            let _ = (banner(&line), banner_within(&line));
            let _ = command(&line);
            let shown = command(&format!("sysbench {line} run")).unwrap_or_default();
            let _ = (workload(&shown), option(&shown, &["time"]));
            take(&mut Draft::default(), &line);
        }
    }
}
