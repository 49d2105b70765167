//! Claims that take too long.

use std::time::Duration;

use joiner_cloud::CloudError;
use serde_json::{Value, json};

use super::{given_up, stage, with_lifecycle};
use crate::{
    play::{node, pool_claim},
    stage::Stage,
};

const MINUTE: i64 = 60;

/// Has the cloud fail for so many attempts to launch.
fn failing(stage: &Stage, attempts: usize) {
    let error = CloudError::Create { reason: "Busy", message: "too many clones".to_owned() };
    stage.cloud.state().next_create.extend(vec![Some(error); attempts]);
}

fn annotate(stage: &Stage, pool: &str, annotation: &str, value: &str) {
    let annotations = json!({"metadata": {"annotations": {annotation: value}}});
    stage.merge("karpenter.sh", "nodepools", pool, None, annotations);
}

#[tokio::test(start_paused = true)]
async fn l48_a_node_that_does_not_join_in_time_costs_the_claim() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(15 * MINUTE - 1).await;
    assert!(stage.find_claim("web-1").is_some());
    stage.pass(1).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_some());
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.cloud.state().instances.is_empty());
    assert_eq!(given_up(&stage), ["registration_timeout"]);
}

#[tokio::test(start_paused = true)]
async fn l48_an_instance_that_was_made_late_has_all_the_time_to_join() {
    let mut stage = stage();
    // Attempts after 0, 1, 3, 7, 15, 31, 63 and 123 seconds.
    failing(&stage, 7);
    stage.create_claim("web-1");
    stage.pass(15 * MINUTE + 100).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    stage.pass(60).await;
    assert!(stage.find_claim("web-1").is_none_or(|c| c.metadata.deletion_timestamp.is_some()));
}

#[tokio::test(start_paused = true)]
async fn l49_a_claim_whose_node_has_joined_is_not_given_up() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(MINUTE).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(60 * MINUTE).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
}

#[tokio::test(start_paused = true)]
async fn l50_l51_a_launch_that_takes_too_long_costs_the_claim_and_not_before() {
    let mut stage = stage();
    failing(&stage, 1000);
    stage.create_claim("web-1");
    stage.pass(5 * MINUTE - 1).await;
    assert!(stage.find_claim("web-1").is_some());
    // A claim that is tried again and again is looked at once a minute at least.
    stage.pass(MINUTE + 10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert_eq!(given_up(&stage), ["launch_timeout"]);
}

#[tokio::test(start_paused = true)]
async fn l52_the_cloud_says_how_long_a_launch_may_take() {
    let mut stage = stage();
    stage.cloud.state().launch_timeout = Duration::from_secs(45);
    failing(&stage, 1000);
    stage.create_claim("web-1");
    stage.pass(40).await;
    assert!(stage.find_claim("web-1").is_some());
    stage.pass(30).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn l52_a_setting_counts_before_the_cloud_and_a_pools_annotation_before_both() {
    let launch = Some(Duration::from_mins(1));
    let mut stage = with_lifecycle(Stage::bare().set(|settings| settings.timeouts.launch = launch));
    let pool = stage.create_pool("patient");
    annotate(&stage, "patient", "joiner.sh/launch-timeout", "20m");
    failing(&stage, 1000);
    stage.create_claim("web-1");
    stage.create_claim_as(pool_claim("web-2", &pool));
    stage.pass(3 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
    stage.pass(15 * MINUTE).await;
    assert!(stage.find_claim("web-2").is_some());
    stage.pass(5 * MINUTE).await;
    assert!(stage.find_claim("web-2").is_none());
}

#[tokio::test(start_paused = true)]
async fn l53_the_launch_is_timed_from_when_the_condition_changed() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(10 * MINUTE).await;
    failing(&stage, 1000);
    // Somebody took back that the instance was launched.
    let now = stage.context.now().to_string();
    let unknown = json!({"type": "Launched", "status": "Unknown", "reason": "Lost", "message": "",
        "lastTransitionTime": now});
    set_condition(&stage, &unknown);
    stage.pass(4 * MINUTE).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    stage.pass(3 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn l54_registration_is_timed_from_when_the_instance_was_launched() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(10 * MINUTE).await;
    let now = stage.context.now().to_string();
    let launched = json!({"type": "Launched", "status": "True", "reason": "Launched",
        "message": "", "lastTransitionTime": now});
    set_condition(&stage, &launched);
    stage.pass(14 * MINUTE).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}

fn set_condition(stage: &Stage, condition: &Value) {
    let mut claim: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    let conditions = claim["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|known| known["type"] != condition["type"]);
    conditions.push(condition.clone());
    let status = json!({"status": {"conditions": conditions}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
}

/// A claim of a pool whose node joins and never gets ready.
async fn never_ready(stage: &mut Stage) {
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.report("node-1", false, &json!({}));
    stage.pass(1).await;
}

#[tokio::test(start_paused = true)]
async fn initialization_may_take_for_ever_unless_somebody_says_otherwise() {
    let mut stage = stage();
    never_ready(&mut stage).await;
    stage.pass(2 * 60 * MINUTE).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    annotate(&stage, "general", "joiner.sh/initialization-timeout", "1h");
    stage.pass(1).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_some());
}

#[tokio::test(start_paused = true)]
async fn initialization_is_timed_from_when_the_node_registered() {
    let timeout = Some(Duration::from_mins(10));
    let mut stage =
        with_lifecycle(Stage::bare().set(|settings| settings.timeouts.initialization = timeout));
    never_ready(&mut stage).await;
    stage.pass(10 * MINUTE - 5).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    stage.pass(10).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_some());
    assert_eq!(given_up(&stage), ["initialization_timeout"]);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_that_cannot_be_read_is_told_and_does_not_count() {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    annotate(&stage, "general", "joiner.sh/registration-timeout", "soon");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(14 * MINUTE).await;
    assert!(stage.claim("web-1").metadata.deletion_timestamp.is_none());
    let [told] = &stage.events("NodePool", "general")[..] else { panic!("it is told once") };
    let start = "InvalidTimeout: NodePool \"general\": annotation joiner.sh/registration-timeout: \
                 \"soon\" is no duration";
    assert!(told.starts_with(start), "{told}");
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}

/// Two claims of a pool, one after the other, whose nodes never join.
async fn two_failures(stage: &mut Stage, pool: &Value) {
    for name in ["late-1", "late-2"] {
        stage.create_claim_as(pool_claim(name, pool));
        stage.pass(16 * MINUTE).await;
        assert!(stage.find_claim(name).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn l55_two_failures_make_a_healthy_pool_unhealthy() {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    assert_eq!(stage.health_of("general").unwrap().0, "True");
    two_failures(&mut stage, &pool).await;
    let expected = ("False".to_owned(), "RegistrationFailed".to_owned());
    assert_eq!(stage.health_of("general"), Some(expected));
}

#[tokio::test(start_paused = true)]
async fn l56_two_failures_make_a_pool_unhealthy_of_which_nothing_was_known() {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    stage.pass(1).await;
    assert_eq!(stage.health_of("general").unwrap().0, "Unknown");
    two_failures(&mut stage, &pool).await;
    assert_eq!(stage.health_of("general").unwrap().0, "False");
}

#[tokio::test(start_paused = true)]
async fn l56_a_launch_that_failed_gives_the_pool_its_reason() {
    let mut stage = stage();
    failing(&stage, 1000);
    let pool = stage.create_pool("general");
    two_failures(&mut stage, &pool).await;
    let expected = ("False".to_owned(), "Busy".to_owned());
    assert_eq!(stage.health_of("general"), Some(expected));
}

#[tokio::test(start_paused = true)]
async fn l57_a_claim_whose_pool_is_gone_is_given_up_without_it() {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    stage.delete("karpenter.sh", "nodepools", "general");
    stage.pass(16 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}
