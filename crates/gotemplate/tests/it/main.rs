//! The crate's behaviour. `real` compares it with Go's own text/template, where
//! `JOINER_GOTEMPLATE` names the program that `scripts/install-real-parts gotemplate` builds.

mod cases;
mod data;
mod defects;
mod dumps;
mod generate;
mod limits;
mod properties;
mod real;
mod secrets;
