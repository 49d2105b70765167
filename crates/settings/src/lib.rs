//! Settings: from flags and variables as typed to values that can be used.
//!
//! Each crate declares its own settings with [`settings!`], each with its name, default and help. A
//! command line is built from these lists and fills [`Values`]. A [`Reader`] turns them into values of
//! their types, or names everything that is wrong with them. Nothing here knows a command line, reads
//! a variable, or knows any setting.

mod declare;
mod reader;
#[cfg(test)]
mod tests;
mod values;

pub use self::{
    declare::Setting,
    reader::{Accepted, Reader, boolean},
    values::Values,
};
