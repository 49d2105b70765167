//! The laboratory: a cluster that lives in the process.
//!
//! The API server is [`joiner_apiserver`]'s; [`cluster`] is the rest of a cluster, as far as nodes
//! and pods need it, and [`cloud`] makes the instances of its nodes; [`guest`] is what an instance of another cloud makes of
//! the text that it boots with. Everything goes by one clock and draws its chances from one seed, so a run can
//! be repeated to the byte. [`faults`] break what connects a client with the server, [`history`]
//! keeps everything that happened, and [`checks`] say whether something happened that must not.

pub mod checks;
pub mod cloud;
pub mod cluster;
#[cfg(feature = "testing")]
mod conformance;
mod connection;
pub mod faults;
pub mod guest;
pub mod history;
mod lab;
pub mod process;
pub mod story;

pub use joiner_apiserver::chance;

pub use connection::{Client, Connection};
pub use lab::{Lab, Setup};
