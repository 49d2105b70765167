//! Name and secret in files, which may change while the program runs.

use std::{
    fmt::{self, Debug, Formatter},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use zeroize::Zeroizing;

use super::{Credentials, CredentialsSource};

/// Where one half of the credentials is found.
#[derive(Clone, PartialEq, Eq)]
pub enum Origin {
    /// The value itself.
    Given(Zeroizing<String>),
    /// A file with the value.
    File(PathBuf),
    /// A folder, such as a Secret that is mounted, and the names that the file may have there. The
    /// first name that exists counts.
    Folder(PathBuf, Vec<&'static str>),
}

/// Credentials of which a name or a secret is in a file. Whoever changes the file changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialFiles {
    user: Origin,
    password: Origin,
    /// What the files are about, for messages: `the vCenter's user`.
    about: &'static str,
}

impl CredentialFiles {
    /// Name and secret of two origins. `about` says what they are, for messages that ask for the
    /// file: `the API key of CloudStack`.
    pub fn new(user: Origin, password: Origin, about: &'static str) -> Self {
        Self { user, password, about }
    }

    /// Name and secret in a folder, by what the keys of a Secret may be called.
    pub fn in_folder(
        folder: PathBuf,
        user: &[&'static str],
        password: &[&'static str],
        about: &'static str,
    ) -> Self {
        let user = Origin::Folder(folder.clone(), user.to_vec());
        Self::new(user, Origin::Folder(folder, password.to_vec()), about)
    }

    /// Name and secret as they are now, or what is wrong with the files and what helps.
    pub fn read(&self) -> Result<Credentials, String> {
        let user = self.user.read(self.about)?;
        let password = self.password.read(self.about)?;
        Ok(Credentials { user: user.to_string(), password })
    }

    /// Reads the files whenever credentials are needed. While the files cannot be read, what they
    /// said last counts.
    pub fn source(self) -> CredentialsSource {
        let last = Mutex::new(Credentials::new("", ""));
        Arc::new(move || {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            match self.read() {
                Ok(now) => *last = now,
                Err(problem) => {
                    tracing::warn!("the last credentials are used again: {problem}");
                }
            }
            last.clone()
        })
    }
}

impl Origin {
    fn read(&self, about: &str) -> Result<Zeroizing<String>, String> {
        match self {
            Self::Given(value) => Ok(value.clone()),
            Self::File(path) => content(path, about, |error| {
                format!("{} cannot be read ({error}): write {about} there", path.display())
            }),
            Self::Folder(folder, names) => {
                let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
                let there = paths.iter().find(|path| path.exists()).or(paths.last());
                content(there.unwrap_or(folder), about, |error| {
                    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                    format!(
                        "the folder {} has no file {} that can be read ({error}): mount the Secret \
                         with {about} there",
                        folder.display(),
                        names.join(" or ")
                    )
                })
            }
        }
    }
}

/// What a file says, without the new line that editors and shells put at its end.
fn content(
    path: &Path,
    about: &str,
    unreadable: impl FnOnce(&io::Error) -> String,
) -> Result<Zeroizing<String>, String> {
    let text = Zeroizing::new(fs::read_to_string(path).map_err(|error| unreadable(&error))?);
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(format!("{} is empty: write {about} there", path.display()));
    }
    Ok(Zeroizing::new(text.to_owned()))
}

impl Debug for Origin {
    /// Without the value, which may be a secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Folder(folder, names) => {
                f.debug_tuple("Folder").field(folder).field(names).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, CredentialFiles) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let credentials = CredentialFiles::in_folder(
            folder.path().to_owned(),
            &["username", "GOVC_USERNAME"],
            &["password", "GOVC_PASSWORD"],
            "the vCenter's user",
        );
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

    #[test]
    fn a_name_may_be_given_and_its_secret_be_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let name = Origin::Given("joiner@pve!token".to_owned().into());
        let files = CredentialFiles::new(name, Origin::File(path.clone()), "the token's secret");
        let problem = files.read().unwrap_err();
        assert!(problem.starts_with(&path.display().to_string()), "{problem}");
        assert!(problem.ends_with(": write the token's secret there"), "{problem}");
        fs::write(&path, "hunter2\n").unwrap();
        assert_eq!(files.read(), Ok(Credentials::new("joiner@pve!token", "hunter2")));
    }

    #[test]
    fn a_given_secret_is_not_shown() {
        let given = |value: &str| Origin::Given(value.to_owned().into());
        let files = CredentialFiles::new(given("joiner"), given("hunter2"), "the user");
        let shown = format!("{files:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
