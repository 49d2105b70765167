//! The laboratory: a cluster that lives in the process.
//!
//! The API server is [`joiner_apiserver`]'s; [`cluster`] is the rest of a cluster, as far as nodes
//! and pods need it. Everything goes by one clock and draws its chances from one seed, so a run can
//! be repeated to the byte. [`faults`] break what connects a client with the server, [`history`]
//! keeps everything that happened, and [`checks`] say whether something happened that must not.

pub mod chance;
pub mod checks;
pub mod cluster;
mod connection;
pub mod faults;
pub mod history;
mod lab;
pub mod process;
pub mod story;

pub use connection::{Client, Connection};
pub use lab::{Lab, Setup};
