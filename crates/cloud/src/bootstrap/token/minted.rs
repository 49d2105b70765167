//! Tokens that are made, one for each claim.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{BootstrapToken, Error, ErrorKind, Secret};
use crate::bootstrap::{digest::sha256, inputs::Distro};

/// Where bootstrap tokens are looked for by Kubernetes.
pub const NAMESPACE: &str = "kube-system";

const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
/// Label of a Secret: the name of the claim that it was made for.
pub const CLAIM_LABEL: &str = "joiner.sh/nodeclaim";
/// Label of a Secret: the identity of the claim that it was made for.
pub const CLAIM_UID_LABEL: &str = "joiner.sh/nodeclaim-uid";

/// The letters of a token.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LEN: usize = 6;
const SECRET_LEN: usize = 16;

/// A token lives at least this long, however short the claim's own deadlines are: clocks differ,
/// and a slow clone must not end with a token that has just expired.
const LIFE_MIN: Duration = Duration::from_mins(30);

/// Names that are tried before giving up. Two claims share an id once in two thousand million times,
/// so several foreign Secrets in a row mean that names were taken on purpose.
const TRIES_MAX: u32 = 16;

/// The group that a token's owner is in, by which the cluster lets it join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenGroup {
    /// The group of the distribution's own tokens.
    Distro(Distro),
    /// The group that charts of the Proxmox provider bind, for their templates.
    ProxmoxTemplates,
}

impl TokenGroup {
    fn name(self) -> &'static str {
        match self {
            Self::ProxmoxTemplates => "system:bootstrappers:karpenter:proxmox",
            Self::Distro(Distro::Rke2 | Distro::Rke2Airgapped) => {
                "system:bootstrappers:rke2:default-node-token"
            }
            Self::Distro(Distro::K3s) => "system:bootstrappers:k3s:default-node-token",
            Self::Distro(Distro::Talos) => "system:bootstrappers:nodes",
            Self::Distro(Distro::Kubeadm | Distro::None) => {
                "system:bootstrappers:kubeadm:default-node-token"
            }
        }
    }

    /// Whether the token also signs `cluster-info`, which only kubeadm's discovery needs.
    fn signs(self) -> bool {
        matches!(self, Self::Distro(Distro::Kubeadm | Distro::None))
    }
}

/// When a token is made and how long its claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// The time it is.
    pub now: Timestamp,
    /// How long an instance may take to be there.
    pub launch_timeout: Duration,
    /// How long it may then take to register.
    pub registration_timeout: Duration,
}

impl Lifetime {
    /// In whole seconds, as RFC 3339 in UTC.
    fn expiration(self) -> Timestamp {
        let life = (self.launch_timeout + self.registration_timeout).max(LIFE_MIN);
        let end = SignedDuration::try_from(life)
            .ok()
            .and_then(|life| self.now.checked_add(life).ok())
            .unwrap_or(Timestamp::MAX);
        Timestamp::from_second(end.as_second()).unwrap_or(end)
    }
}

/// A Secret to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSecret {
    /// Its name, in [`NAMESPACE`].
    pub name: String,
    /// Its type.
    pub secret_type: &'static str,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its data, not yet in base64.
    pub data: BTreeMap<&'static str, Secret<String>>,
}

/// What was found under the name of a token's Secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundSecret {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its data, decoded.
    pub data: BTreeMap<String, Secret<String>>,
}

/// A token with the Secret that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// For the instance.
    pub token: BootstrapToken,
    /// To be written.
    pub secret: TokenSecret,
}

/// What to do for a claim's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenStep {
    /// The claim has its token; nothing is written.
    Reuse(BootstrapToken),
    /// There is none: create this Secret.
    Create(Issued),
    /// The claim's own Secret has expired or is damaged: overwrite it with this one.
    Renew(Issued),
    /// The name belongs to another owner: try the name of this number.
    Next(u32),
}

/// The id of a claim's token: derived, not drawn, so that it is found again.
pub fn token_id(claim_uid: &str, n: u32) -> String {
    let hash = sha256(format!("{claim_uid}/token-id/{n}").as_bytes());
    hash[..ID_LEN].iter().map(|byte| letter(usize::from(*byte))).collect()
}

/// The claim that a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'c> {
    /// Its name.
    pub name: &'c str,
    /// Its UID.
    pub uid: &'c str,
}

impl Claim<'_> {
    /// Name of the Secret of the claim's `n`th id.
    pub fn secret_name(self, n: u32) -> String {
        format!("bootstrap-token-{}", token_id(self.uid, n))
    }
}

/// Decides what to do, given what was found under the claim's `n`th name; begin with zero.
///
/// `found` is `None` only if it is known that there is no such Secret. `random` must be new and
/// unpredictable each time.
pub fn next_step(
    claim: Claim<'_>,
    n: u32,
    found: Option<&FoundSecret>,
    group: TokenGroup,
    lifetime: Lifetime,
    random: [u8; 16],
) -> Result<TokenStep, Error> {
    let Some(found) = found else {
        return Ok(TokenStep::Create(issue(claim, n, random_secret(random), group, lifetime)));
    };
    if found.labels.get(CLAIM_UID_LABEL).map(String::as_str) != Some(claim.uid) {
        return if n + 1 < TRIES_MAX {
            Ok(TokenStep::Next(n + 1))
        } else {
            Err(Error::new(
                ErrorKind::JoinTokenMissing,
                "token",
                format!("the names of {TRIES_MAX} Secrets in {NAMESPACE} are taken by others"),
                "look who makes Secrets named bootstrap-token-… there, and remove what is not used",
            )
            .of(&format!("NodeClaim {:?}", claim.name)))
        };
    }
    let text = |key: &str| found.data.get(key).map(|value| value.reveal().as_str());
    let token = text("token-secret")
        .and_then(|secret| BootstrapToken::read(&format!("{}.{secret}", token_id(claim.uid, n))));
    let expires = text("expiration").and_then(|time| time.parse::<Timestamp>().ok());
    Ok(match (token, expires) {
        (Some(token), Some(expires)) if expires > lifetime.now => TokenStep::Reuse(token),
        // An instance may already have this secret: it stays, and only lives longer.
        (Some(token), _) => TokenStep::Renew(issue(claim, n, token.secret, group, lifetime)),
        (None, _) => TokenStep::Renew(issue(claim, n, random_secret(random), group, lifetime)),
    })
}

/// What is known about the claim that a token was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// The claim could not be read.
    Unknown,
    /// It still needs its token.
    Joining,
    /// Its node is there.
    Registered,
    /// It is being deleted: its instance is unneeded, or could not be made.
    Leaving,
    /// There is no such claim.
    Gone,
}

/// The decision about a token's Secret, and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep(&'static str),
    /// It is deleted.
    Delete(&'static str),
}

/// Decides about the Secret of a claim's token.
pub fn fate(claim: ClaimState) -> Fate {
    match claim {
        ClaimState::Unknown => Fate::Keep("it is not known whether its claim is still there"),
        ClaimState::Joining => Fate::Keep("its claim has no node yet"),
        ClaimState::Registered => Fate::Delete("its claim has registered"),
        ClaimState::Leaving => Fate::Delete("its claim is being deleted"),
        ClaimState::Gone => Fate::Delete("its claim is gone"),
    }
}

fn issue(
    claim: Claim<'_>,
    n: u32,
    secret: Secret<String>,
    group: TokenGroup,
    lifetime: Lifetime,
) -> Issued {
    let token = BootstrapToken { id: token_id(claim.uid, n), secret };
    let mut data = BTreeMap::from([
        ("token-id", token.id.as_str().into()),
        ("token-secret", token.secret.clone()),
        ("description", format!("made for NodeClaim {}", claim.name).into()),
        ("expiration", lifetime.expiration().to_string().into()),
        ("usage-bootstrap-authentication", "true".into()),
        ("auth-extra-groups", group.name().into()),
    ]);
    if group.signs() {
        data.insert("usage-bootstrap-signing", "true".into());
    }
    let labels = [(CLAIM_LABEL, claim.name), (CLAIM_UID_LABEL, claim.uid)];
    let secret = TokenSecret {
        name: claim.secret_name(n),
        secret_type: SECRET_TYPE,
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        data,
    };
    Issued { token, secret }
}

/// Sixteen letters are 83 bits; what 128 random ones leave over favours no letter noticeably.
fn random_secret(random: [u8; 16]) -> Secret<String> {
    let mut rest = u128::from_be_bytes(random);
    let mut text = String::with_capacity(SECRET_LEN);
    for _ in 0..SECRET_LEN {
        text.push(letter((rest % LETTERS.len() as u128) as usize));
        rest /= LETTERS.len() as u128;
    }
    Secret::new(text)
}

fn letter(number: usize) -> char {
    char::from(LETTERS[number % LETTERS.len()])
}
