//! Generated scenarios on which Joiner and Karpenter are compared.

pub mod generate;
pub mod oracle;
pub mod rng;
pub mod scenario;
