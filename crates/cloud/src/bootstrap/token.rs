//! The token that authenticates an instance.
//!
//! Each claim has one bootstrap token, in a Secret whose name is derived from the claim. So a
//! restarted process finds the Secret and makes no second one. This module decides; the operator
//! writes.

mod minted;
mod source;

use std::sync::LazyLock;

use regex::Regex;

use super::{
    error::{Error, ErrorKind},
    inputs::Distro,
    secret::Secret,
    trust::CaBundle,
};

pub use self::{
    minted::{
        CLAIM_LABEL, CLAIM_UID_LABEL, Claim, ClaimState, Fate, FoundSecret, Issued, Lifetime,
        NAMESPACE, TokenGroup, TokenSecret, TokenStep, fate, next_step, token_id,
    },
    source::{MintTokens, TokenSource, choose_source},
};

/// The token that authenticates an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// Made for one claim; it expires.
    Minted(BootstrapToken),
    /// Configured by the user, in any form that the distribution accepts.
    Given(Secret<String>),
}

/// Kubernetes' bootstrap token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    id: String,
    secret: Secret<String>,
}

impl BootstrapToken {
    /// Reads `<id>.<secret>`.
    pub fn read(text: &str) -> Option<Self> {
        static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^([a-z0-9]{6})\.([a-z0-9]{16})$").expect("the pattern is well formed")
        });
        let (_, [id, secret]) = PATTERN.captures(text)?.extract();
        Some(Self { id: id.to_owned(), secret: Secret::from(secret) })
    }

    /// An example token that no Secret contains, for trial texts.
    pub fn example() -> Self {
        Self { id: "0".repeat(6), secret: Secret::new("0".repeat(16)) }
    }

    /// The half that is no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The half that is.
    pub fn secret(&self) -> &Secret<String> {
        &self.secret
    }

    /// `<id>.<secret>`.
    pub fn text(&self) -> Secret<String> {
        Secret::new(format!("{}.{}", self.id, self.secret.reveal()))
    }
}

/// A token of RKE2 or k3s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorToken {
    text: Secret<String>,
    pinned_hash: Option<String>,
    role: Role,
}

/// What a token of RKE2 or k3s lets its owner do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Join servers too, with full control of the cluster.
    Server,
    /// Join agents.
    Agent,
    /// Short form: it may be either.
    Untold,
}

impl SupervisorToken {
    /// Reads any form: `K10<hash>::<user>:<secret>`, `K10<hash>::<id>.<secret>`, or the short ones.
    pub fn read(text: &Secret<String>) -> Result<Self, Error> {
        static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^K10([0-9a-f]{64})::(.+)$").expect("the pattern is well formed")
        });
        let refuse = |problem: &str| {
            let remedy = "copy the whole token from the server, for agents best the agent token or \
                          the output of `token create`";
            Error::new(ErrorKind::JoinTokenInvalid, "token", problem, remedy)
        };
        let letters = text.reveal();
        if letters.is_empty() || letters.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(refuse("it is empty or has white space in it"));
        }
        if !letters.starts_with("K10") {
            let agent = BootstrapToken::read(letters).is_some();
            let role = if agent { Role::Agent } else { Role::Untold };
            return Ok(Self { text: text.clone(), pinned_hash: None, role });
        }
        let parts = PATTERN.captures(letters);
        let parts = parts.ok_or_else(|| refuse("it begins with K10 but is not K10<hash>::…"))?;
        let role = match parts[2].split_once(':') {
            Some(("server", _)) => Role::Server,
            Some(_) => Role::Agent,
            None if BootstrapToken::read(&parts[2]).is_some() => Role::Agent,
            None => return Err(refuse("behind K10<hash>:: there is neither a user nor an id")),
        };
        Ok(Self { text: text.clone(), pinned_hash: Some(parts[1].to_owned()), role })
    }

    /// The hash of the certificate authority that it pins.
    pub fn pinned_hash(&self) -> Option<&str> {
        self.pinned_hash.as_deref()
    }
}

/// A token as an instance is given it, and what there is to say about it.
pub(crate) struct ReadyToken {
    pub(crate) text: Secret<String>,
    pub(crate) warnings: Vec<String>,
}

/// The token in the form that the distribution's instances take.
pub(crate) fn ready(
    token: Option<&Token>,
    distro: Distro,
    ca: Option<&CaBundle>,
    pin_ca: bool,
) -> Result<ReadyToken, Error> {
    let token = token.ok_or_else(|| {
        Error::new(
            ErrorKind::JoinTokenMissing,
            "token",
            "there is no join token for this instance",
            source::REMEDY,
        )
    })?;
    let silent = |text| ReadyToken { text, warnings: Vec::new() };
    let supervised = distro.is_supervised();
    match token {
        Token::Minted(token) if supervised => {
            Ok(silent(pinned(needed(ca)?, token.text().reveal())))
        }
        Token::Minted(token) => Ok(silent(token.text())),
        Token::Given(text) if supervised => given_to_supervisor(text, ca, pin_ca),
        Token::Given(text) if BootstrapToken::read(text.reveal()).is_some() => {
            Ok(silent(text.clone()))
        }
        Token::Given(_) => Err(Error::new(
            ErrorKind::JoinTokenInvalid,
            "token",
            format!("it is no bootstrap token, and {distro} takes no other"),
            "give six and sixteen small letters or digits with a dot between, as \
             `kubeadm token create` prints, or none at all to have one made",
        )),
    }
}

fn given_to_supervisor(
    text: &Secret<String>,
    ca: Option<&CaBundle>,
    pin_ca: bool,
) -> Result<ReadyToken, Error> {
    let token = SupervisorToken::read(text)?;
    let mut warnings = Vec::new();
    if token.role != Role::Agent {
        let which = if token.role == Role::Server { "is" } else { "may be" };
        warnings.push(format!(
            "the configured token {which} the server token, which gives every node the whole \
             cluster; use the agent token, or none to have one made for each node"
        ));
    }
    let text = match (token.pinned_hash, pin_ca) {
        (Some(pinned), _) => {
            if ca.is_some_and(|ca| ca.supervisor_hash() != pinned) {
                warnings.push(
                    "the configured token pins another certificate authority than the cluster's; \
                     if nodes refuse to join, renew the token"
                        .to_owned(),
                );
            }
            text.clone()
        }
        (None, true) if BootstrapToken::read(text.reveal()).is_some() => {
            pinned(needed(ca)?, text.reveal())
        }
        (None, true) => pinned(needed(ca)?, &format!("node:{}", text.reveal())),
        (None, false) => {
            warnings.push(
                "the configured token is of the short form, so that nodes trust the first server \
                 they meet; use the long form K10…, or --pin-ca"
                    .to_owned(),
            );
            text.clone()
        }
    };
    Ok(ReadyToken { text, warnings })
}

fn pinned(ca: &CaBundle, credentials: &str) -> Secret<String> {
    Secret::new(format!("K10{}::{credentials}", ca.supervisor_hash()))
}

/// The certificate authority, or an error where it is required and missing.
pub(crate) fn needed(ca: Option<&CaBundle>) -> Result<&CaBundle, Error> {
    ca.ok_or_else(|| {
        Error::new(
            ErrorKind::CaUnknown,
            "ca",
            "the cluster's certificate authority is unknown, and nodes never join unchecked",
            "make the ConfigMap kube-public/cluster-info or kube-root-ca.crt readable",
        )
    })
}
