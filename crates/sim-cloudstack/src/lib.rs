//! An Apache CloudStack management server that lives in the process.
//!
//! It looks after an [`Inventory`], answers the commands that a provider of instances sends, and
//! does them in its clock's time: jobs wait, run and end, hosts and networks fill up, destroyed VMs
//! are expunged. [`CloudStack::trouble`] takes a script of what goes wrong. Equal calls at equal
//! times get equal answers, ids included.
//!
//! It is strict: a parameter that a command does not have, or a value of the wrong type, is refused
//! and kept as a [`Complaint`]. It shares no code with any client, so that a mistake of a client is
//! not made here a second time.

mod access;
mod answer;
mod cloud;
mod commands;
mod estate;
mod guest;
mod hands;
pub mod inventory;
mod job;
mod refusal;
mod request;
mod trouble;
mod world;

pub use joiner_sim::{
    NoAnswer,
    log::Call,
    script::ScriptError,
    serve::{ServeError, Serving},
};

pub use cloud::{CloudStack, Complaint};
pub use estate::{VmState, limit::Resource};
pub use guest::{GuestEvent, GuestVm};
pub use hands::{NoSuchObject, VmPicture};
pub use inventory::{Behaviour, Inventory, InventoryError};
