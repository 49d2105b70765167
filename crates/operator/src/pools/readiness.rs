//! Whether a pool's class can be used.

use joiner_cloud::{Off, Served, class::NodeClass};

use super::{find, say};
use crate::{
    claims::refers_to,
    conditions::{NODE_CLASS_READY, Status},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// Says of each pool whether its class can be used.
#[derive(Debug)]
pub struct PoolReadiness(pub Context);

impl Controller for PoolReadiness {
    type Key = Key;

    const NAME: &'static str = "nodepool.readiness";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodePool(diff) => diff.new.iter().for_each(|pool| add(pool.key())),
            Change::NodeClass(diff) => {
                let class = diff.latest();
                let pools = world.node_pools.values().filter(|pool| {
                    refers_to(pool.spec.template.spec.node_class_ref.as_ref(), class)
                });
                pools.for_each(|pool| add(pool.key()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(pool) = find(&self.0, key) else { return Ok(Next::Done) };
        let Some(reference) = &pool.spec.template.spec.node_class_ref else {
            return Ok(Next::Done);
        };
        let verdict = match self.0.providers.of(&reference.group, &reference.kind) {
            Served::By(_) => {
                let class = self.0.cache.read(|world| {
                    world.class(&reference.group, &reference.kind, &reference.name).cloned()
                });
                Verdict::of_class(class.as_deref())
            }
            Served::Off(off) => Verdict::of_off(off),
            // Somebody else's pool.
            Served::Elsewhere => return Ok(Next::Done),
        };
        say(&self.0, &pool, |conditions| match verdict {
            Verdict::Ready => conditions.set_true(NODE_CLASS_READY),
            Verdict::NotReady { reason, message } => {
                conditions.set(NODE_CLASS_READY, Status::False, &reason, &message);
            }
        })
        .await?;
        Ok(Next::Done)
    }
}

/// Whether a class can be used.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Ready,
    NotReady { reason: String, message: String },
}

impl Verdict {
    fn not_ready(reason: &str, message: &str) -> Self {
        Self::NotReady { reason: reason.to_owned(), message: message.to_owned() }
    }

    fn of_class(class: Option<&NodeClass>) -> Self {
        let Some(class) = class else {
            return Self::not_ready("NodeClassNotFound", "NodeClass not found on cluster");
        };
        if class.deleting.is_some() {
            // COMPAT: upstream says the first sentence alone.
            let message = format!(
                "NodeClass is Terminating: {} {:?} is being deleted. Name another one in \
                 spec.template.spec.nodeClassRef, or create it again once it is gone",
                class.kind, class.name
            );
            return Self::not_ready("NodeClassTerminating", &message);
        }
        match class.ready() {
            None => Self::not_ready("NodeClassReadinessUnknown", "Node Class Readiness Unknown"),
            Some((false, reason, message)) => Self::not_ready(reason, &with_causes(class, message)),
            Some((true, ..)) => Self::Ready,
        }
    }

    fn of_off(off: &Off) -> Self {
        let Off { name, class, variable } = off;
        let message = format!(
            "the provider {name}, which serves {}, is off: set {variable} and start Joiner again, \
             or name it with --providers",
            class.kind
        );
        Self::not_ready("ProviderOff", &message)
    }
}

/// A class's message with what its other conditions say.
///
/// COMPAT: upstream shows the message alone, which only names the conditions that do not hold, such
/// as `Valid=False`. What to do is in their own messages.
fn with_causes(class: &NodeClass, message: &str) -> String {
    let conditions = class.status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let causes = conditions.iter().filter_map(|condition| {
        let text = condition["message"].as_str().filter(|text| !text.is_empty())?;
        let is_cause = condition["type"] != "Ready" && condition["status"] == "False";
        is_cause.then_some(text)
    });
    let parts: Vec<&str> =
        Some(message).filter(|text| !text.is_empty()).into_iter().chain(causes).collect();
    parts.join(": ")
}
