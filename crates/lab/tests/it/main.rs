//! Whole stories on the laboratory's API server, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")]
#![expect(clippy::needless_pass_by_value, reason = "stories read better without references")]

mod checks;
mod cloud;
mod common;
mod faults;
mod kube_client;
mod kubelet;
mod kwok;
mod nodepool_rules;
mod pool_budgets;
mod scale;
mod scheduler;
mod stories;
mod volumes;
mod workloads;
