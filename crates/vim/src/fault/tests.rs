use super::*;

fn fault(kind: &str) -> Fault {
    Fault { kind: kind.to_owned(), message: String::new(), detail: Element::default() }
}

#[test]
fn a_fault_is_what_it_descends_from() {
    for (kind, ancestor) in [
        ("InsufficientHostMemoryCapacityFault", "InsufficientResourcesFault"),
        ("InsufficientStandbyCpuResource", "InsufficientResourcesFault"),
        ("InsufficientStorageSpace", "InsufficientResourcesFault"),
        ("NumVirtualCpusExceedsLimit", "InsufficientResourcesFault"),
        ("HostNotReachable", "HostCommunication"),
        ("NotAuthenticated", "NoPermission"),
        ("InvalidPowerState", "InvalidState"),
        ("InvalidDeviceOperation", "InvalidVmConfig"),
        ("DestinationSwitchFull", "CannotAccessNetwork"),
        ("InaccessibleDatastore", "InvalidDatastore"),
        ("SnapshotCloneNotSupported", "MigrationFault"),
        ("VmLimitLicense", "NotEnoughLicenses"),
        ("DuplicateName", "DuplicateName"),
    ] {
        assert!(fault(kind).is(ancestor), "{kind} is {ancestor}");
    }
}

#[test]
fn a_fault_is_nothing_else() {
    for (kind, other) in [
        ("InsufficientResourcesFault", "InsufficientHostCapacityFault"),
        ("NoPermission", "NotAuthenticated"),
        ("SomethingOfNextYear", "InvalidState"),
        ("NoDiskSpace", "InsufficientResourcesFault"),
    ] {
        assert!(!fault(kind).is(other), "{kind} is not {other}");
    }
}

#[test]
fn families_have_no_loops() {
    for (family, kinds) in FAMILIES {
        for kind in *kinds {
            assert!(fault(kind).is(family));
            assert!(!fault(family).is(kind), "{family} and {kind} descend from each other");
        }
    }
}
