use joiner_cloud::order::ClaimId;

use super::*;

const PROD: Cluster<'_> = Cluster { name: "prod", uid: Some("uid-of-prod") };

fn vm() -> Vm {
    Vm {
        reference: MoRef::new("VirtualMachine", "vm-1"),
        name: "prod-karp-general-1".to_owned(),
        uuid: Some("421D5F2A-330E-4B7C-9A10-6B2F1E8D44C7".to_owned()),
        instance_uuid: Some("UID-1".to_owned()),
        mark: Some(Mark {
            made_here: true,
            cluster: "prod".to_owned(),
            cluster_uid: PROD.uid.unwrap().to_owned(),
            claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
            class_hash: "42".to_owned(),
            ..Mark::default()
        }),
        module: None,
        is_template: false,
        created: None,
        cpus: Some(4),
        memory_mib: Some(16384),
        power: Power::Off,
        connected: true,
        lost: false,
        cloned_from: Some("/DC0/vm/ubuntu".to_owned()),
    }
}

fn judged(vm: &Vm, is_legacy: bool) -> Listed {
    listed(vm, PROD, is_legacy, None, None)
}

#[test]
fn an_instance_whose_type_nobody_knows_any_more_is_what_its_hardware_is() {
    let instance = vm().instance(None).unwrap();
    assert_eq!(instance.provider_id, "vsphere://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7");
    assert_eq!(instance.capacity.to_string(), "cpu 4, memory 16Gi");
    assert_eq!(instance.image_id.as_deref(), Some("/DC0/vm/ubuntu"));
    assert_eq!(instance.annotations[HASH], "42");
    assert_eq!(instance.annotations[HASH_VERSION_KEY], "v2");
    assert_eq!(instance.claim.unwrap().name, "general-1");
}

#[test]
fn an_instance_that_is_off_is_listed() {
    assert!(matches!(judged(&vm(), false), Listed::Ours(_)));
}

#[test]
fn instances_of_others_are_not_listed() {
    let unmarked = Vm { mark: None, ..vm() };
    assert_eq!(judged(&unmarked, false), Listed::NotOurs);
    let mut foreign = vm();
    foreign.mark.as_mut().unwrap().cluster = "prod-eu".to_owned();
    assert_eq!(judged(&foreign, false), Listed::NotOurs);
    // Another cluster's mark says more than a tag that somebody copied.
    assert_eq!(judged(&foreign, true), Listed::NotOurs);
}

#[test]
fn an_instance_of_the_predecessor_is_known_by_its_tag_and_its_name() {
    let unmarked = Vm { mark: None, ..vm() };
    let Listed::Ours(instance) = judged(&unmarked, true) else { panic!("it is ours") };
    assert_eq!(instance.claim, None);
    let tagged_by_hand = Vm { name: "control-plane-1".to_owned(), ..unmarked };
    assert_eq!(judged(&tagged_by_hand, true), Listed::NotOurs);
}

fn of(instance_uuid: Option<&str>, change: impl FnOnce(&mut Mark)) -> Vm {
    let mut vm = Vm { instance_uuid: instance_uuid.map(str::to_owned), ..vm() };
    change(vm.mark.as_mut().unwrap());
    vm
}

#[test]
fn an_instance_that_vcenter_knows_by_another_identity_than_its_mark_says_is_a_copy() {
    let same = |_: &mut Mark| {};
    let noted = |mark: &mut Mark| mark.instance_uuid = "uuid-9".to_owned();
    assert_eq!(of(Some("uid-1"), same).stray(), None);
    assert_eq!(of(Some("uuid-9"), same).stray(), Some(Stray::Copy));
    assert_eq!(of(Some("uuid-9"), noted).stray(), None, "what is noted counts");
    assert_eq!(of(Some("uid-1"), noted).stray(), Some(Stray::Copy));
    assert_eq!(judged(&of(Some("uuid-9"), same), false), Listed::NotOurs);
}

#[test]
fn what_may_be_a_copy_is_there_for_nobody_and_goes_for_nobody() {
    let claim = |uid: &str| ClaimId { name: "general-1".to_owned(), uid: uid.to_owned() };
    let adopted = |mark: &mut Mark| mark.made_here = false;
    let damaged = |mark: &mut Mark| mark.claim.uid.clear();
    for (vm, goes_for, why) in [
        (of(None, |_| {}), None, "vCenter does not say what it is"),
        (of(Some("uuid-9"), damaged), None, "the mark does not"),
        (of(Some("uid-1"), damaged), Some("uid-1"), "the one claim that fits asks"),
        (of(Some("uuid-9"), adopted), Some("uid-1"), "marked by an earlier version"),
    ] {
        assert!(matches!(judged(&vm, false), Listed::Ours(_)), "unknown is not absent: {why}");
        assert_eq!(vm.instance(None).unwrap().claim, None, "{why}");
        for uid in ["uid-1", "uid-2", ""] {
            assert_eq!(vm.may_go_for(&claim(uid)), goes_for == Some(uid), "{uid:?}: {why}");
        }
    }
}

#[test]
fn an_instance_whose_host_is_away_is_not_absent() {
    let away = Vm { uuid: None, mark: None, connected: false, ..vm() };
    assert_eq!(judged(&away, false), Listed::Unreadable);
    let known = Instance { provider_id: "vsphere://x".to_owned(), ..Instance::default() };
    assert_eq!(
        listed(&away, PROD, false, None, Some(&known)),
        Listed::Ours(Box::new(known.clone()))
    );
    let of_others = Vm { name: "database-1".to_owned(), ..away };
    assert_eq!(judged(&of_others, false), Listed::NotOurs);
}

#[test]
fn an_instance_that_is_still_being_cloned_is_none_yet() {
    let unfinished = Vm { uuid: None, mark: None, ..vm() };
    assert_eq!(judged(&unfinished, false), Listed::NotOurs);
}

#[test]
fn an_instance_of_a_cluster_of_the_same_name_is_not_listed() {
    let mut foreign = vm();
    foreign.mark.as_mut().unwrap().cluster_uid = "uid-of-staging".to_owned();
    assert_eq!(judged(&foreign, false), Listed::NotOurs);
    assert_eq!(judged(&foreign, true), Listed::NotOurs);
}

#[test]
fn a_mark_without_an_identity_proves_nothing_and_is_listed_so() {
    let proven = |vm: &Vm, is_legacy| {
        let Listed::Ours(instance) = judged(vm, is_legacy) else { panic!("it may be ours") };
        !instance.cluster_unproven
    };
    assert!(proven(&vm(), false));
    let mut old = vm();
    old.mark.as_mut().unwrap().cluster_uid.clear();
    assert!(!proven(&old, false));
    assert!(!proven(&Vm { mark: None, ..vm() }, true), "nor does the predecessor's tag");
}
