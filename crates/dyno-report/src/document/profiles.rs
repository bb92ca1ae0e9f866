//! CPU profiles: the functions with the most CPU time.

use dyno_core::cpu_profile::{CpuProfile, FunctionShare, plain_frame};

use super::{Table, Value};
use crate::number::thousands;

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

/// The number of samples that perf lost.
pub(crate) fn lost(profile: &CpuProfile) -> String {
    match profile.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", thousands(lost)),
    }
}
