//! Whether drifted nodes of a static pool can be replaced at all.

use joiner_api::node_pool::NodePool;

use super::{Standings, nodes_max, replicas};
use crate::{
    conditions::{Conditioned, DRIFTED},
    marks::{DELETE_FIRST, STATIC_DRIFT},
};

/// Whether drifted nodes of the pool go before their replacements come.
pub fn deletes_first(pool: &NodePool) -> bool {
    annotation(pool) == Some(DELETE_FIRST)
}

fn annotation(pool: &NodePool) -> Option<&str> {
    pool.metadata.annotations.as_ref()?.get(STATIC_DRIFT).map(String::as_str)
}

/// Why drifted nodes of the pool stay, and the remedy. A replacement is created before its node is
/// removed, so the limit needs room for one more.
pub(super) fn blocked(pool: &NodePool, standings: &Standings) -> Option<String> {
    let drifted = standings.active.iter().filter(|claim| claim.holds(DRIFTED)).count();
    if let Some(value) = annotation(pool).filter(|value| *value != DELETE_FIRST) {
        return Some(format!(
            "annotation {STATIC_DRIFT} is {value:?}: set it to {DELETE_FIRST}, or remove it"
        ));
    }
    let (limit, replicas) = (nodes_max(pool)?, replicas(pool)?);
    if drifted == 0 || limit > replicas || deletes_first(pool) {
        return None;
    }
    Some(format!(
        "{drifted} drifted node(s) cannot be replaced: a replacement comes first, and limits.nodes \
         ({limit}) has no room beyond replicas ({replicas}). Raise limits.nodes to {}, or set the \
         annotation {STATIC_DRIFT}: {DELETE_FIRST}",
        replicas.saturating_add(1)
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};
    use jiff::Timestamp;
    use joiner_api::node_claim::NodeClaim;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(limits: Value, annotation: Option<&str>, drifted: bool, expected: Option<Expect>) {
        let mut pool: NodePool = serde_json::from_value(json!({
            "metadata": {"name": "batch"}, "spec": {"replicas": 2, "limits": limits},
        }))
        .unwrap();
        if let Some(value) = annotation {
            let annotations = pool.metadata.annotations.get_or_insert_default();
            annotations.insert(STATIC_DRIFT.to_owned(), value.to_owned());
        }
        let mut claim = NodeClaim::default();
        if drifted {
            claim.conditions_mut(Timestamp::UNIX_EPOCH).set_true(DRIFTED);
        }
        let standings = Standings { active: vec![Arc::new(claim)], ..Standings::default() };
        let blocked = blocked(&pool, &standings);
        match expected {
            Some(expected) => expected.assert_eq(&blocked.unwrap_or_default()),
            None => assert_eq!(blocked, None),
        }
    }

    #[test]
    fn a_limit_without_room_for_a_replacement_says_what_to_raise() {
        check(
            json!({"nodes": "2"}),
            None,
            true,
            Some(expect![[
                r"1 drifted node(s) cannot be replaced: a replacement comes first, and limits.nodes (2) has no room beyond replicas (2). Raise limits.nodes to 3, or set the annotation joiner.sh/static-drift: delete-first"
            ]]),
        );
        check(json!({"nodes": "3"}), None, true, None);
        check(json!({}), None, true, None);
        check(json!({"nodes": "2"}), None, false, None);
        check(json!({"nodes": "2"}), Some("delete-first"), true, None);
    }

    #[test]
    fn an_annotation_that_cannot_be_read_is_told() {
        check(
            json!({}),
            Some("yes"),
            false,
            Some(expect![[
                r#"annotation joiner.sh/static-drift is "yes": set it to delete-first, or remove it"#
            ]]),
        );
    }
}
