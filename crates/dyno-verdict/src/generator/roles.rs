//! Check 4 for roles: whether each kept its requested pace.

use dyno_core::summary::RoleSummary;

use crate::check::{Check, CheckResult, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const ROLE_RATES: Check = Check {
    number: 4,
    name: "role-rates",
    title: "Achieved against requested rate of paced roles",
    rule: "Doubt if a role achieved less than {0} % of its requested rate.",
    thresholds: &[ACHIEVED],
    make: role_rates,
};

thresholds! {
    ACHIEVED = 95.0, "percent", "achieved of requested":
        "the Insert Benchmark's bound for its background inserts";
}

const NAMED_MAX: usize = 4;

fn role_rates(view: &View) -> CheckResult {
    let roles = view.summary().map_or(&[][..], |summary| &summary.roles);
    let paced: Vec<(&RoleSummary, f64)> = roles
        .iter()
        .filter_map(|role| Some((role, role.achieved_share()? * 100.0)))
        .collect();
    if paced.is_empty() {
        return Missing::Roles.or(view, "No role of this workload has its own rate.");
    }
    let rates: Vec<String> = paced.iter().map(|(role, _)| achieved(role)).collect();
    let slow = paced.iter().any(|(_, share)| *share < ACHIEVED.value);
    let evidence = format!("Events per second: {}.", text::few(&rates, NAMED_MAX));
    let result = match slow {
        false => CheckResult::pass(evidence),
        true => CheckResult::doubt(
            evidence,
            "Lower the rate, or give the role more sessions: the target did not keep up with the \
             background work. Compare only with runs that did the same.",
        ),
    };
    paced.iter().fold(result, |result, (role, share)| {
        result.with(
            &format!("{}, achieved of requested", role.name),
            *share,
            "percent",
        )
    })
}

fn achieved(role: &RoleSummary) -> String {
    let asked = role.asked_per_s.unwrap_or_default();
    let mut line = format!(
        "{} {} of {} requested",
        role.name,
        text::plain(role.events_per_s),
        text::plain(asked)
    );
    if role.skipped > 0 {
        line += &format!(" ({} skipped)", role.skipped);
    }
    line
}
