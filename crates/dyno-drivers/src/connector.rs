//! From a target to connections.

use std::sync::Arc;

use dyno_core::Target;
use dyno_core::db::{Connector, DbError};

use crate::remote::Remote;
use crate::sqlite::SqliteConnector;

/// A connector for the target. Host names are resolved and files of certificates read here, once.
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
