//! Creates connectors for targets.

use std::sync::Arc;

use dyno_core::Target;
use dyno_core::db::{Connector, DbError};

use crate::remote::Remote;
use crate::sqlite::SqliteConnector;

/// Creates the target's connector. Resolves host names and reads certificate files once, here.
///
/// # Errors
/// Settings that cannot work: an unreadable certificate, an unknown host, a file that cannot be
/// opened.
pub fn connector(target: &Target) -> Result<Arc<dyn Connector>, DbError> {
    match target.family.is_embedded() {
        true => Ok(Arc::new(SqliteConnector::new(target)?)),
        false => Ok(Arc::new(Remote::new(target)?)),
    }
}
