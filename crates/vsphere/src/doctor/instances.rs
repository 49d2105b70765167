//! The instances that there are already.

use std::collections::{BTreeMap, BTreeSet};

use joiner_vim::MoRef;

use super::{ClaimSeen, Finding, Subject};
use crate::{
    marks::Cluster,
    names,
    vm::{Listed, Vm, listed},
};

/// How many names are listed.
const NAMED: usize = 10;

/// What there is to say of the instances in the folders of a cluster. `legacy` are those that carry
/// the predecessor's tag.
pub(crate) fn instances(
    cluster: &str,
    vms: &[Vm],
    legacy: &BTreeSet<MoRef>,
    claims: Result<&[ClaimSeen], &str>,
) -> Vec<Finding> {
    let object = format!("cluster {cluster:?}");
    let subject = Subject::new("instances", &object);
    let named = Cluster { name: cluster, uid: None };
    let mut ours: Vec<&Vm> = Vec::new();
    let mut unreadable: Vec<&Vm> = Vec::new();
    for vm in vms {
        match listed(vm, named, legacy.contains(&vm.reference), None, None) {
            Listed::Ours(_) => ours.push(vm),
            Listed::Unreadable => unreadable.push(vm),
            Listed::NotOurs => {}
        }
    }
    let unmarked: Vec<&Vm> = ours.iter().copied().filter(|vm| vm.mark.is_none()).collect();
    let mut found = vec![subject.fine(format!("{} belong to this cluster", ours.len()))];
    if !unmarked.is_empty() {
        found.push(subject.fine(format!(
            "{} of them were made by karpenter-provider-vsphere and are known by its tag: {}",
            unmarked.len(),
            names_of(&unmarked)
        )));
    }
    if !unreadable.is_empty() {
        found.push(subject.problem(
            "InstancesUnreadable",
            &format!(
                "{} cannot be read, because their host is away, and may be this cluster's, so that \
                 no list of instances can be made; bring the host back, or remove them from the \
                 inventory",
                names_of(&unreadable)
            ),
        ));
    }
    for vm in vms.iter().filter(|vm| vm.is_of(named)) {
        if let Some(stray) = vm.stray() {
            found.push(subject.warning("CopyFound", &stray.told(cluster, vm)));
        }
    }
    let clusters: BTreeSet<&str> = ours.iter().filter_map(|vm| cluster_uid(vm)).collect();
    if clusters.len() > 1 {
        found.push(subject.warning(
            "SeveralClusters",
            &format!(
                "clusters whose namespace kube-system has the UID {} have this name, and each leaves \
                 the instances of the others alone; give all but one another CLUSTER_NAME",
                clusters.into_iter().collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    for (uid, twins) in doubles(&ours) {
        found.push(subject.warning(
            "TwoInstancesOfOneClaim",
            &format!(
                "{} were made for one NodeClaim, {uid}; the older one is used: look whether the \
                 other runs anything, and remove it",
                names_of(&twins)
            ),
        ));
    }
    found.push(orphans(Subject::new("orphans", &object), &ours, claims));
    found
}

/// Which cluster of the name an instance says that it is of.
fn cluster_uid(vm: &Vm) -> Option<&str> {
    vm.mark.as_ref().map(|mark| mark.cluster_uid.as_str()).filter(|uid| !uid.is_empty())
}

/// Instances that were made for the same claim.
fn doubles<'v>(ours: &[&'v Vm]) -> BTreeMap<String, Vec<&'v Vm>> {
    let mut by_claim: BTreeMap<String, Vec<&Vm>> = BTreeMap::new();
    for vm in ours {
        if let Some(mark) = vm.mark.as_ref().filter(|mark| !mark.claim.uid.is_empty()) {
            by_claim.entry(mark.claim.uid.clone()).or_default().push(vm);
        }
    }
    by_claim.retain(|_, vms| vms.len() > 1);
    by_claim
}

/// Instances that no claim is known of.
fn orphans(subject: Subject<'_>, ours: &[&Vm], claims: Result<&[ClaimSeen], &str>) -> Finding {
    let claims = match claims {
        Ok(claims) => claims,
        Err(why) => return subject.not_checked(why),
    };
    let uids: BTreeSet<&str> = claims.iter().map(|claim| claim.uid.as_str()).collect();
    let ids: BTreeSet<&str> =
        claims.iter().filter_map(|claim| claim.provider_id.as_deref()).collect();
    let is_claimed = |vm: &&Vm| {
        let by_mark = vm.mark.as_ref().is_some_and(|mark| uids.contains(mark.claim.uid.as_str()));
        let id = vm.uuid.as_deref().map(names::provider_id);
        by_mark || id.is_some_and(|id| ids.contains(id.as_str()))
    };
    let orphans: Vec<&Vm> = ours.iter().copied().filter(|vm| !is_claimed(vm)).collect();
    if orphans.is_empty() {
        return subject.fine("every instance has its NodeClaim");
    }
    subject.warning(
        "Orphans",
        &format!(
            "{} of {} instances have no NodeClaim: {}; correct CLUSTER_NAME or the kubeconfig, if they \
             are another cluster's, since the controller removes them once they are older than five \
             minutes",
            orphans.len(),
            ours.len(),
            names_of(&orphans)
        ),
    )
}

fn names_of(vms: &[&Vm]) -> String {
    let mut names: Vec<&str> = vms.iter().map(|vm| vm.name.as_str()).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let listed = names.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

#[cfg(test)]
mod tests {
    use joiner_cloud::{doctor::Severity, order::ClaimId};

    use super::*;
    use crate::{marks::Mark, vm::Power};

    const CLUSTER: &str = "prod";

    fn vm(name: &str, claim: Option<&str>) -> Vm {
        let mark = claim.map(|uid| Mark {
            cluster: CLUSTER.to_owned(),
            claim: ClaimId { name: name.to_owned(), uid: uid.to_owned() },
            ..Mark::default()
        });
        Vm {
            reference: MoRef::new("VirtualMachine", name),
            name: format!("prod-karp-{name}"),
            uuid: Some(format!("uuid-{name}")),
            instance_uuid: None,
            mark,
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

    fn claim(uid: &str, provider_id: Option<&str>) -> ClaimSeen {
        ClaimSeen { uid: uid.to_owned(), provider_id: provider_id.map(str::to_owned) }
    }

    fn told(vms: &[Vm], legacy: &[&str], claims: Result<&[ClaimSeen], &str>) -> Vec<String> {
        let legacy = legacy.iter().map(|name| MoRef::new("VirtualMachine", *name)).collect();
        let found = instances(CLUSTER, vms, &legacy, claims);
        let told = found.iter().filter(|own| own.severity != Severity::Ok);
        told.map(|own| format!("{} {}", own.code, own.text)).collect()
    }

    #[test]
    fn an_instance_without_a_claim_is_named() {
        let vms = [vm("a", Some("uid-a")), vm("b", Some("uid-b")), vm("old", None)];
        let claims = [claim("uid-a", None), claim("uid-old", Some("vsphere://uuid-old"))];
        let told = told(&vms, &["old"], Ok(&claims));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("Orphans 1 of 3 instances have no NodeClaim: prod-karp-b"));
    }

    #[test]
    fn without_a_cluster_nobody_knows_of_orphans() {
        assert_eq!(
            told(&[vm("a", Some("uid-a"))], &[], Err("no cluster")),
            ["NotChecked no cluster"]
        );
    }

    #[test]
    fn two_instances_of_one_claim_are_named() {
        let vms = [vm("a", Some("uid-a")), vm("b", Some("uid-a"))];
        let told = told(&vms, &[], Ok(&[claim("uid-a", None)]));
        assert!(told[0].contains("prod-karp-a, prod-karp-b were made for one NodeClaim, uid-a"));
    }

    #[test]
    fn an_instance_that_became_a_template_is_named_and_is_no_orphan() {
        let template = Vm { is_template: true, ..vm("a", Some("uid-a")) };
        let told = told(&[template], &[], Ok(&[]));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("CopyFound virtual machine \"prod-karp-a\" was"), "{told:?}");
    }

    #[test]
    fn clusters_that_share_the_name_are_named() {
        let of = |uid: &str| {
            let mut vm = vm(uid, Some(uid));
            vm.mark.as_mut().expect("it has one").cluster_uid = uid.to_owned();
            vm
        };
        let claims = [claim("a", None), claim("b", None)];
        assert_eq!(told(&[of("a")], &[], Ok(&claims)), [] as [String; 0]);
        let told = told(&[of("a"), of("b")], &[], Ok(&claims));
        assert!(told[0].starts_with("SeveralClusters clusters whose"), "{told:?}");
        assert!(told[0].contains("UID a, b"), "{told:?}");
    }

    #[test]
    fn what_cannot_be_read_may_be_ours() {
        let away = Vm { uuid: None, connected: false, ..vm("a", None) };
        let told = told(&[away], &[], Ok(&[]));
        assert!(told[0].starts_with("InstancesUnreadable prod-karp-a"), "{told:?}");
    }
}
