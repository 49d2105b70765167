//! What the API server answers to a pod's eviction or deletion.

use crate::trouble::Trouble;

/// What the API server says of a pod that two budgets are about. There is no code for it.
const TWO_BUDGETS: &str = "This pod has more than one PodDisruptionBudget, which the eviction \
                           subresource does not support.";
/// What causes a refusal by a budget.
///
/// COMPAT: upstream looks at the code alone, which a busy API server has too.
const BUDGET_CAUSE: &str = "DisruptionBudget";

/// What became of a pod that was asked to leave.
#[derive(Debug)]
pub(super) enum Answer {
    /// It leaves.
    Done,
    /// It is gone; a pod of its name is another one.
    Gone,
    /// It is protected for now.
    Refused(Refusal),
    /// It is not known.
    Failed(Trouble),
}

/// What protects a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A budget.
    Budget,
    /// Two budgets, which the API server cannot weigh against each other.
    TwoBudgets,
}

impl Refusal {
    /// What to tell people.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Budget => "evicting pod violates a PDB",
            Self::TwoBudgets => "eviction does not support multiple PDBs",
        }
    }
}

/// The code that metrics count an answer by; none if there was no answer.
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
