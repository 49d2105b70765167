//! What a cluster answers, asked with requests that are written by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod clone;
mod cluster;
mod config;
mod firewall;
mod guests;
mod parameters;
mod pools;
mod power;
mod requests;
mod served;
mod storage;
mod support;
mod tasks;
mod trouble;
