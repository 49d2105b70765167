//! Values that must not be seen.

use std::fmt::{self, Debug, Display, Formatter};

use zeroize::{Zeroize, Zeroizing};

/// A value that is neither printed nor logged, and wiped when it is dropped.
///
/// The only way to it is [`Secret::reveal`], so that every use can be found.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T: Zeroize>(Zeroizing<T>);

impl<T: Zeroize> Secret<T> {
    /// Hides `value`.
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself, on its way to where it is needed.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Secret<String> {
    fn from(value: &str) -> Self {
        Self::new(value.to_owned())
    }
}

impl<T: Zeroize> Debug for Secret<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T: Zeroize> Display for Secret<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), {
            "[redacted] [redacted] Some([redacted])"
        });
        assert_eq!(secret.reveal(), "hunter2");
    }
}
