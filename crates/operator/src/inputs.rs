//! Inputs: the Secrets, objects, tokens and addresses that providers need from the cluster.
//!
//! A provider declares what a class and its instances need ([`joiner_cloud::needs`]); this module
//! reads it and caches it for a while. `decide` is pure. `reading` reads and `memory` caches.
//! Instances join with a token (`tokens`), which is deleted after use (`collection`), and may need
//! addresses (`addresses`).

mod addresses;
mod collection;
mod decide;
mod joining;
mod memory;
mod node_passwords;
mod reach;
mod reading;
mod secrets;
mod tokens;

use std::{collections::BTreeMap, sync::Arc};

use joiner_cloud::{
    CloudError, CloudProvider,
    bootstrap::token::Lifetime,
    class::{NodeClass, ObjectName},
    inputs::{ClassInputs, OrderInputs},
    needs::{JoinNeeds, Needs},
    order::Order,
};

pub use self::{
    collection::{TokenCollection, TokenSweep},
    reach::Reach,
};
use self::{reading::Lately, tokens::IssuedTokens};
use crate::context::Context;

/// The cache of the fetched inputs. Clones share the same cache.
#[derive(Debug, Clone, Default)]
pub struct Inputs(Arc<State>);

#[derive(Debug, Default)]
struct State {
    lately: Lately,
    issued: IssuedTokens,
    reach: Reach,
}

impl Inputs {
    /// An empty cache that reaches endpoints in this way.
    pub fn reaching(reach: Reach) -> Self {
        Self(Arc::new(State { reach, ..State::default() }))
    }
}

/// The fetched inputs of a class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// The provider's part.
    pub inputs: ClassInputs,
    /// Warnings for users; instances can still join.
    pub warnings: Vec<String>,
}

/// Why an input is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// A user must act.
    Problem {
        /// The condition's reason, in one `CamelCase` word.
        reason: &'static str,
        /// The condition's message: the object, the field, the remedy.
        message: String,
    },
    /// The read failed, so it is unknown whether the input exists.
    Unknown(String),
}

impl From<Missing> for CloudError {
    fn from(missing: Missing) -> Self {
        let (reason, message) = match missing {
            Missing::Problem { reason, message } => (reason, message),
            Missing::Unknown(why) => ("ClusterUnread", why),
        };
        Self::Create { reason, message }
    }
}

impl Context {
    /// Fetches what a provider needs to judge a class, and checks that instances would trust the
    /// endpoint.
    pub async fn class_inputs(
        &self,
        provider: &dyn CloudProvider,
        class: &NodeClass,
        needs: &Needs,
    ) -> Result<Fetched, Missing> {
        let (fetched, _) = self.fetch_inputs(provider, class, needs).await?;
        if let Some(facts) = &fetched.inputs.joining {
            joining::compare_authority(self, &named(class), facts).await?;
        }
        Ok(fetched)
    }

    /// Fetches what a class needs. Also returns how its instances join, according to its Secrets.
    async fn fetch_inputs(
        &self,
        provider: &dyn CloudProvider,
        class: &NodeClass,
        needs: &Needs,
    ) -> Result<(Fetched, Option<JoinNeeds>), Missing> {
        let named = named(class);
        let mut fetched = Fetched::default();
        for need in &needs.secrets {
            let data = secrets::fetch(self, &named, need).await?;
            fetched.inputs.secrets.insert(need.secret.clone(), data);
        }
        if !needs.addresses.is_empty() {
            addresses::served_version(self, &named).await?;
        }
        fetched.inputs.objects = self.objects(&needs.objects);
        let joining = match &needs.joining {
            // Without Secrets the first answer stays valid.
            Some(joining) if needs.secrets.is_empty() => Some(joining.clone()),
            _ => provider.join_needs(class, &fetched.inputs.secrets),
        };
        if let Some(needs) = &joining {
            let (facts, warnings) = joining::fetch(self, &named, needs).await?;
            fetched.inputs.joining = Some(facts);
            fetched.warnings = warnings;
        }
        Ok((fetched, joining))
    }

    /// The existing objects with these names.
    fn objects(&self, names: &[ObjectName]) -> BTreeMap<ObjectName, Arc<NodeClass>> {
        self.cache.read(|world| {
            let found = names.iter().filter_map(|named| {
                let ObjectName { group, kind, name } = named;
                Some((named.clone(), Arc::clone(world.class(group, kind, name)?)))
            });
            found.collect()
        })
    }

    /// Fetches what a provider needs to create an instance, within the given lifetime.
    pub async fn order_inputs(
        &self,
        provider: &dyn CloudProvider,
        order: &Order,
        lifetime: Lifetime,
    ) -> Result<OrderInputs, CloudError> {
        let needs = provider.needs(&order.class);
        if needs == Needs::default() {
            return Ok(OrderInputs::default());
        }
        // The endpoint was checked with the class, so no instance waits for that check.
        let (fetched, joining) = self.fetch_inputs(provider, &order.class, &needs).await?;
        let class = fetched.inputs;
        let instance = provider.instance_name(&order.claim);
        let token = match &class.joining {
            Some(facts) => {
                node_passwords::forget(self, facts.distro, &instance).await?;
                let group = joining.and_then(|joining| joining.token_group);
                tokens::token(self, &order.claim, facts, group, lifetime).await?
            }
            None => None,
        };
        let addresses = addresses::fetch(self, order, &instance, &needs.addresses).await?;
        Ok(OrderInputs { class: Arc::new(class), token, addresses })
    }
}

impl Context {
    /// Whether a pod in `kube-system` runs an image with one of these names; none if that cannot be
    /// read.
    pub(crate) async fn cloud_controller_seen(&self, names: &[&str]) -> Option<bool> {
        let images = reading::images(self).await.ok()?;
        Some(images.iter().any(|image| names.iter().any(|name| image.contains(name))))
    }
}

/// The class's name in messages.
fn named(class: &NodeClass) -> String {
    format!("{} {:?}", class.kind, class.name)
}
