//! Keys that may change while the program runs, and keys that were refused.

use std::{
    fmt::{self, Debug, Formatter},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::SignedDuration;
use zeroize::Zeroizing;

use super::ClientError;

/// After how long it is looked whether keys have changed. A look is the reading of two short files.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// How long to wait after keys were refused, unless there are others. Many things look like wrong
/// keys to the server, clocks that disagree among them, and most of them pass.
const REFUSED_WAIT: Duration = Duration::from_mins(1);

/// The keys that requests are signed with. Neither is shown: who has both can do what we can do.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Says whose request it is.
    pub api_key: Zeroizing<String>,
    /// Signs it.
    pub secret_key: Zeroizing<String>,
}

impl Keys {
    /// A pair of keys. Space around them is not theirs: files end with a line break.
    pub fn new(api_key: &str, secret_key: &str) -> Self {
        let wiped = |key: &str| Zeroizing::new(key.trim().to_owned());
        Self { api_key: wiped(api_key), secret_key: wiped(secret_key) }
    }
}

impl Debug for Keys {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Keys([redacted])")
    }
}

/// Where keys come from.
pub trait KeySource: Send + Sync {
    /// The keys of now, or why there are none, without a word of them.
    fn read(&self) -> Result<Keys, String>;
}

impl KeySource for Keys {
    fn read(&self) -> Result<Keys, String> {
        Ok(self.clone())
    }
}

/// Keys in two files, which may be replaced at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFiles {
    /// The file that has the API key.
    pub api_key: PathBuf,
    /// The file that has the secret key.
    pub secret_key: PathBuf,
}

impl KeySource for KeyFiles {
    fn read(&self) -> Result<Keys, String> {
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).map(Zeroizing::new);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            if text.trim().is_empty() {
                return Err(format!("{} is empty; write the key into it", path.display()));
            }
            Ok(text)
        };
        Ok(Keys::new(&read(&self.api_key)?, &read(&self.secret_key)?))
    }
}

/// The keys in use, and those that were refused.
pub(crate) struct Keyring {
    source: Arc<dyn KeySource>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The keys, and when they were read on the clock's running time.
    current: Option<(Arc<Keys>, Duration)>,
    refused: Option<Refused>,
}

struct Refused {
    keys: Arc<Keys>,
    until: Duration,
    skew: Option<SignedDuration>,
}

impl Keyring {
    pub(crate) fn new(source: Arc<dyn KeySource>) -> Self {
        Self { source, state: Mutex::default() }
    }

    /// The keys to sign with now. Keys that were refused are not tried before their time, but others
    /// are at once.
    pub(crate) fn keys(&self, now: Duration) -> Result<Arc<Keys>, ClientError> {
        let mut state = self.state();
        let is_waiting = state.refused.as_ref().is_some_and(|refused| now < refused.until);
        let is_fresh = |read_at: Duration| now.saturating_sub(read_at) < LOOK_AGAIN;
        let keys = match &state.current {
            Some((keys, read_at)) if is_fresh(*read_at) && !is_waiting => Arc::clone(keys),
            _ => self.look(&mut state, now)?,
        };
        match &state.refused {
            Some(refused) if refused.keys == keys && now < refused.until => Err(refused.error(now)),
            _ => Ok(keys),
        }
    }

    /// Takes note that keys were refused. Nothing is answered where there are other keys by now.
    pub(crate) fn refused(
        &self,
        keys: &Arc<Keys>,
        now: Duration,
        skew: Option<SignedDuration>,
    ) -> Option<ClientError> {
        let mut state = self.state();
        if self.look(&mut state, now).is_ok_and(|current| current != *keys) {
            return None;
        }
        let refused = Refused { keys: Arc::clone(keys), until: now + REFUSED_WAIT, skew };
        let error = refused.error(now);
        state.refused = Some(refused);
        Some(error)
    }

    /// Takes note that keys were accepted.
    pub(crate) fn accepted(&self, keys: &Arc<Keys>) {
        let mut state = self.state();
        if state.refused.as_ref().is_some_and(|refused| refused.keys == *keys) {
            state.refused = None;
        }
    }

    /// Reads the source. Keys that cannot be read right now are what they were.
    fn look(&self, state: &mut State, now: Duration) -> Result<Arc<Keys>, ClientError> {
        match (self.source.read(), &state.current) {
            (Ok(keys), Some((current, _))) if **current == keys => {
                let keys = Arc::clone(current);
                state.current = Some((Arc::clone(&keys), now));
                Ok(keys)
            }
            (Ok(keys), _) => {
                let keys = Arc::new(keys);
                state.current = Some((Arc::clone(&keys), now));
                Ok(keys)
            }
            (Err(problem), Some((current, _))) => {
                tracing::warn!(problem, "CloudStack's keys cannot be read; the last ones are used");
                Ok(Arc::clone(current))
            }
            (Err(problem), None) => Err(ClientError::KeysUnreadable(problem)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refused {
    fn error(&self, now: Duration) -> ClientError {
        ClientError::KeysRefused { retry_in: self.until.saturating_sub(now), skew: self.skew }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Changing(Mutex<Option<Keys>>);

    impl Changing {
        fn set(&self, keys: Option<Keys>) {
            *self.0.lock().unwrap() = keys;
        }
    }

    impl KeySource for Changing {
        fn read(&self) -> Result<Keys, String> {
            self.0.lock().unwrap().clone().ok_or_else(|| "no file".to_owned())
        }
    }

    fn keyring() -> (Arc<Changing>, Keyring) {
        let source = Arc::new(Changing::default());
        source.set(Some(Keys::new("old", "s")));
        let keyring = Keyring::new(Arc::clone(&source) as Arc<dyn KeySource>);
        (source, keyring)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn keys_that_change_are_used_soon_without_a_refusal() {
        let (source, keyring) = keyring();
        keyring.keys(SECOND).unwrap();
        source.set(Some(Keys::new("new", "s")));
        assert_eq!(*keyring.keys(5 * SECOND).unwrap().api_key, "old");
        assert_eq!(*keyring.keys(11 * SECOND).unwrap().api_key, "new");
    }

    #[test]
    fn refused_keys_are_not_tried_at_once_and_others_are() {
        let (source, keyring) = keyring();
        let old = keyring.keys(SECOND).unwrap();
        assert!(keyring.refused(&old, SECOND, None).is_some());
        let error = keyring.keys(31 * SECOND).unwrap_err();
        assert!(
            matches!(error, ClientError::KeysRefused { retry_in, .. } if retry_in == 30 * SECOND),
            "{error}"
        );
        source.set(Some(Keys::new("new", "s")));
        let new = keyring.keys(32 * SECOND).unwrap();
        assert_eq!(*new.api_key, "new");
        keyring.accepted(&new);
        source.set(Some(Keys::new("old", "s")));
        keyring.keys(45 * SECOND).unwrap_err();
        keyring.keys(61 * SECOND).unwrap();
    }

    #[test]
    fn keys_that_changed_meanwhile_are_no_refusal() {
        let (source, keyring) = keyring();
        let old = keyring.keys(SECOND).unwrap();
        source.set(Some(Keys::new("new", "s")));
        assert!(keyring.refused(&old, 2 * SECOND, None).is_none());
        assert_eq!(*keyring.keys(2 * SECOND).unwrap().api_key, "new");
    }

    #[test]
    fn keys_that_cannot_be_read_for_a_moment_are_what_they_were() {
        let (source, keyring) = keyring();
        keyring.keys(SECOND).unwrap();
        source.set(None);
        assert_eq!(*keyring.keys(60 * SECOND).unwrap().api_key, "old");
        let never_read = Keyring::new(source);
        assert!(matches!(never_read.keys(SECOND), Err(ClientError::KeysUnreadable(_))));
    }

    #[test]
    fn files_that_are_missing_or_empty_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let files = KeyFiles { api_key: path("api"), secret_key: path("secret") };
        assert!(files.read().unwrap_err().contains("api: "));
        std::fs::write(path("api"), "KEY\n").unwrap();
        std::fs::write(path("secret"), "\n").unwrap();
        assert!(files.read().unwrap_err().ends_with("secret is empty; write the key into it"));
        std::fs::write(path("secret"), "hunter2\n").unwrap();
        let keys = files.read().unwrap();
        assert_eq!((keys.api_key.as_str(), keys.secret_key.as_str()), ("KEY", "hunter2"));
        assert_eq!(format!("{keys:?}"), "Keys([redacted])");
    }
}
