//! What a provider is given of the cluster that its instances join, as it [needs](crate::needs) it.

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

/// What was fetched for a class. All of what its provider needs is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassInputs {
    /// Every Secret that was asked for.
    pub secrets: BTreeMap<SecretName, SecretData>,
    /// The objects that were asked for, as far as they are there.
    pub objects: BTreeMap<ObjectName, Arc<NodeClass>>,
    /// What all instances of the class join with, if that was asked for.
    pub joining: Option<Facts>,
}

/// What was fetched for one instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderInputs {
    /// What was fetched for its class.
    pub class: Arc<ClassInputs>,
    /// What it proves itself with, if it needs something.
    pub token: Option<Token>,
    /// Its addresses, in the order in which they were asked for.
    pub addresses: Vec<Address>,
}

impl OrderInputs {
    /// What an instance joins with where nothing is made for it alone: the token that is given for
    /// all, and no address.
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
    /// How many bits of it are its network's.
    pub prefix: u8,
    /// The way out of its network.
    pub gateway: Option<IpAddr>,
}
