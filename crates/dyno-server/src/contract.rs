//! The operations needed to start, load and stop a server: the interface between Dyno and a kind of
//! server. Dyno's built-in kinds ([`crate::kinds`]) and folders of executables
//! ([`crate::executables`]) are two implementations.

use std::collections::BTreeMap;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{DbError, Family};
use dyno_drivers::Control;

use crate::credentials::Password;
use crate::error::{Result, failed};
use crate::server::Context;
use crate::settings::Reported;
use crate::supervisor::Launch;

/// Timeout of a query to a server.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
/// Timeout of one attempt to reach a server.
const ATTEMPT: Duration = Duration::from_secs(2);

/// A kind of server.
pub(crate) trait Contract {
    /// Creates everything the server needs before its first start.
    fn install(&self, context: &Context<'_>) -> Result<()>;

    /// How to start and stop the server.
    fn launch(&self, context: &Context<'_>) -> Result<Launch>;

    /// The URL for the load: over its socket, or by TCP.
    fn url(&self, context: &Context<'_>, tcp: bool) -> Result<String>;

    /// Whether it answers; if not, the error says why.
    fn ready(&self, context: &Context<'_>) -> std::result::Result<(), String> {
        self.connect(context).map(drop)
    }

    /// Work to do once, when the server answers for the first time.
    fn welcome(&self, context: &Context<'_>) -> Result<()>;

    /// Its settings; `None` if it does not report any.
    fn settings(&self, context: &Context<'_>) -> Result<Option<BTreeMap<String, Reported>>> {
        settings_by_url(self.connect(context))
    }

    /// The size of its data in bytes, if they are outside the server's folder.
    fn data_size(&self, context: &Context<'_>) -> Result<Option<u64>> {
        let _ = context;
        Ok(None)
    }

    /// Saves a copy of its data under a name. False if Dyno must copy the data folder.
    fn snapshot(&self, context: &Context<'_>, name: &str) -> Result<bool> {
        let _ = (context, name);
        Ok(false)
    }

    /// Replaces its data with a copy. False if Dyno must do it.
    fn restore(&self, context: &Context<'_>, name: &str) -> Result<bool> {
        let _ = (context, name);
        Ok(false)
    }

    /// A connection for queries.
    fn connect(&self, context: &Context<'_>) -> std::result::Result<Reached, String> {
        let url = self
            .url(context, false)
            .map_err(|error| error.to_string())?;
        connect_to(&url)
    }
}

/// A connection for queries.
pub(crate) struct Reached {
    pub(crate) control: Control,
    pub(crate) family: Family,
}

/// Connects to the server at a URL.
pub(crate) fn connect_to(url: &str) -> std::result::Result<Reached, String> {
    reach(&complete_target(url)?)
}

/// The target at a URL, with its password.
pub(crate) fn complete_target(url: &str) -> std::result::Result<Target, String> {
    let mut target = Target::parse(url).map_err(|error| error.to_string())?;
    let complete = dyno_drivers::credentials::complete(&mut target);
    complete.map_err(|error| error.to_string())?;
    Ok(target)
}

/// Connects to a target that has its password.
pub(crate) fn reach(target: &Target) -> std::result::Result<Reached, String> {
    let connector = dyno_drivers::connector(target).map_err(|error| error.to_string())?;
    let mut control = Control::connect(&*connector, ATTEMPT).map_err(|error| error.to_string())?;
    let answer = control.query("SELECT 1", ATTEMPT);
    answer.map_err(|error| error.to_string())?;
    Ok(Reached {
        control,
        family: target.family,
    })
}

/// The settings that a database reports over a connection.
pub(crate) fn settings_by_url(
    reached: std::result::Result<Reached, String>,
) -> Result<Option<BTreeMap<String, Reported>>> {
    let read = reached
        .and_then(|mut reached| settings_of(&mut reached).map_err(|error| error.to_string()));
    match read {
        Ok(settings) => Ok(settings),
        Err(why) => failed(format!("cannot read the server's settings: {why}")),
    }
}

fn settings_of(
    reached: &mut Reached,
) -> std::result::Result<Option<BTreeMap<String, Reported>>, DbError> {
    let control = &mut reached.control;
    let rows = match reached.family {
        Family::Mysql => control.query("SHOW GLOBAL VARIABLES", ANSWER)?,
        Family::Postgres => control.query(
            "SELECT name, setting, unit, pending_restart FROM pg_catalog.pg_settings",
            ANSWER,
        )?,
        _ => return Ok(None),
    };
    let mut settings = BTreeMap::new();
    for row in rows {
        let mut fields = row.into_iter().map(Option::unwrap_or_default);
        let (Some(name), Some(value)) = (fields.next(), fields.next()) else {
            continue;
        };
        let unit = fields.next().unwrap_or_default();
        let waits_for_restart = fields.next().is_some_and(|pending| pending == "t");
        settings.insert(
            name.to_ascii_lowercase(),
            Reported {
                value,
                unit,
                waits_for_restart,
            },
        );
    }
    Ok(Some(settings))
}

/// The password of a server created by Dyno.
pub(crate) fn password(context: &Context<'_>) -> Result<Password> {
    Password::of(context.folder)
}
