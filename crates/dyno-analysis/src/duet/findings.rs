//! Checks of a duet as a whole.

use dyno_core::duet::DuetFinding;
use dyno_core::finding::Outcome;
use dyno_stats::PairedRatio;

use super::{DuetMeasurement, ServerWork};

/// The confidence of a carry-over. Both sides are tested, so at most 1 duet in 50 has a false one.
const CARRIED_CONFIDENCE: f64 = 0.99;
/// Smaller carry-overs are ignored.
const CARRIED_MIN: f64 = 0.01;
/// A server that uses this share of its CPU time in the other side's slices may disturb that side.
/// The share is relative to the CPU time in its own slices.
const IDLE_MAX: f64 = 0.1;
/// Fewer bytes per second, written in the other side's slices, do not slow down its disk.
const WRITTEN_MIN: f64 = 1e6;

const SIDES: [&str; 2] = ["A", "B"];

pub(super) fn all(duet: &DuetMeasurement) -> Vec<DuetFinding> {
    let mut findings = Vec::new();
    if duet.ratio().is_none() {
        findings.push(finding(
            "blocks",
            Outcome::Refuse,
            &format!(
                "{} blocks in which both sides work are too few for a ratio, or a side finished no \
                 event.",
                duet.blocks.len()
            ),
            "Use a longer --at-most, or a shorter --slice.",
        ));
    }
    if duet.takes_turns {
        findings.extend([carry_over(duet), idle_side(duet)]);
    }
    findings
}

/// Whether a side is slower or faster in slices that follow the other side's than in slices that
/// follow its own.
fn carry_over(duet: &DuetMeasurement) -> DuetFinding {
    let mut known = 0;
    let mut found = Vec::new();
    for (side, name) in SIDES.iter().enumerate() {
        let pairs: Vec<[f64; 2]> = (duet.blocks.iter())
            .filter_map(|block| block[side].neighbours)
            .collect();
        let after_other: Vec<f64> = pairs.iter().map(|pair| pair[0]).collect();
        let after_own: Vec<f64> = pairs.iter().map(|pair| pair[1]).collect();
        let Some(ratio) = PairedRatio::of_sums(&after_other, &after_own) else {
            continue;
        };
        known += 1;
        let interval = ratio.interval(CARRIED_CONFIDENCE);
        let differs = interval.is_some_and(|interval| !interval.contains(1.0));
        let off = ratio.ratio() - 1.0;
        if differs && off.abs() >= CARRIED_MIN {
            let direction = if off < 0.0 { "fewer" } else { "more" };
            found.push(format!(
                "side {name} finished {:.1} % {direction} events in slices that follow the other \
                 side's than in slices that follow its own",
                off.abs() * 100.0
            ));
        }
    }
    let check = "carry-over";
    match (known, found.as_slice()) {
        (0, _) => finding(check, Outcome::NotChecked, "There are too few blocks.", ""),
        (_, []) => finding(
            check,
            Outcome::Pass,
            "Neither side depends on which side worked before.",
            "",
        ),
        (_, found) => finding(
            check,
            Outcome::Doubt,
            &sentence(found),
            "Use longer slices (--slice), or --mode simultaneous.",
        ),
    }
}

/// Whether a server works in the other side's slices.
fn idle_side(duet: &DuetMeasurement) -> DuetFinding {
    let check = "idle-side";
    if duet.is_one_server {
        let why = "Both sides use the same server.";
        return finding(check, Outcome::NotChecked, why, "");
    }
    let (mut knows_cpu, mut knows_writes) = (false, false);
    let mut found = Vec::new();
    for (side, name) in SIDES.iter().enumerate() {
        let works = duet.blocks.iter().map(|block| &block[side]);
        let works: Vec<(ServerWork, ServerWork)> =
            works.filter_map(|own| own.server.zip(own.idle)).collect();
        let (own, idle) = sums(works.iter().map(|(own, idle)| (own.cpu_ns, idle.cpu_ns)));
        if own > 0.0 {
            knows_cpu = true;
            let share = idle / own;
            if share >= IDLE_MAX {
                found.push(format!(
                    "while the other side worked, the server of side {name} used {:.0} % of the \
                     CPU time that it used in its own slices",
                    share * 100.0
                ));
            }
        }
        let bytes = works
            .iter()
            .map(|(own, idle)| own.written_bytes.zip(idle.written_bytes));
        let bytes: Option<Vec<(u64, u64)>> = bytes.collect();
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            continue;
        };
        knows_writes = true;
        let counted_s = bytes.len() as f64 * duet.counted_s;
        let (own, idle) = sums(bytes.into_iter());
        if idle >= WRITTEN_MIN * counted_s && idle >= IDLE_MAX * own {
            found.push(format!(
                "while the other side worked, the server of side {name} wrote {:.1} MB, {:.0} % \
                 of what it wrote in its own slices",
                idle / 1e6,
                idle / own.max(1.0) * 100.0
            ));
        }
    }
    match (knows_cpu, found.as_slice()) {
        (false, _) => {
            let why = "The CPU time of the servers was not observed.";
            finding(check, Outcome::NotChecked, why, "")
        }
        (true, []) => {
            let of_writes = match knows_writes {
                true => "",
                false => " Their writes were not observed.",
            };
            let fine = format!("Each server is almost idle while the other side works.{of_writes}");
            finding(check, Outcome::Pass, &fine, "")
        }
        (true, found) => finding(
            check,
            Outcome::Doubt,
            &sentence(found),
            "Background work such as flushing or purge disturbs the other side. Let it finish \
             first, limit it, or use --mode simultaneous.",
        ),
    }
}

fn sums(pairs: impl Iterator<Item = (u64, u64)>) -> (f64, f64) {
    let (own, idle) = pairs.fold((0, 0), |all, pair| (all.0 + pair.0, all.1 + pair.1));
    (own as f64, idle as f64)
}

fn finding(check: &str, outcome: Outcome, evidence: &str, advice: &str) -> DuetFinding {
    DuetFinding {
        check: check.to_owned(),
        outcome,
        evidence: evidence.to_owned(),
        advice: advice.to_owned(),
    }
}

/// Parts joined to a sentence that begins with a capital letter.
fn sentence(parts: &[String]) -> String {
    let joined = parts.join("; ");
    let mut letters = joined.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
