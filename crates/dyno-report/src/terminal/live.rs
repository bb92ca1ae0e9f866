//! The line of each interval during a run.

use dyno_core::headline::headline_percent;
use dyno_core::plan::{LoadSchedule, Scheduled};
use dyno_core::states::SessionState;
use dyno_core::summary::IntervalSummary;

use super::look::{Ink, Look, columns, cut};
use super::words::EventWord;
use crate::number::{latency, plain, rate, thousands};

/// One interval in one line, without a line end. Columns stay in place from one line to the next.
/// `open_loop` adds the backlog, and `total_s` is the whole length of the measurement. If the line
/// is too long, queries, sessions and latencies are dropped, in this order.
pub fn live_line(
    interval: &IntervalSummary,
    event: EventWord,
    open_loop: bool,
    total_s: Option<f64>,
    look: &Look,
) -> String {
    join(parts(interval, event, open_loop, total_s), look)
}

/// Like [`live_line`], for a changing load: adds the level at the interval's end, which is never
/// dropped.
pub fn scheduled_line(
    interval: &IntervalSummary,
    event: EventWord,
    schedule: &LoadSchedule,
    total_s: Option<f64>,
    look: &Look,
) -> String {
    let open_loop = schedule.of == Scheduled::Rate;
    let mut parts = parts(interval, event, open_loop, total_s);
    // The next interval's first level may belong to another part.
    let level = schedule.level((interval.at_s - interval.length_s / 2.0).max(0.0));
    let asked = match schedule.of {
        Scheduled::Rate => format!("of {:>6}/s", rate(level)),
        Scheduled::Sessions => format!("by {:>4}", thousands(level.round() as u64)),
    };
    // After the resulting rate.
    parts.insert(3, Part::needed(Ink::Faint, asked));
    join(parts, look)
}

fn parts(
    interval: &IntervalSummary,
    event: EventWord,
    open_loop: bool,
    total_s: Option<f64>,
) -> Vec<Part> {
    let per_s = |count: u64| {
        if interval.length_s > 0.0 {
            count as f64 / interval.length_s
        } else {
            0.0
        }
    };
    let counters = &interval.counters;
    let mut parts = vec![
        Part::needed(Ink::Faint, elapsed(interval.at_s, total_s)),
        Part::spare(3, Ink::Plain, sessions(interval.sessions)),
        Part::needed(
            Ink::Strong,
            format!("{:>6} {}", rate(per_s(counters.events)), event.per_s()),
        ),
    ];
    // Show this column even without statements, so that columns do not move. A test of the host has
    // no statements.
    if event == EventWord::Transaction || counters.queries() > 0 {
        let queries = format!("{:>7} q/s", rate(per_s(counters.queries())));
        parts.push(Part::spare(4, Ink::Plain, queries));
    }
    // The same percentile in each line, so that lines can be compared; the summary has them all.
    let percent = headline_percent(interval.percentiles.iter().map(|own| own.percent));
    let mut percentiles = interval.percentiles.iter();
    if let Some(percentile) = percentiles.find(|own| Some(own.percent) == percent) {
        let value = percentile.value_ms.map_or_else(|| "–".into(), latency);
        let text = format!("p{} {value:>7}", plain(percentile.percent));
        parts.push(Part::spare(1, Ink::Plain, text));
    }
    let max = interval.max_ms.map_or_else(|| "–".to_owned(), latency);
    let max = format!("max {max:>7}");
    parts.push(Part::spare(2, Ink::Plain, max));
    if open_loop {
        let ink = ink_of(interval.backlog.unwrap_or(0), Ink::Warning);
        let waiting = interval.backlog.map_or("–".to_owned(), thousands);
        parts.push(Part::needed(ink, format!("backlog {waiting:>5}")));
    }
    let ink = ink_of(interval.errors_seen, Ink::Error);
    parts.push(Part::needed(
        ink,
        format!("errors {}", thousands(interval.errors_seen)),
    ));
    if counters.not_done > 0 {
        let not_done = format!("not done {}", thousands(counters.not_done));
        parts.push(Part::needed(Ink::Error, not_done));
    }
    parts.extend(unusual(interval));
    if counters.reconnects > 0 {
        let reconnects = format!("reconnects {}", thousands(counters.reconnects));
        parts.push(Part::needed(Ink::Error, reconnects));
    }
    parts
}

/// The terminal's line in the warm-up after `over_s` seconds.
pub fn warmup_line(over_s: f64, total_s: f64, look: &Look) -> String {
    let over = elapsed(over_s.floor(), Some(total_s));
    join(
        vec![Part::needed(Ink::Faint, format!("warm-up {over}"))],
        look,
    )
}

fn elapsed(at_s: f64, total_s: Option<f64>) -> String {
    match total_s {
        Some(total_s) => format!("{:>4} of {}", clock(at_s), clock(total_s)),
        None => format!("{:>4}", clock(at_s)),
    }
}

/// Sessions that hang while others go on, and those that are connecting or lost.
fn unusual(interval: &IntervalSummary) -> Vec<Part> {
    let states = interval.states.unwrap_or_default();
    let mut parts = Vec::new();
    // If the server does not answer at all, the rate shows it.
    if states.idle > 0 && interval.counters.events > 0 {
        let idle = format!("{} idle for 5s+", states.idle);
        parts.push(Part::needed(Ink::Error, idle));
    }
    if states.is_unusual() {
        let unusual = [SessionState::Connecting, SessionState::Lost];
        let unusual = unusual.into_iter().filter(|state| states.of(*state) > 0);
        let unusual: Vec<String> = unusual
            .map(|state| format!("{} {}", states.of(state), state.word()))
            .collect();
        parts.push(Part::needed(Ink::Error, unusual.join(", ")));
    }
    parts
}

/// A part of a line. If the line is too long, the part with the highest rank is dropped first;
/// those of rank 0 last.
pub(super) struct Part {
    rank: u8,
    ink: Ink,
    text: String,
}

impl Part {
    pub(super) fn needed(ink: Ink, text: String) -> Self {
        Self::spare(0, ink, text)
    }

    pub(super) fn spare(rank: u8, ink: Ink, text: String) -> Self {
        Self { rank, ink, text }
    }
}

/// Parts two blanks apart, as many as fit.
pub(super) fn join(mut parts: Vec<Part>, look: &Look) -> String {
    for part in &mut parts {
        part.text = look.clean(&part.text);
    }
    let width = |parts: &[Part]| {
        let text: usize = parts.iter().map(|part| columns(&part.text)).sum();
        text + 2 * parts.len().saturating_sub(1)
    };
    while width(&parts) > look.width() && parts.len() > 1 {
        // Of equal ranks the last is dropped: `max_by_key` returns the last maximum.
        let last = parts.iter().enumerate().max_by_key(|(_, part)| part.rank);
        let Some((index, _)) = last else { break };
        parts.remove(index);
    }
    let painted: Vec<String> = parts
        .iter()
        .map(|part| look.paint(part.ink, &cut(&part.text, look.width())))
        .collect();
    painted.join("  ")
}

/// A short duration: `12s`, `3m05s`, `1h02m`.
pub(super) fn clock(seconds: f64) -> String {
    let rounded = (seconds * 10.0).round() / 10.0;
    if rounded < 100.0 {
        return format!("{}s", plain(rounded));
    }
    let whole = seconds.round() as u64;
    if whole < 6000 {
        format!("{}m{:02}s", whole / 60, whole % 60)
    } else {
        format!("{}h{:02}m", whole / 3600, whole / 60 % 60)
    }
}

fn sessions(count: Option<u32>) -> String {
    let plural = if count == Some(1) {
        "session "
    } else {
        "sessions"
    };
    let count = count.map_or_else(|| "–".to_owned(), |count| count.to_string());
    format!("{count:>3} {plural}")
}

fn ink_of(count: u64, bad: Ink) -> Ink {
    if count > 0 { bad } else { Ink::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::states::SessionStates;
    use dyno_samples::values;

    fn interval() -> IntervalSummary {
        let mut interval = IntervalSummary {
            sessions: Some(16),
            percentiles: values::percentiles(&[(95.0, Some(1.234))]),
            max_ms: Some(9.8),
            backlog: Some(0),
            concurrency: Some(0),
            ..values::interval(12.0, 12_345)
        };
        interval.counters.reads = 246_900;
        interval
    }

    #[test]
    fn lines_are_aligned_below_each_other() {
        let mut second = interval();
        second.at_s = 113.0;
        second.sessions = Some(1);
        second.counters.events = 7;
        second.counters.reads = 140;
        second.errors_seen = 3;
        second.counters.reconnects = 2;
        second.percentiles[0].value_ms = None;
        let look = Look {
            columns: 100,
            ..Look::default()
        };
        let lines = [
            live_line(&interval(), EventWord::Transaction, false, None, &look),
            live_line(&second, EventWord::Transaction, false, None, &look),
            live_line(&interval(), EventWord::Transaction, true, None, &look),
        ];
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn an_interval_without_statements_moves_no_column() {
        let look = Look {
            columns: 100,
            ..Look::default()
        };
        let mut without = interval();
        without.counters.reads = 0;
        let line =
            |interval: &IntervalSummary, event| live_line(interval, event, false, None, &look);
        let (full, empty) = (
            line(&interval(), EventWord::Transaction),
            line(&without, EventWord::Transaction),
        );
        assert!(empty.contains("      0 q/s  p95"), "{empty}");
        assert_eq!(full.find("p95"), empty.find("p95"), "{full}\n{empty}");
        let host = line(&without, EventWord::Event);
        assert!(!host.contains("q/s"), "{host}");
    }

    #[test]
    fn a_changing_load_is_shown_with_its_level() {
        let line = |text: &str, of| {
            let schedule = LoadSchedule::parse(text, of, None).unwrap();
            let event = EventWord::Transaction;
            scheduled_line(&interval(), event, &schedule, None, &Look::default())
        };
        let shown = line("100/s for 11s, 20k/s for 9s", Scheduled::Rate);
        assert!(shown.contains("12,345 tx/s  of 20,000/s"), "{shown}");
        assert!(columns(&shown) <= 80, "{shown}");
        let shown = line("4 for 12s, 16 for 9s", Scheduled::Sessions);
        assert!(shown.contains("12,345 tx/s  by    4"), "{shown}");
    }

    #[test]
    fn fields_that_do_not_fit_are_dropped() {
        let look = Look {
            columns: 44,
            ..Look::default()
        };
        let line = live_line(&interval(), EventWord::Transaction, true, None, &look);
        assert_eq!(line, " 12s  12,345 tx/s  backlog     0  errors 0");
        let line = live_line(
            &interval(),
            EventWord::Transaction,
            false,
            None,
            &Look::default(),
        );
        assert_eq!(columns(&line), 80, "{line}");
        assert!(line.contains("246,900 q/s"), "{line}");
    }

    #[test]
    fn sessions_that_neither_work_nor_wait_are_shown() {
        let mut interval = interval();
        let line = |interval: &IntervalSummary| {
            live_line(
                interval,
                EventWord::Transaction,
                false,
                None,
                &Look::default(),
            )
        };
        interval.states = Some(SessionStates::all(SessionState::Waiting, 16));
        assert!(!line(&interval).contains("waiting"));
        interval.states = Some(SessionStates {
            working: 12,
            connecting: 3,
            lost: 1,
            ..SessionStates::default()
        });
        assert!(line(&interval).contains("3 connecting, 1 lost"));
    }

    #[test]
    fn sessions_that_hang_while_others_work_are_shown() {
        let mut interval = interval();
        let line = |interval: &IntervalSummary| {
            live_line(
                interval,
                EventWord::Transaction,
                false,
                None,
                &Look::default(),
            )
        };
        interval.states = Some(SessionStates {
            working: 16,
            idle: 3,
            ..SessionStates::default()
        });
        let shown = line(&interval);
        assert!(shown.ends_with("errors 0  3 idle for 5s+"), "{shown}");
        assert!(columns(&shown) <= 80, "{shown}");
        interval.counters.events = 0;
        assert!(!line(&interval).contains("idle"));
    }

    #[test]
    fn an_interval_without_events_has_no_longest_one() {
        let mut interval = interval();
        interval.counters.events = 0;
        interval.max_ms = None;
        interval.percentiles[0].value_ms = None;
        let line = live_line(
            &interval,
            EventWord::Transaction,
            false,
            None,
            &Look::default(),
        );
        assert!(line.contains("max       –"), "{line}");
    }

    #[test]
    fn a_line_in_place_shows_how_much_is_left() {
        let look = Look::default();
        let line = live_line(
            &interval(),
            EventWord::Transaction,
            false,
            Some(300.0),
            &look,
        );
        assert!(
            line.starts_with(" 12s of 5m00s   16 sessions  12,345 tx/s"),
            "{line}"
        );
        assert!(columns(&line) <= 80, "{line}");
        assert_eq!(warmup_line(1.3, 5.0, &look), "warm-up   1s of 5s");
    }

    #[test]
    fn clocks() {
        assert_eq!(clock(0.5), "0.5s");
        assert_eq!(clock(12.0), "12s");
        assert_eq!(clock(99.96), "1m40s");
        assert_eq!(clock(185.0), "3m05s");
        assert_eq!(clock(6000.0), "1h40m");
    }
}
