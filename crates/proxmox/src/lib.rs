//! Proxmox VE: the instances that `ProxmoxNodeClass`es describe.
//!
//! A Proxmox VE cluster is a region, each of its hosts a zone. Classes, templates and their hashes
//! are those of the provider that this one replaces, so that a takeover replaces no node.
//!
//! Every module here is a pure function of what was read: [`configuration`] of files, [`capacity`]
//! of a region's resource list, [`ledger`] of virtual machines and claims. Nothing reads a clock or
//! a file, and nothing knows Kubernetes clients or controllers.

#![cfg_attr(
    test,
    expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")
)]

pub mod capacity;
pub mod configuration;
pub mod crd;
pub mod hash;
pub mod instance_types;
pub mod ledger;
pub mod node_class;
pub mod object;
pub mod property_string;
pub mod provider_id;
pub mod template;
pub mod unmanaged_template;

use joiner_cloud::class::{ClassKind, Role};

pub use crate::{
    node_class::NodeClass, object::NotReadable, template::Template,
    unmanaged_template::UnmanagedTemplate,
};

/// API group of the three kinds.
pub const GROUP: &str = "karpenter.proxmox.sinextra.dev";

/// The kind of classes.
pub const NODE_CLASS: ClassKind = kind(Role::NodeClass, "ProxmoxNodeClass", "proxmoxnodeclasses");
/// The kind of templates that are made from images.
pub const TEMPLATE: ClassKind = kind(Role::Ingredient, "ProxmoxTemplate", "proxmoxtemplates");
/// The kind of templates that are made outside of Joiner.
pub const UNMANAGED_TEMPLATE: ClassKind =
    kind(Role::Ingredient, "ProxmoxUnmanagedTemplate", "proxmoxunmanagedtemplates");

const fn kind(role: Role, kind: &'static str, plural: &'static str) -> ClassKind {
    ClassKind { role, group: GROUP, version: "v1alpha1", kind, plural }
}

/// Label: the text before the first dot of the instance type's name.
pub const INSTANCE_FAMILY: &str = "karpenter.proxmox.sinextra.dev/instance-family";
/// Label: the emulated processor of the virtual machine.
pub const INSTANCE_CPU_TYPE: &str = "karpenter.proxmox.sinextra.dev/instance-cpu-type";
/// Label: the hash of the template that the instance was cloned from.
pub const INSTANCE_IMAGE_ID: &str = "karpenter.proxmox.sinextra.dev/instance-image-id";
/// Label of offerings, claims and nodes: the reservation that the instance counts against.
pub const RESERVATION_ID: &str = "karpenter.proxmox.sinextra.dev/reservation-id";
/// Label of Secrets that hold a join token.
pub const BOOTSTRAP_TOKEN: &str = "karpenter.proxmox.sinextra.dev/bootstrap-token";

/// The labels that this provider fills in besides Karpenter's own.
pub const WELL_KNOWN_LABELS: [&str; 4] =
    [INSTANCE_FAMILY, INSTANCE_CPU_TYPE, INSTANCE_IMAGE_ID, RESERVATION_ID];

/// Keeps an object until nothing refers to it. The predecessor puts it on templates only.
pub const FINALIZER: &str = "karpenter.proxmox.sinextra.dev/termination";

/// Annotation of classes and claims: the predecessor's hash of the class.
pub const NODE_CLASS_HASH: &str = "karpenter.proxmox.sinextra.dev/proxmoxnodeclass-hash";
/// Annotation of classes and claims: how [`NODE_CLASS_HASH`] was made.
pub const NODE_CLASS_HASH_VERSION: &str =
    "karpenter.proxmox.sinextra.dev/proxmoxnodeclass-hash-version";
/// Annotation of classes and claims: the hash of the class that counts the size of the disk.
pub const NODE_CLASS_HASH_V2: &str = "karpenter.proxmox.sinextra.dev/proxmoxnodeclass-hash-v2";
/// Annotation of claims: the hash of what is changed on running instances.
pub const NODE_CLASS_IN_PLACE_HASH: &str =
    "karpenter.proxmox.sinextra.dev/proxmoxnodeinplaceupdate-hash";
/// Annotation of claims: the resource pool that the instance was last put into.
pub const NODE_CLASS_POOL: &str = "karpenter.proxmox.sinextra.dev/proxmoxnodeclass-pool";
/// Annotation of templates: the hash of what a template is built from.
pub const TEMPLATE_HASH: &str = "karpenter.proxmox.sinextra.dev/proxmoxtemplate-hash";
/// Annotation of templates: how [`TEMPLATE_HASH`] was made.
pub const TEMPLATE_HASH_VERSION: &str =
    "karpenter.proxmox.sinextra.dev/proxmoxtemplate-hash-version";
/// Annotation of templates: the hash of what is changed on a template that exists.
pub const TEMPLATE_IN_PLACE_HASH: &str =
    "karpenter.proxmox.sinextra.dev/proxmoxtemplateinplaceupdate-hash";
/// Annotation of claims: `Initialized` once the instance has let go of its CD-ROM.
pub const CLOUD_INIT_STATUS: &str = "karpenter.proxmox.sinextra.dev/proxmoxcloudinit-status";
/// Annotation of claims: the id of the join token that the instance was given.
pub const CLOUD_INIT_TOKEN: &str = "karpenter.proxmox.sinextra.dev/proxmoxcloudinit-token";
/// Annotation of claims: the addresses that the instance was given, separated by commas.
pub const ADDRESSES: &str = "karpenter.proxmox.sinextra.dev/addresses";
/// Annotation of claims: what eks-node-viewer shows as the price.
pub const INSTANCE_PRICE: &str = "eks-node-viewer/instance-price";

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
