//! What a management server answers, asked with requests that are written and signed by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod capacity;
mod deploy;
mod guests;
mod jobs;
mod life;
mod limits;
mod lists;
mod outsider;
mod paging;
mod parameters;
mod requests;
mod roles;
mod scale;
mod served;
mod support;
mod tags;
mod trouble;
