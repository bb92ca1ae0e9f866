//! Findings excluded from the verdict by the user.

use dyno_core::finding::{Finding, Waiver};

use crate::registry::checks;

/// A waiver names a check that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot waive '{name}': there is no such check{}",
    meant.map_or_else(
        || "; docs/validity.md lists them".to_owned(),
        |meant| format!("; did you mean '{meant}'?")
    )
)]
pub struct UnknownCheck {
    /// The name in the waiver.
    pub name: String,
    /// The check with the nearest name.
    pub meant: Option<&'static str>,
}

/// Excludes findings from the verdict, with reasons. Waiving a check that passed is not an error: a
/// script that waives it once waives it always.
///
/// # Errors
/// [`UnknownCheck`] for an unknown name; the findings are then unchanged.
pub fn waive(findings: &mut [Finding], waivers: &[Waiver]) -> Result<(), UnknownCheck> {
    for waiver in waivers {
        known(&waiver.check)?;
    }
    for waiver in waivers {
        for finding in findings.iter_mut() {
            if finding.check == waiver.check {
                finding.waived = Some(waiver.reason.clone());
            }
        }
    }
    Ok(())
}

fn known(name: &str) -> Result<(), UnknownCheck> {
    if checks().iter().any(|check| check.name == name) {
        return Ok(());
    }
    Err(UnknownCheck {
        name: name.to_owned(),
        meant: dyno_core::suggest::nearest(name, checks().iter().map(|check| check.name)),
    })
}
