//! A Kubernetes API server that lives in the process.
//!
//! [`Server`] keeps the objects and the rules. All its work is synchronous. It depends only on the
//! requests, their order, the clock and the seed, so a run can be repeated to the byte. Around it:
//! HTTP for external clients, and [`Caller`] for callers in the same process.

mod answer;
mod body;
mod caller;
pub mod chance;
mod custom;
mod decode;
mod delete;
mod discovery;
mod http;
mod ids;
mod input;
mod json;
mod jsonpath;
mod negotiate;
mod object;
mod openapi;
mod operation;
mod options;
mod owners;
mod page;
mod patching;
mod read;
mod record;
mod registry;
mod respond;
mod review;
mod route;
mod rules;
mod scaling;
mod server;
mod service;
mod status;
mod store;
mod stored;
mod subresource;
mod table;
mod view;
mod watch;
mod write;

pub use crate::http::{Protection, ServeError, Serving, kubeconfig};
pub use body::Body;
pub use caller::Caller;
pub use object::{Change, ChangeKind, Key, Object, Resource};
pub use operation::{
    Action, DeleteOptions, FieldValidation, Operation, Outcome, PatchKind, Propagation,
};
pub use record::{Call, Recorder};
pub use respond::refusal;
pub use server::Server;
pub use service::Service;
pub use status::{Cause, Details, Status};
pub use store::Feed;
