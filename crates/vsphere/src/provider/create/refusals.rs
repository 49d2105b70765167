//! What becomes of an order that vCenter does not meet.

use joiner_cloud::{CloudError, choice::Choice, notes::Note};
use joiner_vim::Fault;

use super::{Inner, Work};
use crate::{NODE_CLASS_KIND, faults::Outcome, vm::Vm};

/// How often trouble in one zone is taken for trouble and not for a want of room, and how often an
/// instance that is stuck is tried before it is made anew.
pub(super) const TRIES_MAX: u32 = 3;

/// How often an instance is tried about which vCenter says what nobody knows.
pub(super) const UNKNOWN_TRIES_MAX: u32 = 5;

/// Why one way to make an instance has come to nothing.
pub(super) enum Refused {
    /// Another type or zone may do.
    NoRoom(String),
    /// Another datastore may do.
    NoSpace(String),
    /// What the class names has gone.
    Stale(String),
    /// Nothing else will do now.
    Final(CloudError),
}

impl From<CloudError> for Refused {
    fn from(error: CloudError) -> Self {
        Self::Final(error)
    }
}

impl Inner {
    /// What becomes of an order after a fault.
    pub(super) fn refused(
        &self,
        work: &Work<'_>,
        fault: &Fault,
        judged: Outcome,
        doing: &str,
    ) -> Refused {
        let claim = &work.order.claim;
        let class = work.class.name();
        let what = format!(
            "{doing} virtual machine {:?} for NodeClaim {}: {fault}",
            work.name, claim.name
        );
        self.notes.write(Note::went_wrong(claim, "CloneFailed", &what));
        let later = |reason: &'static str| {
            Refused::Final(CloudError::Create { reason, message: what.clone() })
        };
        match judged {
            Outcome::NoRoom => Refused::NoRoom(what),
            Outcome::NoSpace => Refused::NoSpace(what),
            Outcome::Stale => Refused::Stale(what),
            Outcome::Trouble => {
                let tries = self.state().count(&claim.uid);
                if tries >= TRIES_MAX {
                    Refused::NoRoom(what)
                } else {
                    later("CreateInstanceFailed")
                }
            }
            Outcome::Stuck | Outcome::Unknown => {
                let tries = self.state().count(&claim.uid);
                tracing::warn!(tries, fault = %fault.kind, detail = ?fault.detail, "{what}");
                later("CreateInstanceFailed")
            }
            Outcome::NotReady => {
                let remedy = if fault.is("NoPermission") {
                    let class = &work.order.class;
                    self.notes.write(Note::wrong_with_class(class, "PermissionDenied", &what));
                    "; add the privilege to the account's role"
                } else {
                    ""
                };
                Refused::Final(CloudError::NodeClassNotReady(format!(
                    "{NODE_CLASS_KIND} {class:?} cannot be used: {what}{remedy}"
                )))
            }
            Outcome::Invalid => {
                self.state().count_invalid(&work.order.class, what.clone(), self.now());
                later("InvalidInstance")
            }
            Outcome::Unlicensed => {
                self.state().unlicensed = Some((self.now(), what.clone()));
                later("NotEnoughLicenses")
            }
            Outcome::NameTaken => later("NameConflict"),
            Outcome::Done
            | Outcome::Gone
            | Outcome::Throttled
            | Outcome::Busy
            | Outcome::Canceled => later("CreateInstanceFailed"),
        }
    }
}

impl Inner {
    /// Somebody else has the name of the claim's instance.
    pub(super) fn name_taken(&self, work: &Work<'_>, vm: &Vm) -> CloudError {
        let claim = &work.order.claim;
        let is_not_it =
            if vm.stray().is_some() { "is not the instance of" } else { "was not made for" };
        let message = format!(
            "virtual machine {:?} ({}) exists and {is_not_it} NodeClaim {}: rename or remove \
             it, or give one of two clusters that share a folder another CLUSTER_NAME",
            work.name, vm.reference, claim.name
        );
        self.notes.write(Note::went_wrong(claim, "NameConflict", &message));
        CloudError::Create { reason: "NameConflict", message }
    }

    /// One way to make an instance has come to nothing; another one may do.
    pub(super) fn tell_no_capacity(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        zone: Option<&str>,
        why: &str,
    ) {
        let wanted = &choice.instance_type.name;
        let place = zone.map(|zone| format!(" in zone {zone:?}")).unwrap_or_default();
        let message = format!("{wanted} cannot be had{place} now: {why}");
        let claim = &work.order.claim;
        self.notes.write(Note::went_wrong(claim, "InsufficientCapacity", message));
    }
}

impl Refused {
    pub(super) fn told(self) -> CloudError {
        match self {
            Self::Final(error) => error,
            // An instance that was adopted has no other way to be made in.
            Self::NoRoom(why) | Self::NoSpace(why) => CloudError::InsufficientCapacity(why),
            Self::Stale(why) => CloudError::NodeClassNotReady(why),
        }
    }
}
