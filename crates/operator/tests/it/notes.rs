//! What clouds have to say besides their answers.

use joiner_cloud::{
    notes::{Note, Notes},
    order::ClaimId,
};
use joiner_operator::notes;
use serde_json::Value;

use crate::stage::Stage;

/// A stage on which somebody listens to the cloud.
fn stage() -> (Stage, Notes) {
    let mut stage = Stage::bare();
    let notes = stage.cloud.notes.clone();
    let telling = notes::tell(stage.context.clone(), "test", notes.clone());
    stage.beside(telling);
    (stage, notes)
}

fn claim_id(stage: &Stage, name: &str) -> ClaimId {
    ClaimId { name: name.to_owned(), uid: stage.claim(name).metadata.uid.unwrap() }
}

fn launched(stage: &Stage) -> (String, String, String) {
    stage.condition("web-1", "Launched").unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn what_happens_in_a_cloud_is_an_event_about_the_claim_or_the_class() {
    let (mut stage, notes) = stage();
    stage.create_claim("web-1");
    stage.begin().await;
    let claim = claim_id(&stage, "web-1");
    notes.write(Note::happened(&claim, "CloneStarted", "cloning ubuntu"));
    notes.write(Note::went_wrong(&claim, "NameConflict", "somebody has the name: rename it"));
    let before = ClaimId { uid: "the one before".to_owned(), ..claim };
    notes.write(Note::happened(&before, "CloneStarted", "cloning for another"));
    let class = stage.context.cache.read(|world| {
        let class = world.node_classes.values().next().unwrap();
        joiner_cloud::class::NodeClass::clone(class)
    });
    notes.write(Note::wrong_with_class(&class, "ResolutionFailed", "there is no template"));
    stage.pass(5).await;
    let mut told = stage.events("NodeClaim", "web-1");
    told.sort();
    assert_eq!(
        told,
        ["CloneStarted: cloning ubuntu", "NameConflict: somebody has the name: rename it"]
    );
    let told = stage.events("TestNodeClass", "default");
    assert_eq!(told, ["ResolutionFailed: there is no template"]);
}

#[tokio::test(start_paused = true)]
async fn how_far_an_instance_is_stands_in_launched_and_changes_every_half_minute_at_most() {
    let (mut stage, notes) = stage();
    stage.create_claim("web-1");
    stage.begin().await;
    let claim = claim_id(&stage, "web-1");
    for second in 0..=30 {
        notes.write(Note::progress(&claim, format!("{second} % done")));
        stage.pass(1).await;
        let shown = if second < 30 { "0 % done" } else { "30 % done" };
        assert_eq!(launched(&stage).2, shown, "after {second} s");
    }
    assert_eq!(launched(&stage).0, "Unknown");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_has_its_instance_hears_no_more_of_how_far_it_is() {
    let (stage, notes) = stage();
    let mut stage = crate::lifecycle::with_lifecycle(stage);
    stage.create_claim("web-1");
    stage.pass(1).await;
    let before: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    notes.write(Note::progress(&claim_id(&stage, "web-1"), "99 % done"));
    stage.pass(5).await;
    assert_eq!(launched(&stage).0, "True");
    let after: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
}
