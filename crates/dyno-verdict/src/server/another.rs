//! Another server that answers the observer, as after a fail-over, or behind a proxy that
//! distributes statements.

use dyno_core::catalogue::names;

use super::ENDS_S;
use crate::text;
use crate::view::View;

/// The least difference between the start times of two servers, in seconds. Answers of a busy
/// server come up to ten seconds late.
const APART_S: f64 = 30.0;

/// An uptime and when it was seen, in seconds.
type Uptime = (f64, f64);

/// The first time that another server answered.
pub(crate) fn another_server(view: &View) -> Option<String> {
    let uptimes = view.points(names::DB_UPTIME);
    let pair = uptimes
        .windows(2)
        .find(|pair| is_another(pair[0], pair[1]))?;
    // MySQL's uptime follows the wall clock.
    (!clock_was_set(view)).then(|| {
        format!(
            "Another server answered the observer at {}: it had been up for {}, the one before \
             for {}",
            text::seconds(pair[1].0),
            text::seconds(pair[1].1),
            text::seconds(pair[0].1)
        )
    })
}

/// The uptimes before and after a restart of the same server.
pub(super) fn restart(uptimes: &[Uptime]) -> Option<(Uptime, Uptime)> {
    let mut pairs = uptimes.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.find(|(before, after)| after.1 + 1.0 < before.1 && began_between(*before, *after))
}

/// Whether a server started between two looks.
fn began_between(before: Uptime, after: Uptime) -> bool {
    after.1 <= after.0 - before.0 + ENDS_S
}

fn is_another(before: Uptime, after: Uptime) -> bool {
    let (passed_s, grown_s) = (after.0 - before.0, after.1 - before.1);
    (grown_s - passed_s).abs() > APART_S && !began_between(before, after)
}

fn clock_was_set(view: &View) -> bool {
    let steps_ms = view.values(names::HOST_CLOCK_STEP);
    let least = steps_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = steps_ms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most - least > ENDS_S * 1e3
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Cause;
    use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
    use dyno_core::record::RunRecord;
    use dyno_samples::{assert_begins, series, values};

    use crate::tests::{expect, judged, summary};

    /// Uptimes of a server, from second 12 on those of another.
    fn moved(run: &mut RunRecord, other: f64) {
        let uptimes = (0..30).map(|second| {
            let began = if second < 12 { 5000.0 } else { other };
            began + f64::from(second)
        });
        series(run, "db.uptime", &uptimes.collect::<Vec<f64>>());
    }

    #[test]
    fn a_fail_over_is_no_restart() {
        for other in [700.0, 90_000.0] {
            let found = expect("restarts", Doubt, |run| {
                moved(run, other);
                summary(run).totals.reconnects = 16;
            });
            let words = "Another server answered the observer at 13 s: it had been up for";
            assert_begins(&found.evidence, words);
            assert_eq!(found.causes, [Cause::LostConnections]);
        }
        // It began after the last look at the one before.
        expect("restarts", Refuse, |run| moved(run, -12.0));
        // Late answers and small steps of the server's clock.
        expect("restarts", Pass, |run| moved(run, 5004.0));
        expect("restarts", Pass, |run| moved(run, 4995.0));
    }

    #[test]
    fn settings_of_another_server_are_not_compared() {
        let differs = |run: &mut RunRecord| {
            let other = values::setting("server_id", "1", Some("2"));
            run.settings.push(other);
        };
        expect("moved-settings", Doubt, differs);
        expect("moved-settings", NotChecked, |run| {
            differs(run);
            moved(run, 700.0);
        });
    }

    #[test]
    fn a_step_of_the_wall_clock_is_no_other_server() {
        expect("restarts", Pass, |run| {
            moved(run, 5600.0);
            let mut steps = [0.0; 30];
            steps[12..].fill(600_000.0);
            series(run, "host.clock.step", &steps);
        });
    }

    #[test]
    fn counters_of_several_servers_are_not_those_of_the_run() {
        let mut run = dyno_samples::good();
        moved(&mut run, 90_000.0);
        let costs = crate::costs(&run);
        let cost = costs.iter().find(|cost| cost.name == "server CPU").unwrap();
        assert!(cost.value.is_none() && cost.left_out, "{cost:?}");
        let counted = judged(&run, "server-counters");
        assert_begins(&counted.evidence, "Another server answered the observer");
    }
}
