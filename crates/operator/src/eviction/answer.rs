//! The API server's answers to the eviction or deletion of a pod.

use crate::{trouble::Trouble, world::Key};

/// The API server's message for a pod that two budgets select. It has no code of its own.
const TWO_BUDGETS: &str = "This pod has more than one PodDisruptionBudget, which the eviction \
                           subresource does not support.";
/// The cause of a refusal by a budget.
///
/// COMPAT: upstream checks only the status code, which an overloaded API server returns too.
const BUDGET_CAUSE: &str = "DisruptionBudget";

/// The result of an eviction.
#[derive(Debug)]
pub(super) enum Answer {
    /// The pod leaves.
    Done,
    /// The pod is gone; a pod with its name is another one.
    Gone,
    /// The pod is protected for now.
    Refused(Refusal),
    /// The result is unknown.
    Failed(Trouble),
}

/// The protection of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// One PodDisruptionBudget.
    Budget,
    /// Two budgets, which the eviction API does not support.
    TwoBudgets,
}

impl Refusal {
    /// The event's text for a protected pod with these budgets: Karpenter's words, and the remedy.
    /// All budgets are named, because their state may have just changed.
    pub(super) fn text(self, pod: &Key, budgets: &[Key]) -> String {
        let names: Vec<String> = budgets.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        match self {
            Self::Budget => {
                let which = if names.is_empty() { "of the pod" } else { &names };
                format!(
                    "evicting pod violates a PDB (Pod={pod}): PodDisruptionBudget {which} allows no \
                     eviction now; let it allow one, or add replicas"
                )
            }
            Self::TwoBudgets => {
                let which = if names.is_empty() { "of its namespace" } else { &names };
                format!(
                    "eviction does not support multiple PDBs (Pod={pod}): PodDisruptionBudgets \
                     {which} are about it; a pod must match no more than one"
                )
            }
        }
    }
}

/// The status code that metrics count; none if there was no answer.
pub(super) fn code(answer: &Result<(), Trouble>) -> Option<u16> {
    match answer {
        Ok(()) => Some(200),
        Err(trouble) => trouble.code(),
    }
}

impl Answer {
    /// Reads an answer.
    pub(super) fn read(answer: Result<(), Trouble>) -> Self {
        let trouble = match answer {
            Ok(()) => return Self::Done,
            Err(trouble) => trouble,
        };
        let Some(status) = trouble.status() else { return Self::Failed(trouble) };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        match status.code {
            404 | 409 => Self::Gone,
            429 if causes.into_iter().any(|cause| cause.reason == BUDGET_CAUSE) => {
                Self::Refused(Refusal::Budget)
            }
            500 if status.message == TWO_BUDGETS => Self::Refused(Refusal::TwoBudgets),
            _ => Self::Failed(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(refusal: Refusal, budgets: &[&str]) -> String {
        let budgets: Vec<Key> = budgets.iter().map(|name| Key::new(Some("shop"), name)).collect();
        refusal.text(&Key::new(Some("shop"), "web"), &budgets)
    }

    #[test]
    fn who_reads_why_a_pod_stays_learns_which_budget_keeps_it_and_what_helps() {
        assert_eq!(
            text(Refusal::Budget, &["web"]),
            "evicting pod violates a PDB (Pod=shop/web): PodDisruptionBudget shop/web allows no \
             eviction now; let it allow one, or add replicas"
        );
        assert_eq!(
            text(Refusal::TwoBudgets, &["one", "two"]),
            "eviction does not support multiple PDBs (Pod=shop/web): PodDisruptionBudgets shop/one, \
             shop/two are about it; a pod must match no more than one"
        );
    }

    /// The API server knew of it before we did.
    #[test]
    fn a_budget_that_is_not_known_yet_is_not_named() {
        let unnamed = "(Pod=shop/web): PodDisruptionBudget of the pod allows no eviction now";
        assert!(text(Refusal::Budget, &[]).contains(unnamed));
        let unnamed = "(Pod=shop/web): PodDisruptionBudgets of its namespace are about it";
        assert!(text(Refusal::TwoBudgets, &[]).contains(unnamed));
    }
}
