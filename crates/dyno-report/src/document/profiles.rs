//! CPU profiles: the functions with the most CPU time.

use dyno_core::cpu_profile::{CpuProfile, FunctionShare, plain_frame};
use dyno_core::record::NotObserved;

use super::{Block, Table, Value};
use crate::number::thousands;
use crate::terminal::Ink;

/// The prefix of gaps about profiles.
const GAPS: &str = "profile";
/// The most functions in a table.
const LISTED_MAX: usize = 15;

/// The functions by self time, and by total time.
pub(crate) fn functions(profile: &CpuProfile) -> [Table; 2] {
    let mut functions = profile.functions();
    let own = table("by self time", &functions, profile.samples);
    functions.sort_by(|a, b| (b.total, &a.name).cmp(&(a.total, &b.name)));
    [own, table("by total time", &functions, profile.samples)]
}

fn table(title: &str, functions: &[FunctionShare], samples: u64) -> Table {
    let share = |count: u64| Value::Share(count as f64 / samples.max(1) as f64);
    Table::of(functions.iter().take(LISTED_MAX))
        .text(title, 0, |function| {
            let (name, is_kernel) = plain_frame(&function.name);
            let of = if is_kernel { " (kernel)" } else { "" };
            Value::Code(format!("{name}{of}"))
        })
        .figure("self", 0, |function| share(function.own))
        .figure("total", 0, |function| share(function.total))
        .source("")
}

/// Why profiles are missing.
pub(crate) fn profile_gaps(gaps: &[NotObserved]) -> Vec<Block> {
    let row = |gap: &NotObserved| {
        let what = gap.what.strip_prefix(GAPS)?.trim_start_matches('.');
        Some(Block::row(what, Ink::Plain, format!("none: {}", gap.why)))
    };
    gaps.iter().filter_map(row).collect()
}

/// The number of samples, and what is missing.
pub(crate) fn samples(profile: &CpuProfile) -> Block {
    let lost = match profile.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", thousands(lost)),
    };
    let mut text = format!(
        "{} samples at {} Hz, {lost}",
        thousands(profile.samples),
        profile.frequency_hz
    );
    if let Some(cut) = &profile.cut {
        text += &format!("\n{cut}");
    }
    Block::row(profile.process.name(), Ink::Strong, text)
}
