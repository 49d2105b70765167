//! The faults of a vCenter.

use std::fmt::{self, Display, Formatter};

use crate::{Element, MoRef};

/// A typed refusal, of a call or of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The fault's type, `DuplicateName`.
    pub kind: String,
    /// The server's words for people, in the session's language.
    pub message: String,
    /// All that the server said about it.
    pub detail: Element,
}

impl Fault {
    /// Whether this is a fault of a type or of one that descends from it.
    ///
    /// `NotAuthenticated` descends from `NoPermission`: ask for the first one first.
    pub fn is(&self, kind: &str) -> bool {
        let mut own = Some(self.kind.as_str());
        while let Some(name) = own {
            if name == kind {
                return true;
            }
            own = parent(name);
        }
        false
    }

    /// The object that the fault is about, where it says so (`NoPermission`, `DuplicateName`,
    /// `ManagedObjectNotFound`).
    pub fn object(&self) -> Option<MoRef> {
        self.detail.reference_at("object").or_else(|| self.detail.reference_at("obj"))
    }

    /// A field of the fault as text: `privilegeId`, `existingState`, `invalidProperty`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.detail.text_at(name)
    }

    /// A `LocalizedMethodFault`, which has its fault inside: what is in `info.error` of tasks and
    /// beside properties that could not be read.
    pub(crate) fn localized(element: &Element) -> Self {
        let detail = element.child("fault").cloned().unwrap_or_default();
        let kind = detail.xsi_type.as_deref().unwrap_or("UnknownFault").to_owned();
        let message = element.text_at("localizedMessage").unwrap_or_default().to_owned();
        Self { kind, message, detail }
    }

    /// A SOAP fault: words, and a detail whose only child is the fault.
    pub(crate) fn soap(element: &Element) -> Self {
        let message = element.text_at("faultstring").unwrap_or_default().to_owned();
        let detail = element.child("detail").and_then(|detail| detail.children.first());
        let detail = detail.cloned().unwrap_or_default();
        // The element of a fault has its type's name with `Fault` behind it.
        let by_name = || detail.name.strip_suffix("Fault").map(str::to_owned);
        let kind = detail.xsi_type.as_deref().map(str::to_owned).or_else(by_name);
        Self { kind: kind.unwrap_or_else(|| "UnknownFault".to_owned()), message, detail }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(privilege) = self.field("privilegeId") {
            write!(f, " (missing privilege {privilege}")?;
            if let Some(object) = self.object() {
                write!(f, " on {object}")?;
            }
            f.write_str(")")?;
        } else if let Some(property) = self.field("invalidProperty") {
            write!(f, " (property {property})")?;
        }
        Ok(())
    }
}

/// The base type of a fault. The table has the types that this program checks, and the types between
/// them. An unknown type has no base type, so it is treated as unknown.
fn parent(kind: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, kinds)| kinds.contains(&kind)).map(|(parent, _)| *parent)
}

/// Types of faults by what they descend from.
const FAMILIES: &[(&str, &[&str])] = &[
    (
        "InsufficientResourcesFault",
        &[
            "InsufficientHostCapacityFault",
            "InsufficientCpuResourcesFault",
            "InsufficientMemoryResourcesFault",
            "InsufficientFailoverResourcesFault",
            "InsufficientStandbyResource",
            "InsufficientGraphicsResourcesFault",
            "InsufficientNetworkCapacity",
            "InsufficientNetworkResourcePoolCapacity",
            "InsufficientStorageSpace",
            "InsufficientVFlashResourcesFault",
            "InsufficientAgentVmsDeployed",
            "InvalidResourcePoolStructureFault",
            "NumVirtualCpusExceedsLimit",
        ],
    ),
    (
        "InsufficientHostCapacityFault",
        &[
            "InsufficientHostCpuCapacityFault",
            "InsufficientHostMemoryCapacityFault",
            "InsufficientPerCpuCapacity",
        ],
    ),
    (
        "InsufficientStandbyResource",
        &["InsufficientStandbyCpuResource", "InsufficientStandbyMemoryResource"],
    ),
    (
        "FileFault",
        &[
            "NoDiskSpace",
            "FileLocked",
            "FileNotFound",
            "FileAlreadyExists",
            "FileNotWritable",
            "CannotAccessFile",
            "NetworkCopyFault",
            "TooManyConcurrentNativeClones",
            "TooManyNativeCloneLevels",
            "TooManyNativeClonesOnFile",
        ],
    ),
    ("NoCompatibleHost", &["NoCompatibleHostWithAccessToDevice"]),
    ("TaskInProgress", &["VAppTaskInProgress"]),
    ("HostCommunication", &["HostNotConnected", "HostNotReachable"]),
    ("SecurityError", &["NoPermission", "RestrictedVersion"]),
    ("NoPermission", &["NotAuthenticated"]),
    ("InvalidLogin", &["InvalidClientCertificate", "PasswordExpired"]),
    (
        "InvalidState",
        &[
            "InvalidPowerState",
            "InvalidDatastoreState",
            "InvalidHostState",
            "InvalidVmState",
            "NoActiveHostInCluster",
            "QuestionPending",
            "VmPowerOnDisabled",
        ],
    ),
    (
        "VmConfigFault",
        &[
            "CannotAccessVmComponent",
            "GenericVmConfigFault",
            "InvalidVmConfig",
            "NoCompatibleHardAffinityHost",
            "NumVirtualCpusIncompatible",
            "QuarantineModeFault",
            "VirtualHardwareCompatibilityIssue",
        ],
    ),
    ("CannotAccessVmComponent", &["CannotAccessVmDevice"]),
    ("CannotAccessVmDevice", &["CannotAccessNetwork", "CannotAccessVmDisk"]),
    (
        "CannotAccessNetwork",
        &["DestinationSwitchFull", "VMOnVirtualIntranet", "VMOnConflictDVPort"],
    ),
    ("InvalidVmConfig", &["InvalidDeviceSpec", "TooManyDevices", "UnsupportedGuest"]),
    (
        "InvalidDeviceSpec",
        &[
            "DeviceNotFound",
            "InvalidController",
            "InvalidDeviceBacking",
            "InvalidDeviceOperation",
            "MissingController",
        ],
    ),
    (
        "VirtualHardwareCompatibilityIssue",
        &[
            "MemorySizeNotSupported",
            "MemorySizeNotSupportedByDatastore",
            "NotEnoughCpus",
            "NumVirtualCpusNotSupported",
            "NumVirtualCoresPerSocketNotSupported",
        ],
    ),
    (
        "InvalidDatastore",
        &["DatastoreNotWritableOnHost", "InaccessibleDatastore", "InvalidDatastorePath"],
    ),
    (
        "MigrationFault",
        &["CloneFromSnapshotNotSupported", "DiskMoveTypeNotSupported", "SnapshotCopyNotSupported"],
    ),
    ("SnapshotCopyNotSupported", &["SnapshotCloneNotSupported"]),
    (
        "NotEnoughLicenses",
        &[
            "ExpiredFeatureLicense",
            "HostInventoryFull",
            "InvalidEditionLicense",
            "LicenseExpired",
            "LicenseKeyEntityMismatch",
            "LicenseRestricted",
            "LicenseSourceUnavailable",
            "NoLicenseServerConfigured",
            "VmLimitLicense",
            "VramLimitLicense",
        ],
    ),
    ("InvalidRequest", &["InvalidType", "MethodNotFound"]),
];

#[cfg(test)]
mod tests;
