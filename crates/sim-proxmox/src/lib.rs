//! A Proxmox VE cluster that lives in the process.
//!
//! It looks after an [`Inventory`], answers the endpoints that a provider of instances uses, and
//! does its work in its clock's time: tasks wait for locks, run and end, storages and nodes fill
//! up, lists learn late of what changed. [`Proxmox::trouble`] takes a script of what goes wrong.
//! Equal calls at equal times get equal answers, ids included.
//!
//! It is strict: a parameter that an endpoint does not have, or a value of the wrong type, is
//! refused and kept as a [`Complaint`]. It shares no code with any client, so that a mistake of a
//! client is not made here a second time.

mod access;
mod answer;
mod calls;
mod cloud;
mod estate;
mod guest;
mod hands;
pub mod inventory;
mod iso;
mod refusal;
mod request;
mod schema;
mod task;
mod trouble;
mod world;

pub use joiner_sim::{
    NoAnswer,
    log::Call,
    script::ScriptError,
    serve::{ServeError, Serving},
};

pub use cloud::{Complaint, Proxmox};
pub use guest::{GuestEvent, GuestVm, Image};
pub use hands::{NoSuchObject, VmPicture};
pub use inventory::{Behaviour, Inventory, InventoryError};
