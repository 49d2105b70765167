//! Images, read back. `real` reads them with a reader of other people's making, where
//! `JOINER_ISO_READER` names the program that `scripts/install-real-parts iso-reader` installs.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod images;
mod reader;
mod real;
