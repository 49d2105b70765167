//! The instances that already exist, as the doctor sees them.

use std::collections::BTreeSet;

use joiner_cloud::{
    doctor::{InstanceSeen, Owner},
    mark::Cluster,
};
use joiner_vim::MoRef;

use crate::{
    names,
    vm::{Listed, Vm, listed},
};

/// The virtual machines in the folders of a cluster. `legacy` are those that carry the predecessor's
/// tag.
pub(crate) fn seen(cluster: &str, vms: &[Vm], legacy: &BTreeSet<MoRef>) -> Vec<InstanceSeen> {
    let named = Cluster { name: cluster, uid: None };
    let seen = |vm: &Vm| InstanceSeen {
        name: vm.name.clone(),
        provider_id: vm.uuid.as_deref().map(names::provider_id),
        mark: vm.mark.clone(),
        owner: match listed(vm, named, legacy.contains(&vm.reference), None, None) {
            Listed::Ours(_) => Owner::Ours,
            Listed::Unreadable => Owner::Unreadable,
            Listed::NotOurs => Owner::Others,
        },
        copy: vm.stray().filter(|_| vm.is_of(named)).map(|stray| stray.told(cluster, vm)),
    };
    vms.iter().map(seen).collect()
}

#[cfg(test)]
mod tests {
    use joiner_cloud::{mark::Mark, order::ClaimId};

    use super::*;
    use crate::vm::Power;

    fn vm(claim: Option<&str>) -> Vm {
        let mark = claim.map(|uid| Mark {
            cluster: "prod".to_owned(),
            claim: ClaimId { name: "a".to_owned(), uid: uid.to_owned() },
            ..Mark::default()
        });
        Vm {
            reference: MoRef::new("VirtualMachine", "vm-1"),
            name: "prod-karp-a".to_owned(),
            uuid: Some("uuid-a".to_owned()),
            instance_uuid: None,
            mark,
            module: None,
            is_template: false,
            created: None,
            cpus: None,
            memory_mib: None,
            power: Power::On,
            connected: true,
            lost: false,
            cloned_from: None,
        }
    }

    fn one(vm: Vm, legacy: bool) -> InstanceSeen {
        let legacy = if legacy { [vm.reference.clone()].into() } else { BTreeSet::new() };
        seen("prod", &[vm], &legacy).remove(0)
    }

    #[test]
    fn a_mark_or_the_predecessors_tag_makes_an_instance_ours() {
        assert_eq!(one(vm(Some("uid-a")), false).owner, Owner::Ours);
        assert_eq!(one(vm(None), true).owner, Owner::Ours);
        assert_eq!(one(vm(None), false).owner, Owner::Others);
    }

    #[test]
    fn an_instance_that_became_a_template_is_named_and_is_no_orphan() {
        let seen = one(Vm { is_template: true, ..vm(Some("uid-a")) }, false);
        assert_eq!(seen.owner, Owner::Others);
        let told = seen.copy.unwrap();
        assert!(told.starts_with("virtual machine \"prod-karp-a\" was"), "{told}");
    }

    #[test]
    fn an_instance_that_cannot_be_read_may_be_ours() {
        let away = Vm { uuid: None, connected: false, ..vm(None) };
        assert_eq!(one(away, false).owner, Owner::Unreadable);
    }
}
