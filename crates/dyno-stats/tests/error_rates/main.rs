//! Checks every procedure against its nominal error rate, on independent values and on first-order
//! autoregressions. False alarms at 5 % under the null hypothesis are between 3 and 7 %, and 95 %
//! intervals cover the truth in 93 to 97 % of the trials.

mod change_points;
mod duets;
mod equivalence;
mod intervals;
mod level_changes;
mod search;
mod series;
#[path = "../simulate/mod.rs"]
mod simulate;
mod stopping;
mod tests;

#[track_caller]
fn covers(share: f64) {
    assert!(
        (0.93..=0.97).contains(&share),
        "covers in {:.2} %",
        100.0 * share
    );
}

#[track_caller]
fn alarms(share: f64) {
    assert!(
        (0.03..=0.07).contains(&share),
        "alarms in {:.2} %",
        100.0 * share
    );
}
