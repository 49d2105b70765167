//! A vCenter that lives in the process.
mod reference;
mod wire;
