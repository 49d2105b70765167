//! §11.1 G-01 to G-05 and S-01 to S-04: what is left when something went wrong.

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudError,
    conformance::Mishap,
    instance::{Instance, Lost},
    notes::Note,
    order::ClaimId,
};
use joiner_operator::{
    garbage::{GarbageCollection, UnconfirmedClaims},
    world::Key,
};
use serde_json::{Value, json};

use crate::{
    play::{foreign_claim, node},
    stage::{Stage, claim},
};

const MINUTE: i64 = 60;

fn stage() -> Stage {
    Stage::bare().with_rounds(GarbageCollection::new)
}

/// A claim with an instance; its node has joined or not.
fn launched(stage: &Stage, name: &str, is_registered: bool) {
    let created = stage.create_claim_as(claim(name));
    let registered = if is_registered { "True" } else { "Unknown" };
    let status = json!({"status": {
        "providerID": format!("test://{name}"), "nodeName": name,
        "conditions": [{"type": "Registered", "status": registered,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }});
    stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
    make(stage, name, created["metadata"]["uid"].as_str());
}

/// An instance that says whom it was made for.
fn make(stage: &Stage, name: &str, uid: Option<&str>) {
    let claim = uid.map(|uid| ClaimId { name: name.to_owned(), uid: uid.to_owned() });
    let provider_id = format!("test://{name}");
    let instance = Instance { provider_id: provider_id.clone(), claim, ..Instance::default() };
    stage.cloud.state().instances.insert(provider_id, instance);
}

fn lose(stage: &Stage, name: &str) {
    stage.cloud.state().instances.remove(&format!("test://{name}"));
}

fn instances(stage: &Stage) -> Vec<String> {
    stage.cloud.state().instances.keys().cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn g01_a_claim_whose_instance_is_gone_and_whose_node_is_not_ready_is_deleted() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.join(node("web-1", "web-1"));
    stage.pass(3 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
    lose(&stage, "web-1");
    stage.report("web-1", false, &json!({}));
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
    let why = "Disrupting NodeClaim: The cloud has no instance test://web-1 any more";
    let told = stage.events("NodeClaim", "web-1");
    assert!(told.contains(&format!("DisruptionTerminating: {why}")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn g01_an_instance_that_is_being_destroyed_counts_as_gone() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.cloud.state().instances.get_mut("test://web-1").unwrap().deleting = true;
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn g02_a_claim_whose_node_is_ready_stays_whatever_the_cloud_says() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.join(node("web-1", "web-1"));
    lose(&stage, "web-1");
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn g03_a_hundred_claims_are_deleted_in_one_round() {
    let mut stage = stage();
    for number in 0..100 {
        let name = format!("web-{number}");
        launched(&stage, &name, true);
        lose(&stage, &name);
    }
    stage.pass(1).await;
    for number in 0..100 {
        assert!(stage.find_claim(&format!("web-{number}")).is_none(), "web-{number}");
    }
    let [counted] = &stage.series("karpenter_nodeclaims_disrupted_total")[..] else {
        panic!("all for one reason");
    };
    assert!(counted.contains(r#"reason="garbage_collected""#) && counted.ends_with(" 100"));
}

#[tokio::test(start_paused = true)]
async fn g04_a_claim_that_has_not_registered_is_left_to_its_timeouts() {
    let mut stage = stage();
    launched(&stage, "web-1", false);
    lose(&stage, "web-1");
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn g05_a_claim_whose_instance_is_there_stays_without_its_node() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
    assert_eq!(instances(&stage), ["test://web-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_claim_is_let_alone() {
    let mut stage = stage();
    stage.create_claim_as(foreign_claim("other-1"));
    let status = json!({"status": {
        "providerID": "other://1",
        "conditions": [{"type": "Registered", "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }});
    stage.merge("karpenter.sh", "nodeclaims", "other-1", Some("status"), status);
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("other-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_while_the_cloud_does_not_answer() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    lose(&stage, "web-1");
    make(&stage, "orphan", Some("nobody"));
    let error = CloudError::Unknown("page 2 of 3 did not arrive".to_owned());
    stage.cloud.state().next_get.extend(vec![Some(error); 10_000]);
    stage.pass(60 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
    assert_eq!(instances(&stage), ["test://orphan"]);
    stage.cloud.state().next_get.clear();
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
    assert_eq!(instances(&stage), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_stays_when_the_cloud_finds_its_instance_after_all() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    lose(&stage, "web-1");
    // The list is answered without the instance; asked for it alone, the cloud does not know.
    let error = CloudError::Unknown("try again".to_owned());
    stage.cloud.state().next_get.extend([None, Some(error)]);
    stage.pass(0).await;
    assert!(stage.find_claim("web-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_a_claim_is_removed_when_it_is_five_minutes_old() {
    let mut stage = stage();
    make(&stage, "orphan", Some("nobody"));
    make(&stage, "unreadable", None);
    stage.pass(5 * MINUTE - 10).await;
    assert_eq!(instances(&stage), ["test://orphan", "test://unreadable"]);
    stage.pass(2 * MINUTE).await;
    assert_eq!(instances(&stage), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_age_of_an_instance_is_what_the_cloud_says() {
    let mut stage = stage();
    make(&stage, "old", Some("nobody"));
    make(&stage, "new", Some("nobody"));
    let now = stage.context.now();
    let old = now - jiff::SignedDuration::from_mins(5);
    let new = now + jiff::SignedDuration::from_mins(60);
    stage.cloud.state().instances.get_mut("test://old").unwrap().created = Some(old);
    stage.cloud.state().instances.get_mut("test://new").unwrap().created = Some(new);
    stage.pass(1).await;
    assert_eq!(instances(&stage), ["test://new"]);
    stage.pass(10 * MINUTE).await;
    assert_eq!(instances(&stage), ["test://new"], "some clock is wrong: nobody knows its age");
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_known_by_its_mark_and_by_its_name() {
    let mut stage = stage();
    let created = stage.create_claim_as(claim("web-1"));
    make(&stage, "marked", created["metadata"]["uid"].as_str());
    launched(&stage, "web-2", true);
    make(&stage, "web-2", None);
    stage.pass(20 * MINUTE).await;
    assert_eq!(instances(&stage), ["test://marked", "test://web-2"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_a_claim_that_the_cache_has_lost_stays() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.pass(1).await;
    stage.context.cache.gone::<NodeClaim>(&Key::cluster("web-1"));
    stage.pass(20 * MINUTE).await;
    assert_eq!(instances(&stage), ["test://web-1"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_an_older_claim_of_the_same_name_is_nobodys() {
    let mut stage = stage();
    stage.create_claim_as(claim("web-1"));
    make(&stage, "web-1", Some("the one before"));
    stage.pass(20 * MINUTE).await;
    assert_eq!(instances(&stage), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_node_of_an_instance_without_a_claim_goes_with_it() {
    let mut stage = stage();
    make(&stage, "orphan", Some("nobody"));
    stage.join(node("node-1", "orphan"));
    stage.join(node("node-2", "another"));
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_node("node-1").is_none());
    assert!(stage.find_node("node-2").is_some());
}

/// A stage on which a claim is known from one of our own writes alone.
async fn unconfirmed() -> Stage {
    let mut stage = Stage::bare().with_rounds(UnconfirmedClaims::new);
    stage.pass(1).await;
    let mut ghost = claim("ghost");
    ghost["metadata"]["resourceVersion"] = "100000".into();
    wrote(&stage, ghost);
    stage
}

fn wrote(stage: &Stage, claim: Value) {
    stage.context.cache.wrote(serde_json::from_value::<NodeClaim>(claim).unwrap());
}

fn knows(stage: &Stage, name: &str) -> bool {
    stage.context.cache.read(|world| world.node_claims.named(name).is_some())
}

#[tokio::test(start_paused = true)]
async fn s01_a_claim_that_only_the_cache_knows_is_forgotten() {
    let mut stage = unconfirmed().await;
    stage.pass(14).await;
    assert!(knows(&stage, "ghost"));
    stage.pass(20).await;
    assert!(!knows(&stage, "ghost"));
}

#[tokio::test(start_paused = true)]
async fn s02_a_claim_that_exists_stays_although_its_watch_is_silent() {
    let mut stage = Stage::bare().with_rounds(UnconfirmedClaims::new);
    stage.pass(1).await;
    stage.lab.faults().partition(
        "joiner",
        stage.context.now(),
        "2026-01-01T00:00:10Z".parse().unwrap(),
    );
    let created = stage.create_claim_as(claim("web-1"));
    wrote(&stage, created);
    stage.pass(120).await;
    assert!(knows(&stage, "web-1"));
}

#[tokio::test(start_paused = true)]
async fn s03_s04_claims_that_a_watch_has_confirmed_are_not_asked_for() {
    let mut stage = Stage::bare().with_rounds(UnconfirmedClaims::new);
    launched(&stage, "web-1", true);
    stage.create_claim("web-2");
    stage.lab.faults().add_script("at 0s joiner: 500 on get nodeclaims always").unwrap();
    stage.pass(120).await;
    assert!(knows(&stage, "web-1") && knows(&stage, "web-2"));
    assert_eq!(stage.lab.faults().struck(), 0, "nobody asked");
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_instance_will_never_run_again_is_deleted_at_the_next_look() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.join(node("web-1", "web-1"));
    stage.cloud.state().instances.get_mut("test://web-1").unwrap().lost = Some(Lost::default());
    stage.pass(3 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some(), "its kubelet says that all is well");
    stage.report("web-1", false, &json!({}));
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn when_most_instances_have_no_claim_none_is_removed_for_a_while_and_everybody_is_told() {
    let mut stage = stage();
    stage.create_claim_as(claim("another"));
    stage.create_class("default");
    for number in 0..8 {
        make(&stage, &format!("orphan-{number}"), Some("nobody"));
    }
    // Old enough at six minutes, and then three rounds of two minutes.
    stage.pass(11 * MINUTE).await;
    assert_eq!(instances(&stage).len(), 8);
    let told = stage.events("TestNodeClass", "default");
    assert!(
        told.iter().any(|event| event.starts_with("OrphanStorm: 8 of 8 instances")),
        "{told:?}"
    );
    assert_eq!(stage.metric("joiner_test_orphans_deleted_total") as u64, 0);
    stage.pass(2 * MINUTE).await;
    assert_eq!(instances(&stage), [] as [&str; 0], "nobody has stopped it");
    assert_eq!(stage.metric("joiner_test_orphans_deleted_total") as u64, 8);
}

#[tokio::test(start_paused = true)]
async fn a_storm_that_passes_has_removed_nothing() {
    let mut stage = stage();
    stage.create_claim_as(claim("another"));
    for number in 0..8 {
        launched(&stage, &format!("web-{number}"), true);
    }
    stage.pass(1).await;
    // Somebody reads from the wrong cluster for a while.
    for number in 0..8 {
        stage.delete_claim(&format!("web-{number}"));
    }
    stage.pass(9 * MINUTE).await;
    assert_eq!(instances(&stage).len(), 8);
    for number in 0..8 {
        launched(&stage, &format!("web-{number}"), true);
    }
    stage.pass(60 * MINUTE).await;
    assert_eq!(instances(&stage).len(), 8);
}

#[tokio::test(start_paused = true)]
async fn of_two_instances_of_one_claim_the_younger_goes_if_the_claim_names_the_older() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    launched(&stage, "web-2", true);
    let start = stage.context.now();
    let double = |name: &str, of: &str, age: i64| {
        let uid = stage.claim(of).metadata.uid;
        let provider_id = format!("test://{name}");
        let instance = Instance {
            provider_id: provider_id.clone(),
            claim: uid.map(|uid| ClaimId { name: of.to_owned(), uid }),
            created: Some(start - jiff::SignedDuration::from_mins(age)),
            ..Instance::default()
        };
        stage.cloud.state().instances.insert(provider_id, instance);
    };
    double("web-1", "web-1", 60);
    double("web-1-again", "web-1", 10);
    double("web-2", "web-2", 10);
    double("web-2-before", "web-2", 60);
    stage.pass(10 * MINUTE).await;
    let left = ["test://web-1", "test://web-2", "test://web-2-before"];
    assert_eq!(instances(&stage), left, "where the claim names the younger, people decide");
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_a_mark_gets_that_of_the_claim_that_names_it() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    make(&stage, "web-1", None);
    stage.pass(10 * MINUTE).await;
    let uid = stage.claim("web-1").metadata.uid.unwrap();
    let marked = stage.cloud.state().instances["test://web-1"].claim.clone();
    assert_eq!(marked, Some(ClaimId { name: "web-1".to_owned(), uid }));
    assert_eq!(stage.cloud.calls("adopt"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_instance_joined_with_is_emptied_once_its_node_has_registered() {
    let mut stage = stage();
    for (name, is_registered) in [("web-1", true), ("web-2", false)] {
        launched(&stage, name, is_registered);
        let id = format!("test://{name}");
        stage.cloud.state().instances.get_mut(&id).unwrap().holds_join_data = true;
    }
    stage.pass(1).await;
    let kept = |stage: &Stage, name: &str| {
        stage.cloud.state().instances[&format!("test://{name}")].holds_join_data
    };
    assert!(!kept(&stage, "web-1"), "its node has registered");
    assert!(kept(&stage, "web-2"), "its guest may not have read it yet");
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.cloud.calls("empty join data"), 1, "once is enough");
}

#[tokio::test(start_paused = true)]
async fn join_data_that_cannot_be_emptied_now_is_emptied_later_and_delays_nothing_else() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    stage.cloud.state().instances.get_mut("test://web-1").unwrap().holds_join_data = true;
    make(&stage, "orphan", Some("nobody"));
    // The list gets through; the call after it does not.
    stage.cloud.state().mishap = Some((Mishap::Failed, 1));
    stage.pass(1).await;
    assert!(stage.cloud.state().instances["test://web-1"].holds_join_data);
    stage.pass(10 * MINUTE).await;
    assert!(!stage.cloud.state().instances["test://web-1"].holds_join_data);
    assert_eq!(instances(&stage), ["test://web-1"]);
}

/// A claim whose instance has been launched, of which the cloud says where it was to be.
async fn launched_in(zone: &str) -> Stage {
    let mut stage = stage();
    let mut claim = claim("web-1");
    claim["metadata"]["labels"] = json!({
        "node.kubernetes.io/instance-type": "test-2x",
        "topology.kubernetes.io/zone": zone,
        "karpenter.sh/capacity-type": "spot",
    });
    let created = stage.create_claim_as(claim);
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {
        "providerID": "test://web-1",
        "conditions": [condition("Launched", "True"), condition("Registered", "Unknown")],
    }});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    make(&stage, "web-1", created["metadata"]["uid"].as_str());
    stage.create_class("default");
    stage.pass(1).await;
    stage
}

fn lose_for_good(stage: &Stage, why: &str) {
    let mut state = stage.cloud.state();
    let lost = Lost { why: why.to_owned(), ..Lost::default() };
    state.instances.get_mut("test://web-1").unwrap().lost = Some(lost);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_instance_is_lost_before_its_node_joined_is_given_up_as_for_want_of_room() {
    let mut stage = launched_in("test-zone-a").await;
    lose_for_good(&stage, "the deployment failed: the host is full");
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
    let told = stage.events("NodeClaim", "web-1");
    assert!(told.iter().any(|event| event.contains("the host is full")), "{told:?}");
    let state = stage.cloud.state();
    let [lost] = &state.lost[..] else { panic!("the cloud hears of one: {:?}", state.lost) };
    assert_eq!(lost.offering["topology.kubernetes.io/zone"], "test-zone-a");
    assert_eq!(lost.offering["node.kubernetes.io/instance-type"], "test-2x");
    assert_eq!(lost.offering["karpenter.sh/capacity-type"], "spot");
}

#[tokio::test(start_paused = true)]
async fn a_note_about_a_claim_has_its_lost_instance_noticed_at_once() {
    let mut stage = launched_in("test-zone-a").await;
    let notes = stage.cloud.notes.clone();
    stage.beside(joiner_operator::notes::tell(stage.context.clone(), "test", notes.clone()));
    lose_for_good(&stage, "the deployment failed");
    let uid = stage.claim("web-1").metadata.uid.unwrap();
    notes.write(Note::look_again_at_claim(&ClaimId { name: "web-1".to_owned(), uid }));
    stage.pass(2).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn claims_of_a_place_that_is_away_stay_and_orphans_elsewhere_go() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    launched(&stage, "web-2", true);
    for (name, place) in [("web-1", "east"), ("web-2", "west")] {
        let id = format!("test://{place}/{name}");
        lose(&stage, name);
        let status = json!({"status": {"providerID": id}});
        stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
    }
    make(&stage, "east/orphan", Some("nobody"));
    stage.cloud.state().away.insert("west".to_owned());
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none(), "its place was listed without it");
    assert!(stage.find_claim("web-2").is_some(), "nobody knows");
    assert_eq!(instances(&stage), [] as [&str; 0]);
    stage.cloud.state().away.clear();
    stage.pass(2 * MINUTE).await;
    assert!(stage.find_claim("web-2").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_has_the_id_of_a_lost_one_is_not_the_claims() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    make(&stage, "web-1", Some("uid of another claim"));
    stage.pass(10 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_none());
    assert_eq!(instances(&stage), [] as [&str; 0], "its own claim is not there");
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_found_by_any_form_of_its_id() {
    let mut stage = stage();
    launched(&stage, "web-1", true);
    let status = json!({"status": {"providerID": "TEST://WEB-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    make(&stage, "web-1", None);
    stage.pass(20 * MINUTE).await;
    assert!(stage.find_claim("web-1").is_some());
    assert_eq!(instances(&stage), ["test://web-1"]);
}
