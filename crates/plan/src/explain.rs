//! Explanations: what the plan does with one pod, and what would have to change for another result.

mod instances;

use joiner_core::{
    plan::Unplaced,
    reason::{Reason, ReasonId},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::{
    provision::{Reproducible, planned},
    solve::Solver,
};

/// The explanation of one pod.
#[derive(Debug, Clone)]
pub struct PodExplanation {
    /// Where the plan puts the pod.
    pub fate: Fate,
    /// Whether a new instance of each pool would take the pod: the chosen pool first, then others that would take
    /// it. Pools that refuse it follow, the nearest miss first.
    pub pools: Vec<PoolVerdict>,
}

/// Where the plan puts a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// On an instance that exists or was launched. Its node or claim name may be empty.
    Existing {
        /// The node's name.
        node: String,
        /// The claim's name.
        claim: String,
    },
    /// On a new claim, by its position in the plan.
    Claim(usize),
    /// The pod has no place.
    Unschedulable(Unplaced),
    /// The pod is not planned in this pass.
    Deferred(Unplaced),
}

/// Whether a new instance of a pool would take a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolVerdict {
    /// The NodePool's name.
    pub pool: String,
    /// Whether the plan creates an instance of this pool for the pod.
    pub chosen: bool,
    /// The first constraint that refuses the pod; `None` if the pool would take it.
    pub refusal: Option<Reason>,
    /// The remedy for the refusal.
    pub remedy: Option<String>,
}

/// Explains the pod `namespace/name`. `None` if the snapshot has no such pod to place.
///
/// The verdicts describe the end of the pass, with every other pod where the plan puts it. The chosen pool takes
/// the pod, even if another instance of it would exceed its limits.
pub fn pod(snapshot: &Snapshot, settings: &PlanSettings, key: &str) -> Option<PodExplanation> {
    let index = snapshot.pods.iter().position(|pod| pod.key() == key)?;
    let Reproducible { planned, considered, choices } = planned(snapshot, settings);
    let plan = planned.plan;
    let holds = |pods: &[String]| pods.iter().any(|pod| pod == key);
    let unplaced = |list: &[Unplaced]| list.iter().find(|unplaced| unplaced.pod == key).cloned();
    let fate = if let Some(existing) = plan.existing.iter().find(|existing| holds(&existing.pods)) {
        Fate::Existing { node: existing.node.clone(), claim: existing.node_claim.clone() }
    } else if let Some(claim) = plan.claims.iter().position(|claim| holds(&claim.pods)) {
        Fate::Claim(claim)
    } else if let Some(deferred) = unplaced(&plan.deferred) {
        Fate::Deferred(deferred)
    } else {
        Fate::Unschedulable(unplaced(&plan.unschedulable)?)
    };
    let pools = if considered.contains(&(index as u32)) {
        let mut solver = Solver::new(snapshot, settings, &considered).with(choices);
        let _ = solver.solve(&considered);
        solver.pool_verdicts(index as u32)
    } else {
        Vec::new()
    };
    let chosen = match &fate {
        Fate::Claim(at) => Some(plan.claims[*at].node_pool.as_str()),
        _ => None,
    };
    let verdict = |(pool, refusal): (String, Option<Reason>)| {
        let chosen = chosen == Some(pool.as_str());
        let refusal = refusal.filter(|_| !chosen);
        PoolVerdict { pool, chosen, remedy: refusal.as_ref().map(remedy), refusal }
    };
    let mut pools: Vec<PoolVerdict> = pools.into_iter().map(verdict).collect();
    pools.sort_by_key(|verdict| !verdict.chosen);
    Some(PodExplanation { fate, pools })
}

/// The remedy for a reason.
pub fn remedy(reason: &Reason) -> String {
    pod_remedy(reason).or_else(|| instances::remedy(reason)).unwrap_or_default()
}

/// The remedy for a reason of a pod.
fn pod_remedy(reason: &Reason) -> Option<String> {
    let fact = |name: &str| reason.params.get(name).map_or("", String::as_str);
    Some(match reason.id {
        ReasonId::PoolNone => "create a NodePool, or wait until one is ready".to_owned(),
        ReasonId::PoolNotReady => {
            "look at the NodePool's conditions (kubectl describe nodepool) and its NodeClass"
                .to_owned()
        }
        ReasonId::PoolNoTypes if !fact("key").is_empty() => format!(
            "write a value of {} that is on offer into the NodePool's requirements, or offer a type with {}",
            fact("key"),
            fact("wanted")
        ),
        ReasonId::PoolNoTypes => {
            "widen the NodePool's requirements, or look why its NodeClass has no instance types"
                .to_owned()
        }
        ReasonId::PoolTaintUntolerated => {
            format!("add a toleration for {} to the pod, or use a pool without it", fact("taint"))
        }
        ReasonId::PoolLabelUnknown if !fact("like").is_empty() => format!(
            "write {} in the pod's selector if that is meant, or set the label {} in the NodePool's template",
            fact("like"),
            fact("key")
        ),
        ReasonId::PoolLabelUnknown => format!(
            "set the label {key} in the NodePool's template (spec.template.metadata.labels or \
             requirements), or drop it from the pod's selector",
            key = fact("key")
        ),
        ReasonId::PoolRequirementConflict if fact("key").is_empty() => {
            "offer a type that meets all of it, or change what the pod requires".to_owned()
        }
        ReasonId::PoolRequirementConflict => format!(
            "allow {} {} in the NodePool or its types, or change what the pod requires",
            fact("key"),
            fact("wanted")
        ),
        ReasonId::PoolLimitReached => {
            format!("raise spec.limits.{} of the NodePool", fact("resource"))
        }
        ReasonId::ShapeTooSmall if fact("missing").is_empty() => {
            "offer a type that has all of it, or split the pod".to_owned()
        }
        ReasonId::ShapeTooSmall => format!(
            "offer a type with at least {} more {}, or request less",
            fact("missing"),
            fact("resource")
        ),
        ReasonId::ShapePodsMax => "offer types that take more pods (maxPods)".to_owned(),
        ReasonId::OfferingNone => {
            "wait until the offering is available again, or allow other zones or capacity types"
                .to_owned()
        }
        ReasonId::ZoneVolume => {
            "allow the volumes' zone in the NodePool, or move the volumes".to_owned()
        }
        ReasonId::VolumeLimit => {
            "use types that attach more volumes, or spread the volumes over more pods".to_owned()
        }
        ReasonId::TopologySpread => {
            "let the pool reach the domains with fewest pods, raise maxSkew, or use \
             whenUnsatisfiable: ScheduleAnyway"
                .to_owned()
        }
        ReasonId::AffinityUnmet => {
            "start the pod it wants to be near, or make the affinity a preference".to_owned()
        }
        ReasonId::AntiAffinityBlocked => {
            "add domains, run fewer of these pods, or make the anti-affinity a preference; pods \
             whose domain is still open block all of them until their instance exists"
                .to_owned()
        }
        ReasonId::HostPortTaken => "use another host port, or a Service".to_owned(),
        ReasonId::DraIgnored => {
            "request the device as an extended resource; claims are not looked at".to_owned()
        }
        ReasonId::MinValuesUnmet => format!(
            "lower minValues of {} in the NodePool, or set --min-values-policy BestEffort",
            fact("key")
        ),
        ReasonId::PodSelectorRestricted | ReasonId::PodSelectorInvalid => {
            "change the pod's selector".to_owned()
        }
        ReasonId::PodOptedOut => {
            format!(
                "nothing, if this is intended; else let the pod run where {} is set",
                fact("key")
            )
        }
        ReasonId::WaitingReservation => {
            "nothing: it is tried again when reserved capacity is free".to_owned()
        }
        ReasonId::WaitingWork => {
            "shorten the pod's lists of affinity terms, spread constraints, node selector terms, host ports or volumes"
                .to_owned()
        }
        ReasonId::WaitingVolume => "see the message: the volume has to be there first".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_one_remedy() {
        for id in ReasonId::ALL {
            let reason = Reason::new(*id, "why");
            let (pod, instance) = (pod_remedy(&reason), instances::remedy(&reason));
            assert!(pod.is_some() != instance.is_some(), "{}: {pod:?} {instance:?}", id.as_str());
        }
    }
}
