//! Generated scenarios on which Joiner and Karpenter are compared.
