//! Converts the JSON of sysstat's tools (`iostat -o JSON`, `mpstat -o JSON`, `sadf -j`) to their
//! text output.

use serde_json::{Map, Value};

use crate::text;

/// A converted log.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Whether its times are UTC.
    pub(crate) utc: bool,
    /// Whether the log ends within its JSON.
    pub(crate) is_cut: bool,
}

/// Tables of `sadf -j`: where each is, and the prefix and suffix of its column names in sar's text.
const TABLES: [(&str, &str, &str); 9] = [
    ("/process-and-context-switch", "", "/s"),
    ("/swap-pages", "", "/s"),
    ("/paging", "", "/s"),
    ("/io/io-reads", "", "/s"),
    ("/io/io-writes", "", "/s"),
    ("/memory", "kb", ""),
    ("/queue", "", ""),
    ("/network/net-tcp", "", "/s"),
    ("/network/net-etcp", "", "/s"),
];
/// The same for tables with a row for each device.
const LISTS: [(&str, &str, &str, &str); 3] = [
    ("/cpu-load", "cpu", "%", ""),
    ("/disk", "disk-device", "", "/s"),
    ("/network/net-dev", "iface", "", "/s"),
];
/// Names that differ in another way.
const NAMES: [(&str, &str); 10] = [
    ("cpu", "CPU"),
    ("disk-device", "DEV"),
    ("iface", "IFACE"),
    ("rtps/s", "rtps"),
    ("wtps/s", "wtps"),
    ("aqu-sz/s", "aqu-sz"),
    ("avgqu-sz/s", "avgqu-sz"),
    ("util-percent/s", "%util"),
    ("util/s", "%util"),
    ("tps/s", "tps"),
];

/// The log as text; `None` if it is not sysstat's JSON.
pub(crate) fn text(log: &str) -> Option<Written> {
    if !log.contains("\"sysstat\"") {
        return None;
    }
    let log = text::unstamped_json(log);
    let log = log.trim_start_matches('\u{feff}').trim();
    if !log.starts_with('{') {
        return None;
    }
    let whole = serde_json::from_str::<Value>(log).ok();
    let is_cut = whole.is_none();
    let (json, in_list) = match whole {
        Some(json) => (json, false),
        None => {
            let (text, in_list) = closed(log)?;
            (serde_json::from_str(&text).ok()?, in_list)
        }
    };
    let mut written = Written {
        text: String::new(),
        utc: false,
        is_cut,
    };
    for host in json.pointer("/sysstat/hosts")?.as_array()? {
        written.host(host);
    }
    // Without a blank line, the last table may lack rows.
    if !in_list {
        written.text.push('\n');
    }
    Some(written)
}

/// Truncated JSON up to the last complete object or list, with all open brackets closed; and
/// whether it ends within a list of a report.
fn closed(log: &str) -> Option<(String, bool)> {
    /// The brackets around the contents of a report: of the JSON, sysstat, the hosts, a host, and
    /// its reports.
    const AROUND_REPORTS: usize = 5;
    let mut open = Vec::new();
    let mut whole = None;
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in log.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                open.pop();
                whole = Some((at, open.clone()));
            }
            _ => {}
        }
    }
    let (at, open) = whole?;
    let in_list = open.len() > AROUND_REPORTS && open.ends_with(&[']']);
    let text = log[..=at].chars().chain(open.into_iter().rev()).collect();
    Some((text, in_list))
}

impl Written {
    fn line(&mut self, words: impl IntoIterator<Item = String>) {
        self.text += &words.into_iter().collect::<Vec<_>>().join(" ");
        self.text.push('\n');
    }

    fn host(&mut self, host: &Value) {
        let of = |name: &str| host.get(name).map(word).unwrap_or_default();
        // The file's date is local, its times may be UTC.
        let date = host
            .pointer("/statistics/0/timestamp/date")
            .or_else(|| host.get("date"))
            .or_else(|| host.get("file-date"));
        let date = date.map(word).unwrap_or_default();
        self.line([format!(
            "Linux {} ({}) {date} _{}_ ({} CPU)",
            of("release"),
            of("nodename"),
            of("machine"),
            of("number-of-cpus")
        )]);
        let reports = host.get("statistics").and_then(Value::as_array);
        for report in reports.into_iter().flatten() {
            self.text.push('\n');
            let time = report.get("timestamp");
            let clock = time.map(|time| word(time.get("time").unwrap_or(time)));
            self.utc |= time.and_then(|time| time.get("utc")) == Some(&Value::from(1));
            match (report.get("avg-cpu"), report.pointer("/disk/0/disk_device")) {
                (None, None) => self.tables(report, &clock.unwrap_or_default()),
                _ => self.iostat(report, clock),
            }
        }
    }

    fn iostat(&mut self, report: &Value, time: Option<String>) {
        self.line(time);
        if let Some(own) = report.get("avg-cpu").and_then(Value::as_object) {
            let names = own.keys().map(|name| format!("%{name}"));
            self.line(["avg-cpu:".to_owned()].into_iter().chain(names));
            self.line(own.values().map(word));
            self.text.push('\n');
        }
        let devices = report.get("disk").and_then(Value::as_array);
        let mut columns = Vec::new();
        for own in devices.into_iter().flatten().filter_map(Value::as_object) {
            let figures = || own.iter().filter(|(name, _)| *name != "disk_device");
            let names = figures().map(|(name, _)| match name.as_str() {
                "rrqm" | "wrqm" | "drqm" | "util" => format!("%{name}"),
                name => name.to_owned(),
            });
            let names: Vec<String> = names.collect();
            if names != columns {
                self.line(["Device".to_owned()].into_iter().chain(names.clone()));
                columns = names;
            }
            let name = own.get("disk_device").map(word);
            self.line(
                name.into_iter()
                    .chain(figures().map(|(_, value)| word(value))),
            );
        }
    }

    /// Writes the tables of mpstat or sar of one time. A list in which the log ends comes last.
    fn tables(&mut self, report: &Value, clock: &str) {
        for (place, before, behind) in TABLES {
            if let Some(own) = report.pointer(place).and_then(Value::as_object) {
                self.heading(clock, own, ("", before, behind));
                self.row(clock, own);
            }
        }
        for (place, name, before, behind) in LISTS {
            let rows = report.pointer(place).and_then(Value::as_array);
            let rows = rows.into_iter().flatten().filter_map(Value::as_object);
            for (index, own) in rows.enumerate() {
                if index == 0 {
                    self.heading(clock, own, (name, before, behind));
                }
                self.row(clock, own);
            }
        }
    }

    fn heading(&mut self, clock: &str, own: &Map<String, Value>, of: (&str, &str, &str)) {
        let (row, before, behind) = of;
        let names = own.keys().map(|key| {
            let name = match key == row {
                true => key.clone(),
                false => format!("{before}{key}{behind}"),
            };
            let known = NAMES.iter().find(|(own, _)| *own == name);
            known.map_or(name, |(_, name)| (*name).to_owned())
        });
        self.line([clock.to_owned()].into_iter().chain(names));
    }

    fn row(&mut self, clock: &str, own: &Map<String, Value>) {
        self.line([clock.to_owned()].into_iter().chain(own.values().map(word)));
    }
}

/// A value as one word.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains(' ') && !text.contains(':') => text.replace(' ', "_"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
