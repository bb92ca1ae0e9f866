//! Reads the records of log drivers and of the journal, as Docker's driver `json-file` and
//! `journalctl -o json` write them: a JSON object for each line of the program.

use serde_json::{Map, Value};

use super::{Part, Sources, is_enough, sample};

/// The fields with the program's line.
const TEXTS: [&str; 4] = ["log", "MESSAGE", "message", "msg"];
/// The fields with its time.
const TIMES: [&str; 3] = ["time", "@timestamp", "timestamp"];
const US_PER_S: u64 = 1_000_000;

/// The relevant fields of a record.
struct Record {
    text: String,
    source: String,
    stamp: Option<String>,
}

/// The lines of a log that consists of records; `None` if it does not.
pub(super) fn records(text: &str) -> Option<Vec<Part>> {
    let lines = sample(text);
    let objects = lines.iter().filter(|line| line.starts_with('{'));
    if !is_enough(objects.count(), &lines) {
        return None;
    }
    let found: Vec<Record> = lines.iter().filter_map(|line| record(line)).collect();
    if !is_enough(found.len(), &lines) {
        return None;
    }
    let mut sources = Sources {
        // JSON cannot be read with timestamps between its lines.
        stamped: !found.iter().any(|record| record.text.trim() == "{"),
        ..Sources::default()
    };
    // Docker keeps line feeds, so it shows whether the program's last line has one.
    let keeps = found.iter().any(|record| record.text.ends_with('\n'));
    let mut ends = true;
    let mut damaged = None;
    for (index, line) in text.lines().enumerate() {
        let Some(record) = record(line) else {
            let begins = line.trim_start().starts_with("{\"");
            let rest = if begins { "" } else { line };
            damaged = damaged.or(begins.then_some(index + 1));
            sources.add(None, None, rest);
            continue;
        };
        ends = !keeps || record.text.ends_with('\n');
        let rest = record.text.trim_end_matches(['\n', '\r']);
        sources.add(Some(&record.source), record.stamp.as_deref(), rest);
    }
    let mut parts = sources.parts(ends);
    parts.iter_mut().for_each(|part| part.damaged = damaged);
    Some(parts)
}

fn record(line: &str) -> Option<Record> {
    let line = line.trim();
    if !line.starts_with('{') {
        return None;
    }
    let fields: Map<String, Value> = serde_json::from_str(line).ok()?;
    let text = TEXTS.iter().find_map(|name| message(fields.get(*name)?))?;
    let string = |name: &str| Some(fields.get(name)?.as_str()?.to_owned());
    let printed = TIMES.iter().find_map(|name| string(name));
    Some(Record {
        text,
        source: string("SYSLOG_IDENTIFIER").unwrap_or_default(),
        stamp: journal_time(&fields).or(printed.filter(|time| is_time(time))),
    })
}

/// The journal prints a message with control characters as the array of its bytes.
fn message(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let bytes = value.as_array()?.iter();
    let bytes = bytes.map(|byte| u8::try_from(byte.as_u64()?).ok());
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The journal's microseconds since the epoch, as seconds.
fn journal_time(fields: &Map<String, Value>) -> Option<String> {
    let us: u64 = fields.get("__REALTIME_TIMESTAMP")?.as_str()?.parse().ok()?;
    Some(format!("{}.{:06}", us / US_PER_S, us % US_PER_S)).filter(|time| is_time(time))
}

/// Whether the importers read this time before a line.
fn is_time(text: &str) -> bool {
    !text.contains(' ') && crate::civil::moment(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::unwrapped;

    const LINES: [&str; 3] = ["Threads started!", "", "[ 1s ] tps: 7.00 \"x\""];

    fn only(text: &str) -> super::Part {
        let mut parts = unwrapped(text).unwrap();
        assert_eq!(parts.len(), 1);
        parts.remove(0)
    }

    fn docker(line: &str) -> String {
        let line = serde_json::to_string(line).unwrap();
        let time = "2026-11-21T13:07:48.5Z";
        format!("{{\"log\":{line},\"stream\":\"stdout\",\"time\":\"{time}\"}}\n")
    }

    #[test]
    fn records_of_docker_are_lines() {
        let text = LINES.map(|line| docker(&format!("{line}\n"))).concat();
        let stamp = "2026-11-21T13:07:48.5Z";
        let expected = LINES.map(|line| format!("{stamp} {line}\n")).concat();
        assert_eq!(only(&text).text, expected);
        // The program's last line has no line feed, whether the record has one or not.
        let cut = text.clone() + &docker("[ 2s ] tps: 1");
        for cut in [cut.as_str(), cut.trim_end()] {
            let part = only(cut);
            assert_eq!(part.text, format!("{expected}{stamp} [ 2s ] tps: 1"));
            assert_eq!(part.damaged, None);
        }
        let part = only(&(text + &docker("[ 2s ] tps: 1")[..30]));
        assert_eq!(
            (part.text, part.damaged),
            (format!("{expected}\n"), Some(4))
        );
    }

    #[test]
    fn records_of_the_journal_are_lines_of_their_programs() {
        let record = |name: &str, message: &str| {
            format!(
                "{{\"MESSAGE\":{message},\"__REALTIME_TIMESTAMP\":\"1795266468500000\",\
                 \"SYSLOG_IDENTIFIER\":\"{name}\"}}\n"
            )
        };
        let text = record("sysbench", "\"Threads started!\"")
            + &record("kernel", "\"usb 1-1\"")
            + &record("sysbench", "[91,32,49,115,32,93,32,116,112,115,58,32,55]");
        let mut parts = unwrapped(&text).unwrap();
        assert_eq!(parts.len(), 1);
        let part = parts.remove(0);
        let expected = "1795266468.500000 Threads started!\n\t\n1795266468.500000 [ 1s ] tps: 7\n";
        assert_eq!(
            (part.source.as_str(), part.text.as_str()),
            ("sysbench", expected)
        );
    }

    #[test]
    fn other_json_is_not_a_record() {
        for text in [
            "{\"time\": 1, \"tps\": 7}\n{\"time\": 2, \"tps\": 8}\n",
            "{\"fio version\": \"fio-3.33\"}\n",
            "{\n\"log\": \"a\"\n}\n",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }
}
