//! Remedies for the reasons of instances.

use joiner_core::{
    label,
    reason::{Reason, ReasonId},
};

/// The remedy for a reason of an instance; `None` for a reason of a pod.
pub(super) fn remedy(reason: &Reason) -> Option<String> {
    let fact = |name: &str| reason.params.get(name).map_or("", String::as_str);
    Some(match reason.id {
        ReasonId::NodeEmpty | ReasonId::NodeDrifted | ReasonId::NodeUnderutilized => {
            format!(
                "nothing; to keep the instance, put the annotation {}: \"true\" on its Node",
                label::DO_NOT_DISRUPT
            )
        }
        ReasonId::DisruptionPaused => {
            format!("remove the annotation {} from {}", label::PAUSE_DISRUPTION, fact("on"))
        }
        ReasonId::NodeLeaving
        | ReasonId::NodeQueued
        | ReasonId::NodeReceives
        | ReasonId::NodeLater => "nothing: it is looked at again when that is done".to_owned(),
        ReasonId::NodeExpired => {
            format!("nothing; the annotation {} on its NodePool keeps it", label::PAUSE_DISRUPTION)
        }
        ReasonId::NodeMissing | ReasonId::NodeUninitialized => {
            "wait for the instance to come up; if it does not, look at the NodeClaim's conditions \
             (kubectl describe nodeclaim)"
                .to_owned()
        }
        ReasonId::NodeShared => {
            "delete the Node that is not this instance; it goes alone".to_owned()
        }
        ReasonId::NodeRebooting => {
            "wait: the reboot is ended after 25 minutes; if the node stays unhealthy then, delete \
             its NodeClaim"
                .to_owned()
        }
        ReasonId::NodeNominated => "nothing: it is looked at again when the pod runs".to_owned(),
        ReasonId::NodeDoNotDisrupt => {
            format!("remove the annotation {} from the Node", label::DO_NOT_DISRUPT)
        }
        ReasonId::NodeNoPool => {
            format!("put the label {} back on the Node", label::NODE_POOL)
        }
        ReasonId::NodeTooYoung => {
            "wait, or lower spec.disruption.consolidateAfter of the NodePool".to_owned()
        }
        ReasonId::NodeTypeUnknown => format!(
            "offer the instance type {} in the NodePool's NodeClass again, or let the instance be \
             replaced as drifted",
            fact("instanceType")
        ),
        ReasonId::NodeLabelMissing => format!("put the label {} back on the Node", fact("key")),
        ReasonId::PoolNotFound => format!(
            "create NodePool {} again, or delete the NodeClaim (kubectl delete nodeclaim)",
            fact("nodePool")
        ),
        ReasonId::PoolConsolidationOff => {
            "set spec.disruption.consolidateAfter of the NodePool to a duration such as 5m"
                .to_owned()
        }
        ReasonId::PoolWhenEmpty => {
            "set spec.disruption.consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized"
                .to_owned()
        }
        ReasonId::PodDoNotDisrupt => {
            format!("remove the annotation {} from pod {}", label::DO_NOT_DISRUPT, fact("pod"))
        }
        ReasonId::PodPdb if fact("pdb").contains(',') => format!(
            "narrow the selectors of the PodDisruptionBudgets {}, or delete all but one: a pod \
             must match no more than one",
            fact("pdb")
        ),
        ReasonId::PodPdb => format!(
            "let PodDisruptionBudget {} allow an eviction: more replicas, or a larger \
             maxUnavailable",
            fact("pdb")
        ),
        ReasonId::PodBare => {
            format!("let a Deployment or another controller own pod {}", fact("pod"))
        }
        ReasonId::PodWouldNotFit => {
            format!("make room for pod {}: see why it would have no place", fact("pod"))
        }
        _ => return of_command(reason),
    })
}

/// The remedy for a command that is not possible.
fn of_command(reason: &Reason) -> Option<String> {
    Some(match reason.id {
        ReasonId::MoveReplacementsMoreThanOne => {
            "offer a larger type, so that one instance is enough".to_owned()
        }
        ReasonId::MoveNotCheaper | ReasonId::MoveEqualShape => {
            "nothing, if the instance is well used; else offer a cheaper type that fits".to_owned()
        }
        ReasonId::MoveUnsteady => {
            "nothing: it goes once there is more room on the other instances".to_owned()
        }
        ReasonId::MoveScore => if_not_worth_it(reason),
        ReasonId::MoveSpotToSpot => "turn on the feature gate SpotToSpotConsolidation".to_owned(),
        ReasonId::MoveSpotOptions => "allow more instance types in the NodePool".to_owned(),
        ReasonId::BudgetClosed | ReasonId::BudgetUsed => {
            "wait, or allow more in spec.disruption.budgets of the NodePool".to_owned()
        }
        ReasonId::BudgetInvalid => "correct the budget as the message says".to_owned(),
        ReasonId::BufferProtects => "lower the replicas of the CapacityBuffer".to_owned(),
        ReasonId::StaticReplicas => "lower spec.replicas of the NodePool".to_owned(),
        ReasonId::DriftBackoff => {
            "look why the replacement failed: events of the NodePool and of its NodeClaims"
                .to_owned()
        }
        ReasonId::RevertedRecently | ReasonId::MoveUnsettled => {
            "wait; it is tried again by itself".to_owned()
        }
        _ => return None,
    })
}

/// The remedy for a move that its pool refuses.
fn if_not_worth_it(reason: &Reason) -> String {
    let fact = |name: &str| reason.params.get(name);
    if let Some(annotation) = fact("unreadable") {
        return format!("correct or remove the annotation {annotation} of the NodePool");
    }
    let instead = match fact("annotation") {
        Some(annotation) => format!("lower the annotation {annotation} of the NodePool"),
        None => "use the policy WhenEmptyOrUnderutilized".to_owned(),
    };
    format!("nothing, if the moving is not worth it; else {instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_that_overlap_are_no_matter_of_how_much_they_allow() {
        let remedy = |pdb: &str| remedy(&Reason::new(ReasonId::PodPdb, "why").with("pdb", pdb));
        assert_eq!(
            remedy("shop/web").as_deref(),
            Some(
                "let PodDisruptionBudget shop/web allow an eviction: more replicas, or a larger \
                 maxUnavailable"
            )
        );
        assert_eq!(
            remedy("shop/web, shop/all").as_deref(),
            Some(
                "narrow the selectors of the PodDisruptionBudgets shop/web, shop/all, or delete all \
                 but one: a pod must match no more than one"
            )
        );
    }
}
