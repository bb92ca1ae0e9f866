//! A string that no formatter prints.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A password or similar. `Debug` and `Display` are redacted, it cannot be serialised, and its
/// memory is wiped on drop. Clones share one copy.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes ownership of the text.
    pub fn new(text: String) -> Self {
        Self(Arc::new(Zeroizing::new(text)))
    }

    /// The text itself. Use it only for authentication.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn no_formatter_prints_a_secret() {
        let secret = Secret::new("hunter2".to_owned());
        assert!(!format!("{secret} {secret:?}").contains("hunter2"));
        assert_eq!(secret.expose(), "hunter2");
    }
}
