//! What a provider needs of the cluster that its instances join.
//!
//! A provider never talks to Kubernetes. It declares the needs of a class ([`Needs`]), and the
//! operator fetches them as [`inputs`](crate::inputs). The class's conditions name missing inputs.

use crate::{
    bootstrap::{
        provider_id::{IdCloud, IdSetting},
        token::TokenGroup,
    },
    class::ObjectName,
    inputs::SecretData,
};

/// What a provider needs before it can judge a class, or make instances of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Secrets that the class refers to.
    pub secrets: Vec<SecretNeed>,
    /// How instances join; none where the provider writes them no text.
    pub joining: Option<JoinNeeds>,
    /// Addresses that each instance gets from pools.
    pub addresses: Vec<AddressNeed>,
    /// Objects of the provider's kinds that the class refers to. The class is judged again when one
    /// of them changes, and each is kept for as long as a class refers to it.
    pub objects: Vec<ObjectName>,
}

impl Needs {
    /// Whether the class needs cluster data besides the provider's own objects.
    pub fn asks_of_cluster(&self) -> bool {
        !self.secrets.is_empty() || self.joining.is_some() || !self.addresses.is_empty()
    }
}

/// A Secret, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    /// Its namespace; none for the one that the controller is in.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// A Secret that a class refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretNeed {
    /// Path of the field that refers to it, for messages.
    pub field: String,
    /// Which one.
    pub secret: SecretName,
    /// Keys that it must have.
    pub keys: Vec<String>,
}

impl SecretNeed {
    /// The problem of the cluster's Secret, if any: a reason for programs, and a message for people.
    /// The message names the field, the Secret and the remedy.
    pub fn problem(
        &self,
        named: &str,
        data: Option<&SecretData>,
    ) -> Option<(&'static str, String)> {
        let field = &self.field;
        let Some(data) = data else {
            let what = format!("Secret {named} is not there; create it, or refer to another");
            return Some(("SecretNotFound", format!("{field}: {what}")));
        };
        let key = self.keys.iter().find(|key| !data.contains_key(*key))?;
        let what = format!("Secret {named} has no key {key:?}; add it");
        Some(("SecretIncomplete", format!("{field}: {what}")))
    }
}

/// How instances of a class join, as far as the class defines it. The rest comes from the settings,
/// or is detected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JoinNeeds {
    /// The distribution, as the class names it.
    pub distro: Option<String>,
    /// Where the cluster is reached.
    pub endpoint: Option<String>,
    /// Kubernetes' version.
    pub version: Option<String>,
    /// The Secret that has the token: the value of its one key.
    pub token: Option<SecretNeed>,
    /// Whether the text works without a token.
    pub without_token: bool,
    /// The group of the token's owner; none for the group of the distribution's own tokens.
    pub token_group: Option<TokenGroup>,
    /// Whether the text joins the instance itself and needs no more than version, certificate
    /// authority and token: neither distribution nor endpoint is looked for.
    pub text_joins: bool,
    /// How nodes get their provider id; none where it is known before the instance exists.
    pub provider_id: Option<IdNeed>,
}

/// The facts that decide how nodes get their provider id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdNeed {
    /// The cloud, whose controller may be in the cluster.
    pub cloud: IdCloud,
    /// The setting of the class.
    pub setting: Option<IdSetting>,
}

/// An address that each instance of a class gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressNeed {
    /// The number of the network card, from zero.
    pub nic: usize,
    /// The number of the pool among those of the card, from zero.
    pub index: usize,
    /// The pool.
    pub pool: AddressPool,
}

/// A pool of addresses: an object that an IPAM provider of Cluster API serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPool {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

impl AddressNeed {
    /// The name of the claim of this address.
    pub fn claim_name(&self, instance: &str) -> String {
        format!("{instance}-{}-{}", self.nic, self.index)
    }
}
