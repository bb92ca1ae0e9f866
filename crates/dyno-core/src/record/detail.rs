//! The values of an event, so that nothing has to parse its text.

use serde::{Deserialize, Serialize};

/// The values of an event that checks need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventDetail {
    /// It was observed on the server's host, which is not the load generator's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_server_host: bool,
    /// The setting that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<SettingChange>,
    /// The line of the kernel's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_log: Option<String>,
    /// For a frozen load generator: whether it waited for a CPU rather than being stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved: Option<bool>,
}

impl EventDetail {
    /// Whether all values are missing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A changed setting.
    pub fn of_setting(change: SettingChange) -> Self {
        Self {
            setting: Some(change),
            ..Self::default()
        }
    }

    /// A line of the kernel's log.
    pub fn of_kernel_log(line: String) -> Self {
        Self {
            kernel_log: Some(line),
            ..Self::default()
        }
    }

    /// The event as text; `None` if it has no values.
    pub fn words(&self) -> Option<String> {
        let setting = self.setting.as_ref().map(SettingChange::words);
        setting.or_else(|| Some(format!("kernel: {}", self.kernel_log.as_ref()?)))
    }
}

/// A changed setting of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The server's name for it.
    pub name: String,
    /// The old value; `(hidden)` if it may contain a secret.
    pub from: String,
    /// The new value.
    pub to: String,
}

impl SettingChange {
    /// A description, in which an empty value is visible.
    pub fn words(&self) -> String {
        let shown = |value: &str| match value.trim() {
            "" => "''".to_owned(),
            value => value.to_owned(),
        };
        let (from, to) = (shown(&self.from), shown(&self.to));
        format!("{} went from {from} to {to}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: &str, to: &str) -> SettingChange {
        SettingChange {
            name: "a".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    #[test]
    fn empty_values_are_visible() {
        assert_eq!(change("x", "").words(), "a went from x to ''");
        assert_eq!(change("", "x").words(), "a went from '' to x");
        assert_eq!(change("1", "2").words(), "a went from 1 to 2");
    }

    #[test]
    fn unknown_details_are_not_serialised() {
        let kept = |detail: &EventDetail| serde_json::to_string(detail).unwrap();
        assert_eq!(kept(&EventDetail::default()), "{}");
        let moved = EventDetail::of_setting(change("1", "2 to 3"));
        let json = kept(&moved);
        assert_eq!(json, r#"{"setting":{"name":"a","from":"1","to":"2 to 3"}}"#);
        assert_eq!(serde_json::from_str::<EventDetail>(&json).unwrap(), moved);
        let line = EventDetail::of_kernel_log("oops".to_owned());
        assert_eq!(line.words().unwrap(), "kernel: oops");
        assert_eq!(EventDetail::default().words(), None);
    }
}
