//! A pool whose instances do not join must not keep pods waiting that another pool could have served.

use std::collections::BTreeSet;

use joiner_core::label::NODE_POOL;
use serde_json::json;

use super::{claims, keep_apart, list, name, workload};
use crate::whole::{End, create, create_class, create_pool, end, furnished, pass};

/// The preferred pool makes instances whose kubelets never start.
#[tokio::test(start_paused = true)]
async fn pods_get_instances_of_another_pool_where_those_of_the_preferred_one_do_not_join() {
    let mut lab = furnished(1);
    create_class(&lab, "preferred", &json!({"bootDelay": "24h"}));
    create_pool(&lab, "preferred", &json!({"weight": 50}));
    create(&lab, "apps", "deployments", workload("web", 2, keep_apart));
    pass(&mut lab, 10, 1).await;
    let of_pools = |lab: &_| -> BTreeSet<String> {
        let claims = list(lab, "karpenter.sh", "nodeclaims");
        let pool = |claim: &serde_json::Value| claim["metadata"]["labels"][NODE_POOL].clone();
        claims.iter().map(|claim| pool(claim).as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(of_pools(&lab), BTreeSet::from(["preferred".to_owned()]));
    let first = claims(&lab);

    pass(&mut lab, 10, 2).await;
    assert_eq!(End::of(&lab), end(2, 2), "instances have a quarter of an hour to join");
    assert_eq!(of_pools(&lab), BTreeSet::from(["default".to_owned()]));
    assert!(claims(&lab).is_disjoint(&first));
    let pools = list(&lab, "karpenter.sh", "nodepools");
    let preferred = pools.iter().find(|pool| name(pool) == "preferred").unwrap();
    let conditions = preferred["status"]["conditions"].as_array().unwrap();
    let health = conditions.iter().find(|it| it["type"] == "NodeRegistrationHealthy").unwrap();
    assert_eq!(
        (&health["status"], &health["reason"]),
        (&json!("False"), &json!("RegistrationFailed"))
    );
}
