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
