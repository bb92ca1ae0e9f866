//! sysbench's own options as scripts see them in `sysbench.opt`.

use dyno_core::plan::OptionValue;
use dyno_core::units;

use crate::definitions::{DYNO, SYSBENCH};
use crate::options::{Opt, Parsed};
use crate::settings;

/// Old names that 1.0.20 exports too.
const OLD_NAMES: [(&str, &str); 4] = [
    ("num_threads", "threads"),
    ("max_requests", "events"),
    ("max_time", "time"),
    ("tx_rate", "rate"),
];

/// All of sysbench's options with their values or defaults, by the names that scripts use.
/// Passwords are not among them.
pub(super) fn exported(parsed: &Parsed) -> Vec<(String, OptionValue)> {
    let mut options: Vec<(String, OptionValue)> = SYSBENCH
        .iter()
        .filter(|opt| !opt.help.is_empty() && opt.group != DYNO)
        .filter(|opt| !opt.name.ends_with("-password") && opt.name != "config-file")
        .map(|opt| (opt.name.replace('-', "_"), value(opt, parsed)))
        .collect();
    for (old, new) in OLD_NAMES {
        let value = options.iter().find(|(name, _)| name == new);
        if let Some((_, value)) = value.cloned() {
            options.push((old.to_owned(), value));
        }
    }
    options
}

fn value(opt: &Opt, parsed: &Parsed) -> OptionValue {
    let text = parsed.value(opt.name);
    let otherwise = default(opt);
    match opt.value {
        Some("on|off") => OptionValue::Bool(settings::switch(parsed, opt.name).unwrap_or(false)),
        Some("N") => OptionValue::Number(number(text.unwrap_or(otherwise))),
        Some("SIZE") => OptionValue::Number(
            units::parse_size(text.unwrap_or(otherwise)).map_or(0.0, |bytes| bytes as f64),
        ),
        Some("LIST") if opt.name != "pgsql-host" && opt.name != "pgsql-port" => {
            let items = text.unwrap_or(otherwise).split(',').map(str::trim);
            OptionValue::List(
                items
                    .filter(|item| !item.is_empty())
                    .map(str::to_owned)
                    .collect(),
            )
        }
        // sysbench supports only one PostgreSQL server.
        Some("LIST") if opt.name == "pgsql-port" => {
            let first = text.unwrap_or(otherwise).split(',').next();
            OptionValue::Number(number(first.unwrap_or(otherwise)))
        }
        _ => OptionValue::Text(text.unwrap_or(otherwise).to_owned()),
    }
}

/// The default in brackets at the end of the help.
fn default(opt: &Opt) -> &'static str {
    opt.help
        .strip_suffix(']')
        .and_then(|help| help.rsplit_once('['))
        .map_or("", |(_, default)| default)
}

/// A number with units; 0 if it is invalid, which other code rejects with a message.
fn number(text: &str) -> f64 {
    let count = |text: &str| units::parse_count(text).ok().map(|count| count as f64);
    let seconds = |text: &str| units::parse_duration(text).ok();
    text.parse::<f64>()
        .ok()
        .or_else(|| count(text))
        .or_else(|| seconds(text).map(|time| time.as_secs_f64()))
        .or_else(|| units::parse_rate(text).ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Grammar, Script, parse};

    fn exported_by(line: &str) -> Vec<(String, OptionValue)> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        exported(&parse(&args, SYSBENCH, Script::Unknown, Grammar::Sysbench).unwrap())
    }

    fn one(options: &[(String, OptionValue)], name: &str) -> OptionValue {
        let found = options.iter().find(|(own, _)| own == name);
        found
            .unwrap_or_else(|| panic!("{name} is absent"))
            .1
            .clone()
    }

    #[test]
    fn defaults_match_the_help() {
        let options = exported_by("x run");
        let text = |value: &str| OptionValue::Text(value.to_owned());
        let list = |items: &[&str]| {
            OptionValue::List(items.iter().map(|item| (*item).to_owned()).collect())
        };
        assert_eq!(one(&options, "threads"), OptionValue::Number(1.0));
        assert_eq!(one(&options, "num_threads"), OptionValue::Number(1.0));
        assert_eq!(
            one(&options, "thread_stack_size"),
            OptionValue::Number(65536.0)
        );
        assert_eq!(one(&options, "mysql_host"), list(&["localhost"]));
        assert_eq!(one(&options, "mysql_socket"), list(&[]));
        assert_eq!(
            one(&options, "mysql_ignore_errors"),
            list(&["1213", "1020", "1205"])
        );
        assert_eq!(one(&options, "pgsql_port"), OptionValue::Number(5432.0));
        assert_eq!(one(&options, "pgsql_host"), text("localhost"));
        assert_eq!(one(&options, "rand_type"), text("uniform"));
        assert_eq!(one(&options, "debug"), OptionValue::Bool(false));
    }

    #[test]
    fn values_are_those_given_and_passwords_stay_secret() {
        let options = exported_by("--time=2 --mysql-port=1,2 --mysql-password=geheim --debug x");
        assert_eq!(one(&options, "time"), OptionValue::Number(2.0));
        assert_eq!(one(&options, "max_time"), OptionValue::Number(2.0));
        assert_eq!(one(&options, "debug"), OptionValue::Bool(true));
        assert_eq!(
            one(&options, "mysql_port"),
            OptionValue::List(vec!["1".to_owned(), "2".to_owned()])
        );
        assert!(!format!("{options:?}").contains("geheim"));
    }
}
