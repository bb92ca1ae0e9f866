//! Finds fio's JSON within other JSON, or behind other text in a line, as in the results of Ansible
//! and in the logs of harnesses.

use serde_json::{Deserializer, Map, Value};

use super::document::Document;
use super::json::{Damage, DamageKind, without_nan};

/// A key of each document, and as JSON prints it.
const KEY: &str = "fio version";
const QUOTED: &str = "\"fio version\"";
/// How often JSON may be a text in other JSON.
const LAYERS_MAX: usize = 3;

/// The documents in a text, and the first that is damaged.
#[derive(Default)]
pub(super) struct Nested {
    pub(super) documents: Vec<Document>,
    pub(super) damage: Option<Damage>,
}

/// Where a text is: the line, and how often JSON may still be a text in it.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    layers: usize,
}

impl Place {
    /// How many lines of the log a text has.
    fn lines(self, text: &str) -> usize {
        match self.layers + 1 {
            LAYERS_MAX => text.matches('\n').count(),
            _ => 0,
        }
    }
}

impl Nested {
    pub(super) fn read(text: &str) -> Self {
        let mut found = Self::default();
        let place = Place {
            line: 1,
            layers: LAYERS_MAX,
        };
        found.in_text(text, place);
        found
    }

    fn in_text(&mut self, text: &str, mut place: Place) {
        let Some(layers) = place.layers.checked_sub(1).filter(|_| text.contains(KEY)) else {
            return;
        };
        place.layers = layers;
        let text = without_nan(text);
        // The end of the last object, and of the text before the next one.
        let (mut known, mut from) = (0, 0);
        while let Some(at) = text[from..].find('{') {
            let start = from + at;
            let mut read = Deserializer::from_str(&text[start..]).into_iter::<Value>();
            let Some(Ok(value)) = read.next() else {
                // It belongs to other text, or to an object that is damaged.
                from = start + 1;
                continue;
            };
            let end = start + read.byte_offset();
            self.misses(&text[known..start], place);
            place.line += place.lines(&text[known..start]);
            self.of_value(value, place);
            place.line += place.lines(&text[start..end]);
            (known, from) = (end, end);
        }
        self.misses(&text[known..], place);
    }

    /// Notes a document in a text outside of complete objects.
    fn misses(&mut self, text: &str, place: Place) {
        if let Some(at) = text.find(QUOTED) {
            let line = place.line + place.lines(&text[..at]);
            self.damage.get_or_insert_with(|| Damage {
                line,
                why: "fio's JSON within other text is incomplete or damaged".to_owned(),
                kind: DamageKind::Syntax,
            });
        }
    }

    fn of_value(&mut self, value: Value, place: Place) {
        match value {
            Value::Object(own) => self.of_object(own, place),
            Value::Array(all) => {
                // The lines of an output.
                let lines: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
                match lines.map(|lines| lines.join("\n")) {
                    Some(text) => self.in_text(&text, place),
                    None => all
                        .into_iter()
                        .for_each(|value| self.of_value(value, place)),
                }
            }
            Value::String(text) => self.in_text(&text, place),
            _ => {}
        }
    }

    fn of_object(&mut self, own: Map<String, Value>, place: Place) {
        if own.contains_key(KEY) {
            match serde_json::from_value::<Document>(own.into()) {
                Ok(document) => self.documents.push(document.settled()),
                Err(error) => {
                    self.damage.get_or_insert_with(|| Damage {
                        line: place.line,
                        why: error.to_string(),
                        kind: DamageKind::Value,
                    });
                }
            }
            return;
        }
        // Ansible prints the same output twice.
        let has_text = own.contains_key("stdout");
        for (name, value) in own {
            if name != "stdout_lines" || !has_text {
                self.of_value(value, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: &str = "{\n \"disk_util\": [],\n \"fio version\": \"fio-3.33\",\n \"jobs\": [\n  \
                       {\"jobname\": \"bank\", \"read\": {\"total_ios\": 7, \"iops\": -nan}}]\n}";

    fn names(text: &str) -> Vec<String> {
        let documents = Nested::read(text).documents.into_iter();
        let jobs = documents.flat_map(|own| own.jobs);
        jobs.map(|job| job.jobname).collect()
    }

    #[test]
    fn documents_are_found_in_other_json_and_behind_other_text() {
        let lines: Vec<&str> = ONE.lines().collect();
        let lines = serde_json::to_string(&lines).unwrap();
        let text = serde_json::to_string(ONE).unwrap();
        let plain = ONE.replace('\n', "");
        for text in [
            format!("{{\"runs\": [{{\"result\": {ONE}}}, 7]}}"),
            format!("[{{\"result\": {ONE}}}]"),
            format!("2026-11-25 10:00:00 {{7}} INFO result: {plain} (done)\n{{"),
            format!("ok: [db7] => {{\"rc\": 0, \"stdout\": {text}, \"stdout_lines\": {lines}}}"),
            format!("ok: [db7] => {{\n \"own.stdout_lines\": {lines}\n}}\n"),
        ] {
            assert_eq!(names(&text), ["bank"], "{text}");
        }
        let several = format!("a: {plain}\nb: {plain}\n");
        assert_eq!(names(&several), ["bank", "bank"]);
        for text in ["", "{", "{\"fio version\"", "x {\"jobs\": []}", &ONE[..60]] {
            assert!(names(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_damaged_document_is_named_with_its_line() {
        let plain = ONE.replace('\n', "");
        let odd = plain.replace('7', "\"x\"");
        let cut = &plain[..plain.len() - 1];
        for damaged in [odd.as_str(), cut] {
            let found = Nested::read(&format!("a\nb: {damaged}\nc: {plain}\n"));
            let line = found.damage.map(|damage| damage.line);
            assert_eq!((found.documents.len(), line), (1, Some(2)), "{damaged}");
        }
        let named = "fio version: 3.33\n{\"fio\": 1}\n";
        assert_eq!(Nested::read(named).damage, None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[{}\\[\\]:,\"\\\\a-zé0-9 \n.-]*") {
            let _ = Nested::read(&format!("{text}{{\"fio version\": {text}"));
        }
    }
}
