//! Reports of a provider about work in progress.
//!
//! A provider does not talk to Kubernetes, and an answer may take minutes. A provider writes reports
//! about the progress and the result of calls here. The operator publishes them as events and in the
//! conditions of claims.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::{class::NodeClass, order::ClaimId};

/// The number of unread notes that are kept. The oldest are dropped first, because recent notes
/// matter more.
const KEPT_MAX: usize = 1000;

/// A report for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The subject.
    pub about: About,
    /// The content.
    pub says: Says,
}

/// The subject of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// A claim.
    Claim(ClaimId),
    /// A class.
    Class {
        /// API group.
        group: String,
        /// Kind.
        kind: String,
        /// Name.
        name: String,
    },
    /// The whole cloud. The note is published on each of its classes.
    Cloud,
}

/// The content of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// An expected event. The reason is a `CamelCase` word.
    Happened {
        /// For programs.
        reason: &'static str,
        /// For people.
        message: String,
    },
    /// An unexpected event. The reason is a `CamelCase` word.
    WentWrong {
        /// For programs.
        reason: &'static str,
        /// For people: the object, the field, the remedy.
        message: String,
    },
    /// How far the instance of a claim has come.
    Progress(String),
    /// The cloud has changed, so the object is examined now. A class is judged again, and waiting
    /// pods are planned again. The instance of a claim is checked for loss.
    LookAgain,
}

impl About {
    fn of_class(class: &NodeClass) -> Self {
        Self::Class {
            group: class.group.clone(),
            kind: class.kind.clone(),
            name: class.name.clone(),
        }
    }
}

impl Note {
    /// Something that happened to a claim.
    pub fn happened(claim: &ClaimId, reason: &'static str, message: impl Into<String>) -> Self {
        let says = Says::Happened { reason, message: message.into() };
        Self { about: About::Claim(claim.clone()), says }
    }

    /// Something that went wrong with a claim.
    pub fn went_wrong(claim: &ClaimId, reason: &'static str, message: impl Into<String>) -> Self {
        let says = Says::WentWrong { reason, message: message.into() };
        Self { about: About::Claim(claim.clone()), says }
    }

    /// How far a claim's instance has come.
    pub fn progress(claim: &ClaimId, text: impl Into<String>) -> Self {
        Self { about: About::Claim(claim.clone()), says: Says::Progress(text.into()) }
    }

    /// Requests that a class, or an ingredient of classes, is judged now.
    pub fn look_again(class: &NodeClass) -> Self {
        Self { about: About::of_class(class), says: Says::LookAgain }
    }

    /// Requests a check whether a claim's instance is lost.
    pub fn look_again_at_claim(claim: &ClaimId) -> Self {
        Self { about: About::Claim(claim.clone()), says: Says::LookAgain }
    }

    /// Something that is wrong with the cloud as a whole.
    pub fn wrong_with_cloud(reason: &'static str, message: impl Into<String>) -> Self {
        Self { about: About::Cloud, says: Says::WentWrong { reason, message: message.into() } }
    }

    /// Something that is wrong with a class.
    pub fn wrong_with_class(
        class: &NodeClass,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let says = Says::WentWrong { reason, message: message.into() };
        Self { about: About::of_class(class), says }
    }
}

/// The queue of unread notes. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    unread: Mutex<VecDeque<Note>>,
    written: Notify,
}

impl Notes {
    /// Writes something down. Never waits.
    pub fn write(&self, note: Note) {
        let mut unread = self.unread();
        if unread.len() >= KEPT_MAX {
            unread.pop_front();
        }
        unread.push_back(note);
        drop(unread);
        self.0.written.notify_one();
    }

    /// Waits for the oldest unread note. There must be one reader.
    pub async fn next(&self) -> Note {
        loop {
            if let Some(note) = self.unread().pop_front() {
                return note;
            }
            self.0.written.notified().await;
        }
    }

    /// All unread notes.
    #[cfg(feature = "testing")]
    pub(crate) fn unread_now(&self) -> Vec<Note> {
        self.unread().drain(..).collect()
    }

    fn unread(&self) -> MutexGuard<'_, VecDeque<Note>> {
        self.0.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(number: usize) -> Note {
        Note::progress(&ClaimId::default(), number.to_string())
    }

    #[tokio::test]
    async fn notes_are_read_in_the_order_in_which_they_were_written() {
        let notes = Notes::default();
        let reader = notes.clone();
        let read = tokio::spawn(async move { [reader.next().await, reader.next().await] });
        tokio::task::yield_now().await;
        notes.write(note(1));
        notes.write(note(2));
        assert_eq!(read.await.unwrap(), [note(1), note(2)]);
    }

    #[tokio::test]
    async fn the_oldest_go_while_nobody_reads() {
        let notes = Notes::default();
        (0..=KEPT_MAX).for_each(|number| notes.write(note(number)));
        assert_eq!(notes.next().await, note(1));
    }
}
