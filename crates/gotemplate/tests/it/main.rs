//! The crate's behaviour. `real` compares it with Go's own text/template, where
//! `JOINER_GOTEMPLATE` names the program that `scripts/install-real-parts gotemplate` builds.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod cases;
mod data;
mod defects;
mod dumps;
mod generate;
mod limits;
mod properties;
mod real;
mod secrets;
