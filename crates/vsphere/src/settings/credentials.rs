//! Name and password in files, which may change while the program runs.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use joiner_vim::{Credentials, settings::CredentialsSource};

/// Files of a user's name, by what a Secret may call them.
const USERNAME: [&str; 2] = ["username", "GOVC_USERNAME"];
/// Files of a password.
const PASSWORD: [&str; 2] = ["password", "GOVC_PASSWORD"];

/// A folder with a user's name and password: a Secret that is mounted. Whoever changes the Secret
/// changes the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialsFolder(PathBuf);

impl CredentialsFolder {
    /// The folder at this path.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Name and password as they are now.
    pub fn read(&self) -> Result<Credentials, String> {
        Ok(Credentials::new(self.file(USERNAME)?, self.file(PASSWORD)?))
    }

    /// The first of two files that is there. Whoever writes such a file ends it with a new line, which
    /// is not meant.
    fn file(&self, names: [&str; 2]) -> Result<String, String> {
        let [first, second] = names.map(|name| self.0.join(name));
        let path = if first.exists() { first } else { second };
        let text = fs::read_to_string(&path).map_err(|error| {
            let folder = self.0.display();
            format!(
                "the folder {folder} has no file {:?} or {:?} that can be read ({error}): mount the \
                 Secret with the vCenter's user there",
                names[0], names[1]
            )
        })?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(format!("{} is empty: write the vCenter's user there", path.display()));
        }
        Ok(text.to_owned())
    }

    /// Reads the files at each login. While they cannot be read, what they said last counts.
    pub fn source(self) -> CredentialsSource {
        let last = Mutex::new(Credentials::new("", ""));
        Arc::new(move || {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            match self.read() {
                Ok(now) => *last = now,
                Err(problem) => {
                    tracing::warn!("the last user and password are used again: {problem}");
                }
            }
            last.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, CredentialsFolder) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let credentials = CredentialsFolder::new(folder.path().to_owned());
        (folder, credentials)
    }

    #[test]
    fn a_secret_may_call_its_keys_either_way() {
        for names in [["username", "password"], ["GOVC_USERNAME", "GOVC_PASSWORD"]] {
            let (_kept, credentials) = folder(&[(names[0], "joiner\n"), (names[1], "hunter2")]);
            assert_eq!(credentials.read(), Ok(Credentials::new("joiner", "hunter2")));
        }
    }

    #[test]
    fn what_is_missing_is_named_and_no_password_is_shown() {
        let (_kept, credentials) = folder(&[("password", "hunter2")]);
        let problem = credentials.read().unwrap_err();
        assert!(problem.contains("\"username\" or \"GOVC_USERNAME\""), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
        let (_kept, credentials) = folder(&[("username", "joiner"), ("password", "\n")]);
        assert!(
            credentials.read().unwrap_err().ends_with("is empty: write the vCenter's user there")
        );
    }

    #[test]
    fn a_password_that_changes_is_the_one_that_counts() {
        let (kept, credentials) = folder(&[("username", "joiner"), ("password", "old")]);
        let source = credentials.source();
        assert_eq!(source(), Credentials::new("joiner", "old"));
        fs::write(kept.path().join("password"), "new").unwrap();
        assert_eq!(source(), Credentials::new("joiner", "new"));
        fs::remove_file(kept.path().join("password")).unwrap();
        assert_eq!(source(), Credentials::new("joiner", "new"), "a Secret that is being replaced");
    }
}
