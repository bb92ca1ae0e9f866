//! Checks before the load, so that a run that would be refused is not started.

use std::time::Duration;

use dyno_core::db::Family;
use dyno_core::plan::RecordPlan;
use dyno_core::redact;
use dyno_drivers::control::Control;
use dyno_verdict::{RequestedSetting, RowCount, same_setting};

use crate::error::{Result, RunError};
use crate::job::Ready;

/// How long the checks may take. The verdict repeats them at the end.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Refuses a run if its tables have fewer rows than expected, if settings of the server are not as
/// expected (unless the check is waived), or if it has more sessions than the server accepts
/// connections. With `force`, the run goes on all the same.
///
/// # Errors
/// What differs, and what to do about it.
pub(super) fn check(ready: &Ready, wanted: &RecordPlan, rows: &[RowCount]) -> Result<()> {
    let waived = |check: &str| wanted.waivers.iter().any(|waiver| waiver.check == check);
    let mut against = Vec::new();
    if !waived("row-counts") {
        let few = dyno_verdict::too_few_rows(rows);
        let advice = "load the tables with the options of the run, or run with the options they \
                      were loaded with";
        if !few.is_empty() {
            against.push(format!("{} ({advice})", few.join(", ")));
        }
    }
    if !waived("requested-settings") {
        against.extend(unexpected(ready, &wanted.expected));
    }
    against.extend(too_few_connections(ready));
    if against.is_empty() || wanted.force {
        return Ok(());
    }
    Err(RunError::Refused(redact::text(&against.join("; "))))
}

/// The settings that are not as expected.
fn unexpected(ready: &Ready, expected: &[RequestedSetting]) -> Vec<String> {
    let Some(connector) = ready.connector.as_ref().filter(|_| !expected.is_empty()) else {
        return Vec::new();
    };
    let family = connector.family();
    let Ok(mut control) = Control::connect(connector.as_ref(), TIMEOUT) else {
        return Vec::new();
    };
    let different = |wanted: &RequestedSetting| match setting(&mut control, family, &wanted.name)? {
        None => Some(format!("{} does not exist", wanted.name)),
        Some(found) if same_setting(&found, &wanted.value) => None,
        Some(found) => Some(format!(
            "{} is {found} instead of {}",
            wanted.name, wanted.value
        )),
    };
    let against = expected.iter().filter_map(different).collect();
    control.close();
    against
}

/// The value of a setting. `Some(None)` if it does not exist, and `None` if it cannot be queried.
fn setting(control: &mut Control, family: Family, name: &str) -> Option<Option<String>> {
    let Some(sql) = dyno_observe::setting_query(family, name) else {
        // No server has a setting of that name.
        return (!family.is_embedded()).then_some(None);
    };
    let rows = control.query(&sql, TIMEOUT).ok()?;
    Some(rows.first().and_then(|row| row.last()?.clone()))
}

/// A message if the server accepts fewer connections than there are sessions. Several endpoints
/// have a limit each, and it is not known here how many sessions each gets.
fn too_few_connections(ready: &Ready) -> Option<String> {
    let connector = ready.connector.as_ref()?;
    let target = ready.job.target.as_ref()?;
    if target.endpoints.len() != 1 || ready.plan().is_some() {
        return None;
    }
    let mut control = Control::connect(connector.as_ref(), TIMEOUT).ok()?;
    let found = setting(&mut control, connector.family(), "max_connections").flatten();
    control.close();
    let most: u32 = found?.trim().parse().ok()?;
    let sessions = ready.job.drive.own().sessions;
    (sessions > most).then(|| {
        format!(
            "{sessions} sessions need {sessions} connections, but the server allows {most} \
             (max_connections): raise that limit, use fewer --sessions, or connect through a \
             connection pool"
        )
    })
}
