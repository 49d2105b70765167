use joiner_cloud::order::ClaimId;

use super::*;

fn vm() -> Vm {
    Vm {
        reference: MoRef::new("VirtualMachine", "vm-1"),
        name: "prod-karp-general-1".to_owned(),
        uuid: Some("421D5F2A-330E-4B7C-9A10-6B2F1E8D44C7".to_owned()),
        mark: Some(Mark {
            cluster: "prod".to_owned(),
            claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
            class_hash: "42".to_owned(),
            ..Mark::default()
        }),
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
    listed(vm, "prod", is_legacy, None, None)
}

#[test]
fn a_machine_whose_type_nobody_knows_any_more_is_what_its_hardware_is() {
    let machine = vm().machine(None).unwrap();
    assert_eq!(machine.provider_id, "vsphere://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7");
    assert_eq!(machine.capacity.to_string(), "cpu 4, memory 16Gi");
    assert_eq!(machine.image_id.as_deref(), Some("/DC0/vm/ubuntu"));
    assert_eq!(machine.annotations[HASH], "42");
    assert_eq!(machine.annotations[HASH_VERSION_KEY], "v2");
    assert_eq!(machine.claim.unwrap().name, "general-1");
}

#[test]
fn a_machine_that_is_off_is_listed() {
    assert!(matches!(judged(&vm(), false), Listed::Ours(_)));
}

#[test]
fn machines_of_others_are_not_listed() {
    let unmarked = Vm { mark: None, ..vm() };
    assert_eq!(judged(&unmarked, false), Listed::NotOurs);
    let mut foreign = vm();
    foreign.mark.as_mut().unwrap().cluster = "prod-eu".to_owned();
    assert_eq!(judged(&foreign, false), Listed::NotOurs);
    // Another cluster's mark says more than a tag that somebody copied.
    assert_eq!(judged(&foreign, true), Listed::NotOurs);
}

#[test]
fn a_machine_of_the_predecessor_is_known_by_its_tag_and_its_name() {
    let unmarked = Vm { mark: None, ..vm() };
    let Listed::Ours(machine) = judged(&unmarked, true) else { panic!("it is ours") };
    assert_eq!(machine.claim, None);
    let tagged_by_hand = Vm { name: "control-plane-1".to_owned(), ..unmarked };
    assert_eq!(judged(&tagged_by_hand, true), Listed::NotOurs);
}

#[test]
fn a_machine_whose_host_is_away_is_not_absent() {
    let away = Vm { uuid: None, mark: None, connected: false, ..vm() };
    assert_eq!(judged(&away, false), Listed::Unreadable);
    let known = Machine { provider_id: "vsphere://x".to_owned(), ..Machine::default() };
    assert_eq!(
        listed(&away, "prod", false, None, Some(&known)),
        Listed::Ours(Box::new(known.clone()))
    );
    let of_others = Vm { name: "database-1".to_owned(), ..away };
    assert_eq!(judged(&of_others, false), Listed::NotOurs);
}

#[test]
fn a_machine_that_is_still_being_cloned_is_none_yet() {
    let unfinished = Vm { uuid: None, mark: None, ..vm() };
    assert_eq!(judged(&unfinished, false), Listed::NotOurs);
}
