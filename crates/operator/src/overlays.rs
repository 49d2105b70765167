//! The status of `NodeOverlay`s.
//!
//! Every plan evaluates overlays itself, so plans never wait for this controller. It only reports
//! the result of each overlay.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use joiner_api::node_overlay::NodeOverlay;
use joiner_plan::overlay::Verdict;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    claims::name,
    cluster::Lock,
    conditions::{Conditioned, Status, VALIDATION_SUCCEEDED},
    context::Context,
    controller::{Controller, Next},
    provisioning::pass::Input,
    queue::Backoff,
    rounds::Everything,
    trouble::Trouble,
    world::{Change, World},
};

/// How often unchanged overlays are examined: a cloud's offerings change without an event. The
/// value was chosen and not measured separately.
const AGAIN: Duration = Duration::from_mins(5);

/// Says of each overlay whether it counts.
#[derive(Debug)]
pub struct Overlays(pub Context);

impl Controller for Overlays {
    /// One overlay's verdict depends on all others.
    type Key = Everything;

    const NAME: &'static str = "nodeoverlay";
    const BACKOFF: Backoff = Backoff::REASONABLE;
    const AT_ONCE: usize = 1;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Everything)) {
        let is_news = match change {
            Change::NodeOverlay(diff) => {
                generation(diff.old.as_deref().map(|overlay| &overlay.metadata))
                    != generation(diff.new.as_deref().map(|overlay| &overlay.metadata))
            }
            Change::NodePool(diff) => {
                generation(diff.old.as_deref().map(|pool| &pool.metadata))
                    != generation(diff.new.as_deref().map(|pool| &pool.metadata))
            }
            Change::NodeClass(diff) => {
                let generation = |class: &Option<_>| {
                    class.as_deref().map(|class: &joiner_cloud::class::NodeClass| class.generation)
                };
                generation(&diff.old) != generation(&diff.new)
            }
            _ => false,
        };
        if is_news {
            add(Everything);
        }
    }

    async fn reconcile(&self, _key: &Everything) -> Result<Next, Trouble> {
        let (input, overlays) = self.0.cache.read(|world| {
            let overlays: Vec<Arc<NodeOverlay>> = world.node_overlays.values().cloned().collect();
            (Input::gather(world, &self.0.providers), overlays)
        });
        let verdicts = input.overlay_verdicts();
        for overlay in &overlays {
            let Some(said) = said(overlay, &verdicts, self.0.now()) else { continue };
            match self.0.cluster.patch_status(&**overlay, &said, Lock::Version).await {
                // Others have changed something: what follows for all is found out anew.
                Err(trouble) if trouble.is_conflict() || trouble.is_not_found() => {
                    return Ok(Next::Again);
                }
                outcome => outcome?,
            };
        }
        // A pool whose types could not be told may be met by overlays all the same.
        Ok(if input.knows_all_types() { Next::After(AGAIN) } else { Next::Again })
    }
}

fn generation(metadata: Option<&ObjectMeta>) -> Option<(Option<&str>, Option<i64>)> {
    metadata.map(|metadata| (metadata.uid.as_deref(), metadata.generation))
}

/// The overlay with what became of it.
fn said(
    overlay: &NodeOverlay,
    verdicts: &BTreeMap<String, Verdict>,
    now: jiff::Timestamp,
) -> Option<NodeOverlay> {
    let verdict = verdicts.get(name(&overlay.metadata))?;
    let mut said = overlay.clone();
    let mut conditions = said.conditions_mut(now);
    let mut refuse = |reason, message: &str| {
        conditions.set(VALIDATION_SUCCEEDED, Status::False, reason, message);
    };
    match verdict {
        Verdict::Applied => conditions.set_true(VALIDATION_SUCCEEDED),
        Verdict::Conflict { with } => refuse(
            "Conflict",
            &format!(
                "conflict with another overlay: {with} has the same weight and corrects the same \
                 thing, so that this one has no effect. Give one of them another weight, or let \
                 their requirements exclude each other"
            ),
        ),
        Verdict::Invalid(why) => refuse("RuntimeValidation", why),
    }
    Some(said)
}
