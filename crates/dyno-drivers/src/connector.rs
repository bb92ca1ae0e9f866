//! From a target to connections.

use std::sync::Arc;

use dyno_core::Target;
use dyno_core::db::{Connector, DbError, ErrorClass};

/// A connector for the target.
///
/// # Errors
/// Settings that cannot work: an unreadable certificate, an unknown host.
pub fn connector(target: &Target) -> Result<Arc<dyn Connector>, DbError> {
    let _ = target;
    Err(DbError::new(ErrorClass::Unsupported, "no driver"))
}
