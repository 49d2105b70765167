//! Readiness: whether the process is ready, and otherwise every obstacle with its remedy.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Something that is missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotReady {
    /// The part has not been checked yet.
    NotLookedAt,
    /// A custom resource definition is not in the cluster.
    CrdMissing {
        /// Its name.
        name: String,
    },
    /// A custom resource definition lacks something that is needed.
    CrdOld {
        /// Its name.
        name: String,
        /// What it lacks.
        lacks: String,
    },
    /// The service account may not do something.
    Forbidden {
        /// What.
        verb: String,
        /// With which resource, and its group.
        resource: String,
    },
    /// Not everything of a kind is known yet.
    NotSynced {
        /// The kind.
        what: String,
    },
    /// The API server cannot be reached.
    Unreachable {
        /// What happened.
        problem: String,
    },
    /// Something else, with its remedy.
    Other {
        /// What.
        problem: String,
        /// What to do.
        remedy: String,
    },
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLookedAt => write!(f, "not looked at yet: wait"),
            Self::CrdMissing { name } => write!(
                f,
                "the CustomResourceDefinition {name} is missing: joiner crds | kubectl apply -f -"
            ),
            Self::CrdOld { name, lacks } => write!(
                f,
                "the CustomResourceDefinition {name} is too old, it lacks {lacks}: \
                 joiner crds | kubectl apply -f -"
            ),
            Self::Forbidden { verb, resource } => write!(
                f,
                "the service account may not {verb} {resource}: add the verb {verb} on {resource} \
                 to its role"
            ),
            Self::NotSynced { what } => write!(
                f,
                "not all {what} are known yet: wait, or look in the log for why they cannot be \
                 listed"
            ),
            Self::Unreachable { problem } => write!(
                f,
                "the API server does not answer ({problem}): check that it is up and can be \
                 reached from here"
            ),
            Self::Other { problem, remedy } => write!(f, "{problem}: {remedy}"),
        }
    }
}

/// The obstacles, by the part of the process that reports them. A part without a report is not
/// ready.
#[derive(Debug)]
pub struct Readiness {
    missing: Mutex<BTreeMap<String, Vec<NotReady>>>,
    /// Warnings that do not affect readiness.
    notes: Mutex<Vec<String>>,
}

impl Readiness {
    /// Not ready until all these parts have said that they are.
    pub fn new(parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let parts = parts.into_iter().map(|part| (part.into(), vec![NotReady::NotLookedAt]));
        Self { missing: Mutex::new(parts.collect()), notes: Mutex::default() }
    }

    /// Replaces the obstacles of a part; an empty list means that it is ready.
    pub fn set(&self, part: &str, mut missing: Vec<NotReady>) {
        missing.sort();
        missing.dedup();
        self.parts().insert(part.to_owned(), missing);
    }

    /// A part is ready.
    pub fn ready(&self, part: &str) {
        self.set(part, Vec::new());
    }

    /// Whether nothing is missing.
    pub fn is_ready(&self) -> bool {
        self.parts().values().all(Vec::is_empty)
    }

    /// Everything that is missing, a line each; empty when nothing is.
    pub fn why_not(&self) -> String {
        let parts = self.parts();
        let lines = parts.iter().flat_map(|(part, missing)| {
            missing.iter().map(move |missing| format!("{part}: {missing}\n"))
        });
        lines.collect()
    }

    /// Replaces the warnings that do not affect readiness.
    pub fn note(&self, notes: Vec<String>) {
        *self.notes.lock().unwrap_or_else(PoisonError::into_inner) = notes;
    }

    /// All warnings, one per line.
    pub fn notes(&self) -> String {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<String> = notes.iter().map(|note| format!("note: {note}\n")).collect();
        lines.concat()
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<String, Vec<NotReady>>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
