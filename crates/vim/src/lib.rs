//! A vCenter's interfaces: vim25 (`/sdk`) and storage policies (`/pbm`) over SOAP, and tags and cluster
//! modules over REST (`/rest`).
//!
//! [`Vim`] asks, starts tasks and waits for them; [`Tags`] is about tags. Both log in when they have
//! to, again when a session has ended, and never with a password that was just refused. This crate is
//! independent of Kubernetes, classes and providers.
//!
//! Requests go through a [`Transport`] of `joiner_line`, time through a [`joiner_clock::Clock`], so
//! that the same client talks to a vCenter over HTTPS and to one inside a test, in virtual time.

mod client;
mod collector;
mod error;
mod fault;
pub mod inventory_name;
mod method;
mod modules;
mod object;
mod policies;
mod properties;
mod reference;
mod service;
pub mod settings;
mod soap;
pub mod spec;
pub mod tags;
mod task;
pub mod transport;
mod version;
pub mod watch;
mod wire;
mod xml;

pub use client::{Uuid, Vim};
pub use error::VimError;
pub use fault::Fault;
pub use joiner_line::{Observer, Unobserved};
pub use method::Method;
pub use modules::{Module, Modules};
pub use object::Object;
pub use policies::StoragePolicy;
pub use reference::MoRef;
pub use service::{About, ServiceContent};
pub use settings::{Credentials, Endpoint, VimSettings};
pub use tags::Tags;
pub use task::{Task, TaskFailed, TaskResult, TaskState};
pub use transport::{Https, TlsSettings, Transport};
pub use xml::Element;
