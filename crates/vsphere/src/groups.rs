//! Groups of a cluster's virtual machines, which its rules are about.

use joiner_vim::{Element, MoRef};

use crate::{
    choose::Unresolved,
    places::{COMPUTE_READY, Place, Trouble},
};

/// The property of a cluster that its groups are read from.
pub(crate) const GROUPS: &str = "configurationEx.group";

/// The members of a group of virtual machines; none where the group does not exist.
pub(crate) fn members(groups: Option<&Element>, name: &str) -> Option<Vec<MoRef>> {
    let mut groups = groups.into_iter().flat_map(|groups| &groups.children);
    let is_it =
        |own: &&Element| own.is_of_type("ClusterVmGroup") && own.text_at("name") == Some(name);
    let group = groups.find(is_it)?;
    Some(group.children_named("vm").filter_map(Element::reference).collect())
}

/// The problem of the group of a place, if any.
pub(crate) fn trouble(place: &Place, groups: Option<&Element>) -> Option<Trouble> {
    let name = place.vm_group.as_deref()?;
    if members(groups, name).is_some() {
        return None;
    }
    let all = groups.into_iter().flat_map(|groups| &groups.children);
    let all = all.filter(|own| own.is_of_type("ClusterVmGroup"));
    let names: Vec<&str> = all.filter_map(|own| own.text_at("name")).collect();
    let others = if names.is_empty() {
        "it has none; make one".to_owned()
    } else {
        format!("make it, or write one of {}", names.join(", "))
    };
    let zone = place.zone.as_deref().unwrap_or_default();
    Some(Trouble {
        condition: COMPUTE_READY,
        unresolved: Unresolved {
            reason: "VmGroupNotFound",
            message: format!(
                "spec.zones ({zone}).vmGroup: {} has no group {name:?} of virtual machines; \
                 {others}",
                place.compute.named.path
            ),
        },
    })
}

/// The new members of a group after adding or removing an instance; none without a change.
pub(crate) fn changed(members: &[MoRef], vm: &MoRef, is_member: bool) -> Option<Vec<MoRef>> {
    if members.contains(vm) == is_member {
        return None;
    }
    let mut members = members.to_vec();
    if is_member {
        members.push(vm.clone());
    } else {
        members.retain(|own| own != vm);
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_member_changes() {
        let vm = |id: &str| MoRef::new("VirtualMachine", id);
        let before = [vm("vm-1"), vm("vm-2")];
        let with = [vm("vm-1"), vm("vm-2"), vm("vm-3")];
        assert_eq!(changed(&before, &vm("vm-3"), true).as_deref(), Some(&with[..]));
        assert_eq!(changed(&before, &vm("vm-2"), false).as_deref(), Some(&before[..1]));
        assert_eq!(changed(&before, &vm("vm-2"), true), None);
        assert_eq!(changed(&before, &vm("vm-3"), false), None);
    }
}
