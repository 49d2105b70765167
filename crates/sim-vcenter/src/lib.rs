//! A vCenter that lives in the process.
//!
//! It looks after an [`Inventory`], answers the SOAP calls and the REST calls that a provider of
//! instances makes, and does what was asked in its clock's time: tasks wait, run and end, guests
//! boot, sessions expire, hosts and datastores fill up. What goes wrong is a script
//! ([`VCenter::trouble`]). Equal calls at equal times get equal answers.
//!
//! It knows nothing of any client: what it reads and writes follows the interface's own schema, so
//! that a mistake of a client is not made here a second time.

mod change;
mod changes;
mod collect;
mod estate;
mod fault;
mod guest;
mod hands;
mod host_failure;
mod identity;
pub mod inventory;
mod methods;
mod picture;
mod policies;
mod properties;
mod reference;
mod rest;
mod session;
mod soap;
mod task;
mod trouble;
mod vcenter;
mod views;
mod wire;
mod world;

pub use joiner_sim::{
    NoAnswer,
    log::Call,
    script::ScriptError,
    serve::{ServeError, Serving},
};

pub use estate::PoolBounds;
pub use guest::{GuestEvent, GuestVm};
pub use hands::{Lost, NoSuchObject};
pub use identity::serial_number;
pub use inventory::{Inventory, InventoryError};
pub use picture::{DatastorePicture, FailedTask, HostPicture, Picture, TaskPicture, VmPicture};
pub use vcenter::VCenter;
