//! The claim of a static pool, made from the template alone.

use std::sync::Arc;

use joiner_core::{
    label::{self, Labels, WellKnown},
    plan::PlannedClaim,
    pool::NodePool,
    requirement::{Requirement, Requirements},
    resources::Resources,
};

/// The version of the pool hash in claims. Karpenter's value.
const POOL_HASH_VERSION: &str = "v3";

/// A claim that does not depend on pods. It has no instance types and no requests: the provider picks the cheapest
/// instance that the template allows.
pub fn static_claim(pool: &NodePool, well_known: &WellKnown) -> PlannedClaim {
    let mut requirements = Requirements::from_specs(&pool.requirements);
    let template_labels = own_labels(pool);
    for (key, value) in &template_labels {
        requirements.add(key, Requirement::one_of([value.as_str()]));
    }
    PlannedClaim {
        node_pool: pool.name.clone(),
        pods: Vec::new(),
        instance_types: Arc::default(),
        labels: Arc::new(claim_labels(pool, &requirements, well_known)),
        annotations: Arc::new(claim_annotations(pool)),
        requirements: requirements.to_specs().into(),
        requests: Resources::new(),
        taints: pool.taints.as_slice().into(),
        startup_taints: pool.startup_taints.as_slice().into(),
        price: 0.0,
    }
}

/// The pool's labels, and a value for every custom label that the requirements leave open. The provider sets its
/// own labels.
pub(crate) fn claim_labels(
    pool: &NodePool,
    requirements: &Requirements,
    well_known: &WellKnown,
) -> Labels {
    let mut labels = own_labels(pool);
    for (key, requirement) in requirements.iter().filter(|(key, _)| !well_known.contains(key)) {
        if let Some(value) = requirement.any() {
            labels.insert(key.to_owned(), value);
        }
    }
    labels
}

/// The annotations of every claim of a pool.
pub(crate) fn claim_annotations(pool: &NodePool) -> Labels {
    let mut annotations = pool.annotations.clone();
    annotations.insert(label::NODE_POOL_HASH.to_owned(), pool.hash.clone());
    annotations.insert(label::NODE_POOL_HASH_VERSION.to_owned(), POOL_HASH_VERSION.to_owned());
    annotations
}

/// The template's labels, and those that name the pool and the class.
fn own_labels(pool: &NodePool) -> Labels {
    let mut labels = pool.labels.clone();
    labels.insert(label::NODE_POOL.to_owned(), pool.name.clone());
    let class = &pool.node_class;
    labels.insert(label::node_class(&class.group, &class.kind), class.name.clone());
    labels
}

#[cfg(test)]
mod tests {
    use joiner_core::{
        pool::NodeClassRef,
        requirement::{Operator, RequirementSpec},
        taint::{Effect, Taint},
    };

    use super::*;

    fn pool() -> NodePool {
        NodePool {
            name: "batch".to_owned(),
            is_static: true,
            node_class: NodeClassRef {
                group: "example.com".to_owned(),
                kind: "TestNodeClass".to_owned(),
                name: "default".to_owned(),
            },
            labels: Labels::from([("team".to_owned(), "blue".to_owned())]),
            annotations: Labels::from([("note".to_owned(), "kept".to_owned())]),
            taints: vec![Taint {
                key: "dedicated".to_owned(),
                value: String::new(),
                effect: Effect::NoSchedule,
            }],
            requirements: vec![
                RequirementSpec::new(label::ZONE, Operator::In, ["a", "b"]),
                RequirementSpec::new("example.com/rack", Operator::In, ["r1", "r2"]),
            ],
            hash: "42".to_owned(),
            ..NodePool::default()
        }
    }

    #[test]
    fn a_static_claim_says_what_its_template_says_and_nothing_of_types_or_requests() {
        let claim = static_claim(&pool(), &WellKnown::default());
        let requirements: Vec<String> = claim
            .requirements
            .iter()
            .map(|spec| format!("{} {} {:?}", spec.key, spec.operator, spec.values))
            .collect();
        assert_eq!(
            requirements,
            [
                r#"example.com/rack In ["r1", "r2"]"#,
                r#"example.com/testnodeclass In ["default"]"#,
                r#"karpenter.sh/nodepool In ["batch"]"#,
                r#"team In ["blue"]"#,
                r#"topology.kubernetes.io/zone In ["a", "b"]"#,
            ]
        );
        assert!(claim.requests.is_empty() && claim.instance_types.is_empty());
        assert_eq!(claim.taints.len(), 1);
        let annotations: Vec<String> =
            claim.annotations.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            annotations,
            ["karpenter.sh/nodepool-hash=42", "karpenter.sh/nodepool-hash-version=v3", "note=kept"]
        );
    }

    #[test]
    fn labels_of_its_own_get_a_value_and_those_of_the_provider_do_not() {
        let claim = static_claim(&pool(), &WellKnown::default());
        let keys: Vec<&str> = claim.labels.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["example.com/rack", "example.com/testnodeclass", "karpenter.sh/nodepool", "team"]
        );
    }
}
