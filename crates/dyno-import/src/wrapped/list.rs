//! Reads the lines that Ansible prints as texts in a JSON list (`stdout_lines`).

use super::{Part, Sources, is_enough, is_known, sample};

/// The lines of each host; `None` if the log does not consist of such lists of a known tool.
pub(super) fn lines(text: &str) -> Option<Vec<Part>> {
    // HammerDB prints such lists, too.
    let mut host = text.lines().find_map(host_of)?;
    let sample = sample(text);
    let items = sample.iter().filter_map(|line| item(line));
    if !is_enough(items.count(), &sample) {
        return None;
    }
    let mut sources = Sources::default();
    for line in text.lines() {
        host = host_of(line).unwrap_or(host);
        let own = item(line).unwrap_or_default();
        sources.add(Some(host), None, &own.replace('\n', " "));
    }
    Some(sources.parts(true)).filter(|parts| parts.iter().any(is_known))
}

/// The host of `ok: [db7] => {`, or in a loop `ok: [db7] => (item=2) => {`.
fn host_of(line: &str) -> Option<&str> {
    let (host, rest) = line.split_once(": [")?.1.split_once(']')?;
    rest.starts_with(" => ").then_some(host)
}

/// The text of `        "[ 1s ] thds: 8 …",`.
fn item(line: &str) -> Option<String> {
    let line = line.trim();
    let line = line.strip_suffix(',').unwrap_or(line);
    let text = line.starts_with('"').then_some(line)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use crate::wrapped::unwrapped;

    fn of_host(host: &str, lines: &[String]) -> String {
        let item = |line: &String| format!("        {}", serde_json::to_string(line).unwrap());
        let items: Vec<String> = lines.iter().map(item).collect();
        let items = items.join(",\n");
        format!("ok: [{host}] => {{\n    \"own.stdout_lines\": [\n{items}\n    ]\n}}\n")
    }

    #[test]
    fn lists_are_lines_of_their_hosts() {
        let lines = |rate: u32| -> Vec<String> {
            let line = |second| format!("[ {second}s ] thds: 2 tps: {rate}.00 \"x\"");
            (1..=9).map(line).collect()
        };
        let text = of_host("db7", &lines(7));
        let parts = unwrapped(&text).unwrap();
        let expected = format!("\n\n{}\n\n\n", lines(7).join("\n"));
        assert_eq!((parts.len(), &parts[0].text), (1, &expected));
        // A figure at the end of a cut log may lack digits.
        let cut = &text[..text.rfind(".00").unwrap()];
        let expected = format!("\n\n{}\n\n", lines(7)[..8].join("\n"));
        assert_eq!(unwrapped(cut).unwrap()[0].text, expected);
        let both = text + &of_host("db8", &lines(8));
        let parts = unwrapped(&both).unwrap();
        let hosts: Vec<&str> = parts.iter().map(|part| part.source.as_str()).collect();
        assert_eq!(hosts, ["db7", "db8"]);
        assert_eq!(super::host_of("ok: [db7] => (item=2) => {"), Some("db7"));
        assert!(parts[0].text.contains("7.00") && !parts[0].text.contains("8.00"));
    }

    #[test]
    fn other_lists_stay() {
        let jobs = "[\n\"1\",\n\"RUNNING\",\n\"1\",\n\
                    \"TEST RESULT : System achieved 7 NOPM from 16 MySQL TPM\"\n]\n";
        let unknown: Vec<String> = (1..=9).map(|number| number.to_string()).collect();
        for text in [jobs, &of_host("db7", &unknown)] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }
}
