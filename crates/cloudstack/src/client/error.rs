//! Why a command has no result.

use std::{
    fmt::{self, Display, Formatter},
    time::Duration,
};

use jiff::SignedDuration;

/// What is kept of the server's words, in bytes. Some of its texts repeat whole objects.
const TEXT_MAX: usize = 2048;
/// How far the server's clock may be off before it is worth a word.
const SKEW_WORTH_A_WORD: SignedDuration = SignedDuration::from_mins(1);

/// Why a command has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server refused, and said why. The command had no effect.
    #[error("{0}")]
    Refused(Refusal),
    /// The server did not answer, or not in time.
    #[error("CloudStack did not answer: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
        /// Whether any of the request may have left. If so, whether it had an effect is unknown.
        sent: bool,
    },
    /// Something between us and the server answered. Whether the command had an effect is unknown.
    #[error("CloudStack's address answered with HTTP status {0} and without JSON")]
    Http(u16),
    /// The answer is not what the interface promises. Whether the command had an effect is unknown.
    #[error("CloudStack's answer cannot be read: {0}")]
    Malformed(String),
    /// The server does not take the keys. They are not tried again before the wait is over; others
    /// are at once.
    #[error(
        "CloudStack refuses the keys or the signature; check that the keys are right and enabled, \
         and that this address may use them; the next attempt is in {} s, or at once with other \
         keys{}",
        retry_in.as_secs(),
        skew_text(*skew)
    )]
    KeysRefused {
        /// When it is worth trying again.
        retry_in: Duration,
        /// How far the server's clock is ahead of ours, where it said so.
        skew: Option<SignedDuration>,
    },
    /// There are no keys to sign with. The log says which file could not be read.
    #[error("there are no keys for CloudStack; write an API key and a secret key")]
    NoKeys,
    /// The server is not known to be the one that was meant.
    #[error("no connection to CloudStack can be trusted: {reason}")]
    Tls {
        /// What is wrong, and what helps.
        reason: String,
    },
    /// The command cannot be written so that the server reads it.
    #[error("{0}")]
    Unsendable(String),
    /// A list changed in each of several attempts to read all of it.
    #[error("{command}: the list shrank while its pages were read, {attempts} times in a row")]
    Unsettled {
        /// The command.
        command: &'static str,
        /// How often it was tried.
        attempts: u32,
    },
}

impl ClientError {
    /// What the server said, where it said something.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether it is unknown if the command had an effect.
    pub fn leaves_unknown(&self) -> bool {
        matches!(self, Self::Unreachable { sent: true, .. } | Self::Http(_) | Self::Malformed(_))
    }

    /// Whether a command that changes nothing is worth asking again soon.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(refusal) => refusal.is_of_the_moment(),
            Self::Http(status) => matches!(status, 429 | 500..=599),
            _ => false,
        }
    }

    /// Whether the command certainly had no effect and is worth sending again, also where it would
    /// have one.
    pub(crate) fn was_never_begun(&self) -> bool {
        match self {
            Self::Unreachable { sent, .. } => !sent,
            Self::Refused(refusal) => refusal.is_of_the_moment(),
            _ => false,
        }
    }

    /// In one word, for metrics: the server's code, or what happened instead of an answer.
    pub fn code(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.code.to_string(),
            Self::Http(status) => status.to_string(),
            Self::Unreachable { .. } => "Unreachable".to_owned(),
            Self::Malformed(_) => "Malformed".to_owned(),
            Self::KeysRefused { .. } => "401".to_owned(),
            Self::NoKeys => "NoKeys".to_owned(),
            Self::Tls { .. } => "Tls".to_owned(),
            Self::Unsendable(_) => "Unsendable".to_owned(),
            Self::Unsettled { .. } => "Unsettled".to_owned(),
        }
    }
}

fn skew_text(skew: Option<SignedDuration>) -> String {
    let Some(skew) = skew.filter(|skew| skew.abs() >= SKEW_WORTH_A_WORD) else {
        return String::new();
    };
    let direction = if skew.is_negative() { "behind" } else { "ahead of" };
    let seconds = skew.abs().as_secs();
    format!(
        "; its clock is {seconds} s {direction} ours, and signatures of the wrong time are refused: \
         set both clocks"
    )
}

/// What the server said instead of doing what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The command.
    pub command: String,
    /// CloudStack's code, which is the HTTP status too.
    pub code: u32,
    /// The code of the exception behind it. Failed jobs have none, and 9999 says nothing.
    pub exception: Option<u32>,
    /// Its words. They may be long.
    pub text: String,
    /// Whether it refused before it looked which command it was.
    pub before_command: bool,
}

impl Refusal {
    /// What the server said of a command. Values that are secrets are taken out of its words.
    pub fn new(command: &str, code: u32, text: &str) -> Self {
        let end = text.floor_char_boundary(TEXT_MAX);
        let text = text[..end].trim().to_owned();
        Self { command: command.to_owned(), code, exception: None, text, before_command: false }
    }

    /// Whether the server is busy or in maintenance, and did not look at the command.
    pub(crate) fn is_of_the_moment(&self) -> bool {
        matches!(self.code, 429 | 503)
    }

    /// Whether the keys or the signature are refused, and not a command of this name.
    pub(crate) fn is_of_keys(&self) -> bool {
        self.code == 401 && !self.before_command && !self.is_of_role()
    }

    /// Whether the key's role does not have the command.
    pub(crate) fn is_of_role(&self) -> bool {
        let says = |words: &str| self.text.contains(words);
        match self.code {
            432 => self.before_command || says("does not exist or is not available"),
            401 => {
                self.before_command
                    || says("does not exist, is not available")
                    || says("does not exist or is not available")
            }
            _ => false,
        }
    }

    /// The parameter whose id the server does not know, where that is what it refused.
    pub fn unknown_entity(&self) -> Option<&str> {
        if self.code != 431 || !self.text.contains("entity does not exist") {
            return None;
        }
        let (_, rest) = self.text.split_once("Invalid parameter ")?;
        rest.split_whitespace().next()
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        /// What is shown of a text, so that an event can carry it.
        const SHOWN_MAX: usize = 300;
        let Self { command, code, text, .. } = self;
        let shown = &text[..text.floor_char_boundary(SHOWN_MAX)];
        let more = if shown.len() < text.len() { "…" } else { "" };
        if self.is_of_role() {
            return write!(
                f,
                "the role of the key does not have {command}; add it to the role ({code}: {shown}{more})"
            );
        }
        write!(f, "{command}: {shown}{more} ({code})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_told_with_the_refused_keys() {
        let error = |skew| {
            let retry_in = Duration::from_mins(1);
            ClientError::KeysRefused { retry_in, skew: Some(SignedDuration::from_secs(skew)) }
        };
        assert!(error(-900).to_string().contains("its clock is 900 s behind ours"));
        assert!(error(900).to_string().contains("its clock is 900 s ahead of ours"));
        assert!(!error(20).to_string().contains("clock"));
    }

    #[test]
    fn long_words_of_the_server_are_cut() {
        let refusal = Refusal::new("deployVirtualMachine", 530, &"ä".repeat(100_000));
        assert!(refusal.text.len() <= TEXT_MAX);
        assert!(refusal.to_string().len() < 400);
    }

    #[test]
    fn an_id_that_the_server_does_not_know_is_told_by_its_parameter() {
        let text = "Unable to execute API command listvirtualmachines due to invalid value. Invalid \
                    parameter id value=6f1c due to incorrect long value format, or entity does not \
                    exist or due to incorrect parameter annotation for the field in api cmd class.";
        assert_eq!(Refusal::new("listVirtualMachines", 431, text).unknown_entity(), Some("id"));
        assert_eq!(Refusal::new("listVirtualMachines", 431, "no").unknown_entity(), None);
    }
}
