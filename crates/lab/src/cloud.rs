//! The laboratory's cloud: a data centre with a few hosts, and a provider that makes instances there.
//!
//! A [`LabCloud`] makes its calls through a client's [`Connection`](crate::Connection): every fault
//! of calls to the API server can also happen to calls to the cloud, kills included. The history has
//! every call. Where the instances come from is a [`DataCentre`]; what happens on them is their
//! kubelets' business.

mod class;
mod data_centre;
mod offered;
mod provider;

pub use class::{LAB_NODE_CLASS, lab_node_class_crd};
pub use data_centre::{DataCentre, Guest, Host, HostView};
pub use provider::LabCloud;
