//! What the doctor says about vSphere alone.
//!
//! These functions judge; `provider::examine` reads. The findings for every cloud are in
//! [`joiner_cloud::doctor`].

mod class;
mod hosts;
mod instances;
mod room;
mod template;
mod vcenter;

use joiner_cloud::{class as cloud_class, needs::SecretName};

use crate::{node_class::NodeClass, user_data};

pub(crate) use self::{
    class::{conditions, network, tags},
    hosts::hosts,
    instances::seen,
    room::{pool, room},
    template::template,
    vcenter::version,
};

/// The Secret that a class refers to, if it does.
pub fn secret_of(class: &cloud_class::NodeClass) -> Option<SecretName> {
    let read = NodeClass::read(&class.object()).ok()?;
    user_data::secret_need(&read).map(|need| need.secret)
}
