//! The deletion of a class: it stays until no claim refers to it.

use std::{sync::Arc, time::Duration};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, Deletion, class::NodeClass};
use serde_json::json;

use super::{Part, find_served, patch, users_of};
use crate::{
    claims::{self, refers_to},
    cloud_calls::ASK_AGAIN,
    cluster::Lock,
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    trouble::Trouble,
    world::{Change, Kept, Key, World, class_key},
};

/// How often the event about a waiting class is repeated. The value was chosen and not measured
/// separately.
const REMIND_EVERY: Duration = Duration::from_mins(10);

/// Keeps each class while claims refer to it, since it is needed to remove their instances. It also
/// keeps each object while classes refer to it.
#[derive(Debug)]
pub struct ClassTermination(pub Context);

/// The next step for a class's finalizer.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// None.
    Nothing,
    /// Write exactly these finalizers.
    Finalizers(Vec<String>),
    /// Wait for these claims or classes.
    Wait(Vec<String>),
}

/// The next step for a class with this finalizer of its provider and these claims.
fn step(class: &NodeClass, finalizer: &str, claims: Vec<String>) -> Step {
    let has_it = class.finalizers.iter().any(|known| known == finalizer);
    match (class.deleting.is_some(), has_it) {
        (false, false) => {
            let own = class.finalizers.iter().cloned();
            Step::Finalizers(own.chain([finalizer.to_owned()]).collect())
        }
        (true, true) if claims.is_empty() => {
            let others = class.finalizers.iter().filter(|known| *known != finalizer);
            Step::Finalizers(others.cloned().collect())
        }
        (true, true) => Step::Wait(claims),
        (false, true) | (true, false) => Step::Nothing,
    }
}

impl Controller for ClassTermination {
    type Key = Key;

    const NAME: &'static str = "nodeclass.termination";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodeClass(diff) => {
                diff.new.iter().for_each(|class| add(class.key()));
                // The last class that refers to an object may be gone, or refer to another object
                // now.
                diff.old.iter().flat_map(|class| self.ingredients_of(class)).for_each(add);
            }
            // The last claim of a class may be gone.
            Change::NodeClaim(diff) if diff.new.is_none() => {
                if let Some(class) = &diff.latest().spec.node_class_ref {
                    add(class_key(&class.group, &class.kind, &class.name));
                }
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some((class, provider)) = find_served(&self.0, key) else { return Ok(Next::Done) };
        let Some(finalizer) = provider.class_finalizer(&class) else { return Ok(Next::Done) };
        let (claims, classes) = (self.claims_of(&class), self.classes_of(&class));
        match step(&class, finalizer, [claims.as_slice(), classes.as_slice()].concat()) {
            Step::Nothing => Ok(Next::Done),
            Step::Finalizers(finalizers) => self.set(provider, &class, finalizers).await,
            Step::Wait(_) => {
                let about = Subject::of_class(&class);
                self.0.events.tell(if claims.is_empty() {
                    Event::waiting_on_node_classes(&about, &classes)
                } else {
                    Event::waiting_on_node_claim_termination(&about, &claims)
                });
                Ok(Next::After(REMIND_EVERY))
            }
        }
    }
}

impl ClassTermination {
    /// Keys of the objects that a class refers to.
    fn ingredients_of(&self, class: &NodeClass) -> Vec<Key> {
        let provider = self.0.providers.serving(&class.group, &class.kind);
        let objects = provider.into_iter().flat_map(|provider| provider.needs(class).objects);
        objects.map(|own| class_key(&own.group, &own.kind, &own.name)).collect()
    }

    /// Names of the classes that refer to an object.
    fn classes_of(&self, object: &NodeClass) -> Vec<String> {
        self.0.cache.read(|world| {
            users_of(&self.0, world, object).map(|class| class.name.clone()).collect()
        })
    }

    /// Names of the claims that refer to a class.
    fn claims_of(&self, class: &NodeClass) -> Vec<String> {
        self.0.cache.read(|world| {
            let claims = world.node_claims.values();
            let own = claims.filter(|claim| refers_to(claim.spec.node_class_ref.as_ref(), class));
            own.map(|claim| claims::name(&claim.metadata).to_owned()).collect()
        })
    }

    async fn set(
        &self,
        provider: &Arc<dyn CloudProvider>,
        class: &NodeClass,
        finalizers: Vec<String>,
    ) -> Result<Next, Trouble> {
        if class.deleting.is_some() {
            // An unreadable claim or class may refer to it.
            self.0.sure_of::<NodeClaim>()?;
            self.0.sure_of::<NodeClass>()?;
            let dispose = provider.dispose(class);
            let disposed = self.0.ask(Self::NAME, "Dispose", provider.as_ref(), dispose).await?;
            if disposed == Deletion::Requested {
                return Ok(Next::After(ASK_AGAIN));
            }
        }
        let wanted = json!({"metadata": {"finalizers": finalizers}});
        patch(&self.0, &**provider, class, Part::Object, wanted, Lock::Version).await?;
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(finalizers: &[&str], is_leaving: bool) -> NodeClass {
        NodeClass {
            finalizers: finalizers.iter().map(ToString::to_string).collect(),
            deleting: is_leaving.then(|| "2026-01-01T00:00:00Z".parse().unwrap()),
            ..NodeClass::default()
        }
    }

    #[test]
    fn a_class_has_the_finalizer_for_as_long_as_claims_need_it() {
        let finalizers = |all: &[&str]| Step::Finalizers(class(all, false).finalizers);
        let claims = || vec!["web-1".to_owned()];
        for (class, claims, expected) in [
            (class(&["other"], false), vec![], finalizers(&["other", "own"])),
            (class(&["own"], false), claims(), Step::Nothing),
            (class(&["own", "other"], true), claims(), Step::Wait(claims())),
            (class(&["own", "other"], true), vec![], finalizers(&["other"])),
            (class(&["other"], true), claims(), Step::Nothing),
        ] {
            assert_eq!(step(&class, "own", claims), expected, "{class:?}");
        }
    }
}
