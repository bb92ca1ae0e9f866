//! The cost of one event.

use dyno_core::record::Cost;

use super::{Table, Value};
use crate::number::amount;
use crate::terminal::Ink;

/// A row for each cost with its source, or why it is unknown.
pub(crate) fn costs(costs: &[Cost]) -> Table {
    Table::of(costs)
        .text("what", 0, |cost| cost.name.clone())
        .figure("per event", 0, |cost| {
            let known = cost.value.filter(|value| value.is_finite());
            known.map(|value| Value::Text(amount(value, &cost.unit)))
        })
        .text("source", 0, |cost| {
            let lead = if cost.left_out { "left out: " } else { "" };
            (Ink::Faint, format!("{lead}{}", cost.source))
        })
        .source(
            "totals and observed series. 1 kB is 1,000 bytes, 1 KiB 1,024. A host's counters \
             include everything that ran on it.",
        )
}
