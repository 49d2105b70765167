//! How many nodes may be unhealthy before none is replaced any more.

use joiner_api::node_pool::NodePool;
use joiner_core::disruption::{NodeCount, NotANodeCount};

use crate::{claims::name, marks::REPAIR_MAX_UNHEALTHY};

/// How many nodes of a pool, or of the cluster, may be unhealthy by default. The value is
/// Karpenter's.
pub const MAX_UNHEALTHY: NodeCount = NodeCount::Percent(20);

/// What a pool's annotation says, if it is there; or what is wrong with it.
pub fn max_unhealthy_of(pool: &NodePool) -> Result<Option<NodeCount>, String> {
    let annotations = pool.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(REPAIR_MAX_UNHEALTHY)) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|problem: NotANodeCount| {
        format!(
            "NodePool {:?}: annotation {REPAIR_MAX_UNHEALTHY}: {problem}; it is ignored, and \
             {MAX_UNHEALTHY} counts",
            name(&pool.metadata),
        )
    })
}

/// How the nodes are that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Whether they belong to a pool; otherwise they are all there are in the cluster.
    pub of_pool: bool,
    /// How many there are.
    pub nodes: usize,
    /// The number of nodes with a condition that is tolerated only for a time.
    pub unhealthy: usize,
    /// How many of them may have one.
    pub max: NodeCount,
}

impl Breaker {
    /// Why no node is replaced now, if none is.
    pub fn blocks(&self) -> Option<String> {
        let Self { of_pool, nodes, unhealthy, max } = *self;
        if unhealthy <= max.of(nodes) {
            return None;
        }
        let counts = format!("{unhealthy} of {nodes}");
        Some(if of_pool {
            format!(
                "more than {max} nodes are unhealthy in the nodepool ({counts}): find out what they \
                 have in common, or allow more by the annotation {REPAIR_MAX_UNHEALTHY} of the \
                 NodePool"
            )
        } else {
            format!(
                "more than {max} nodes are unhealthy in the cluster ({counts}): find out what they \
                 have in common"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker(unhealthy: usize, nodes: usize, max: &str) -> Breaker {
        Breaker { of_pool: true, nodes, unhealthy, max: max.parse().unwrap() }
    }

    #[test]
    fn a_percentage_is_rounded_up_so_that_small_pools_are_repaired_too() {
        let may = |unhealthy, nodes| breaker(unhealthy, nodes, "20%").blocks().is_none();
        assert!(may(1, 1));
        assert!(may(1, 3));
        assert!(!may(2, 3));
        assert!(may(2, 10));
        assert!(!may(3, 10));
        assert!(may(3, 11));
    }

    #[test]
    fn a_number_counts_whatever_the_size_of_the_pool() {
        assert_eq!(breaker(3, 4, "3").blocks(), None);
        assert!(breaker(4, 100, "3").blocks().is_some());
        assert!(breaker(1, 100, "0").blocks().is_some(), "none is ever repaired");
        assert_eq!(breaker(100, 100, "100%").blocks(), None);
    }

    #[test]
    fn who_reads_why_learns_how_many_and_what_to_do() {
        let why = breaker(2, 3, "20%").blocks().unwrap();
        assert!(why.starts_with("more than 20% nodes are unhealthy in the nodepool (2 of 3): "));
        assert!(why.contains("joiner.sh/repair-max-unhealthy"));
    }

    #[test]
    fn what_is_no_number_is_named_with_the_pool_and_what_counts_instead() {
        let mut pool = NodePool::default();
        pool.metadata.name = Some("general".to_owned());
        assert_eq!(max_unhealthy_of(&pool), Ok(None));
        for text in ["some", "-1", "+1", "150%", "%", "", "1.5"] {
            let annotations = [(REPAIR_MAX_UNHEALTHY.to_owned(), text.to_owned())];
            pool.metadata.annotations = Some(annotations.into());
            let problem = max_unhealthy_of(&pool).unwrap_err();
            assert_eq!(
                problem,
                format!(
                    "NodePool \"general\": annotation joiner.sh/repair-max-unhealthy: {text:?} is \
                     neither a number of nodes, such as 3, nor a percentage from 0% to 100%; it is \
                     ignored, and 20% counts"
                )
            );
        }
    }
}
