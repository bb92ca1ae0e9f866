//! The start time of a server. If it differs after a reconnect, the server was restarted or another
//! one answers.

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::record::EventKind;

use crate::process::Claim;

/// If the start time moves by more than this between two connections, the server was restarted, or
/// another server answers.
const RESTART_S_MIN: f64 = 3.0;

/// The change since the last connection, if any: a restart, or another server if it had already
/// started by the last answer. Updates the start time, in seconds of the monotonic clock.
pub(super) fn changed(
    claim: &Claim,
    started_s: &mut Option<f64>,
    answered_at: Nanos,
) -> Option<(EventKind, String)> {
    let age_s = claim.sound_s.or(claim.age_s)?;
    let now_s = Clock.now() as f64 / 1e9;
    let before = started_s.replace(now_s - age_s)?;
    let started = now_s - age_s;
    if (started - before).abs() <= RESTART_S_MIN {
        return None;
    }
    Some(match started + RESTART_S_MIN < answered_at as f64 / 1e9 {
        true => (
            EventKind::Observer,
            format!("another server answers the observer: it has been up for {age_s:.0} s"),
        ),
        false => (EventKind::Restart, restarted(claim)),
    })
}

/// Describes a restarted server.
fn restarted(claim: &Claim) -> String {
    let age_s = claim.age_s.unwrap_or_default();
    match claim.sound_s {
        Some(sound_s) if sound_s + RESTART_S_MIN < age_s => format!(
            "the server recovered from a crash of one of its processes: its postmaster has been \
             up for {age_s:.0} s, all others for {sound_s:.0} s"
        ),
        _ => format!("the server was restarted: it has been up for {age_s:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::db::Family;

    use super::*;

    #[test]
    fn another_server_is_no_restart() {
        let claim = |age_s: f64| Claim {
            family: Family::Mysql,
            backend: None,
            age_s: Some(age_s),
            sound_s: None,
            data_directory: None,
            elsewhere: Vec::new(),
        };
        let answered_at = Clock.now();
        let now_s = answered_at as f64 / 1e9;
        let kind = |age_s: f64, answered_at: Nanos| {
            let mut started_s = Some(now_s - 500.0);
            let changed = changed(&claim(age_s), &mut started_s, answered_at);
            assert!((started_s.unwrap() - (now_s - age_s)).abs() < 1.0);
            changed.map(|(kind, _)| kind)
        };
        let minute_ago = answered_at.saturating_sub(60_000_000_000);
        assert_eq!(kind(501.0, answered_at), None);
        assert_eq!(kind(9_000.0, answered_at), Some(EventKind::Observer));
        assert_eq!(kind(100.0, answered_at), Some(EventKind::Observer));
        assert_eq!(kind(20.0, minute_ago), Some(EventKind::Restart));
    }
}
