//! The result of an order that vCenter refuses.

use joiner_cloud::{
    CloudError,
    attempts::{Refused, TRIES_MAX},
    notes::Note,
};
use joiner_vim::Fault;

use super::{Inner, Work};
use crate::{NODE_CLASS_KIND, faults::Outcome, vm::Vm};

impl Inner {
    /// The result of an order after a fault.
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
                let tries = self.state().tries.count(&claim.uid);
                if tries >= TRIES_MAX {
                    Refused::NoRoom(what)
                } else {
                    later("CreateInstanceFailed")
                }
            }
            Outcome::Stuck | Outcome::Unknown => {
                let tries = self.state().tries.count(&claim.uid);
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
                self.state().invalid_orders.count(&work.order.class, what.clone(), self.now());
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
    /// A foreign instance has the name of the claim's instance.
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
}
