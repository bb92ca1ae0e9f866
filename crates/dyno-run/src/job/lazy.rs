//! A connector that is created when the first connection is made. A script's top level runs before
//! it is known whether the script needs a database, and a host name that cannot be resolved should
//! be an error of that connection.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connection, Connector, DbError, Family};

/// Connections to a target that may not be usable.
pub(super) struct LazyConnector {
    target: Target,
    made: OnceLock<Result<Arc<dyn Connector>, DbError>>,
}

impl LazyConnector {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            made: OnceLock::new(),
        }
    }

    /// The target's real connector.
    pub(super) fn connector(&self) -> Result<Arc<dyn Connector>, DbError> {
        let made = || dyno_drivers::connector(&self.target);
        self.made.get_or_init(made).clone()
    }
}

impl Connector for LazyConnector {
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError> {
        self.connector()?.connect(sequence)
    }

    fn endpoints(&self) -> Vec<String> {
        let made = self.made.get().and_then(|made| made.as_ref().ok());
        made.map(|connector| connector.endpoints())
            .unwrap_or_default()
    }

    fn family(&self) -> Family {
        self.target.family
    }

    fn blocks(&self) -> bool {
        self.target.family.is_embedded()
    }

    fn connect_timeout(&self) -> Option<Duration> {
        self.connector().ok()?.connect_timeout()
    }
}
