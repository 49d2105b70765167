//! Virtual machines with a copied mark. They belong to the user who made them, so they stay untouched
//! and are reported.

use jiff::SignedDuration;
use joiner_cloud::{class::NodeClass, notes::Note};

use super::Inner;
use crate::{
    NODE_CLASS,
    vm::{Stray, Vm},
};

/// One that was not seen for so long is told of again when it is back. What is remembered is bounded
/// by what people copy in this time.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(24);

impl Inner {
    /// Whether a virtual machine is not the instance that its mark was written for. One that carries
    /// this cluster's mark is told of, once.
    pub(super) fn is_stray(&self, vm: &Vm) -> bool {
        let Some(stray) = vm.stray() else { return false };
        if vm.is_of(self.cluster()) && self.is_news(vm) {
            self.tell_stray(vm, stray);
        }
        true
    }

    /// Whether it was not seen lately; it counts as seen then.
    fn is_news(&self, vm: &Vm) -> bool {
        let now = self.now();
        let strays = &mut self.state().strays;
        strays.retain(|_, seen| now.duration_since(*seen) < FORGOTTEN_AFTER);
        strays.insert(vm.reference.clone(), now).is_none()
    }

    /// Tells of it at the class: the claim may be gone.
    fn tell_stray(&self, vm: &Vm, stray: Stray) {
        let mark = vm.mark.clone().unwrap_or_default();
        let class = NodeClass {
            group: NODE_CLASS.group.to_owned(),
            kind: NODE_CLASS.kind.to_owned(),
            name: mark.class.clone(),
            ..NodeClass::default()
        };
        let what = stray.told(&self.settings.cluster, vm);
        tracing::warn!(instance = vm.name, NodeClaim = mark.claim.name, "{what}");
        self.notes.write(Note::wrong_with_class(&class, "CopyFound", what));
    }
}
