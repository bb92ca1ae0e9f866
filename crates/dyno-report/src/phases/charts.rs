//! The charts: throughput, every client's rate in time, purge lag.

use dyno_core::record::Span;
use dyno_core::summary::RoleSummary;

use super::metrics::{PURGE_LAGS, Phase};
use super::{Sequence, significant};
use crate::html::{Bar, Drawing, Lines, Series, SmallMultiple};

/// Small charts of one kind.
pub(super) struct Pictures {
    pub(super) title: String,
    pub(super) about: String,
    pub(super) small_multiples: Vec<SmallMultiple>,
    /// Whether colours distinguish sequences.
    pub(super) by_sequence: bool,
}

/// All available charts.
pub(super) fn pictures(sequences: &[Sequence]) -> Vec<Pictures> {
    let rows: Vec<(&str, Vec<Phase<'_>>)> = (sequences.iter())
        .map(|sequence| {
            let phases = sequence.runs.iter().map(|run| Phase { run }).collect();
            (sequence.label.as_str(), phases)
        })
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for phase in rows.iter().flat_map(|(_, phases)| phases) {
        if !names.contains(&phase.name()) {
            names.push(phase.name());
        }
    }
    let album = Album { rows, names };
    let all = [
        album.throughput(),
        album.clients(),
        album.longest(),
        album.purge_lags(),
    ];
    let drawn = all.into_iter();
    drawn
        .filter(|pictures| !pictures.small_multiples.is_empty())
        .collect()
}

struct Album<'a> {
    rows: Vec<(&'a str, Vec<Phase<'a>>)>,
    names: Vec<&'a str>,
}

impl<'a> Album<'a> {
    /// The phase with this name in each sequence that has it, with the sequence's index and label.
    fn phases(&self, name: &str) -> Vec<(usize, &'a str, &Phase<'a>)> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(number, (label, phases))| {
            let phase = phases.iter().find(|phase| phase.name() == name)?;
            Some((number, *label, phase))
        })
        .collect()
    }

    fn throughput(&self) -> Pictures {
        let multiple = |name: &&str| {
            let phases = self.phases(name);
            let unit = phases
                .first()
                .map_or("events", |(_, _, phase)| phase.unit());
            let bars = phases.iter().map(|(number, label, phase)| {
                let (value, missed) = (phase.rate(), phase.missed());
                let text = value.map_or_else(|| "–".to_owned(), significant);
                Bar {
                    label: (*label).to_owned(),
                    value,
                    text: if missed { format!("({text})") } else { text },
                    colour: *number,
                    faint: missed,
                }
            });
            SmallMultiple {
                title: format!("{name}, {unit}/s"),
                drawing: Drawing::Bars(bars.collect()),
            }
        };
        Pictures {
            title: "Throughput by phase".to_owned(),
            about:
                "Each phase has its own scale. Faint bars in brackets: background work missed its \
                 rate."
                    .to_owned(),
            small_multiples: self.names.iter().map(multiple).collect(),
            by_sequence: true,
        }
    }

    /// A chart for each phase, role and sequence; those of a phase and role share their axes.
    fn clients(&self) -> Pictures {
        let mut small_multiples = Vec::new();
        for name in &self.names {
            let phases = self.phases(name);
            let mut roles: Vec<&RoleSummary> = Vec::new();
            for (_, _, phase) in &phases {
                for role in phase.roles() {
                    let shown = !role.background || role.asked_per_s.is_some();
                    if shown && !roles.iter().any(|known| known.name == role.name) {
                        roles.push(role);
                    }
                }
            }
            for role in roles {
                small_multiples.extend(clients_of(name, role, &phases));
            }
        }
        Pictures {
            title: "Rate of each client over time".to_owned(),
            about: "One line per session, for roles in the foreground and for roles in the \
                    background with a requested rate. Charts of the same phase and role have \
                    the same axes."
                .to_owned(),
            small_multiples,
            by_sequence: false,
        }
    }

    /// A chart for each phase and operation.
    fn longest(&self) -> Pictures {
        let mut small_multiples = Vec::new();
        for name in &self.names {
            let phases = self.phases(name);
            let mut operations: Vec<&str> = Vec::new();
            for (_, _, phase) in &phases {
                for operation in &phase.run.operations {
                    let new = !operations.contains(&operation.name.as_str());
                    if new && operation.name != "event" {
                        operations.push(&operation.name);
                    }
                }
            }
            for operation in operations {
                let series = phases.iter().filter_map(|(number, label, phase)| {
                    let mut all = phase.run.operations.iter();
                    let own = all.find(|own| own.name == operation)?;
                    let spans = own.spans.iter().filter(|span| span.count > 0);
                    let points = spans.map(|span| (span.to_s, longest_ms(span)));
                    let one = Series {
                        name: (*label).to_owned(),
                        colour: *number,
                        points: points.filter(|(at, _)| *at >= 0.0).collect(),
                    };
                    (one.points.len() > 1).then_some(one)
                });
                let title = format!("{name}: {operation}");
                small_multiples.extend(lines(title, "ms".to_owned(), series.collect()));
            }
        }
        Pictures {
            title: "Longest response times over time".to_owned(),
            about: "For each operation, the longest of all clients in each interval.".to_owned(),
            small_multiples,
            by_sequence: true,
        }
    }

    /// A chart for each phase and each measure of purge lag.
    fn purge_lags(&self) -> Pictures {
        let mut small_multiples = Vec::new();
        for (series, what, unit) in PURGE_LAGS {
            for name in &self.names {
                let phases = self.phases(name);
                let series = phases.iter().filter_map(|(number, label, phase)| {
                    let points = &phase.run.series(series)?.points;
                    let within = points.iter().copied().filter(|(at, _)| *at >= 0.0);
                    let one = Series {
                        name: (*label).to_owned(),
                        colour: *number,
                        points: within.collect(),
                    };
                    (one.points.len() > 1).then_some(one)
                });
                let title = format!("{name}: {what}");
                small_multiples.extend(lines(title, unit.to_owned(), series.collect()));
            }
        }
        Pictures {
            title: "Data not yet purged".to_owned(),
            about: "Deleted or replaced data that the server still keeps, because it has not \
                    purged it yet or because a transaction may still read it."
                .to_owned(),
            small_multiples,
            by_sequence: true,
        }
    }
}

/// From the scheduled start in an open loop, in milliseconds.
fn longest_ms(span: &Span) -> f64 {
    let ns = match span.response.is_empty() {
        true => span.service_ns_max,
        false => span.response.max().max(span.service_ns_max),
    };
    ns as f64 / 1e6
}

fn clients_of(
    name: &str,
    role: &RoleSummary,
    phases: &[(usize, &str, &Phase<'_>)],
) -> Vec<SmallMultiple> {
    let mut small_multiples = Vec::new();
    for (_, label, phase) in phases {
        let Some(own) = phase.roles().iter().find(|own| own.name == role.name) else {
            continue;
        };
        let sessions = phase.sessions_of(&own.name).into_iter().enumerate();
        let series = sessions.map(|(number, points)| Series {
            name: format!("{} {}", own.name, number + 1),
            colour: number,
            points: (points.iter())
                .map(|(at, rate)| (*at, rate * own.per_event))
                .collect(),
        });
        let series = series.filter(|one| one.points.len() > 1).collect();
        let title = match phases.len() {
            1 => format!("{name}: {}", role.name),
            _ => format!("{name}: {}, {label}", role.name),
        };
        let unit = match own.background {
            true => &own.unit,
            false => phase.unit(),
        };
        small_multiples.extend(lines(title, format!("{unit}/s"), series));
    }
    share_axes(&mut small_multiples);
    small_multiples
}

/// A chart of lines; `None` without lines.
fn lines(title: String, unit: String, series: Vec<Series>) -> Option<SmallMultiple> {
    if series.is_empty() {
        return None;
    }
    let points = || series.iter().flat_map(|one| &one.points);
    let x_max = points().map(|(x, _)| *x).fold(0.0, f64::max);
    let y_max = points().map(|(_, y)| *y).fold(0.0, f64::max);
    Some(SmallMultiple {
        title,
        drawing: Drawing::Lines(Lines {
            unit,
            x_max,
            y_max,
            series,
        }),
    })
}

fn share_axes(small_multiples: &mut [SmallMultiple]) {
    let all = |small_multiples: &[SmallMultiple], end: fn(&Lines) -> f64| {
        let ends = small_multiples
            .iter()
            .map(|multiple| match &multiple.drawing {
                Drawing::Lines(lines) => end(lines),
                Drawing::Bars(_) => 0.0,
            });
        ends.fold(0.0, f64::max)
    };
    let (x_max, y_max) = (
        all(small_multiples, |l| l.x_max),
        all(small_multiples, |l| l.y_max),
    );
    for multiple in small_multiples {
        if let Drawing::Lines(lines) = &mut multiple.drawing {
            (lines.x_max, lines.y_max) = (x_max, y_max);
        }
    }
}
