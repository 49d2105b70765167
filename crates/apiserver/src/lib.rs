//! A Kubernetes API server that lives in the process.
//!
//! [`Server`] keeps the objects and the rules. Everything it does is synchronous and depends only
//! on the requests, their order, the clock and the seed it was given, so a run can be repeated to
//! the byte. Around it: HTTP for everybody else, and [`Caller`] for those in the same process.

mod caller;
mod object;
mod operation;
mod server;
mod status;
mod store;

pub use caller::Caller;
pub use object::{Change, ChangeKind, Key, Object, Resource};
pub use operation::{
    Action, DeleteOptions, FieldValidation, Operation, Outcome, PatchKind, Propagation,
};
pub use server::Server;
pub use status::{Cause, Details, Status};
pub use store::Feed;
