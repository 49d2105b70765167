//! What the user can choose about planning. Names and defaults are Karpenter's.

/// What to do with things pods prefer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreferencePolicy {
    /// Treat a preference as required, and drop preferences one by one while the pod does not fit.
    #[default]
    Respect,
    /// Look past preferences.
    Ignore,
}

/// What to do when a pool's `minValues` cannot be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MinValuesPolicy {
    /// Refuse.
    #[default]
    Strict,
    /// Lower `minValues` to what can be met, and say so on the claim.
    BestEffort,
}

/// Settings of one planning pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSettings {
    /// What to do with things pods prefer.
    pub preferences: PreferencePolicy,
    /// What to do when `minValues` cannot be met.
    pub min_values: MinValuesPolicy,
    /// Whether reserved capacity is looked at.
    pub reserved_capacity: bool,
    /// Whether a pod may take other capacity when reserved capacity is used up.
    pub reserved_fallback: bool,
    /// Whether pods that use Dynamic Resource Allocation are refused.
    pub ignore_dra: bool,
    /// How many instance types a claim carries at most.
    pub instance_types_max: usize,
}

impl PlanSettings {
    /// Upstream's maximum of instance types on a claim; a claim object with more would be too large
    /// for launch APIs.
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
