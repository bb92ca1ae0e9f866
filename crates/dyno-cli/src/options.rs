//! The command line: one definition per option, from which the parser and `--help` come.
//!
//! Scripts declare their own options, which are known only after loading. Therefore a command line
//! is read twice: leniently, to find the script and the options that affect its loading, then
//! strictly.

mod elsewhere;
mod opt;

use std::fmt::Write as _;

use dyno_core::redact;
use dyno_run::RunError;
use dyno_script::{OptionKind, ScriptOption};

pub(crate) use self::elsewhere::hint as hint_of_others;
pub(crate) use self::opt::{Opt, Scope};

/// A parsed command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    /// Dyno's own options by canonical name, in order; the last value counts.
    pub own: Vec<(&'static str, Option<String>)>,
    /// The script's options by declared name.
    pub script: Vec<(String, Option<String>)>,
    /// Arguments that are not options.
    pub words: Vec<String>,
}

impl Parsed {
    /// Whether the option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.own.iter().any(|(own, _)| *own == name)
    }

    /// The last value given.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.own
            .iter()
            .rev()
            .find(|(own, _)| *own == name)
            .and_then(|(_, v)| v.as_deref())
    }

    /// Hides the password in the target's URL after it has been read.
    pub(crate) fn forget_password(&mut self) {
        for (_, value) in self.own.iter_mut().filter(|(name, _)| *name == "target") {
            *value = value.as_deref().map(redact::text);
        }
    }

    /// All values given, in order.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let given = self.own.iter().filter(move |(own, _)| *own == name);
        given.filter_map(|(_, value)| value.as_deref())
    }
}

/// The syntax of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// `--name VALUE`, `--name=VALUE`, `-n VALUE`.
    Dyno,
    /// `--name[=VALUE]` only.
    Sysbench,
}

/// Known options of the script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Script<'a> {
    /// The script is not loaded yet: skip unknown options.
    Unknown,
    /// It declares these options.
    Declares(&'a [ScriptOption]),
    /// It declares none and accepts any.
    TakesAny,
}

/// Parses a command line.
///
/// # Errors
/// An unknown option (with the nearest known one), or a missing or superfluous value.
pub(crate) fn parse(
    args: &[String],
    own: &[Opt],
    script: Script<'_>,
    grammar: Grammar,
) -> Result<Parsed, RunError> {
    let mut parsed = Parsed::default();
    let mut rest = args.iter().peekable();
    while let Some(arg) = rest.next() {
        let Some((name, inline)) = split(arg, grammar) else {
            parsed.words.push(arg.clone());
            continue;
        };
        let next_is_value = grammar == Grammar::Dyno
            && rest
                .peek()
                .is_some_and(|next| !next.starts_with("--") || next.len() == 2);
        // If a script declares an option with the same name as one of Dyno's, both get the value.
        let declared = match script {
            Script::Declares(options) => find_script(options, &name),
            Script::Unknown | Script::TakesAny => None,
        };
        let is_scripts = means_scripts(&name, inline.is_some(), declared, script);
        let own_opt = find_own(own, &name).filter(|opt| opt.value.is_some() || !is_scripts);
        if let Some(opt) = own_opt {
            let leads = opt.leads && parsed.words.is_empty() && next_is_word(rest.peek());
            let value = match inline {
                None if leads => rest.next().cloned(),
                inline => take_value(opt, arg, inline, next_is_value, &mut rest)?,
            };
            if let Some(option) = declared {
                parsed.script.push((option.name.clone(), value.clone()));
            }
            parsed.own.push((opt.name, value));
            continue;
        }
        if let (None, Script::Declares(options)) = (declared, script) {
            return Err(unknown(arg, &name, own, options, grammar));
        }
        let next_is_value = next_is_value && (declared.is_some() || !parsed.words.is_empty());
        let next = (inline.is_none() && next_is_value).then_some(&mut rest);
        parsed
            .script
            .extend(scripts(name, inline, next, declared, (script, grammar))?);
    }
    Ok(parsed)
}

/// Whether the name of a Dyno switch means the script's option instead: because that option takes a
/// value, or because the command line gives it one.
fn means_scripts(
    name: &str,
    has_value: bool,
    declared: Option<&ScriptOption>,
    script: Script<'_>,
) -> bool {
    let takes = declared.is_some_and(|option| option.kind != OptionKind::Bool);
    let may_be = declared.is_some() || !matches!(script, Script::Declares(_));
    takes || has_value && name.len() > 1 && may_be
}

/// A script's option with its value, which may be the next word; `None` if the script is unknown.
fn scripts<'a>(
    name: String,
    inline: Option<String>,
    next: Option<&mut impl Iterator<Item = &'a String>>,
    declared: Option<&ScriptOption>,
    (script, grammar): (Script<'_>, Grammar),
) -> Result<Option<(String, Option<String>)>, RunError> {
    let Some(option) = declared else {
        if matches!(script, Script::TakesAny) {
            return Ok(Some((name.trim_start_matches('-').to_owned(), inline)));
        }
        // After the workload's name, the next word may be its value; before it, the name.
        next.map(Iterator::next);
        return Ok(None);
    };
    let takes = option.kind != OptionKind::Bool;
    let value = match next.filter(|_| takes) {
        Some(next) => next.next().cloned(),
        None => inline,
    };
    if value.is_none() && takes && grammar == Grammar::Dyno {
        return Err(RunError::Usage(format!(
            "--{name} needs a value, e.g. --{name}=…"
        )));
    }
    Ok(Some((option.name.clone(), value)))
}

/// Splits `--name[=value]` or `-n`; `None` for a word.
fn split(arg: &str, grammar: Grammar) -> Option<(String, Option<String>)> {
    if let Some(long) = arg.strip_prefix("--") {
        return match long.split_once('=') {
            Some((name, value)) => Some((name.to_owned(), Some(value.to_owned()))),
            None => Some((long.to_owned(), None)),
        };
    }
    let short = arg.strip_prefix('-').filter(|_| grammar == Grammar::Dyno)?;
    let mut chars = short.chars();
    let letter = chars.next()?;
    let value = chars.as_str().trim_start_matches('=');
    Some((
        letter.to_string(),
        (!value.is_empty()).then(|| value.to_owned()),
    ))
}

/// Whether a word follows; `-` for standard input is one.
fn next_is_word(next: Option<&&String>) -> bool {
    next.is_some_and(|next| !next.starts_with('-') || *next == "-")
}

fn take_value<'a>(
    opt: &Opt,
    arg: &str,
    inline: Option<String>,
    next_is_value: bool,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<Option<String>, RunError> {
    match (opt.value, inline) {
        (None, Some(value)) => Err(RunError::Usage(format!(
            "--{} is a switch and takes no value ('{value}')",
            opt.name
        ))),
        (None, None) => Ok(None),
        (Some(_), Some(value)) => Ok(Some(value)),
        (Some(_), None) if opt.bare => Ok(None),
        (Some(_), None) if next_is_value => Ok(rest.next().cloned()),
        (Some(value), None) => {
            let name = opt.name;
            Err(RunError::Usage(format!(
                "{arg} needs a value: --{name}={value} ({})",
                opt.help
            )))
        }
    }
}

/// Whether two names of options are the same: `-` and `_` are equivalent.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .all(|(a, b)| a == b || (is_dash(a) && is_dash(b)))
}

fn is_dash(c: u8) -> bool {
    c == b'-' || c == b'_'
}

/// Finds an option by name, alias or letter.
pub(crate) fn find_own<'a>(own: &'a [Opt], name: &str) -> Option<&'a Opt> {
    own.iter().find(|opt| {
        same(opt.name, name)
            || opt.aliases.iter().any(|alias| same(alias, name))
            || opt
                .short
                .is_some_and(|short| name.len() == 1 && name.starts_with(short))
    })
}

/// The last argument with this option, as typed.
pub(crate) fn as_typed<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let gives = |arg: &&String| {
        let typed = arg.strip_prefix("--").unwrap_or_default();
        same(typed.split('=').next().unwrap_or_default(), name)
    };
    args.iter().rev().find(gives).map(String::as_str)
}

fn find_script<'a>(options: &'a [ScriptOption], name: &str) -> Option<&'a ScriptOption> {
    options.iter().find(|option| same(&option.name, name))
}

/// Dyno's option, by one of its names, that a script's undeclared option probably means.
pub(crate) fn near_miss(name: &str, own: &[Opt]) -> Option<&'static str> {
    let plain = name.replace('_', "-");
    let close = |known: &&str| strsim::osa_distance(known, &plain) == 1 && plain.len() > 3;
    let names = own.iter();
    names
        .flat_map(|opt| std::iter::once(opt.name).chain(opt.aliases.iter().copied()))
        .find(close)
}

fn unknown(
    arg: &str,
    name: &str,
    own: &[Opt],
    options: &[ScriptOption],
    grammar: Grammar,
) -> RunError {
    let typed = name.replace('_', "-");
    let dashes = if name.len() == 1 { "-" } else { "--" };
    if grammar == Grammar::Dyno
        && find_own(own, "target").is_some()
        && let Some(hint) = hint_of_others(&typed)
    {
        return RunError::Usage(format!("unknown option {dashes}{name}; {hint}"));
    }
    let own = own.iter();
    let own = own.flat_map(|opt| std::iter::once(&opt.name).chain(opt.aliases));
    let names = own.copied().chain(options.iter().map(|o| o.name.as_str()));
    let nearest = names
        .map(|known| {
            let plain = known.replace('_', "-");
            // A part of a name is a stronger hint than a similar spelling.
            let is_part = plain.starts_with(&typed) || plain.ends_with(&format!("-{typed}"));
            let distance = match typed.len() > 2 && is_part {
                true => 0,
                false => strsim::osa_distance(&plain, &typed),
            };
            // Prefer the shortest name: --agents for --agent.
            (distance, plain.len().abs_diff(typed.len()), known)
        })
        .min();
    let hint = match nearest {
        Some((distance, _, known)) if distance <= 1 + name.len() / 4 => {
            // In the command line's spelling, whatever the script's.
            Some(format!("did you mean --{}?", known.replace('_', "-")))
        }
        _ => None,
    };
    if grammar == Grammar::Sysbench {
        // Programs look for sysbench's line, so the suggestion is on a separate line.
        let hint = hint.map_or(String::new(), |hint| format!("\n{hint}"));
        return RunError::Usage(format!("invalid option: {arg}{hint}"));
    }
    let hint = hint.as_deref().unwrap_or("see --help");
    RunError::Usage(format!("unknown option {dashes}{name}; {hint}"))
}

/// Help on Dyno's own options, by group, in the grammar's syntax.
pub(crate) fn help(own: &[Opt], grammar: Grammar) -> String {
    let mut text = String::new();
    let mut group = "";
    for opt in own.iter().filter(|opt| !opt.help.is_empty()) {
        if opt.group != group {
            group = opt.group;
            let _ = writeln!(text, "\n{group}:");
        }
        let short = opt
            .short
            .map_or("    ".to_owned(), |short| format!("-{short}, "));
        let value = match (opt.value, opt.bare) {
            (None, _) => String::new(),
            (Some(value), true) => format!("[={value}]"),
            (Some(value), false) if grammar == Grammar::Sysbench => format!("={value}"),
            (Some(value), false) => format!(" {value}"),
        };
        let head = format!("{short}--{}{value}", opt.name);
        if head.len() > 30 {
            let _ = writeln!(text, "  {head}\n  {:30} {}", "", opt.help);
        } else {
            let _ = writeln!(text, "  {head:30} {}", opt.help);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[Opt] = &[
        Opt::new("Load", "sessions", Some("N"), "how many")
            .short('c')
            .also(&["threads"]),
        Opt::new("Output", "quiet", None, "say less").short('q'),
    ];

    fn args(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn tables() -> Vec<ScriptOption> {
        let option = |name: &str, kind| ScriptOption {
            name: name.to_owned(),
            description: String::new(),
            kind,
            default: None,
        };
        vec![
            option("table_size", OptionKind::Int),
            option("skip_trx", OptionKind::Bool),
        ]
    }

    #[test]
    fn both_spellings_and_both_forms() {
        let script = tables();
        for text in [
            "wl --threads 4 --table-size 10 --skip_trx -q",
            "wl -c4 --table_size=10 --skip-trx --quiet",
            "-c 4 wl --table-size=10 --skip-trx -q",
        ] {
            let parsed = parse(&args(text), OWN, Script::Declares(&script), Grammar::Dyno).unwrap();
            assert_eq!(parsed.words, ["wl"], "{text}");
            assert_eq!(parsed.value("sessions"), Some("4"), "{text}");
            assert!(parsed.has("quiet"), "{text}");
            assert_eq!(
                parsed.script[0],
                ("table_size".to_owned(), Some("10".to_owned()))
            );
            assert_eq!(parsed.script[1], ("skip_trx".to_owned(), None));
        }
    }

    #[test]
    fn a_scripts_option_that_is_called_as_a_switch_gets_its_value() {
        let mut script = tables();
        script[0].name = "quiet".to_owned();
        for text in ["wl --quiet=3", "wl --quiet 3"] {
            let first = parse(&args(text), OWN, Script::Unknown, Grammar::Dyno);
            assert!(first.is_ok(), "{text}");
            let parsed = parse(&args(text), OWN, Script::Declares(&script), Grammar::Dyno).unwrap();
            assert_eq!(parsed.script, [("quiet".to_owned(), Some("3".to_owned()))]);
            assert!(!parsed.has("quiet"), "{text}");
        }
        let any = parse(&args("wl --quiet=3"), OWN, Script::TakesAny, Grammar::Dyno).unwrap();
        assert_eq!(any.script, [("quiet".to_owned(), Some("3".to_owned()))]);
        let own = parse(
            &args("wl --quiet=3"),
            OWN,
            Script::Declares(&[]),
            Grammar::Dyno,
        );
        assert!(own.unwrap_err().to_string().contains("takes no value"));
    }

    #[test]
    fn the_first_pass_skips_options_of_the_script() {
        let parsed = parse(
            &args("wl --table-size 10 --threads=4 --skip-trx"),
            OWN,
            Script::Unknown,
            Grammar::Dyno,
        )
        .unwrap();
        assert_eq!(
            (parsed.words.as_slice(), parsed.value("sessions")),
            (&["wl".to_owned()][..], Some("4"))
        );
    }

    #[test]
    fn sysbench_takes_values_with_an_equals_sign_only() {
        let script = tables();
        let parsed = parse(
            &args("--threads=4 wl run"),
            OWN,
            Script::Declares(&script),
            Grammar::Sysbench,
        );
        assert_eq!(parsed.unwrap().words, ["wl", "run"]);
    }

    #[test]
    fn mistakes_name_the_nearest() {
        let script = tables();
        let message = |text: &str| {
            parse(&args(text), OWN, Script::Declares(&script), Grammar::Dyno)
                .unwrap_err()
                .to_string()
        };
        assert!(message("wl --table-sise=1").contains("did you mean --table-size"));
        assert!(message("wl --session=1").contains("did you mean --sessions"));
        assert!(message("wl --zzzzzz").contains("see --help"));
        assert!(message("wl --quiet=1").contains("takes no value"));
        assert!(message("wl --sessions").contains("needs a value"));
    }
}
