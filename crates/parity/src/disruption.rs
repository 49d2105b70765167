//! What becomes of clusters that are left to Joiner, and of the same clusters left to Karpenter.
//!
//! [`generate`] makes a cluster whose instances could be fewer or cheaper; each side is asked over
//! and over which instances go ([`ours`], and the oracle), and what it says is done ([`cluster`])
//! until it says no more. Every move of either side is judged ([`rules`]), and what both end up
//! with is compared ([`compare`]).

pub mod cluster;
pub mod compare;
mod facts;
pub mod generate;
pub mod history;
pub mod kind;
pub mod ours;
pub mod rules;
pub mod tell;
pub mod trial;
