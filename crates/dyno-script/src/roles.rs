//! The roles and phases that a script's `roles()` and `phases()` return.

use dyno_core::plan::{Arrivals, OpenLoop, OptionValue, Pace, Role};
use dyno_core::session::Entry;
use mlua::{Function, Table, Value};

use crate::describe::refuse_secret;
use crate::host::Host;

/// Why a function of a script that depends only on the options has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It raised this error: it refuses the options.
    #[error("{0}")]
    Raised(String),
    /// It could not be called, or its result is malformed.
    #[error("{0}")]
    Failed(String),
}

impl Host {
    /// After [`Host::describe`] and [`Host::set_options`]: the roles of the script's `roles()`;
    /// empty if it is missing or returns nothing.
    ///
    /// # Errors
    /// An error that it raised, or a result that is not a list of roles, explained to the script's
    /// author.
    pub fn roles(&mut self) -> Result<Vec<Role>, AnswerError> {
        self.ask("roles")?;
        let roles = self.read_roles();
        roles.map_err(|error| AnswerError::Failed(lua_message(error)))
    }

    /// After [`Host::describe`] and [`Host::set_options`]: the phases of the script's `phases()`;
    /// empty if it is missing or returns nothing.
    ///
    /// # Errors
    /// An error that it raised, or a result that is not a list of phases, explained to the script's
    /// author.
    pub fn phases(&mut self) -> Result<Vec<Phase>, AnswerError> {
        self.ask("phases")?;
        self.reported_phases().map_err(AnswerError::Failed)
    }

    /// Calls a function of the script that depends only on the options, without a database.
    pub(crate) fn ask(&mut self, function: &str) -> Result<(), AnswerError> {
        let asked = self.run_alone(0, 0, &Entry::Call(function.to_owned()));
        asked.map_err(AnswerError::Raised)
    }

    /// The phases returned by the function that ran last; empty if it returned nothing.
    ///
    /// # Errors
    /// A result that is not a list of phases, explained to the script's author.
    pub fn reported_phases(&self) -> Result<Vec<Phase>, String> {
        self.read_phases().map_err(lua_message)
    }

    /// The text returned by the command that ran last, if any.
    pub fn answer(&self) -> Option<String> {
        let answer = self.api.get::<Function>("answer");
        match answer.and_then(|answer| answer.call::<Value>(0)) {
            Ok(Value::String(text)) => Some(text.to_string_lossy()),
            _ => None,
        }
    }

    fn read_phases(&self) -> mlua::Result<Vec<Phase>> {
        let answer: Value = self.api.get::<Function>("answer")?.call(0)?;
        let checked: Option<Vec<Table>> = self.api.get::<Function>("check_phases")?.call(answer)?;
        checked.unwrap_or_default().iter().map(phase).collect()
    }

    fn read_roles(&self) -> mlua::Result<Vec<Role>> {
        let answer: Value = self.api.get::<Function>("answer")?.call(0)?;
        let checked: Option<Vec<Table>> = self.api.get::<Function>("check_roles")?.call(answer)?;
        checked.unwrap_or_default().iter().map(role).collect()
    }
}

/// A step of a workload, which is a separate run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// The script's name for it.
    pub name: String,
    /// The script's options that differ from the user's, by name.
    pub options: Vec<(String, OptionValue)>,
    /// The length of the measurement in seconds; `None` for no limit.
    pub time_s: Option<f64>,
    /// The number of events; `None` for no limit.
    pub events: Option<u64>,
    /// The length of the warm-up in seconds; `None` for the user's setting, by default 0.
    pub warmup_s: Option<f64>,
    /// The rate of the open loop in events per second, 0 for a closed loop; `None` for the user's
    /// setting.
    pub rate_per_s: Option<f64>,
    /// The script's commands to run before it, in order.
    pub before: Vec<String>,
    /// The script's command that undoes them, if one failed or was stopped.
    pub undo: Option<String>,
    /// The unit of work of an event, `events` by default.
    pub unit: String,
    /// The number of units per event.
    pub per_event: f64,
}

fn phase(table: &Table) -> mlua::Result<Phase> {
    let mut options = Vec::new();
    if let Some(own) = table.get::<Option<Table>>("options")? {
        for pair in own.pairs::<String, Value>() {
            let (name, value) = pair?;
            let value = match value {
                Value::Boolean(on) => OptionValue::Bool(on),
                Value::Integer(number) => OptionValue::Number(number as f64),
                Value::Number(number) => OptionValue::Number(number),
                other => OptionValue::Text(other.to_string()?),
            };
            options.push((name.replace('-', "_"), value));
        }
    }
    options.sort_by(|a, b| a.0.cmp(&b.0));
    let above = |name: &str| -> mlua::Result<Option<f64>> {
        Ok(table.get::<Option<f64>>(name)?.filter(|value| *value > 0.0))
    };
    let (name, unit) = named(table, "the phase")?;
    Ok(Phase {
        name,
        options,
        time_s: above("time")?,
        events: above("events")?.map(|events| events as u64),
        warmup_s: table.get("warmup")?,
        rate_per_s: table.get("rate")?,
        before: (table.get::<Option<Vec<String>>>("before")?).unwrap_or_default(),
        undo: table.get("undo")?,
        unit,
        per_event: above("per_event")?.unwrap_or(1.0),
    })
}

/// The name of a role or a phase, and the unit of its events.
fn named(table: &Table, of: &str) -> mlua::Result<(String, String)> {
    let name: String = table.get("name")?;
    refuse_secret(of, "its name", &name)?;
    let unit: Option<String> = table.get("unit")?;
    let unit = unit.unwrap_or_else(|| "events".to_owned());
    refuse_secret("the unit", "it", &unit)?;
    Ok((name, unit))
}

/// Lua's message, without the location in the host.
fn lua_message(error: mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        mlua::Error::RuntimeError(message) => first_line(&message).to_owned(),
        other => other.to_string(),
    }
}

/// The message without Lua's traceback.
fn first_line(message: &str) -> &str {
    message.split_once('\n').map_or(message, |(first, _)| first)
}

fn role(table: &Table) -> mlua::Result<Role> {
    let each: Option<f64> = table.get("rate_per_session")?;
    let together: Option<f64> = table.get("rate")?;
    let arrivals: Option<String> = table.get("arrivals")?;
    let skip_after_s = table.get("skip_after")?;
    let pace = each.or(together).map(|per_second| Pace {
        arrivals: OpenLoop {
            per_second,
            arrivals: match arrivals.as_deref() {
                Some("poisson") => Arrivals::Poisson,
                _ => Arrivals::Constant,
            },
        },
        each: each.is_some(),
        skip_after_s,
    });
    let (name, unit) = named(table, "the role")?;
    Ok(Role {
        name,
        sessions: table.get::<f64>("sessions")? as u32,
        background: table.get::<Option<bool>>("background")?.unwrap_or(false),
        unit,
        per_event: (table.get::<Option<f64>>("per_event")?).unwrap_or(1.0),
        pace,
    })
}
