//! §11.4 N-01 to N-23, N-34 and NH: what is written on pools.

use joiner_api::{condition::find, hash::NODE_POOL_HASH_VERSION};
use joiner_cloud::testing::TEST_NODE_CLASS;
use joiner_operator::{
    conditions::{Conditioned, NODE_CLASS_READY, VALIDATION_SUCCEEDED},
    pools::{PoolCounter, PoolHash, PoolReadiness, PoolValidation},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::{
    lifecycle::with_lifecycle,
    play::{amounts, node, pool_claim},
    stage::{Stage, pool},
    static_pools::static_pool,
};

const HASH: &str = "karpenter.sh/nodepool-hash";
const HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// Pools are counted every five seconds: after so many they have been.
const COUNTED: i64 = 6;

fn change_pool(stage: &Stage, name: &str, spec: &Value) {
    stage.merge("karpenter.sh", "nodepools", name, None, json!({"spec": spec}));
}

/// Whatever can be said of a pool would be said of these two, which differ in their provider alone.
#[tokio::test(start_paused = true)]
async fn n01_n12_n19_n34_a_pool_of_another_provider_is_let_alone() {
    let mut stage = Stage::bare()
        .with_rounds(PoolCounter)
        .with(PoolHash)
        .with(PoolReadiness)
        .with(PoolValidation);
    stage.create_class("default");
    let taint = json!({"key": "example.com/tier", "effect": "NoSchedule"});
    for (name, class) in [("general", TEST_NODE_CLASS.kind), ("foreign", "OtherNodeClass")] {
        let mut pool = pool(name);
        let template = &mut pool["spec"]["template"]["spec"];
        template["nodeClassRef"]["kind"] = class.into();
        // The same taint twice makes no sense.
        template["taints"] = json!([taint]);
        template["startupTaints"] = json!([taint]);
        stage.create("karpenter.sh", "nodepools", pool);
        launch(&stage, name, &format!("{name}-1"), &amounts());
    }
    let foreign = |stage: &Stage| stage.find::<Value>("karpenter.sh", "nodepools", "foreign");
    let as_created = foreign(&stage);
    stage.pass(COUNTED).await;
    let general = stage.pool("general");
    assert!(general.metadata.annotations.as_ref().unwrap().contains_key(HASH));
    assert!(general.holds(NODE_CLASS_READY));
    assert_eq!(find(general.conditions(), VALIDATION_SUCCEEDED).unwrap().status, "False");
    assert_eq!(general.status.unwrap().nodes, Some(1));
    assert_eq!(foreign(&stage), as_created);
}

/// A stage with a pool whose instances are counted.
fn counting() -> Stage {
    let stage = Stage::bare().with_rounds(PoolCounter);
    stage.create_pool("general");
    stage
}

/// Everything that a pool says its instances have together. How many there are is said twice.
fn counted(stage: &Stage, pool: &str) -> String {
    let status = stage.pool(pool).status.unwrap();
    let amounts: Vec<String> =
        status.resources.iter().map(|(name, amount)| format!("{name} {}", amount.0)).collect();
    let text = amounts.join(", ");
    let nodes = status.nodes.unwrap();
    assert!(text.contains(&format!("nodes {nodes}")), "{nodes}: {text}");
    text
}

/// Has the cloud make an instance that has so much. Something keeps its claim once it is deleted.
fn launch(stage: &Stage, pool: &str, name: &str, capacity: &Value) {
    let mut claim = pool_claim(name, &json!(stage.pool(pool)));
    claim["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.create_claim_as(claim);
    let status = json!({"status": {"providerID": format!("test://{name}"), "capacity": capacity}});
    stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
}

/// Has a claim go for good.
fn remove(stage: &Stage, claim: &str) {
    stage.delete_claim(claim);
    let free = json!({"metadata": {"finalizers": null}});
    stage.merge("karpenter.sh", "nodeclaims", claim, None, free);
}

const NOTHING: &str = "cpu 0, ephemeral-storage 0, memory 0, nodes 0, pods 0";
const ONE: &str = "cpu 4, ephemeral-storage 0, memory 16Gi, nodes 1, pods 110";
const TWO: &str = "cpu 8, ephemeral-storage 0, memory 32Gi, nodes 2, pods 220";

#[tokio::test(start_paused = true)]
async fn n02_n07_a_pool_without_instances_has_nothing_and_says_so() {
    let mut stage = counting();
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), NOTHING);
}

/// Kubelets know nothing of devices before their plugins have started.
#[tokio::test(start_paused = true)]
async fn n03_what_a_claim_promises_counts_until_its_node_knows_better() {
    let mut stage = counting();
    let of = |memory: &str, devices: &str| json!({"cpu": "4", "memory": memory, "pods": "110", "example.com/gpu": devices});
    launch(&stage, "general", "web-1", &of("16Gi", "2"));
    stage.pass(COUNTED).await;
    let shown = |memory: &str, devices: &str| {
        format!(
            "cpu 4, ephemeral-storage 0, example.com/gpu {devices}, memory {memory}, nodes 1, \
             pods 110"
        )
    };
    assert_eq!(counted(&stage, "general"), shown("16Gi", "2"));

    let mut joined = node("node-1", "web-1");
    joined["metadata"]["labels"] =
        json!({"karpenter.sh/nodepool": "general", "karpenter.sh/registered": "true"});
    stage.join(joined);
    stage.report("node-1", true, &of("15Gi", "0"));
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), shown("15Gi", "2"));

    let initialized = json!({"metadata": {"labels": {"karpenter.sh/initialized": "true"}}});
    stage.merge("", "nodes", "node-1", None, initialized);
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), shown("15Gi", "0"), "one is broken, or there is none");
}

#[tokio::test(start_paused = true)]
async fn n04_n05_n06_n08_n09_instances_that_come_and_go_are_counted_down_to_none() {
    let mut stage = counting();
    launch(&stage, "general", "web-1", &amounts());
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), ONE);
    launch(&stage, "general", "web-2", &amounts());
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), TWO);
    for (gone, left) in [("web-1", ONE), ("web-2", NOTHING)] {
        remove(&stage, gone);
        stage.pass(COUNTED).await;
        assert_eq!(counted(&stage, "general"), left);
    }
}

#[tokio::test(start_paused = true)]
async fn n06_a_resource_that_no_instance_has_any_more_is_not_shown() {
    let mut stage = counting();
    launch(&stage, "general", "web-1", &json!({"cpu": "4", "example.com/gpu": "2"}));
    stage.pass(COUNTED).await;
    assert!(counted(&stage, "general").contains("example.com/gpu 2"));
    remove(&stage, "web-1");
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn n10_n11_each_pool_counts_its_own_and_a_static_one_those_it_has() {
    let mut stage = counting();
    stage.create_pool("other");
    stage.create("karpenter.sh", "nodepools", static_pool("batch", 3));
    for (pool, name) in [("general", "web-1"), ("batch", "batch-1"), ("batch", "batch-2")] {
        launch(&stage, pool, name, &amounts());
    }
    stage.pass(COUNTED).await;
    for (pool, expected) in [("general", ONE), ("other", NOTHING), ("batch", TWO)] {
        assert_eq!(counted(&stage, pool), expected, "{pool}");
    }
    change_pool(&stage, "batch", &json!({"replicas": 1}));
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "batch"), TWO, "nobody has removed any yet");
}

/// Limits leave room for those who come in their place.
#[tokio::test(start_paused = true)]
async fn n05_instances_that_leave_are_not_counted_however_that_is_known() {
    let mut stage = counting();
    for name in ["stays", "deleted", "ends", "replaced"] {
        launch(&stage, "general", name, &amounts());
    }
    stage.delete_claim("deleted");
    let ends = json!({"status": {"conditions": [{
        "type": "InstanceTerminating", "status": "True", "reason": "InstanceTerminating",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    stage.merge("karpenter.sh", "nodeclaims", "ends", Some("status"), ends);
    stage.context.cache.intend(|intended| intended.leave("replaced"));
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), ONE);
    stage.context.cache.intend(|intended| intended.forget("replaced"));
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), TWO, "its command was given up");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_no_cloud_has_answered_has_nothing_yet() {
    let mut stage = counting();
    stage.create_claim_as(pool_claim("web-1", &json!(stage.pool("general"))));
    stage.pass(COUNTED).await;
    assert_eq!(counted(&stage, "general"), NOTHING);
}

/// The hash that an object carries, and in which way it was made.
fn marks(metadata: &ObjectMeta) -> [String; 2] {
    let annotations = metadata.annotations.clone().unwrap_or_default();
    [HASH, HASH_VERSION].map(|key| annotations.get(key).cloned().unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn n13_n14_the_hash_is_of_what_instances_are_made_from_and_of_nothing_else() {
    let mut stage = Stage::bare().with(PoolHash);
    stage.create_pool("general");
    stage.create("karpenter.sh", "nodepools", static_pool("batch", 1));
    stage.pass(1).await;
    let template = |spec: Value| json!({"template": {"spec": spec}});
    let metadata = |metadata: Value| json!({"template": {"metadata": metadata}});
    let zone = json!([{
        "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"],
    }]);
    let taint = json!([{"key": "example.com/tier", "effect": "NoSchedule"}]);
    for (pool, spec, counts) in [
        ("general", json!({"disruption": {"consolidationPolicy": "WhenEmpty"}}), false),
        ("general", json!({"disruption": {"consolidateAfter": "5m"}}), false),
        ("general", json!({"disruption": {"budgets": [{"nodes": "0"}]}}), false),
        ("general", json!({"limits": {"cpu": "100"}}), false),
        ("general", json!({"weight": 5}), false),
        ("general", template(json!({"requirements": zone})), false),
        ("batch", json!({"replicas": 3}), false),
        ("batch", json!({"limits": {"nodes": "5"}}), false),
        ("general", metadata(json!({"labels": {"team": "blue"}})), true),
        ("general", metadata(json!({"annotations": {"note": "kept"}})), true),
        ("general", template(json!({"taints": taint})), true),
        ("general", template(json!({"startupTaints": taint})), true),
        ("general", template(json!({"expireAfter": "48h"})), true),
        ("general", template(json!({"terminationGracePeriod": "5m"})), true),
        ("general", template(json!({"nodeClassRef": {"name": "other"}})), true),
        ("batch", metadata(json!({"labels": {"team": "blue"}})), true),
    ] {
        let before = marks(&stage.pool(pool).metadata);
        change_pool(&stage, pool, &spec);
        stage.pass(1).await;
        let [hash, version] = marks(&stage.pool(pool).metadata);
        assert_eq!(hash != before[0], counts, "{spec}");
        assert_eq!(version, NODE_POOL_HASH_VERSION);
    }
}

/// A stage with a pool that has these marks, and nobody who has looked at it yet.
fn marked(pool: [&str; 2]) -> Stage {
    let stage = Stage::bare().with(PoolHash);
    stage.create_pool("general");
    mark(&stage, "nodepools", "general", pool);
    stage
}

fn mark(stage: &Stage, plural: &str, name: &str, [hash, version]: [&str; 2]) {
    let marks = json!({"metadata": {"annotations": {HASH: hash, HASH_VERSION: version}}});
    stage.merge("karpenter.sh", plural, name, None, marks);
}

/// A claim that was made before, with marks if it has any.
fn marked_claim(stage: &Stage, pool: &str, name: &str, marks: Option<[&str; 2]>) {
    stage.create_claim_as(pool_claim(name, &json!(stage.pool(pool))));
    if let Some(marks) = marks {
        mark(stage, "nodeclaims", name, marks);
    }
}

#[tokio::test(start_paused = true)]
async fn n15_n16_n18_a_new_way_of_hashing_drifts_no_instance_and_heals_none() {
    let mut stage = marked(["7", "v1"]);
    stage.create_pool("other");
    mark(&stage, "nodepools", "other", ["9", NODE_POOL_HASH_VERSION]);
    for (pool, name, marks) in [
        ("general", "old", Some(["7", "v1"])),
        ("general", "bare", None),
        ("general", "drifted", Some(["5", "v1"])),
        ("general", "new", Some(["5", NODE_POOL_HASH_VERSION])),
        ("other", "others", Some(["7", "v1"])),
    ] {
        marked_claim(&stage, pool, name, marks);
    }
    let drifted = json!({"status": {"conditions": [{
        "type": "Drifted", "status": "True", "reason": "NodePoolDrifted", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    stage.merge("karpenter.sh", "nodeclaims", "drifted", Some("status"), drifted);
    stage.pass(1).await;
    let [hash, version] = marks(&stage.pool("general").metadata);
    assert_ne!(hash, "7");
    assert_eq!(version, NODE_POOL_HASH_VERSION);
    for (name, expected, why) in [
        ("old", [&*hash, &*version], "that it was made from the same is no longer to be seen"),
        ("bare", [&*hash, &*version], "so it is with one that never had any"),
        ("drifted", ["5", &*version], "it has drifted, whatever hashes say"),
        ("new", ["5", &*version], "its hash can be compared"),
        ("others", ["7", "v1"], "its own pool was hashed in the new way already"),
    ] {
        assert_eq!(marks(&stage.claim(name).metadata), expected, "{name}: {why}");
    }
}

#[tokio::test(start_paused = true)]
async fn n17_where_the_way_of_hashing_is_the_same_claims_keep_what_they_were_made_from() {
    let mut stage = marked(["7", NODE_POOL_HASH_VERSION]);
    marked_claim(&stage, "general", "web-1", Some(["7", NODE_POOL_HASH_VERSION]));
    stage.pass(1).await;
    let [hash, version] = marks(&stage.pool("general").metadata);
    assert_ne!(hash, "7", "the pool has changed");
    assert_eq!(version, NODE_POOL_HASH_VERSION);
    assert_eq!(marks(&stage.claim("web-1").metadata), ["7", NODE_POOL_HASH_VERSION]);
}

#[tokio::test(start_paused = true)]
async fn n21_n22_n23_a_pool_tells_of_its_class_what_the_class_tells_of_itself() {
    let mut stage = Stage::bare().with(PoolReadiness);
    stage.create_pool("general");
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": "NoSuchNetwork", "message": "create it",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let unknown = "False NodeClassReadinessUnknown: Node Class Readiness Unknown";
    for (conditions, expected) in [
        (json!([]), unknown),
        (json!([condition("Ready", "False")]), "False NoSuchNetwork: create it"),
        (json!([condition("Ready", "Unknown")]), unknown),
        (json!([condition("Ready", "True")]), "True NodeClassReady: "),
        // Others do not say whether instances can be made.
        (json!([condition("Valid", "True")]), unknown),
    ] {
        let (group, plural) = (TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural);
        let said = json!({"status": {"conditions": conditions}});
        stage.merge(group, plural, "default", Some("status"), said);
        stage.pass(1).await;
        let pool = stage.pool("general");
        let found = find(pool.conditions(), NODE_CLASS_READY).unwrap();
        let found = format!("{} {}: {}", found.status, found.reason, found.message);
        assert_eq!(found, expected, "{conditions}");
    }
}

#[tokio::test(start_paused = true)]
async fn nh09_what_becomes_of_one_pools_instances_says_nothing_of_another_pool() {
    let mut stage = with_lifecycle(Stage::bare());
    for (pool, claims) in
        [("sound", &["sound-1"][..]), ("flaky", &["flaky-1", "flaky-2"][..]), ("idle", &[][..])]
    {
        let pool = stage.create_pool(pool);
        for claim in claims {
            stage.create_claim_as(pool_claim(claim, &pool));
        }
    }
    stage.pass(1).await;
    stage.join(node("node-1", "sound-1"));
    // Those who have not joined by then are given up.
    stage.pass(16 * 60).await;
    for (pool, status, reason) in [
        ("sound", "True", "NodeRegistrationHealthy"),
        ("flaky", "False", "RegistrationFailed"),
        ("idle", "Unknown", "AwaitingReconciliation"),
    ] {
        let expected = Some((status.to_owned(), reason.to_owned()));
        assert_eq!(stage.health_of(pool), expected, "{pool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_be_written_keeps_no_other_from_being_counted() {
    let mut stage = counting();
    stage.create_pool("other");
    stage.faults("at 0s joiner: 503 on patch nodepools once");
    stage.begin().await;
    let nodes = |pool: &str| stage.pool(pool).status.and_then(|status| status.nodes);
    assert_eq!([nodes("general"), nodes("other")], [None, Some(0)]);
}
