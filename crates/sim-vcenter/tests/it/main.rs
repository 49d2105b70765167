//! What a vCenter answers, asked as clients ask: with raw requests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod capacity;
mod clone;
mod descriptions;
mod groups;
mod guests;
mod host_failures;
mod instances;
mod policies;
mod properties;
mod scale;
mod served;
mod sessions;
mod support;
mod tagging;
mod tasks;
mod trouble;
mod updates;
