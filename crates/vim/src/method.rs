//! Calls that start a task.

use crate::{
    MoRef, inventory_name,
    spec::{CloneSpec, ConfigSpec},
    xml::Writer,
};

/// A call that starts a task on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Makes a copy of a virtual machine or a template.
    Clone {
        /// Where in the inventory.
        folder: MoRef,
        /// The copy's name, not escaped.
        name: String,
        /// How.
        spec: Box<CloneSpec>,
    },
    /// Changes a virtual machine.
    Reconfigure(Box<ConfigSpec>),
    /// Starts a virtual machine.
    PowerOn {
        /// On a host; none leaves it to the server.
        host: Option<MoRef>,
    },
    /// Stops a virtual machine as if its plug was pulled.
    PowerOff,
    /// Brings a virtual machine's hardware to a version, or to the newest.
    Upgrade {
        /// The version, `vmx-19`.
        version: Option<String>,
    },
    /// Takes a snapshot of a virtual machine's disks.
    CreateSnapshot {
        /// Its name.
        name: String,
        /// What people read about it.
        description: String,
    },
    /// Sets the members of a group of virtual machines. The group must exist.
    SetGroup {
        /// The group's name.
        name: String,
        /// All of its members.
        members: Vec<MoRef>,
    },
    /// Removes an object for good; a virtual machine with its disks.
    Destroy,
}

impl Method {
    /// The call's name at the server.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Clone { .. } => "CloneVM_Task",
            Self::Reconfigure(_) => "ReconfigVM_Task",
            Self::PowerOn { .. } => "PowerOnVM_Task",
            Self::PowerOff => "PowerOffVM_Task",
            Self::Upgrade { .. } => "UpgradeVM_Task",
            Self::CreateSnapshot { .. } => "CreateSnapshot_Task",
            Self::SetGroup { .. } => "ReconfigureComputeResource_Task",
            Self::Destroy => "Destroy_Task",
        }
    }

    /// Writes the arguments after the object.
    pub(crate) fn write(&self, xml: &mut Writer) {
        match self {
            Self::Clone { folder, name, spec } => {
                xml.reference("folder", folder);
                xml.leaf("name", inventory_name::escaped(name));
                spec.write(xml, "spec");
            }
            Self::Reconfigure(spec) => spec.write(xml, "spec"),
            Self::PowerOn { host } => xml.optional_reference("host", host.as_ref()),
            Self::Upgrade { version } => xml.optional("version", version.as_ref()),
            Self::CreateSnapshot { name, description } => {
                xml.leaf("name", name);
                xml.leaf("description", description);
                xml.leaf("memory", false);
                xml.leaf("quiesce", false);
            }
            Self::SetGroup { name, members } => {
                xml.typed("spec", "ClusterConfigSpecEx", |xml| {
                    xml.nested("groupSpec", |xml| {
                        xml.leaf("operation", "edit");
                        xml.typed("info", "ClusterVmGroup", |xml| {
                            xml.leaf("name", name);
                            for member in members {
                                xml.reference("vm", member);
                            }
                        });
                    });
                });
                // The rest of the cluster stays as it is.
                xml.leaf("modify", true);
            }
            Self::PowerOff | Self::Destroy => {}
        }
    }
}
