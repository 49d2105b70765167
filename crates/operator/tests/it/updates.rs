//! Instances that follow their class in place, and what clouds have left to do once nodes are ready.

use std::time::Duration;

use joiner_cloud::{
    CloudError,
    class::{Difference, KeptOn, SpecHash},
    progress::Progress,
    testing::TEST_NODE_CLASS,
};
use joiner_core::label::Labels;
use joiner_operator::{settlement::Settlement, updates::ClaimUpdate};
use serde_json::json;

use crate::{play::pool_claim, stage::Stage};

const IN_PLACE: &str = "karpenter.test.sh/in-place-hash";
const SETTLED: &str = "karpenter.test.sh/settled";

/// A hash on claims alone, whose difference means an update in place.
fn in_place(hash: &str) -> SpecHash {
    SpecHash {
        key: IN_PLACE,
        version: None,
        hash: hash.to_owned(),
        kept: KeptOn::Claims,
        difference: Difference::Update,
    }
}

fn annotations(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

impl Stage {
    fn annotation(&self, claim: &str, key: &str) -> Option<String> {
        self.claim(claim).metadata.annotations.unwrap_or_default().remove(key)
    }

    fn change_class(&self) {
        let change = json!({"spec": {"tags": ["new"]}});
        self.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, change);
    }
}

/// A claim whose instance was made when the hash was `1`, and a class whose hash is `2` now.
async fn outdated() -> Stage {
    let mut stage = crate::lifecycle::with_lifecycle(Stage::bare()).with(ClaimUpdate);
    stage.cloud.state().hashes = vec![in_place("1")];
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    assert_eq!(stage.annotation("web-1", IN_PLACE).as_deref(), Some("1"));
    assert_eq!(stage.cloud.calls("update"), 0, "it is up to date");
    stage.cloud.state().hashes = vec![in_place("2")];
    stage
}

#[tokio::test(start_paused = true)]
async fn an_instance_follows_a_change_of_its_class_that_means_an_update() {
    let mut stage = outdated().await;
    let pool = Progress::Done(annotations(&[("karpenter.test.sh/pool", "b")]));
    stage.cloud.state().next_update.push_back(Ok(pool));
    stage.change_class();
    stage.pass(1).await;
    assert_eq!(stage.annotation("web-1", IN_PLACE).as_deref(), Some("2"));
    assert_eq!(stage.annotation("web-1", "karpenter.test.sh/pool").as_deref(), Some("b"));
    stage.pass(600).await;
    assert_eq!(stage.cloud.calls("update"), 1, "it is up to date");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_fails_is_told_and_tried_again_with_what_is_known_then() {
    let mut stage = outdated().await;
    let failed = CloudError::Unknown("the firewall does not answer".to_owned());
    stage.cloud.state().next_update.push_back(Err(failed));
    stage.change_class();
    stage.pass(0).await;
    stage.cloud.state().hashes = vec![in_place("3")];
    stage.pass(60).await;
    assert_eq!(stage.annotation("web-1", IN_PLACE).as_deref(), Some("3"));
    let told = stage.events("NodeClaim", "web-1");
    let expected = "UpdateFailed: The instance is not up to date with its NodeClass: the firewall \
                    does not answer";
    assert!(told.iter().any(|event| event == expected), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_not_done_is_asked_for_again_when_the_cloud_says() {
    let mut stage = outdated().await;
    let wait = Ok(Progress::NotYet(Duration::from_secs(30)));
    stage.cloud.state().next_update.push_back(wait);
    stage.change_class();
    stage.pass(20).await;
    assert_eq!(stage.annotation("web-1", IN_PLACE).as_deref(), Some("1"));
    stage.pass(20).await;
    assert_eq!(stage.annotation("web-1", IN_PLACE).as_deref(), Some("2"));
}

/// A claim that is initialized, of a cloud that has something left to do then.
async fn initialized(answers: impl IntoIterator<Item = Result<Progress, CloudError>>) -> Stage {
    let mut stage = Stage::bare().with(Settlement);
    stage.cloud.state().settled_mark = Some(SETTLED);
    stage.cloud.state().next_settled = answers.into_iter().collect();
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(stage.cloud.calls("settle"), 0, "its node is not ready");
    let done = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": type_, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let status = json!({"status": {
        "providerID": "test://web-1",
        "conditions": [done("Launched"), done("Registered"), done("Initialized")],
    }});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage
}

#[tokio::test(start_paused = true)]
async fn what_is_left_to_do_is_asked_for_until_it_is_done_and_not_again() {
    let wait = Ok(Progress::NotYet(Duration::from_secs(5)));
    let done = Ok(Progress::Done(annotations(&[(SETTLED, "Initialized")])));
    let mut stage = initialized([wait, done]).await;
    stage.pass(1).await;
    assert_eq!(stage.annotation("web-1", SETTLED), None);
    stage.pass(10).await;
    assert_eq!(stage.annotation("web-1", SETTLED).as_deref(), Some("Initialized"));
    let mut stage = stage.restarted().with(Settlement);
    stage.pass(600).await;
    assert_eq!(stage.cloud.calls("settle"), 2, "the claim says that it is done");
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_fails_is_tried_again() {
    let failed = CloudError::Unknown("the storage does not answer".to_owned());
    let mut stage = initialized([Err(failed)]).await;
    stage.pass(60).await;
    assert_eq!(stage.annotation("web-1", SETTLED).as_deref(), Some("true"));
    assert_eq!(stage.cloud.calls("settle"), 2);
}
