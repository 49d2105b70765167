//! The cluster's data that a provider gets, as it [needs](crate::needs) it.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use crate::{
    bootstrap::{
        Facts, Secret,
        token::{Token, TokenSource},
    },
    class::{NodeClass, ObjectName},
    needs::SecretName,
};

/// The values of a Secret by their keys.
pub type SecretData = BTreeMap<String, Secret<Vec<u8>>>;

/// The data fetched for a class. It is complete: nothing that the provider needs is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassInputs {
    /// Every Secret that was asked for.
    pub secrets: BTreeMap<SecretName, SecretData>,
    /// The requested objects that exist.
    pub objects: BTreeMap<ObjectName, Arc<NodeClass>>,
    /// The join data of all instances of the class, if it was requested.
    pub joining: Option<Facts>,
}

/// What was fetched for one instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderInputs {
    /// What was fetched for its class.
    pub class: Arc<ClassInputs>,
    /// The token that authenticates it, if it needs one.
    pub token: Option<Token>,
    /// Its addresses, in the order in which they were asked for.
    pub addresses: Vec<Address>,
}

impl OrderInputs {
    /// Inputs with the configured token for all instances, and without addresses.
    pub fn joining(facts: Facts) -> Self {
        let token = match &facts.token {
            Some(TokenSource::Given(text)) => Some(Token::Given(text.clone())),
            Some(TokenSource::Mint) | None => None,
        };
        let class = ClassInputs { joining: Some(facts), ..ClassInputs::default() };
        Self { class: Arc::new(class), token, addresses: Vec::new() }
    }
}

/// An address of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The number of the network card, from zero.
    pub nic: usize,
    /// The address.
    pub address: IpAddr,
    /// The length of the network prefix in bits.
    pub prefix: u8,
    /// The gateway of its network.
    pub gateway: Option<IpAddr>,
}
