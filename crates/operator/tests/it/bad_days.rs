//! Days on which not everything is as it should be: each is named, with what to do about it, and
//! gone through without harm.

mod clouds;
mod cluster;
mod definitions;
mod leases;
mod objects;
mod permissions;
mod running;
