//! The name and the secret that a client shows to its server.

mod files;

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
};

pub use files::{CredentialFiles, Origin};
use zeroize::Zeroizing;

/// A name and a secret: a user and a password, a token and its secret, an API key and its secret
/// key.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name; it may be shown.
    pub user: String,
    /// The secret; wiped when it is dropped.
    pub password: Zeroizing<String>,
}

/// Where credentials come from. Read whenever they are needed, so that a secret that was changed is
/// used the next time.
pub type CredentialsSource = Arc<dyn Fn() -> Credentials + Send + Sync>;

impl Credentials {
    /// A name and a secret.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: Zeroizing::new(password.into()) }
    }

    /// A source of credentials that never change.
    pub fn into_source(self) -> CredentialsSource {
        Arc::new(move || self.clone())
    }
}

impl Debug for Credentials {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}
