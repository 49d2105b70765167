//! What the planner promises, area by area.
//!
//! Every test plans a small cluster and compares the plan, told in a few lines of text, with what it
//! should be. How a plan is told is in [`support`]; unless a test says otherwise, a cluster has one
//! pool without requirements and the instance types of Karpenter's own tests.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "the tool that updates expectations writes them"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "clusters and expectations are made for one call"
)]

mod affinity;
mod anti_affinity;
mod buffers;
mod claim;
mod daemons;
mod defects;
mod disrupt;
mod existing;
mod explain;
mod fixed_point;
mod hostile;
mod labels;
mod limits;
mod min_values;
mod packing;
mod pools;
mod ports;
mod random;
mod reasons;
mod relaxation;
mod reserved;
mod spread;
mod spread_domains;
mod spread_hosts;
mod support;
mod volumes;
mod work;
mod worked_example;
