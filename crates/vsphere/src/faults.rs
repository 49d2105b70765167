//! The meaning of a vCenter fault for the creation or the removal of an instance.
//!
//! One function decides, by the fault's type and its ancestors, never by its message. Retries are
//! counted elsewhere; this module only states their limits.

use joiner_vim::Fault;

/// The operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The template is cloned.
    Clone,
    /// The instance is changed, switched on or off, or looked at.
    Instance,
    /// The instance is destroyed.
    Destroy,
}

/// The response to a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The desired state already exists.
    Done,
    /// Our instance does not exist.
    Gone,
    /// The zone has no capacity for the type: try another zone, and mark this one as unavailable for
    /// a while.
    NoRoom,
    /// The datastore is full or unreachable: try another one, and mark this one as unavailable for a
    /// while.
    NoSpace,
    /// The name is taken, perhaps by our own earlier attempt.
    NameTaken,
    /// Too many requests: retry later with a lower limit.
    Throttled,
    /// Retry later.
    Busy,
    /// Retry later; after three failures in one zone, the zone counts as full.
    Trouble,
    /// Retry later; after three failures, the instance is made again.
    Stuck,
    /// Retry later; after five failures, it is given up.
    Unknown,
    /// An object that the class names no longer exists: resolve the class again, once.
    Stale,
    /// The task was canceled: start from the beginning.
    Canceled,
    /// The class or the account is invalid: no instance can be made.
    NotReady,
    /// The order is invalid.
    Invalid,
    /// The vCenter has no licence for it.
    Unlicensed,
}

/// The rows of the table. The first row with a type of the fault decides, so subtypes come before
/// their base types.
const TABLE: &[(&[&str], Outcome)] = &[
    (&["NotAuthenticated"], Outcome::Busy),
    (&["AlreadyUpgraded"], Outcome::Done),
    (&["DuplicateName"], Outcome::NameTaken),
    (&["RequestCanceled"], Outcome::Canceled),
    (
        &[
            "InsufficientStorageSpace",
            "NoDiskSpace",
            "InaccessibleDatastore",
            "DatastoreNotWritableOnHost",
        ],
        Outcome::NoSpace,
    ),
    (
        &[
            "InsufficientResourcesFault",
            "NumVirtualCpusExceedsLimit",
            "NoCompatibleHost",
            "NoCompatibleDatastore",
            "NoActiveHostInCluster",
            "DestinationSwitchFull",
            "QuarantineModeFault",
            "NoCompatibleHardAffinityHost",
        ],
        Outcome::NoRoom,
    ),
    (&["TooManyConcurrentNativeClones", "Timedout"], Outcome::Throttled),
    (
        &[
            "TooManyNativeClonesOnFile",
            "TaskInProgress",
            "ConcurrentAccess",
            "ResourceInUse",
            "FileLocked",
        ],
        Outcome::Busy,
    ),
    (
        &[
            "HostCommunication",
            "SystemError",
            "NetworkCopyFault",
            "DatabaseError",
            "UnexpectedFault",
        ],
        Outcome::Trouble,
    ),
    (&["NoPermission", "InvalidLogin", "RestrictedVersion"], Outcome::NotReady),
    (&["NotEnoughLicenses", "VmLimitLicense"], Outcome::Unlicensed),
    (
        &[
            "InvalidDeviceSpec",
            "InvalidVmConfig",
            "InvalidArgument",
            "InvalidName",
            "GenericVmConfigFault",
            "CannotAccessNetwork",
            "InvalidDatastore",
            "MemorySizeNotSupported",
            "NumVirtualCpusIncompatible",
            "UnsupportedGuest",
            "SnapshotCloneNotSupported",
            "DiskMoveTypeNotSupported",
        ],
        Outcome::Invalid,
    ),
    (&["InvalidState", "QuestionPending", "VmPowerOnDisabled"], Outcome::Stuck),
];

/// The response to a fault in this phase.
pub(crate) fn outcome(fault: &Fault, phase: Phase) -> Outcome {
    if fault.is("InvalidPowerState") && is_as_requested(fault) {
        return Outcome::Done;
    }
    if fault.is("ManagedObjectNotFound") {
        // While cloning, the fault refers to an object that the class names; later, to our own
        // instance.
        return match phase {
            Phase::Clone => Outcome::Stale,
            Phase::Instance | Phase::Destroy => Outcome::Gone,
        };
    }
    let row = TABLE.iter().find(|(kinds, _)| kinds.iter().any(|kind| fault.is(kind)));
    match row.map(|(_, outcome)| *outcome) {
        // A host that goes into maintenance cannot take a clone; one that has our instance may
        // come back.
        Some(Outcome::Stuck) if phase == Phase::Clone => Outcome::NoRoom,
        Some(outcome) => outcome,
        None => Outcome::Unknown,
    }
}

/// Whether the instance already has the requested power state.
fn is_as_requested(fault: &Fault) -> bool {
    let existing = fault.field("existingState");
    existing.is_some() && existing == fault.field("requestedState")
}

#[cfg(test)]
mod tests {
    use joiner_vim::Element;

    use super::*;

    fn fault(kind: &str) -> Fault {
        Fault { kind: kind.to_owned(), message: String::new(), detail: Element::default() }
    }

    fn child(name: &str, text: &str) -> Element {
        Element { name: name.into(), text: text.into(), ..Element::default() }
    }

    #[track_caller]
    fn check(kinds: &[&str], phase: Phase, expected: Outcome) {
        for kind in kinds {
            assert_eq!(outcome(&fault(kind), phase), expected, "{kind}");
        }
    }

    #[test]
    fn hosts_and_pools_without_room_are_a_want_of_room() {
        check(
            &[
                "InsufficientResourcesFault",
                "InsufficientHostCapacityFault",
                "InsufficientHostCpuCapacityFault",
                "InsufficientHostMemoryCapacityFault",
                "InsufficientPerCpuCapacity",
                "InsufficientCpuResourcesFault",
                "InsufficientMemoryResourcesFault",
                "InsufficientFailoverResourcesFault",
                "InsufficientStandbyCpuResource",
                "InsufficientGraphicsResourcesFault",
                "InsufficientNetworkCapacity",
                "NumVirtualCpusExceedsLimit",
            ],
            Phase::Instance,
            Outcome::NoRoom,
        );
    }

    #[test]
    fn full_datastores_are_a_want_of_space() {
        check(
            &[
                "InsufficientStorageSpace",
                "NoDiskSpace",
                "InaccessibleDatastore",
                "DatastoreNotWritableOnHost",
            ],
            Phase::Clone,
            Outcome::NoSpace,
        );
    }

    #[test]
    fn no_place_that_suits_is_a_want_of_room() {
        check(
            &[
                "NoCompatibleHost",
                "NoCompatibleDatastore",
                "NoActiveHostInCluster",
                "DestinationSwitchFull",
                "QuarantineModeFault",
                "NoCompatibleHardAffinityHost",
            ],
            Phase::Clone,
            Outcome::NoRoom,
        );
    }

    #[test]
    fn too_many_clones_at_once_slow_down() {
        check(&["TooManyConcurrentNativeClones", "Timedout"], Phase::Clone, Outcome::Throttled);
    }

    #[test]
    fn what_somebody_else_works_on_is_tried_later() {
        check(
            &[
                "TooManyNativeClonesOnFile",
                "TaskInProgress",
                "ConcurrentAccess",
                "ResourceInUse",
                "FileLocked",
            ],
            Phase::Instance,
            Outcome::Busy,
        );
    }

    #[test]
    fn hosts_out_of_reach_are_trouble() {
        check(
            &[
                "HostCommunication",
                "HostNotConnected",
                "HostNotReachable",
                "SystemError",
                "NetworkCopyFault",
                "DatabaseError",
                "UnexpectedFault",
            ],
            Phase::Instance,
            Outcome::Trouble,
        );
    }

    #[test]
    fn an_ended_session_is_no_want_of_permission() {
        check(&["NotAuthenticated"], Phase::Clone, Outcome::Busy);
    }

    #[test]
    fn a_name_that_is_taken_may_be_our_own() {
        check(&["DuplicateName"], Phase::Clone, Outcome::NameTaken);
    }

    #[test]
    fn a_power_state_that_is_there_already_is_success() {
        let mut same = fault("InvalidPowerState");
        same.detail.children =
            vec![child("requestedState", "poweredOn"), child("existingState", "poweredOn")];
        assert_eq!(outcome(&same, Phase::Instance), Outcome::Done);
        let mut other = same.clone();
        other.detail.children[1] = child("existingState", "suspended");
        assert_eq!(outcome(&other, Phase::Instance), Outcome::Stuck);
        assert_eq!(outcome(&fault("InvalidPowerState"), Phase::Instance), Outcome::Stuck);
    }

    #[test]
    fn a_template_that_is_gone_is_looked_for_anew_and_an_instance_is_gone() {
        check(&["ManagedObjectNotFound"], Phase::Clone, Outcome::Stale);
        check(&["ManagedObjectNotFound"], Phase::Instance, Outcome::Gone);
        check(&["ManagedObjectNotFound"], Phase::Destroy, Outcome::Gone);
    }

    #[test]
    fn an_account_that_may_not_makes_the_class_unready() {
        check(
            &["NoPermission", "InvalidLogin", "RestrictedVersion"],
            Phase::Clone,
            Outcome::NotReady,
        );
    }

    #[test]
    fn an_order_that_cannot_be_met_is_told() {
        check(
            &[
                "InvalidArgument",
                "InvalidDeviceSpec",
                "InvalidVmConfig",
                "InvalidName",
                "GenericVmConfigFault",
                "CannotAccessNetwork",
                "InvalidDatastore",
                "MemorySizeNotSupported",
                "NumVirtualCpusIncompatible",
                "UnsupportedGuest",
                "SnapshotCloneNotSupported",
                "DiskMoveTypeNotSupported",
            ],
            Phase::Clone,
            Outcome::Invalid,
        );
    }

    #[test]
    fn a_missing_licence_is_told() {
        check(&["NotEnoughLicenses", "VmLimitLicense"], Phase::Instance, Outcome::Unlicensed);
    }

    #[test]
    fn an_instance_in_an_odd_state_is_stuck_and_a_host_in_one_has_no_room() {
        check(
            &["InvalidState", "QuestionPending", "VmPowerOnDisabled"],
            Phase::Instance,
            Outcome::Stuck,
        );
        check(&["InvalidState"], Phase::Clone, Outcome::NoRoom);
    }

    #[test]
    fn what_was_canceled_is_not_done() {
        check(&["RequestCanceled"], Phase::Clone, Outcome::Canceled);
    }

    #[test]
    fn what_nobody_knows_is_tried_a_few_times() {
        check(&["SomethingNew"], Phase::Clone, Outcome::Unknown);
    }
}
