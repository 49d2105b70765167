//! What CloudStack says of its objects, as far as it is used.
//!
//! Every field but ids may be absent: versions differ, and a server leaves out what is null or not
//! for the eyes of the key's owner.

mod instance;
mod lenient;
mod offering;
mod place;

pub use self::{
    instance::{Nic, Tag, VirtualMachine, Volume},
    offering::{DiskOffering, ServiceOffering, Template},
    place::{
        AffinityGroup, ApiName, Capabilities, Network, NetworkService, Project, ResourceLimit,
        SecurityGroup, SshKeyPair, Zone,
    },
};

/// An object that has an id and a name.
pub trait Identified {
    /// Its id.
    fn id(&self) -> &str;
    /// Its name.
    fn name(&self) -> &str;
}

/// Implements [`Identified`] for objects with fields of these names.
macro_rules! identified {
    ($($type:ty),* $(,)?) => {$(
        impl Identified for $type {
            fn id(&self) -> &str {
                &self.id
            }

            fn name(&self) -> &str {
                &self.name
            }
        }
    )*};
}

identified!(AffinityGroup, DiskOffering, Network, SecurityGroup, ServiceOffering, Template);

/// Implements [`Listed`](super::Listed) for objects that their id tells apart.
macro_rules! listed_by_id {
    ($($type:ty => $object:literal),* $(,)?) => {$(
        impl crate::client::Listed for $type {
            const OBJECT: &'static str = $object;

            fn identity(&self) -> String {
                self.id.clone()
            }
        }
    )*};
}
pub(crate) use listed_by_id;
