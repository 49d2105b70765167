//! EE-09: buffers in a whole cluster, with the whole engine.

use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_lab::Lab;
use serde_json::{Value, json};

use super::{buffer, condition, template};
use crate::whole::{create, deployment, furnished, pass_with, scale};

const GROUP: &str = "autoscaling.x-k8s.io";
const FITS: &str = "True FitsExistingCapacity: ";

async fn pass(lab: &mut Lab, minutes: i64, seed: u64) {
    pass_with(lab, minutes, seed, "CapacityBuffer=true").await;
}

/// A cluster with a buffer of so many pods of one CPU, with this on top of the buffer's spec.
async fn with_buffer(replicas: u64) -> Lab {
    let mut lab = furnished(1);
    create(&lab, "", "podtemplates", template("chunk", "1"));
    create_buffer(
        &lab,
        "spare",
        &json!({"podTemplateRef": {"name": "chunk"}, "replicas": replicas}),
    );
    pass(&mut lab, 5, 1).await;
    lab
}

fn create_buffer(lab: &Lab, name: &str, spec: &Value) {
    create(lab, GROUP, "capacitybuffers", buffer(name, spec));
}

fn merge_buffer(lab: &Lab, name: &str, spec: &Value) {
    let (buffers, key) = (Resource::new(GROUP, "capacitybuffers"), Key::new("default", name));
    lab.caller("user").merge(&buffers, &key, None, json!({"spec": spec})).unwrap();
}

fn delete_buffer(lab: &Lab, name: &str) {
    let (buffers, key) = (Resource::new(GROUP, "capacitybuffers"), Key::new("default", name));
    lab.caller("user").delete(&buffers, &key, DeleteOptions::default()).unwrap();
}

fn provisioning(lab: &Lab, name: &str) -> String {
    let (buffers, key) = (Resource::new(GROUP, "capacitybuffers"), Key::new("default", name));
    let found = lab.caller("admin").get(&buffers, &key).unwrap().value();
    condition(&found, "Provisioning")
}

fn list(lab: &Lab, group: &str, plural: &str) -> Vec<Value> {
    let found = lab.caller("admin").list(&Resource::new(group, plural), None);
    found.iter().map(|object| object.value()).collect()
}

fn nodes(lab: &Lab) -> usize {
    list(lab, "", "nodes").len()
}

/// CPUs of all nodes that no pod has asked for.
fn free_cpu(lab: &Lab) -> f64 {
    let amount = |text: &Value| match text.as_str().unwrap_or("0") {
        milli if milli.ends_with('m') => milli.trim_end_matches('m').parse::<f64>().unwrap() / 1e3,
        whole => whole.parse::<f64>().unwrap(),
    };
    let offered = list(lab, "", "nodes");
    let offered: f64 =
        offered.iter().map(|node| amount(&node["status"]["allocatable"]["cpu"])).sum();
    let pods = list(lab, "", "pods");
    let asked = pods
        .iter()
        .filter(|pod| pod["spec"]["nodeName"].is_string())
        .map(|pod| amount(&pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]));
    offered - asked.sum::<f64>()
}

fn running(lab: &Lab) -> usize {
    list(lab, "", "pods").iter().filter(|pod| pod["status"]["phase"] == "Running").count()
}

#[tokio::test(start_paused = true)]
async fn ee09_a_buffer_of_a_template_has_room_before_any_pod_comes() {
    let lab = with_buffer(5).await;
    assert!(free_cpu(&lab) >= 5.0, "{}", free_cpu(&lab));
    let expected = format!("{FITS}All 5 virtual pods fit on existing capacity");
    assert_eq!(provisioning(&lab, "spare"), expected);
    assert_eq!(list(&lab, "", "pods"), Vec::<Value>::new(), "virtual pods are nobody's");
}

#[tokio::test(start_paused = true)]
async fn ee09_pods_take_the_room_at_once_and_it_is_made_anew() {
    let mut lab = with_buffer(4).await;
    let nodes_before = nodes(&lab);
    // As many pods of 900m as there is room for.
    let pods = (free_cpu(&lab) / 0.9) as u64;
    create(&lab, "apps", "deployments", deployment("web", pods));
    pass(&mut lab, 1, 2).await;
    assert_eq!(running(&lab), pods as usize, "nobody waits for a node");
    pass(&mut lab, 5, 3).await;
    assert!(free_cpu(&lab) >= 4.0, "{}", free_cpu(&lab));
    assert!(nodes(&lab) > nodes_before);
    assert!(provisioning(&lab, "spare").starts_with(FITS));
}

#[tokio::test(start_paused = true)]
async fn ee09_a_buffer_for_a_workload_follows_it() {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 10));
    let scalable = json!({"apiGroup": "apps", "kind": "Deployment", "name": "web"});
    create_buffer(&lab, "spare", &json!({"scalableRef": scalable, "percentage": 50}));
    pass(&mut lab, 8, 1).await;
    assert!(free_cpu(&lab) >= 4.5, "half of ten pods of 900m: {}", free_cpu(&lab));
    scale(&lab, "web", 20);
    pass(&mut lab, 8, 2).await;
    assert!(free_cpu(&lab) >= 9.0, "{}", free_cpu(&lab));
    assert_eq!(
        provisioning(&lab, "spare"),
        format!("{FITS}All 10 virtual pods fit on existing capacity")
    );
}

#[tokio::test(start_paused = true)]
async fn ee09_a_buffer_that_comes_before_its_workload_recovers() {
    let mut lab = furnished(1);
    let scalable = json!({"kind": "Deployment", "name": "web"});
    create_buffer(&lab, "spare", &json!({"scalableRef": scalable, "replicas": 3}));
    pass(&mut lab, 3, 1).await;
    assert_eq!(nodes(&lab), 0);
    create(&lab, "apps", "deployments", deployment("web", 1));
    pass(&mut lab, 5, 2).await;
    assert!(free_cpu(&lab) >= 2.7, "{}", free_cpu(&lab));
    assert!(provisioning(&lab, "spare").starts_with(FITS));
}

#[tokio::test(start_paused = true)]
async fn ee09_fewer_replicas_ask_for_less_and_more_limits_for_more() {
    let mut lab = with_buffer(5).await;
    merge_buffer(&lab, "spare", &json!({"replicas": 2}));
    pass(&mut lab, 2, 2).await;
    assert_eq!(
        provisioning(&lab, "spare"),
        format!("{FITS}All 2 virtual pods fit on existing capacity")
    );
    merge_buffer(&lab, "spare", &json!({"replicas": null, "limits": {"cpu": "12"}}));
    pass(&mut lab, 5, 3).await;
    assert!(free_cpu(&lab) >= 12.0, "{}", free_cpu(&lab));
    merge_buffer(&lab, "spare", &json!({"replicas": 0, "limits": null}));
    pass(&mut lab, 2, 4).await;
    assert_eq!(provisioning(&lab, "spare"), "False BufferEmpty: Buffer has zero desired replicas");
}

#[tokio::test(start_paused = true)]
async fn ee09_a_pool_limit_counts_for_buffers_and_the_buffer_says_why_it_lacks_room() {
    let mut lab = furnished(1);
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "default"));
    let limited = json!({"spec": {"limits": {"cpu": "4"}}});
    lab.caller("user").merge(&pools, &key, None, limited).unwrap();
    create(&lab, "", "podtemplates", template("chunk", "1"));
    create_buffer(&lab, "spare", &json!({"podTemplateRef": {"name": "chunk"}, "replicas": 20}));
    pass(&mut lab, 5, 1).await;
    let capacity: i64 = list(&lab, "", "nodes")
        .iter()
        .filter_map(|node| node["status"]["capacity"]["cpu"].as_str()?.parse::<i64>().ok())
        .sum();
    assert!(capacity <= 4, "{capacity}");
    let said = provisioning(&lab, "spare");
    assert!(said.starts_with("False RequiresNewCapacity: 0/20 virtual pods required"), "{said}");
    assert!(said.contains("limit"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn ee09_several_buffers_have_room_each() {
    let mut lab = with_buffer(3).await;
    create(&lab, "", "podtemplates", template("large", "2"));
    create_buffer(&lab, "other", &json!({"podTemplateRef": {"name": "large"}, "replicas": 3}));
    pass(&mut lab, 5, 2).await;
    assert!(free_cpu(&lab) >= 9.0, "{}", free_cpu(&lab));
    assert!(provisioning(&lab, "spare").starts_with(FITS));
    assert!(provisioning(&lab, "other").starts_with(FITS));
}

#[tokio::test(start_paused = true)]
async fn ee09_buffers_that_come_and_go_leave_no_more_nodes_than_one() {
    let mut lab = with_buffer(3).await;
    let nodes_of_one = nodes(&lab);
    for seed in 2..6 {
        delete_buffer(&lab, "spare");
        let spec = json!({"podTemplateRef": {"name": "chunk"}, "replicas": 3});
        create_buffer(&lab, "spare", &spec);
        pass(&mut lab, 1, seed).await;
    }
    assert_eq!(nodes(&lab), nodes_of_one);
}

#[tokio::test(start_paused = true)]
async fn ee09_the_selector_of_a_template_counts() {
    let mut lab = furnished(1);
    let mut zoned = template("zoned", "1");
    zoned["template"]["spec"]["nodeSelector"] = json!({"topology.kubernetes.io/zone": "zone-b"});
    create(&lab, "", "podtemplates", zoned);
    create_buffer(&lab, "spare", &json!({"podTemplateRef": {"name": "zoned"}, "replicas": 2}));
    pass(&mut lab, 5, 1).await;
    assert!(nodes(&lab) > 0);
    let zones = list(&lab, "", "nodes");
    let zone = |node: &Value| node["metadata"]["labels"]["topology.kubernetes.io/zone"].clone();
    assert!(zones.iter().all(|node| zone(node) == "zone-b"));
}

#[tokio::test(start_paused = true)]
async fn ee09_pods_that_keep_apart_keep_apart_in_a_buffer_too() {
    let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {"app": "apart"}},
        "topologyKey": "kubernetes.io/hostname",
    }]}});
    let mut lab = furnished(1);
    let mut chunk = template("apart", "1");
    chunk["template"]["spec"]["affinity"] = apart.clone();
    create(&lab, "", "podtemplates", chunk);
    create_buffer(&lab, "spare", &json!({"podTemplateRef": {"name": "apart"}, "replicas": 3}));
    pass(&mut lab, 5, 1).await;
    assert_eq!(nodes(&lab), 3);

    let mut lab = furnished(1);
    let mut workload = deployment("apart", 1);
    workload["spec"]["template"]["spec"]["affinity"] = apart;
    create(&lab, "apps", "deployments", workload);
    let scalable = json!({"kind": "Deployment", "name": "apart"});
    create_buffer(&lab, "spare", &json!({"scalableRef": scalable, "replicas": 2}));
    pass(&mut lab, 5, 2).await;
    assert_eq!(nodes(&lab), 3, "one for the pod, one for each virtual pod");
}

#[tokio::test(start_paused = true)]
async fn ee09_room_on_a_node_that_goes_is_made_anew() {
    let mut lab = with_buffer(3).await;
    let claims = list(&lab, "karpenter.sh", "nodeclaims");
    let first = claims[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let (resource, key) = (Resource::new("karpenter.sh", "nodeclaims"), Key::new("", &first));
    lab.caller("user").delete(&resource, &key, DeleteOptions::default()).unwrap();
    pass(&mut lab, 8, 2).await;
    assert!(free_cpu(&lab) >= 3.0, "{}", free_cpu(&lab));
    assert!(provisioning(&lab, "spare").starts_with(FITS));
}

/// Has the pool want instances with another label, so that those there are have drifted.
fn drift(lab: &Lab) {
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "default"));
    let patch = json!({"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}});
    lab.caller("user").merge(&pools, &key, None, patch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn ee09_empty_nodes_that_keep_room_for_a_buffer_stay_until_it_goes() {
    let mut lab = with_buffer(5).await;
    let nodes_of_buffer = nodes(&lab);
    pass(&mut lab, 60, 2).await;
    assert_eq!(nodes(&lab), nodes_of_buffer, "nothing runs there, and it is wanted so");
    assert!(provisioning(&lab, "spare").starts_with(FITS));
    delete_buffer(&lab, "spare");
    pass(&mut lab, 10, 3).await;
    assert_eq!(nodes(&lab), 0);
}

#[tokio::test(start_paused = true)]
async fn ee09_a_buffer_of_nothing_keeps_no_node() {
    let mut lab = with_buffer(5).await;
    merge_buffer(&lab, "spare", &json!({"replicas": 0}));
    pass(&mut lab, 10, 2).await;
    assert_eq!(nodes(&lab), 0);
}

#[tokio::test(start_paused = true)]
async fn ee09_consolidation_leaves_the_room_of_a_buffer() {
    let mut lab = with_buffer(3).await;
    create(&lab, "apps", "deployments", deployment("web", 30));
    pass(&mut lab, 8, 2).await;
    scale(&lab, "web", 4);
    pass(&mut lab, 20, 3).await;
    assert_eq!(running(&lab), 4);
    let free = free_cpu(&lab);
    assert!((3.0..8.0).contains(&free), "{free} CPUs are free for a buffer of 3");
    assert!(provisioning(&lab, "spare").starts_with(FITS));
}

#[tokio::test(start_paused = true)]
async fn ee09_drifted_nodes_that_keep_room_are_replaced() {
    let mut lab = with_buffer(3).await;
    drift(&lab);
    pass(&mut lab, 15, 2).await;
    let generation = |node: &Value| node["metadata"]["labels"]["generation"] == "2";
    assert!(list(&lab, "", "nodes").iter().all(generation));
    assert!(free_cpu(&lab) >= 3.0, "{}", free_cpu(&lab));
    assert!(provisioning(&lab, "spare").starts_with(FITS));
}
