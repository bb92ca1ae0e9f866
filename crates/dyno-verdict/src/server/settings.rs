//! Checks 37 and 41: the effective configuration, and its changes.

use dyno_core::record::{EventKind, SettingChange};

use super::{another_server, is_servers_own};
use crate::check::{Check, CheckResult};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const REQUESTED: Check = Check {
    number: 37,
    name: "requested-settings",
    title: "Effective against requested settings",
    rule: "Refusal if a requested setting has another value or does not exist; the run does not \
           start unless forced. Doubt if it had another value for part of the run.",
    thresholds: &[],
    make: requested,
};

pub(super) const MOVED: Check = Check {
    number: 41,
    name: "moved-settings",
    title: "Settings that changed during the run",
    rule: "Doubt if a setting changed, even if it changed back, or if a table's engine or \
           persistence did. Changes between the first read and the measurement count, too. The \
           server's counters and positions do not count. A change shorter than a second may be \
           missed, or shorter than five seconds while clients keep setting something. Not checked \
           if another server answered the observer.",
    thresholds: &[],
    make: moved,
};

fn requested(view: &View) -> CheckResult {
    let requested = &view.context.requested_settings;
    if requested.is_empty() {
        return Missing::RequestedSettings.or(view, "No settings were requested.");
    }
    if view.run.settings.is_empty() {
        return CheckResult::not_checked(format!("{}.", view.why_not("settings")));
    }
    let wrong: Vec<String> = requested
        .iter()
        .filter_map(|wanted| match view.setting(&wanted.name) {
            None => Some(format!("{} does not exist", wanted.name)),
            Some(value) if same(value, &wanted.value) => None,
            Some(value) => Some(format!(
                "{} is {value} instead of {}",
                wanted.name, wanted.value
            )),
        })
        .collect();
    let left = match wrong.is_empty() {
        true => left(view),
        false => Vec::new(),
    };
    let result = if !wrong.is_empty() {
        CheckResult::refuse(
            format!("{}.", text::few(&wrong, 5)),
            "See where the setting comes from, and restart the server if needed: servers round \
             sizes and ignore files they do not read.",
        )
    } else if !left.is_empty() {
        CheckResult::doubt(format!("{}.", text::few(&left, 5)), FIND_OUT)
    } else {
        CheckResult::pass(match requested.len() {
            1 => "The requested setting is in effect.".to_owned(),
            all => format!("All {all} requested settings are in effect."),
        })
    };
    result
        .with("requested", requested.len() as f64, "count")
        .with("different", (wrong.len() + left.len()) as f64, "count")
}

/// Requested settings that had another value for part of the run.
fn left(view: &View) -> Vec<String> {
    let requested = &view.context.requested_settings;
    let is_requested = |name: &str| {
        let mut names = requested.iter().map(|wanted| &wanted.name);
        names.any(|wanted| wanted.eq_ignore_ascii_case(name))
    };
    let moments = view.later_settings(is_requested);
    let mut left = Vec::new();
    for wanted in requested {
        let (name, value) = (&wanted.name, &wanted.value);
        let other = moments.iter().find_map(|moment| {
            let other = moment.setting(name).filter(|other| !same(other, value))?;
            let when = moment.when();
            Some(format!("{name} is {other} instead of {value} {when}"))
        });
        left.extend(other);
    }
    left
}

const FIND_OUT: &str = "Find out who or what changed them during the run, and run again.";

/// Whether two spellings mean the same value.
pub fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    if one.eq_ignore_ascii_case(other) {
        return true;
    }
    let flag = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    };
    if let (Some(one), Some(other)) = (flag(one), flag(other)) {
        return one == other;
    }
    match (text::parse_bytes(one, 1.0), text::parse_bytes(other, 1.0)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn moved(view: &View) -> CheckResult {
    let both = || {
        let pairs = view.run.settings.iter();
        pairs.filter_map(|setting| {
            Some((
                &setting.name,
                setting.start.as_ref()?,
                setting.end.as_ref()?,
            ))
        })
    };
    if let Some(how) = another_server(view) {
        return CheckResult::not_checked(format!("{how}. Its settings are not comparable."));
    }
    let (mut moved, reported) = seen(view);
    let compared = both().count();
    if compared == 0 && moved.is_empty() {
        return CheckResult::not_checked(match view.run.settings.is_empty() {
            true => format!("{}.", view.why_not("settings")),
            false => "The settings were not read again at the end.".to_owned(),
        });
    }
    let unseen = both().filter(|(name, start, end)| {
        start != end && !reported.contains(&name.as_str()) && !is_servers_own(name)
    });
    moved.extend(unseen.map(|(name, start, end)| words(name, [start.as_str(), end.as_str()])));
    let result = match moved.is_empty() {
        true => CheckResult::pass(format!(
            "None of {} changed.",
            text::counted(compared as u64, "setting")
        )),
        false => CheckResult::doubt(text::sentence(&text::few(&moved, 5)), FIND_OUT),
    };
    result
        .with("compared", compared as f64, "count")
        .with("moved", moved.len() as f64, "count")
}

/// The changes that the observer saw, and the settings that changed.
fn seen<'a>(view: &View<'a>) -> (Vec<String>, Vec<&'a str>) {
    let before = view.moved_before();
    let mut names: Vec<&str> = before.iter().map(|(name, _)| *name).collect();
    let early = before.into_iter();
    let early = early.map(|(name, ends)| format!("{} before the measurement", words(name, ends)));
    let mut moved: Vec<String> = early.collect();
    for event in view.events(EventKind::Setting) {
        let words = event.detail.words();
        let words = words.as_deref().unwrap_or(&event.text);
        moved.push(format!("{words} at {}", text::seconds(event.at_s)));
        let change = event.detail.setting.as_ref();
        names.extend(change.map(|change| change.name.as_str()));
    }
    (moved, names)
}

fn words(name: &str, [from, to]: [&str; 2]) -> String {
    let change = SettingChange {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    change.words()
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn spellings_of_one_value_are_the_same() {
        for (one, other) in [
            ("ON", "on"),
            ("1", "ON"),
            ("off", "0"),
            ("1G", "1073741824"),
            ("128MB", "131072kB"),
            ("O_DIRECT", "o_direct"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("ON", "OFF"),
            ("2", "1"),
            ("1G", "2G"),
            ("fsync", "O_DIRECT"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }
}
