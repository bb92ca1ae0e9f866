//! The roles that a script's `roles()` tells.

use dyno_core::plan::{Arrivals, OpenLoop, Pace, Role};
use dyno_core::session::Entry;
use mlua::{Function, Table, Value};

use crate::host::Host;

impl Host {
    /// After [`Host::describe`] and [`Host::set_options`]: the roles of the script's `roles()`;
    /// empty where it has none, or answers nothing.
    ///
    /// # Errors
    /// What it raised, or an answer that is no list of roles, in words for the script's author.
    pub fn roles(&mut self) -> Result<Vec<Role>, String> {
        self.run_alone(0, 0, &Entry::Call("roles".to_owned()))?;
        self.read_roles().map_err(|error| match error {
            mlua::Error::CallbackError { cause, .. } => cause.to_string(),
            mlua::Error::RuntimeError(message) => first_line(&message).to_owned(),
            other => other.to_string(),
        })
    }

    fn read_roles(&self) -> mlua::Result<Vec<Role>> {
        let answer: Value = self.api.get::<Function>("answer")?.call(0)?;
        let checked: Option<Vec<Table>> = self.api.get::<Function>("check_roles")?.call(answer)?;
        checked.unwrap_or_default().iter().map(role).collect()
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
    Ok(Role {
        name: table.get("name")?,
        sessions: table.get::<f64>("sessions")? as u32,
        background: table.get::<Option<bool>>("background")?.unwrap_or(false),
        pace,
    })
}
