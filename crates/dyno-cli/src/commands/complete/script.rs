//! Completes the options that a workload declares, and the values of those with fixed choices.

use std::time::Duration;

use dyno_host::Edition;
use dyno_run::{Job, Loaded, Workload, builtins};
use dyno_script::{Description, OptionKind};

use super::Answer;

/// Timeout of a script's top level.
const PATIENCE: Duration = Duration::from_secs(1);

/// A workload, loaded without a database.
pub(super) struct Declared {
    description: Description,
    /// The script and the modules that it requires.
    texts: Vec<String>,
}

impl Declared {
    /// Loads a workload by name; `None` if it is unknown or fails to load.
    pub(super) fn load(name: &str, edition: Edition) -> Option<Self> {
        // Standard input belongs to the shell.
        if name == "-" {
            return None;
        }
        let work = Workload::find(name, edition).ok()?;
        let text = String::from_utf8_lossy(&work.text()).into_owned();
        let job = Job {
            call_timeout: PATIENCE,
            sysbench: edition == Edition::Sysbench,
            ..Job::of(work)
        };
        let description = Loaded::new(job).ok()?.description;
        let mut texts = vec![text];
        modules(&mut texts);
        Some(Self { description, texts })
    }

    /// The options; those that need a value end in an equals sign.
    pub(super) fn options(&self, equals: bool) -> impl Iterator<Item = (String, String)> {
        let declared = self.description.options.as_deref().unwrap_or_default();
        declared.iter().map(move |option| {
            let end = match equals && option.kind != OptionKind::Bool {
                true => "=",
                false => "",
            };
            let default = option.default.as_ref().filter(|text| !text.is_empty());
            let default = default.map_or_else(String::new, |text| format!(" [{text}]"));
            let name = format!("--{}{end}", option.name.replace('_', "-"));
            (name, format!("{}{default}", option.description))
        })
    }

    /// The values of an option; `None` if the option is unknown, or takes a value only after an
    /// equals sign, which is missing.
    pub(super) fn values(&self, name: &str, equals: bool) -> Option<Answer> {
        let plain = name.replace('-', "_");
        let mut options = self.description.options.as_deref()?.iter();
        let option = options.find(|option| option.key() == plain)?;
        match option.kind {
            OptionKind::Bool => equals.then(|| Answer::of(["on", "off"])),
            OptionKind::File => Some(Answer::of_files()),
            _ => {
                let mut texts = self.texts.iter();
                let words = texts.find_map(|text| one_of(text, &plain));
                Some(Answer::of(words.unwrap_or_default()))
            }
        }
    }

    /// The script's own commands.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        let listed = self.description.commands.iter();
        let listed = listed.map(|(name, _)| name.as_str());
        let usual = ["prepare", "run", "warmup", "check", "cleanup"];
        let functions = self.description.functions.iter().map(String::as_str);
        let functions = functions.filter(move |name| usual.contains(name));
        listed.chain(functions).chain(["run", "help"])
    }
}

/// Adds the built-in modules that the texts require.
fn modules(texts: &mut Vec<String>) {
    let mut names: Vec<&str> = Vec::new();
    let mut next = 0;
    while next < texts.len() {
        for (name, script) in builtins::SCRIPTS {
            let asks = [format!("\"{name}\""), format!("'{name}'")];
            let wanted = texts[next].contains("require")
                && asks.iter().any(|asked| texts[next].contains(asked));
            if wanted && !names.contains(name) {
                names.push(name);
                texts.push((*script).to_owned());
            }
        }
        next += 1;
    }
}

/// The choices in the script's call of `dyno.option.one_of` for an option.
fn one_of(text: &str, name: &str) -> Option<Vec<String>> {
    let calls = text.split("one_of(").skip(1);
    calls
        .filter_map(|call| {
            let (own, rest) = quoted(call)?;
            let list = rest.trim_start().strip_prefix(',')?.trim_start();
            let list = list.strip_prefix('{')?.split_once('}')?.0;
            let words = list.split(',').map(quoted);
            let words: Option<Vec<String>> = words
                .map(|word| word.map(|(word, _)| word.to_owned()))
                .collect();
            (own.replace('-', "_") == name).then_some(words?)
        })
        .next()
}

/// The first quoted text, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_texts_are_found_in_scripts() {
        let text = "local one_of = dyno.option.one_of\n\
                    one_of(\"mix\", {\"auto\", 'deck'})\n\
                    one_of(\"other\", choices)";
        let words = one_of(text, "mix").unwrap();
        assert_eq!(words, ["auto", "deck"]);
        assert_eq!(one_of(text, "other"), None);
        assert_eq!(one_of(text, "deck"), None);
    }

    #[test]
    fn every_list_in_a_built_in_script_is_found() {
        let mut found = 0;
        for (name, script) in builtins::SCRIPTS {
            for call in script.split("one_of(\"").skip(1) {
                let option = call.split('"').next().unwrap();
                let words = one_of(script, option);
                assert!(
                    words.is_some_and(|words| words.len() > 1),
                    "{name}: {option}"
                );
                found += 1;
            }
        }
        assert!(found > 10, "{found}");
    }
}
