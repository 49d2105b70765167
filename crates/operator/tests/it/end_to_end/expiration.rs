//! EE-03: nodes that have become too old.

use serde_json::json;

use super::{claims, made};
use crate::whole::{End, allow_only, change_pool, create, deployment, end, furnished, pass};

#[tokio::test(start_paused = true)]
async fn ee03_a_node_that_expires_is_replaced_by_a_single_one_that_has_all_its_pods() {
    let mut lab = furnished(1);
    allow_only(&lab, &["lab-8x"]);
    change_pool(&lab, &json!({"template": {"spec": {"expireAfter": "15m"}}}));
    create(&lab, "apps", "deployments", deployment("web", 5));
    pass(&mut lab, 14, 1).await;
    assert_eq!(End::of(&lab), end(5, 1));
    let old = claims(&lab);
    pass(&mut lab, 10, 2).await;
    assert_eq!(End::of(&lab), end(5, 1));
    assert!(claims(&lab).is_disjoint(&old));
    assert_eq!(made(&lab), 2);
}
