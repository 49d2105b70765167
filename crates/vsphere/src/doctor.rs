//! What there is to say about a vCenter and the classes that use it, before anybody relies on them.
//!
//! Everything here is a judgement of what was read; who reads is `provider::examine`. Wherever a
//! condition of a class says something, the doctor says the same, in its words.

mod class;
mod hosts;
mod instances;
mod room;
mod secrets;
mod template;
mod vcenter;

use joiner_cloud::{class as cloud_class, needs::SecretName};

pub(crate) use joiner_cloud::doctor::{ClaimSeen, Finding, Patient, SecretSeen, Subject};

use crate::{node_class::NodeClass, user_data};

pub(crate) use self::{
    class::{conditions, joining, network, tags},
    hosts::hosts,
    instances::instances,
    room::{pool, room},
    secrets::users_secret,
    template::template,
    vcenter::{clocks, reached, version},
};

/// The Secret that a class refers to, if it does.
pub fn secret_of(class: &cloud_class::NodeClass) -> Option<SecretName> {
    let read = NodeClass::read(&class.object()).ok()?;
    user_data::secret_need(&read).map(|need| need.secret)
}
