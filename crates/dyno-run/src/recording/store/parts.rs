//! Keeps latencies in memory for each part of a changing load. A results file has them per
//! interval.

use dyno_core::interval::Latencies;
use dyno_core::plan::PlacedPart;
use dyno_core::record::{Operation, RunRecord, Span};
use dyno_core::summary::IntervalSummary;

use super::whole;

/// Instants that are this close are the same.
const SAME_S: f64 = 1e-3;

/// Adds the latencies of an interval to those of the part in which all of it is.
pub(super) fn add(
    record: &mut RunRecord,
    interval: &IntervalSummary,
    operations: &[(&str, &Latencies)],
) {
    let drive = record.head.drive.as_ref();
    let Some(schedule) = drive.and_then(|drive| drive.schedule.as_ref()) else {
        return;
    };
    let (from_s, to_s) = (interval.at_s - interval.length_s, interval.at_s);
    let holds = |part: &PlacedPart| from_s >= part.from_s - SAME_S && to_s <= part.to_s + SAME_S;
    let Some(part) = schedule.placed().into_iter().find(holds) else {
        return;
    };
    for (name, latencies) in operations {
        let known = record.operations.iter().position(|one| one.name == *name);
        let place = known.unwrap_or_else(|| {
            record.operations.push(Operation {
                name: (*name).to_owned(),
                spans: Vec::new(),
                total: None,
            });
            record.operations.len() - 1
        });
        let spans = &mut record.operations[place].spans;
        let last = spans.last_mut();
        match last.filter(|span| span.from_s >= part.from_s - SAME_S) {
            Some(span) => merge(span, to_s, latencies),
            None => spans.push(Span {
                from_s,
                ..whole(latencies, to_s)
            }),
        }
    }
}

fn merge(span: &mut Span, to_s: f64, latencies: &Latencies) {
    span.to_s = to_s;
    let count = latencies.service.len();
    if count == 0 {
        return;
    }
    span.service_ns_min = match span.count {
        0 => latencies.service_ns_min,
        _ => span.service_ns_min.min(latencies.service_ns_min),
    };
    span.service_ns_max = span.service_ns_max.max(latencies.service_ns_max);
    span.service_ns_sum += latencies.service_ns_sum;
    span.count += count;
    // All histograms of a run have the same bounds, so adding cannot fail.
    let _ = span.service.add(&latencies.service);
    let _ = span.response.add(&latencies.response);
}
