//! Samples of a host's log with damaged times.

use crate::Warning;
use crate::align::HostLog;

/// A sample this many intervals away from all others has a wrong time.
const FAR: f64 = 10.0;
/// With fewer samples it is unclear which time is wrong.
const SAMPLES_MIN: usize = 3;

/// Leaves out samples at times far from all others.
pub(crate) fn leave_out(log: &mut HostLog) {
    let times = log
        .moments
        .iter()
        .map(|moment| Some(moment.as_ref()?.seconds));
    let Some(times) = times.collect::<Option<Vec<f64>>>() else {
        return;
    };
    let Some((strays, usual_s)) = strays(&times) else {
        return;
    };
    let nearest = |index: usize| {
        let kept = (0..times.len()).filter(|other| !strays.contains(other));
        let away = |other: usize| (times[other] - times[index]).abs();
        kept.min_by(|a, b| away(*a).total_cmp(&away(*b)))
    };
    for &index in &strays {
        let Some(other) = nearest(index) else {
            continue;
        };
        let away_s = (times[other] - times[index]).abs();
        let text = format!(
            "the time of sample {} is {away_s:.0} s away from all others, which are {usual_s:.0} s \
             apart: the sample is skipped",
            index + 1
        );
        log.warnings.push(Warning::new(&log.file, None, text));
        for values in &mut log.collected.all {
            values.values.retain(|(sample, _)| *sample != index);
        }
        // Other times count from the first one.
        log.moments[index] = log.moments[other];
    }
    log.interval_s = usual_s;
}

/// The samples at the ends that are far from all others, and the usual interval between the rest;
/// `None` without such samples.
fn strays(times: &[f64]) -> Option<(Vec<usize>, f64)> {
    if times.len() < SAMPLES_MIN {
        return None;
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
    let step = |pair: &[usize]| times[pair[1]] - times[pair[0]];
    let mut steps: Vec<f64> = order.windows(2).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let usual_s = steps[(steps.len() - 1) / 2];
    let far = |pair: Option<&[usize]>| pair.is_some_and(|pair| step(pair) > FAR * usual_s);
    let first = far(order.windows(2).next()).then(|| order[0]);
    let last = far(order.windows(2).next_back()).then(|| order[order.len() - 1]);
    let strays: Vec<usize> = first.into_iter().chain(last).collect();
    (usual_s > 0.0 && !strays.is_empty()).then_some((strays, usual_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_far_from_all_others_is_a_stray() {
        for (times, expected) in [
            (&[0.0, 1.0, 9033.0, 3.0][..], &[2][..]),
            (&[-3600.0, 1.0, 2.0, 3.0], &[0]),
            (&[0.0, 1.0, 9033.0], &[2]),
            (&[0.0, 10.0, 20.0, 30.0, 9000.0], &[4]),
        ] {
            assert_eq!(strays(times).unwrap().0, expected, "{times:?}");
        }
        // A pause has samples on both sides.
        let pause = [0.0, 1.0, 2.0, 600.0, 601.0, 602.0];
        for times in [&pause[..], &[0.0, 1.0, 2.0, 4.0], &[0.0, 9033.0]] {
            assert_eq!(strays(times), None, "{times:?}");
        }
    }
}
