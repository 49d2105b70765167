//! What providers need of the cluster, fetched for them.
//!
//! A provider says what a class and its instances need ([`joiner_cloud::needs`]); here it is read,
//! remembered for a while, and handed over. `decide` says what follows from what was read: pure
//! functions. `reading` reads, `memory` keeps. Joining needs a token (`tokens`), which goes
//! when it has served (`collection`), and may need addresses (`addresses`).

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

/// What was fetched lately. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Inputs(Arc<State>);

#[derive(Debug, Default)]
struct State {
    lately: Lately,
    issued: IssuedTokens,
    reach: Reach,
}

impl Inputs {
    /// Asks endpoints in this way.
    pub fn reaching(reach: Reach) -> Self {
        Self(Arc::new(State { reach, ..State::default() }))
    }
}

/// What was fetched for a class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched {
    /// For the provider.
    pub inputs: ClassInputs,
    /// What users should know although instances can join.
    pub warnings: Vec<String>,
}

/// Why a class does not get what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// Somebody has to do something about it.
    Problem {
        /// For programs, in one `CamelCase` word.
        reason: &'static str,
        /// For people: the object, the field, the remedy.
        message: String,
    },
    /// The cluster did not say: nothing follows from it.
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
    /// Fetches what a provider needs to judge a class, and looks whether instances would take the
    /// endpoint for their cluster's.
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

    /// Fetches what a class needs; answers also how its instances join, as its Secrets say it.
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
            // Without Secrets there is nothing new to say.
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

    /// The objects of these names that are there.
    fn objects(&self, names: &[ObjectName]) -> BTreeMap<ObjectName, Arc<NodeClass>> {
        self.cache.read(|world| {
            let found = names.iter().filter_map(|named| {
                let ObjectName { group, kind, name } = named;
                Some((named.clone(), Arc::clone(world.class(group, kind, name)?)))
            });
            found.collect()
        })
    }

    /// Fetches what a provider needs to make an instance, for which it has so long.
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
        // The endpoint was looked at when the class was judged; no instance waits for it.
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
    /// Whether a program whose image has one of these in its name runs in `kube-system`; none where it
    /// cannot be read.
    pub(crate) async fn cloud_controller_seen(&self, names: &[&str]) -> Option<bool> {
        let images = reading::images(self).await.ok()?;
        Some(images.iter().any(|image| names.iter().any(|name| image.contains(name))))
    }
}

/// How messages name a class.
fn named(class: &NodeClass) -> String {
    format!("{} {:?}", class.kind, class.name)
}
