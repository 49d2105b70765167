//! What was made and why it looks as it does, without any secret.

use std::fmt::{self, Display, Formatter};

use super::{
    encode::Encoding,
    inputs::{Distro, Format},
};

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Generated.
    Joiner,
    /// The user's.
    User,
    /// Both had something to say.
    Both,
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joiner => "joiner",
            Self::User => "user",
            Self::Both => "both",
        })
    }
}

/// A setting that works, but perhaps not as intended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The field that it is about.
    pub field: String,
    /// What to know, and what to do about it.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into() }
    }
}

/// What was made of the inputs. For conditions and `joiner explain`; it never has a secret in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How the instance joins.
    pub distro: Distro,
    /// What its first-boot program gets.
    pub format: Format,
    /// Every file that is written, with its mode where it is ours.
    pub files: Vec<(String, Option<u32>, Origin)>,
    /// Every key or part of the text, and whose it is.
    pub keys: Vec<(String, Origin)>,
    /// Labels that the kubelet may not set; the node gets them when it registers.
    pub held_back_labels: Vec<String>,
    /// Settings that work, but perhaps not as intended.
    pub warnings: Vec<Warning>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// The first eight digits of the text's SHA-256.
    pub fingerprint: String,
    /// Bytes before encoding.
    pub raw_len: usize,
    /// How the cloud gets it, and in how many bytes.
    pub encoded: Option<(Encoding, usize)>,
}

impl Report {
    pub(crate) fn new(distro: Distro, format: Format) -> Self {
        Self {
            distro,
            format,
            files: Vec::new(),
            keys: Vec::new(),
            held_back_labels: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            fingerprint: String::new(),
            raw_len: 0,
            encoded: None,
        }
    }

    pub(crate) fn warn(&mut self, field: &str, text: impl Into<String>) {
        self.warnings.push(Warning::new(field, text));
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}: {} bytes", self.distro, self.format, self.raw_len)?;
        if let Some((encoding, len)) = self.encoded {
            write!(f, ", {len} as {encoding}")?;
        }
        writeln!(f, ", sha256 {}…", self.fingerprint)?;
        for (path, mode, origin) in &self.files {
            let mode = mode.map_or("   –".to_owned(), |mode| format!("{mode:04o}"));
            writeln!(f, "file     {mode} {path} ({origin})")?;
        }
        for (key, origin) in &self.keys {
            writeln!(f, "part     {key} ({origin})")?;
        }
        if !self.held_back_labels.is_empty() {
            let (count, names) = (self.held_back_labels.len(), self.held_back_labels.join(", "));
            writeln!(f, "labels   {count} set at registration: {names}")?;
        }
        for note in &self.notes {
            writeln!(f, "note     {note}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning  {}: {}", warning.field, warning.text)?;
        }
        Ok(())
    }
}
