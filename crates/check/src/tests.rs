//! The rules as examples: for each a plan that keeps it and one that breaks it alone, then what
//! planners may do without being scolded, and the lower bound.

mod bound;
mod broken;
mod commands;
mod legitimate;
mod orders;
mod rules;
mod scene;
mod spread_hosts;
