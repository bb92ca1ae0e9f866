//! The first line of all sysstat tools: `Linux 6.1.0 (host) 11/21/26 _x86_64_ (2 CPU)`.

use dyno_core::catalogue::names;
use dyno_core::record::Fact;

use crate::{civil, locale};

#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) facts: Vec<Fact>,
    /// Midnight of the day, in seconds since 1970 as if local time were UTC.
    pub(crate) day_s: Option<f64>,
    /// Whether day and month may be swapped.
    pub(crate) ambiguous: bool,
}

impl Machine {
    pub(crate) fn read(text: &str, source: &str) -> Self {
        let text = locale::dated(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: &str| {
            facts.push(Fact::new(name, value, source));
        };
        if let Some(kernel) = words.get(1) {
            fact(names::HOST_KERNEL, kernel);
        }
        let inside = |word: &&&str| word.starts_with('(') && word.ends_with(')');
        if let Some(name) = words.iter().find(inside) {
            fact(names::HOST_NAME, name.trim_matches(['(', ')']));
        }
        if let Some(at) = words.iter().position(|word| *word == "CPU)")
            && let Some(threads) = at.checked_sub(1).and_then(|at| words.get(at))
        {
            fact(names::HOST_CPU_THREADS, threads.trim_start_matches('('));
        }
        // The kernel's version may look like a date.
        let date = words.iter().skip(2).find_map(|word| civil::date(word));
        let midnight = date.and_then(|((year, month, day), _)| {
            civil::moment(&format!("{year:04}-{month:02}-{day:02} 00:00:00"))
        });
        Self {
            facts,
            day_s: midnight.map(|moment| moment.seconds),
            ambiguous: date.is_some_and(|(_, ambiguous)| ambiguous),
        }
    }
}
