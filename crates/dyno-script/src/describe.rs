//! A script's declarations, read from the main state after its top level has run.

use dyno_core::redact;
use dyno_core::session::Entry;
use dyno_core::text::hex;
use mlua::{Table, Value};
use sha2::{Digest as _, Sha256};

use crate::config::Declared;
use crate::host::Host;
use crate::options::{OptionKind, ScriptOption};
use crate::roles::AnswerError;
use crate::source::find_module;

/// A script's declarations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Its options; `None` without an options table (then any option is accepted).
    pub options: Option<Vec<ScriptOption>>,
    /// Its commands, and whether they run in all sessions.
    pub commands: Vec<(String, bool)>,
    /// The global functions that have a meaning for Dyno.
    pub functions: Vec<String>,
    /// Its operations and the sums of its ledger.
    pub declared: Declared,
    /// The files of the modules that it has loaded, each with its SHA-256; without built-in ones.
    pub modules: Vec<(String, String)>,
    /// `report_intermediate`, `report_cumulative`, …
    pub hooks: Vec<String>,
}

/// Functions with a special meaning.
const FUNCTIONS: [&str; 22] = [
    "init",
    "done",
    "event",
    "thread_init",
    "thread_done",
    "thread_run",
    "prepare",
    "run",
    "check",
    "warmup",
    "prewarm",
    "cleanup",
    "help",
    "ledger",
    "full_ledger",
    "figures",
    "roles",
    "phases",
    "phases_there",
    "tables_made",
    "creates_tables",
    // Registered with `dyno.option.check`.
    "check_options",
];

impl Host {
    /// Runs the script's top level in the main state (session 0), without a database, and reads its
    /// declarations.
    ///
    /// # Errors
    /// A script that does not compile or raises an error, in Lua's words.
    pub fn describe(&mut self) -> Result<Description, String> {
        self.run_alone(0, 0, &Self::top_level())?;
        self.description()
    }

    /// The entry that only runs the script's top level, if it has not run yet.
    pub fn top_level() -> Entry {
        Entry::Call("\0".to_owned())
    }

    /// The script's declarations, after [`top_level`](Self::top_level) has run in session 0.
    ///
    /// # Errors
    /// A malformed declaration.
    pub fn description(&self) -> Result<Description, String> {
        self.read_description().map_err(message)
    }

    /// After [`describe`](Self::describe) and [`set_options`](Self::set_options): calls the
    /// script's checks of its options, without a database.
    ///
    /// # Errors
    /// A wrong value, in the script's words.
    pub fn check_options(&mut self) -> Result<(), AnswerError> {
        self.ask("check_options")
    }

    /// After [`describe`](Self::describe): the statements in the script's table `templates`,
    /// rendered for a family (`mysql`, `postgres`, `sqlite`); `None` without that table.
    ///
    /// # Errors
    /// A template that cannot be rendered.
    pub fn statements(&self, family: &str) -> Result<Option<String>, String> {
        let render: mlua::Result<mlua::Function> = self.api.get("render_templates");
        let rendered = render.and_then(|render| render.call((0, family)));
        rendered.map_err(|error| error.to_string())
    }

    fn environment(&self) -> mlua::Result<Table> {
        self.api.get::<mlua::Function>("environment")?.call(0)
    }

    fn read_description(&self) -> mlua::Result<Description> {
        let env = self.environment()?;
        let mut description = Description::default();
        let find: mlua::Function = self.api.get("script_function")?;
        for name in FUNCTIONS {
            if let Value::Function(_) = find.call((0, name))? {
                description.functions.push(name.to_owned());
            }
        }
        description.modules = modules(&env)?;
        let operations: Vec<String> = self.api.get("operation_names")?;
        let sums: Vec<String> = self.api.get("sum_names")?;
        for operation in &operations {
            refuse_secret("the operation", "its name", operation)?;
        }
        for sum in &sums {
            refuse_secret("the sum", "its name", sum)?;
        }
        description.declared = Declared { operations, sums };
        let Ok(sysbench) = env.raw_get::<Table>("sysbench") else {
            return Ok(description);
        };
        if let Ok(hooks) = sysbench.get::<Table>("hooks") {
            for pair in hooks.pairs::<String, Value>() {
                let (name, value) = pair?;
                if matches!(value, Value::Function(_)) {
                    description.hooks.push(name);
                }
            }
        }
        let Ok(cmdline) = sysbench.get::<Table>("cmdline") else {
            return Ok(description);
        };
        if let Ok(commands) = cmdline.get::<Table>("commands") {
            for pair in commands.pairs::<String, Value>() {
                let (name, entry) = pair?;
                let Value::Table(entry) = entry else { continue };
                if matches!(entry.raw_get(1)?, Value::Function(_)) {
                    let parallel = !matches!(
                        entry.raw_get::<Value>(2)?,
                        Value::Nil | Value::Boolean(false)
                    );
                    description.commands.push((name, parallel));
                }
            }
        }
        description.commands.sort();
        let options = read_options(&cmdline.get("options")?);
        description.options = options.map_err(|error| {
            mlua::Error::runtime(match self.config.sysbench {
                true => error.as_sysbench(),
                false => error.to_string(),
            })
        })?;
        Ok(description)
    }
}

/// The files of the modules that a script has loaded.
fn modules(env: &Table) -> mlua::Result<Vec<(String, String)>> {
    let Ok(package) = env.raw_get::<Table>("package") else {
        return Ok(Vec::new());
    };
    let (Ok(path), Ok(loaded)) = (
        package.get::<String>("path"),
        package.get::<Table>("loaded"),
    ) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for pair in loaded.pairs::<Value, Value>() {
        if let (Value::String(name), _) = pair?
            && let Ok((text, file)) = find_module(&name.to_string_lossy(), &path, &[])
        {
            found.push((file, hex(Sha256::digest(&text))));
        }
    }
    found.sort();
    Ok(found)
}

/// The error's message, without Lua's location.
fn message(error: mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text) => text,
        other => other.to_string(),
    }
}

/// An error in `sysbench.cmdline.options`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptionsError {
    #[error("sysbench.cmdline.options: expected a table, not {0}")]
    NoTable(&'static str),
    #[error("sysbench.cmdline.options: names must be strings")]
    Name,
    #[error("option '{0}': expected {{description, default, type}}")]
    Entry(String),
    #[error("option '{0}' has no description")]
    NoDescription(String),
    #[error("option '{0}': the description must be text, not {1}")]
    Description(String, &'static str),
    #[error("option '{0}': the default must be a value, not {1}")]
    Default(String, &'static str),
    #[error("option '{0}': unknown argument type: {1}")]
    Type(String, String),
    #[error("{0}")]
    Other(String),
}

impl OptionsError {
    /// The text in sysbench's words and with its location, which programs look for; details follow
    /// on a separate line.
    fn as_sysbench(&self) -> String {
        let (line, words) = match self {
            Self::NoTable(kind) => (
                120,
                format!("wrong type for sysbench.cmdline.options: {kind}"),
            ),
            Self::Name | Self::Entry(_) => (
                132,
                "wrong table structure in sysbench.cmdline.options".to_owned(),
            ),
            Self::NoDescription(name) => (137, format!("nil description for option {name}")),
            Self::Description(_, kind) => {
                (138, format!("cannot convert '{kind}' to 'const char *'"))
            }
            Self::Default(_, kind) => (151, format!("cannot convert '{kind}' to 'const char *'")),
            Self::Type(_, number) => return format!("Unknown argument type: {number}"),
            Self::Other(words) => return words.clone(),
        };
        let detail = match self {
            Self::Entry(_) | Self::Description(..) | Self::Default(..) => format!("\n{self}"),
            _ => String::new(),
        };
        format!(
            "`sysbench.cmdline.read_cmdline_options' function failed: [string \
             \"sysbench.cmdline.lua\"]:{line}: {words}{detail}"
        )
    }
}

/// Reads `sysbench.cmdline.options`. Entries are `{description, default, type}`.
pub(crate) fn read_options(declared: &Value) -> Result<Option<Vec<ScriptOption>>, OptionsError> {
    let declared = match declared {
        Value::Table(declared) => declared,
        Value::Nil => return Ok(None),
        other => return Err(OptionsError::NoTable(other.type_name())),
    };
    let mut options = Vec::new();
    for pair in declared.pairs::<Value, Value>() {
        let (name, entry) = pair.map_err(|error| OptionsError::Other(error.to_string()))?;
        let Value::String(name) = name else {
            return Err(OptionsError::Name);
        };
        let name = name.to_string_lossy();
        let Value::Table(entry) = entry else {
            return Err(OptionsError::Entry(name));
        };
        match entry.raw_get(1) {
            Ok(Value::Nil) => return Err(OptionsError::NoDescription(name)),
            Ok(Value::String(_)) | Err(_) => {}
            Ok(other) => return Err(OptionsError::Description(name, ffi_name(&other))),
        }
        if let Ok(other @ (Value::Function(_) | Value::UserData(_) | Value::Thread(_))) =
            entry.raw_get(2)
        {
            return Err(OptionsError::Default(name, ffi_name(&other)));
        }
        if let Ok(Some(number)) = entry.raw_get::<Option<f64>>(3)
            && OptionKind::from_number(number as i64).is_none()
        {
            return Err(OptionsError::Type(name, number.to_string()));
        }
        let option = read_option(name, &entry);
        options.push(option.map_err(|error| OptionsError::Other(message(error)))?);
    }
    options.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(options))
}

/// The name of a value's type in LuaJIT's FFI.
fn ffi_name(value: &Value) -> &'static str {
    match value {
        Value::Boolean(_) => "bool",
        Value::Integer(_) => "number",
        other => other.type_name(),
    }
}

fn read_option(name: String, entry: &Table) -> mlua::Result<ScriptOption> {
    let description: mlua::LuaString = entry.raw_get(1)?;
    // Descriptions are for display, so invalid UTF-8 is replaced.
    let description = description.to_string_lossy();
    let (default, inferred) = match entry.raw_get::<Value>(2)? {
        Value::Boolean(on) => (
            Some(if on { "on" } else { "off" }.to_owned()),
            OptionKind::Bool,
        ),
        Value::Integer(number) => (Some(number.to_string()), OptionKind::Double),
        Value::Number(number) => (Some(number.to_string()), OptionKind::Double),
        Value::String(text) => (Some(text.to_string_lossy()), OptionKind::String),
        Value::Table(list) => {
            let items = list
                .sequence_values::<mlua::LuaString>()
                .map(|item| Ok(item?.to_string_lossy()))
                .collect::<mlua::Result<Vec<String>>>()?;
            (Some(items.join(",")), OptionKind::List)
        }
        _ => (None, OptionKind::String),
    };
    let explicit = match entry.raw_get::<Value>(3)? {
        Value::Nil => None,
        Value::Integer(number) => Some(OptionKind::from_number(number)),
        Value::Number(number) => Some(OptionKind::from_number(number as i64)),
        // An enum constant of the FFI.
        other => Some(other.to_string().ok().and_then(|text| enum_number(&text))),
    };
    if explicit == Some(None) {
        return Err(mlua::Error::runtime(format!(
            "option '{name}': unknown type of argument"
        )));
    }
    Ok(ScriptOption {
        name,
        description,
        kind: explicit.flatten().unwrap_or(inferred),
        default,
    })
}

/// The number in `cdata<enum …>: 3`, however LuaJIT prints it.
fn enum_number(text: &str) -> Option<OptionKind> {
    let digits = text.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    OptionKind::from_number(digits.parse().ok()?)
}

/// Refuses a declared name that contains a password. Names are stored and displayed everywhere, and
/// identify sessions: hiding the password would make two of them equal.
pub(crate) fn refuse_secret(of: &str, part: &str, word: &str) -> mlua::Result<()> {
    redact::known(word).map_or(Ok(()), |hidden| {
        let message = format!("{of} '{hidden}' has a password in {part}: choose another name");
        Err(mlua::Error::runtime(message))
    })
}
