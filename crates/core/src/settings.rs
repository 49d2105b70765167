//! User settings of planning. Names and defaults are Karpenter's.

/// The treatment of pods' preferences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreferencePolicy {
    /// Treat a preference as required, and drop preferences one by one while the pod does not fit.
    #[default]
    Respect,
    /// Ignore preferences.
    Ignore,
}

/// The treatment of a pool's `minValues` that cannot be satisfied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MinValuesPolicy {
    /// Refuse.
    #[default]
    Strict,
    /// Lower `minValues` to the possible number, and record that on the claim.
    BestEffort,
}

/// Settings of one planning pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSettings {
    /// The treatment of pods' preferences.
    pub preferences: PreferencePolicy,
    /// The treatment of `minValues` that cannot be satisfied.
    pub min_values: MinValuesPolicy,
    /// Whether reserved capacity is used.
    pub reserved_capacity: bool,
    /// Whether a pod may take other capacity when reserved capacity is used up.
    pub reserved_fallback: bool,
    /// Whether pods that use Dynamic Resource Allocation are refused.
    pub ignore_dra: bool,
    /// The most instance types of a claim.
    pub instance_types_max: usize,
}

impl PlanSettings {
    /// Karpenter's maximum of instance types of a claim. Larger claims would exceed the limits of launch APIs.
    pub const INSTANCE_TYPES_MAX: usize = 600;
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            preferences: PreferencePolicy::Respect,
            min_values: MinValuesPolicy::Strict,
            reserved_capacity: true,
            reserved_fallback: false,
            ignore_dra: true,
            instance_types_max: Self::INSTANCE_TYPES_MAX,
        }
    }
}
