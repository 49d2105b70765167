//! What a cluster is about whose instances may go.

use crate::scenario::kinds;

kinds! {
    /// What a cluster is about, besides what its pods and pools are about.
    ///
    /// The order is the order in which they are applied while a cluster is generated: how instances
    /// come to be, then which pods are left on them, then what pools say, then what keeps instances.
    Kind {
        /// Several times as many pods.
        Large = "large",
        /// Many of the pods have gone.
        ScaledIn = "scaled-in",
        /// Instances that are larger than they have to be.
        Oversized = "oversized",
        /// Instances without pods.
        Empty = "empty",
        /// Instances that may be spot, in part.
        Spot = "spot",
        /// Spot instances that may become cheaper spot instances.
        SpotToSpot = "spot-to-spot",
        /// Pools that allow few instances to go at once, or only at times, or for some reasons.
        Budgets = "budgets",
        /// Pools whose instances go only when they are empty.
        WhenEmpty = "when-empty",
        /// Pools that weigh what is saved against what is moved.
        Balanced = "balanced",
        /// Pools whose instances are never consolidated.
        Never = "never",
        /// Instances on which pods came or went a moment ago.
        Busy = "busy",
        /// Instances that are not what their pool wants any more.
        Drifted = "drifted",
        /// Instances whose pods are removed by force in the end.
        GracePeriod = "grace-period",
        /// Budgets of pods.
        PodBudgets = "pod-budgets",
        /// Pods that are not to be disturbed.
        KeptPods = "kept-pods",
        /// Nodes that are not to be disturbed.
        KeptNodes = "kept-nodes",
        /// Pods that are dearer or cheaper to move than others.
        EvictionCosts = "eviction-costs",
        /// Nodes that are not ready.
        NotReady = "not-ready",
        /// Instances whose pool is gone.
        PoolGone = "pool-gone",
        /// Pods that fit nowhere and wait all the while.
        Waiting = "waiting",
    }
}
