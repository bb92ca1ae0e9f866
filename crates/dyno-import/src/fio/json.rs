//! Finds the JSON documents in fio's output.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::error::Category;

use super::document::Document;
use crate::text;

/// Where reading ended before the end of a text, and why.
#[derive(Debug, PartialEq)]
pub(super) struct Damage {
    pub(super) line: usize,
    pub(super) why: String,
    pub(super) kind: DamageKind,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DamageKind {
    /// It is not JSON.
    Syntax,
    /// It ends within a document.
    Cut,
    /// A value in valid JSON that fio never prints.
    Value,
}

impl Damage {
    /// The warning about documents that were read before it.
    pub(super) fn sentence(&self) -> String {
        let what = match self.kind {
            DamageKind::Value => "fio does not print such a value",
            DamageKind::Syntax | DamageKind::Cut => "the JSON is damaged here",
        };
        format!("{what}; the rest is skipped: {}", self.why)
    }
}

/// The documents in a text, and the first damage.
pub(super) fn read(text: &str) -> (Vec<Document>, Option<Damage>) {
    let mut documents = Vec::new();
    let text = text::unstamped_json(text);
    let text = without_nan(&text);
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut from = text.len() - rest.len();
    // Other output of fio may come before and between the documents.
    while let Some(at) = object(rest) {
        from += at;
        rest = &rest[at..];
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Document>();
        match read.next() {
            Some(Ok(document)) => documents.push(document.settled()),
            Some(Err(error)) => {
                let damage = Damage {
                    line: text[..from].lines().count() + error.line(),
                    why: error.to_string(),
                    kind: match error.classify() {
                        Category::Data => DamageKind::Value,
                        Category::Eof => DamageKind::Cut,
                        Category::Syntax | Category::Io => DamageKind::Syntax,
                    },
                };
                return (documents, Some(damage));
            }
            None => break,
        }
        let end = read.byte_offset();
        from += end;
        rest = &rest[end..];
    }
    (documents, None)
}

/// The position of the next object that begins a line, possibly in a list.
fn object(text: &str) -> Option<usize> {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let own = line.trim_start_matches(['[', ',', ' ', '\t']);
        if own.starts_with('{') {
            return Some(from + line.len() - own.len());
        }
        from += line.len();
    }
    None
}

/// The text with null in place of `-nan` and `inf`, which fio prints and JSON does not have.
pub(super) fn without_nan(text: &str) -> Cow<'_, str> {
    let (mut out, mut copied) = (String::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            // No text of JSON continues on the next line.
            b'\n' => (quoted, escaped) = (false, false),
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => {
                if let Some(value) = nan(text, at + 1) {
                    out += &text[copied..value.start];
                    out += "null";
                    copied = value.end;
                }
            }
            _ => {}
        }
    }
    match copied {
        0 => text.into(),
        _ => (out + &text[copied..]).into(),
    }
}

/// The place of a value that is not a finite number.
fn nan(text: &str, from: usize) -> Option<Range<usize>> {
    let value = text[from..].trim_start();
    let start = text.len() - value.len();
    let of_number = |c: char| c.is_ascii_alphanumeric() || "+-.#()".contains(c);
    let end = value.find(|c: char| !of_number(c)).unwrap_or(value.len());
    let word = value[..end].trim_start_matches(['+', '-']);
    let word = word.to_ascii_lowercase();
    // Windows prints `-nan(ind)`, and in old versions `-1.#IND`.
    let is_nan = matches!(word.as_str(), "nan" | "inf" | "infinity")
        || word.starts_with("nan(")
        || word.starts_with("1.#");
    is_nan.then_some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_documents_among_other_lines() {
        let one = "{\"fio version\": \"fio-3.33\", \"jobs\": []}";
        let text = format!("fio: warning\n{one}\nJobs: 1\n{one}\n");
        let (documents, damage) = read(&text);
        assert_eq!((documents.len(), damage), (2, None));
        let (documents, damage) = read(&format!("{one}\n{{\"jobs\": [\n{{\"x\""));
        assert_eq!(documents.len(), 1);
        let damage = damage.unwrap();
        assert_eq!((damage.line, damage.kind), (3, DamageKind::Cut));
        let odd = "{\"jobs\": [{\"read\": {\"iops\": \"abc\"}}]}";
        assert_eq!(read(odd).1.unwrap().kind, DamageKind::Value);
        let null =
            "{\"jobs\": [{\"read\": {\"total_ios\": null, \"clat_ns\": null}, \"sync\": null}]}";
        assert_eq!(read(null).1, None);
    }

    #[test]
    fn objects_may_be_in_a_list_or_have_blanks_or_times_before_them() {
        let one = "{\n\"jobs\": [\n {\"jobname\": \"bank\"}]\n}";
        let names = |text: &str| -> Vec<String> {
            let (documents, damage) = read(text);
            assert_eq!(damage, None, "{text}");
            let jobs = documents.into_iter().flat_map(|own| own.jobs);
            jobs.map(|job| job.jobname).collect()
        };
        let stamped = |text: &str| -> String {
            let lines = text.lines();
            lines
                .map(|line| format!("2026-11-25 16:59:58 {line}\n"))
                .collect()
        };
        for text in [
            format!("  {one}\n\t{one}"),
            format!("[\n  {one},\n  {one}\n]\n"),
            format!("[{one}, {one}]"),
            stamped(&format!("fio: warning\n{one}\n{one}")),
            stamped(&format!("[\n{one},\n{one}\n]")),
        ] {
            assert_eq!(names(&text), ["bank", "bank"], "{text}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_unknown() {
        let text = "fio: -nan in \"x\n{\"jobs\": [{\"jobname\": \"a:nan\", \"read\": \
                    {\"iops\": NaN,\n\"bw_mean\" : -nan,\n\"iops_max\": 7, \
                    \"iops_min\": -Infinity, \"x\":1.#IND, \"clat_ns\": {\"min\": inf, \
                    \"mean\": 5, \"percentile\": {\"50.0\": nan, \"99.0\": 3}}}}]}";
        let (documents, damage) = read(text);
        assert_eq!(damage, None);
        let job = &documents[0].jobs[0];
        assert_eq!(job.jobname, "a:nan");
        assert_eq!((job.read.iops_min, job.read.iops_max), (None, Some(7.0)));
        let latency = &job.read.clat_ns;
        assert!(latency.min.is_nan() && latency.stddev.is_nan() && latency.mean == 5.0);
        assert_eq!(latency.percentile, [("99.0".to_owned(), 3.0)].into());
        // Other words are damage.
        let nano = read("{\"jobs\": nano}").1.unwrap();
        assert_eq!(nano.kind, DamageKind::Syntax);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[{}\\[\\]:,\"a-z0-9 \n.-]*") {
            let _ = read(&text);
            let _ = read(&format!("{{\"jobs\": [{text}]}}"));
        }
    }
}
