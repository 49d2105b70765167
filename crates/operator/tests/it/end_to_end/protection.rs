//! EE-06: pods that are protected for a time, or for ever.

use jiff::SignedDuration;
use joiner_apiserver::Key;
use joiner_core::label::DO_NOT_DISRUPT;
use joiner_lab::Lab;
use serde_json::{Value, json};

use super::{Leave, create_pod, delete_nodes, merge, running_pods};
use crate::whole::{End, end, furnished, pass};

/// How long it may take to notice that a time is over.
const NOTICED_WITHIN: SignedDuration = SignedDuration::from_secs(15);

/// Asserts that a pod was asked to go when it had run for so many minutes, and no sooner.
#[track_caller]
fn assert_protected_for(lab: &Lab, pod: &str, minutes: i64) {
    let left = Leave::of(lab, pod).unwrap();
    let protected = SignedDuration::from_mins(minutes);
    let in_time = protected..protected + NOTICED_WITHIN;
    assert!(in_time.contains(&left.asked_after), "{pod}: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn ee06_pods_leave_in_the_order_of_their_times_and_one_without_an_end_keeps_its_node() {
    let mut lab = furnished(1);
    for (name, time) in [("for-two-minutes", "2m"), ("for-ever", "true"), ("for-a-minute", "1m")] {
        create_pod(&lab, name, |pod| {
            pod["metadata"]["annotations"] = json!({DO_NOT_DISRUPT: time});
        });
    }
    pass(&mut lab, 1, 1).await;
    assert_eq!(End::of(&lab), end(3, 1));
    delete_nodes(&lab);
    pass(&mut lab, 15, 2).await;
    assert_protected_for(&lab, "for-a-minute", 1);
    assert_protected_for(&lab, "for-two-minutes", 2);
    assert_eq!(running_pods(&lab), ["for-ever".to_owned()].into());
    assert_eq!(End::of(&lab), end(1, 1));
    let unprotected = json!({"metadata": {"annotations": {DO_NOT_DISRUPT: Value::Null}}});
    merge(&lab, "", "pods", &Key::new("default", "for-ever"), unprotected);
    pass(&mut lab, 2, 3).await;
    assert_eq!(End::of(&lab), end(0, 0));
}
