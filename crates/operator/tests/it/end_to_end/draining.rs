//! EE-04: pods of a node that goes have the time to end that they have asked for, and no more than
//! their node has.

use jiff::SignedDuration;
use joiner_lab::Lab;
use serde_json::{Value, json};

use super::{Leave, create_pod, delete_nodes};
use crate::whole::{End, change_pool, end, furnished, pass};

/// What a container ends with that is killed.
const KILLED: i64 = 137;

/// A pod whose hook takes a minute and a half before it ends, for which it may take two.
fn take_its_time(pod: &mut Value) {
    pod["spec"]["terminationGracePeriodSeconds"] = 120.into();
    pod["spec"]["containers"][0]["lifecycle"] = json!({"preStop": {"sleep": {"seconds": 90}}});
}

/// A node with such a pod is deleted, in a pool whose template says this; how the pod has left.
async fn left(template: &Value) -> (Lab, Leave) {
    let mut lab = furnished(1);
    change_pool(&lab, &json!({"template": {"spec": template}}));
    create_pod(&lab, "web", take_its_time);
    pass(&mut lab, 2, 1).await;
    assert_eq!(End::of(&lab), end(1, 1));
    delete_nodes(&lab);
    pass(&mut lab, 5, 2).await;
    let left = Leave::of(&lab, "web").unwrap();
    (lab, left)
}

#[tokio::test(start_paused = true)]
async fn ee04_an_instance_is_not_switched_off_before_the_hooks_of_its_pods_are_done() {
    for template in [json!({}), json!({"terminationGracePeriod": "1h"})] {
        let (lab, left) = left(&template).await;
        assert_eq!(left.grace, SignedDuration::from_secs(120));
        assert!(left.took >= SignedDuration::from_secs(90), "{left:?}");
        assert_eq!(left.exit_code, 0, "it has ended by itself");
        assert_eq!(End::of(&lab), end(0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn ee04_a_pod_has_no_more_time_than_its_node() {
    let (lab, left) = left(&json!({"terminationGracePeriod": "1m"})).await;
    assert!(left.took <= SignedDuration::from_mins(1), "{left:?}");
    assert_eq!(left.exit_code, KILLED);
    assert_eq!(End::of(&lab), end(0, 0));
}
