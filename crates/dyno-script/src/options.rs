//! Options declared by a script: their types, values and help text.

use std::fmt::Write as _;

use dyno_core::plan::OptionValue;

/// The type of a script's option, with the number used in scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named as in scripts
pub enum OptionKind {
    Null = 0,
    Bool = 1,
    Int = 2,
    Size = 3,
    Double = 4,
    String = 5,
    List = 6,
    File = 7,
}

impl OptionKind {
    /// The type with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        use OptionKind::*;
        [Null, Bool, Int, Size, Double, String, List, File]
            .get(usize::try_from(number).ok()?)
            .copied()
    }

    /// The placeholder of the value in help.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Null => "",
            Self::Bool => "[=on|off]",
            Self::Int | Self::Double => "=N",
            Self::Size => "=SIZE",
            Self::String => "=STRING",
            Self::List => "=[LIST,...]",
            Self::File => "=FILENAME",
        }
    }
}

/// An option that a script declares.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptOption {
    /// The declared name; `-` and `_` are equivalent on the command line.
    pub name: String,
    /// The help text.
    pub description: String,
    /// Its type.
    pub kind: OptionKind,
    /// The default as text.
    pub default: Option<String>,
}

/// An invalid value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value '{value}' for --{name}: {expected}")]
pub struct InvalidValue {
    /// The option.
    pub name: String,
    /// The given value.
    pub value: String,
    /// A description of valid values.
    pub expected: &'static str,
}

impl ScriptOption {
    /// The option's name in scripts.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The value of the option: `None` if it was not given on the command line, `Some(None)` for
    /// `--name` alone.
    ///
    /// # Errors
    /// Text that is not of the option's type.
    pub fn value(&self, given: Option<Option<&str>>) -> Result<OptionValue, InvalidValue> {
        match given {
            Some(Some(text)) => self.parse(text),
            // A switch without a value is on; any other option is empty.
            Some(None) if self.kind == OptionKind::Bool => Ok(OptionValue::Bool(true)),
            Some(None) => self.parse(""),
            None => match &self.default {
                Some(text) => self.parse(text),
                // sysbench turns a BOOL without a default on.
                None if self.kind == OptionKind::Bool => Ok(OptionValue::Bool(true)),
                None => Ok(self.empty()),
            },
        }
    }

    fn empty(&self) -> OptionValue {
        match self.kind {
            OptionKind::Bool => OptionValue::Bool(true),
            OptionKind::Int | OptionKind::Size | OptionKind::Double => OptionValue::Number(0.0),
            OptionKind::List => OptionValue::List(Vec::new()),
            OptionKind::String | OptionKind::Null | OptionKind::File => {
                OptionValue::Text(String::new())
            }
        }
    }

    fn parse(&self, text: &str) -> Result<OptionValue, InvalidValue> {
        let invalid = |expected| InvalidValue {
            name: self.name.clone(),
            value: text.to_owned(),
            expected,
        };
        match self.kind {
            OptionKind::Bool => match text {
                "" | "on" | "true" | "1" => Ok(OptionValue::Bool(true)),
                "off" | "false" | "0" => Ok(OptionValue::Bool(false)),
                _ => Err(invalid("expected on or off")),
            },
            OptionKind::Int => parse_number(text, true)
                .map(OptionValue::Number)
                .ok_or_else(|| invalid("expected a whole number, e.g. 10000 or 10k")),
            OptionKind::Double => parse_number(text, false)
                .map(OptionValue::Number)
                .ok_or_else(|| invalid("expected a number")),
            OptionKind::Size => parse_size(text)
                .map(OptionValue::Number)
                .ok_or_else(|| invalid("expected a size, e.g. 16K, 4M or 1G")),
            OptionKind::List => Ok(OptionValue::List(split(text))),
            OptionKind::String | OptionKind::Null | OptionKind::File => {
                Ok(OptionValue::Text(text.to_owned()))
            }
        }
    }
}

fn split(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let items = text.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

/// A number with an optional decimal multiplier (`10k`, `1M`); empty is zero, as in sysbench.
fn parse_number(text: &str, whole: bool) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let (digits, factor) = match text.as_bytes()[text.len() - 1] {
        b'k' | b'K' => (&text[..text.len() - 1], 1e3),
        b'm' | b'M' => (&text[..text.len() - 1], 1e6),
        b'g' | b'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let number = digits
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())?
        * factor;
    (!whole || number.fract() == 0.0).then_some(number)
}

/// A size with a binary multiplier.
fn parse_size(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let last = text.as_bytes()[text.len() - 1].to_ascii_uppercase();
    let power = b"KMGT".iter().position(|suffix| *suffix == last);
    let digits = if power.is_some() {
        &text[..text.len() - 1]
    } else {
        text
    };
    let number = digits.parse::<u64>().ok()? as f64;
    Some(number * power.map_or(1.0, |power| 1024f64.powi(power as i32 + 1)))
}

/// Help on options, one per line, sorted by name, as sysbench prints it.
pub fn help(options: &[ScriptOption]) -> String {
    let mut sorted: Vec<&ScriptOption> = options.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let width = |option: &ScriptOption| option.name.len() + option.kind.placeholder().len();
    let longest = sorted.iter().map(|option| width(option)).max().unwrap_or(0);
    let mut text = String::new();
    for option in sorted {
        let head = format!("{}{}", option.name, option.kind.placeholder());
        let _ = write!(text, "  --{head:<longest$} {}", option.description);
        if let Some(default) = &option.default {
            let _ = write!(text, " [{default}]");
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(kind: OptionKind, default: Option<&str>) -> ScriptOption {
        ScriptOption {
            name: "table-size".to_owned(),
            description: "rows per table".to_owned(),
            kind,
            default: default.map(str::to_owned),
        }
    }

    #[test]
    fn values_follow_the_type() {
        let int = option(OptionKind::Int, Some("10"));
        assert_eq!(int.value(None), Ok(OptionValue::Number(10.0)));
        assert_eq!(
            int.value(Some(Some("10k"))),
            Ok(OptionValue::Number(10_000.0))
        );
        assert!(int.value(Some(Some("1.5"))).is_err());
        assert!(int.value(Some(Some("x"))).is_err());
        let bool = option(OptionKind::Bool, Some("off"));
        assert_eq!(bool.value(None), Ok(OptionValue::Bool(false)));
        assert_eq!(bool.value(Some(None)), Ok(OptionValue::Bool(true)));
        assert!(bool.value(Some(Some("5"))).is_err());
        assert_eq!(
            option(OptionKind::Bool, None).value(None),
            Ok(OptionValue::Bool(true))
        );
        let size = option(OptionKind::Size, None);
        assert_eq!(
            size.value(Some(Some("16K"))),
            Ok(OptionValue::Number(16_384.0))
        );
        let list = option(OptionKind::List, Some("a,b"));
        let expected = OptionValue::List(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(list.value(None), Ok(expected));
    }

    #[test]
    fn help_is_aligned_and_sorted() {
        let text = help(&[
            option(OptionKind::Int, Some("10000")),
            ScriptOption {
                name: "auto_inc".to_owned(),
                ..option(OptionKind::Bool, Some("on"))
            },
        ]);
        assert_eq!(
            text,
            "  --auto_inc[=on|off] rows per table [on]\n\
             \x20 --table-size=N      rows per table [10000]\n\n"
        );
    }
}
