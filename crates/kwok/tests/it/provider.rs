//! Nodes as Karpenter's KWOK provider makes them.

use std::{sync::Arc, time::Duration};

use expect_test::expect;
use joiner_apiserver::{Key, Resource};
use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    inputs::OrderInputs,
    notebook::Notebook,
    order::{ClaimId, Order},
};
use joiner_core::{
    label::{self, Labels},
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY, Resources},
    taint::{Effect, Taint},
};
use joiner_kwok::Kwok;
use serde_json::json;
use tokio::time::Instant;

use crate::stage::{Stage, class, usual_class};

/// A claim as the operator orders it: hydrated, with the types that its pods suit.
fn order(name: &str) -> Order {
    let text = |pairs: &[(&str, &str)]| -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let mut requirements = Requirements::new();
    for (key, values) in [
        (label::INSTANCE_TYPE, &["s-4x-amd64-linux", "c-4x-amd64-linux"][..]),
        (label::CAPACITY_TYPE, &["on-demand"]),
        (label::ZONE, &["test-zone-b"]),
        ("example.com/tier", &["gold"]),
        ("example.com/either", &["a", "b"]),
    ] {
        requirements.add(key, Requirement::one_of(values.iter().copied()));
    }
    Order {
        claim: ClaimId { name: name.to_owned(), uid: format!("uid-of-{name}") },
        node_pool: Some("default".to_owned()),
        labels: text(&[
            ("karpenter.sh/nodepool", "default"),
            ("karpenter.kwok.sh/kwoknodeclass", "default"),
            ("example.com/team", "web"),
        ]),
        annotations: text(&[("karpenter.sh/nodepool-hash", "1")]),
        requirements,
        requests: Resources::from_iter([
            (CPU, Quantity::milli(3300)),
            (MEMORY, Quantity::bytes(1 << 30)),
        ]),
        // KWOK has no kubelet that could register with them; Karpenter adds them later.
        taints: vec![Taint {
            key: "example.com/own".to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
        }],
        startup_taints: Vec::new(),
        corrected: Vec::new(),
        class: usual_class(),
        inputs: OrderInputs::default(),
        kept: Labels::new(),
        notebook: Notebook::default(),
    }
}

/// An order without requirements.
fn any(name: &str) -> Order {
    Order { requirements: Requirements::new(), requests: Resources::new(), ..order(name) }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_written_as_karpenter_writes_it() {
    let stage = Stage::new();
    let (kwok, _) = stage.start();
    let wanted = order("web-1");
    let instance = kwok.create(&wanted).await.unwrap();
    let mut node = stage.nodes().remove(0);
    for field in ["creationTimestamp", "managedFields", "resourceVersion", "uid"] {
        node["metadata"].as_object_mut().unwrap().remove(field);
    }
    // The API server adds this to every node that is created.
    let taints = node["spec"]["taints"].as_array_mut().unwrap();
    taints.retain(|taint| taint["key"] != "node.kubernetes.io/not-ready");
    expect![[r#"
        {
          "apiVersion": "v1",
          "kind": "Node",
          "metadata": {
            "annotations": {
              "joiner.sh/nodeclaim": "web-1",
              "joiner.sh/nodeclaim-uid": "uid-of-web-1",
              "karpenter.sh/nodepool-hash": "1",
              "kwok.x-k8s.io/node": "fake"
            },
            "labels": {
              "eks-node-viewer/instance-price": "0.108590",
              "example.com/team": "web",
              "example.com/tier": "gold",
              "karpenter.kwok.sh/instance-cpu": "4",
              "karpenter.kwok.sh/instance-family": "c",
              "karpenter.kwok.sh/instance-memory": "8Gi",
              "karpenter.kwok.sh/instance-size": "4",
              "karpenter.kwok.sh/kwoknodeclass": "default",
              "karpenter.sh/capacity-type": "on-demand",
              "karpenter.sh/nodepool": "default",
              "kubernetes.io/arch": "amd64",
              "kubernetes.io/hostname": "web-1",
              "kubernetes.io/os": "linux",
              "kwok-partition": "a",
              "kwok.x-k8s.io/node": "fake",
              "node.kubernetes.io/instance-type": "c-4x-amd64-linux",
              "topology.kubernetes.io/zone": "test-zone-b"
            },
            "name": "kwok-web-1-50e84355-2803782228"
          },
          "spec": {
            "providerID": "kwok://kwok-web-1-50e84355-2803782228",
            "taints": [
              {
                "effect": "NoExecute",
                "key": "karpenter.sh/unregistered"
              }
            ]
          },
          "status": {
            "allocatable": {
              "cpu": "3900m",
              "ephemeral-storage": "20Gi",
              "memory": "8182Mi",
              "pods": "64"
            },
            "capacity": {
              "cpu": "3300m",
              "memory": "1Gi"
            },
            "daemonEndpoints": {
              "kubeletEndpoint": {
                "Port": 0
              }
            },
            "nodeInfo": {
              "architecture": "",
              "bootID": "",
              "containerRuntimeVersion": "",
              "kernelVersion": "",
              "kubeProxyVersion": "",
              "kubeletVersion": "",
              "machineID": "",
              "operatingSystem": "",
              "osImage": "",
              "systemUUID": ""
            },
            "phase": "Pending"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&node).unwrap());

    assert_eq!(instance.provider_id, node["spec"]["providerID"]);
    assert_eq!(json!(instance.labels), node["metadata"]["labels"]);
    assert_eq!(instance.claim, Some(wanted.claim));
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_node_follows_from_its_claim() {
    let name = async |claim: &str, uid: &str| {
        let stage = Stage::new();
        let mut wanted = any(claim);
        uid.clone_into(&mut wanted.claim.uid);
        let instance = stage.start().0.create(&wanted).await.unwrap();
        instance.provider_id.strip_prefix("kwok://").unwrap().to_owned()
    };
    let first = name("web-1", "a").await;
    assert_eq!(first, name("web-1", "a").await, "whoever makes it");
    assert_ne!(first, name("web-1", "b").await, "a later claim of this name is another");
    let rest = first.strip_prefix("kwok-web-1-").unwrap();
    let (word, number) = rest.split_once('-').unwrap();
    assert!(word.len() == 8 && number.parse::<u32>().is_ok(), "{first}");
}

/// The type, the zone and the capacity type that an instance got.
async fn chosen(kwok: &Kwok, wanted: &Order) -> [String; 3] {
    let instance = kwok.create(wanted).await.unwrap();
    [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE]
        .map(|key| instance.labels[key].clone())
}

#[tokio::test(start_paused = true)]
async fn the_cheapest_instance_is_made_and_equal_zones_get_equally_many() {
    let stage = Stage::new();
    let (kwok, _) = stage.start();
    let mut zones = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..20 {
        let [own_type, zone, capacity_type] = chosen(&kwok, &any(&format!("web-{number}"))).await;
        assert_eq!((own_type.as_str(), capacity_type.as_str()), ("c-1x-amd64-linux", "spot"));
        *zones.entry(zone).or_default() += 1;
    }
    assert_eq!(zones.values().copied().collect::<Vec<_>>(), [5; 4], "{zones:?}");
}

#[tokio::test(start_paused = true)]
async fn types_come_from_a_file_where_there_is_one() {
    let stage = Stage::new();
    let offering = |price: f64, zone: &str| {
        json!({"Price": price, "Available": true, "Requirements": [
            {"key": label::CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]},
            {"key": label::ZONE, "operator": "In", "values": [zone]},
        ]})
    };
    let own = |name: &str, offerings: serde_json::Value| {
        json!({
            "name": name, "offerings": offerings, "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "20Gi"},
        })
    };
    let types = json!([
        own("m5.large", json!([offering(0.2, "one"), offering(0.1, "two")])),
        own("m6.large", json!([offering(0.1, "three")])),
    ]);
    let kwok = stage.start_with(&types.to_string());
    assert_eq!(
        chosen(&kwok, &any("web-1")).await,
        ["m5.large", "two", "on-demand"],
        "the first of equally cheap types"
    );
    let labels = &stage.nodes()[0]["metadata"]["labels"];
    assert_eq!(labels["karpenter.kwok.sh/instance-size"], "large");
    assert_eq!(labels["eks-node-viewer/instance-price"], "0.100000");
    let listed = kwok.instance_types("default", &usual_class()).unwrap();
    assert_eq!(listed.len(), 2);
    let refused = kwok.create(&order("web-2")).await.unwrap_err();
    assert!(matches!(refused, CloudError::InsufficientCapacity(_)), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_takes_as_long_as_its_class_says() {
    let stage = Stage::new();
    let (kwok, _) = stage.start();
    let slow = Arc::new(class(json!({"nodeRegistrationDelay": "1m30s"})));
    let wanted = Order { class: slow, ..any("web-1") };
    let before = Instant::now();
    {
        let interrupted = tokio::time::timeout(Duration::from_mins(1), kwok.create(&wanted)).await;
        assert!(interrupted.is_err());
        assert_eq!(stage.nodes().len(), 0);
    }
    kwok.create(&wanted).await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_secs(60 + 90));
    assert_eq!(stage.nodes().len(), 1);
    kwok.create(&wanted).await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_secs(60 + 90), "what is there is not waited for");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_cannot_be_used_is_named() {
    let stage = Stage::new();
    let (kwok, _) = stage.start();
    let wrong = Arc::new(class(json!({"nodeRegistrationDelay": "soon"})));
    let refused = kwok.create(&Order { class: wrong, ..any("web-1") }).await.unwrap_err();
    let CloudError::NodeClassNotReady(message) = refused else { panic!("{refused:?}") };
    assert!(
        message.starts_with("KWOKNodeClass \"default\": spec.nodeRegistrationDelay \"soon\": "),
        "{message}"
    );

    let mut not_ready = class(json!({}));
    not_ready.status = json!({"conditions": [
        {"type": "Ready", "status": "False", "reason": "Test", "message": "not today"},
    ]});
    let refused = kwok.create(&Order { class: Arc::new(not_ready), ..any("web-1") }).await;
    assert_eq!(refused, Err(CloudError::NodeClassNotReady("not today".to_owned())));
    assert_eq!(stage.nodes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_karpenter_has_made_are_taken_over() {
    let stage = Stage::new();
    let claim = ClaimId { name: "web-1".to_owned(), uid: "uid-of-web-1".to_owned() };
    stage.create_node(json!({
        "metadata": {
            "name": "kwok-web-1-happy-hopper-42",
            "labels": {"karpenter.kwok.sh/kwoknodeclass": "default", "kwok.x-k8s.io/node": "fake"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "ownerReferences": [{
                "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "name": claim.name, "uid": claim.uid, "blockOwnerDeletion": true,
            }],
        },
        "spec": {"providerID": "kwok://kwok-web-1-happy-hopper-42"},
    }));
    let (kwok, _) = stage.start();
    let listed = kwok.list().await.unwrap().instances;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].claim, Some(claim.clone()));
    let id = listed[0].provider_id.as_str();
    assert_eq!(
        kwok.get(&ClaimId::default(), id).await.unwrap().unwrap().claim,
        Some(claim.clone())
    );
    assert_eq!(kwok.delete(&claim, Some(id)).await, Ok(Deletion::Requested));
    assert_eq!(kwok.delete(&claim, Some(id)).await, Ok(Deletion::Gone));
    assert_eq!(stage.nodes().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_end_waits_for_us_is_gone_for_its_cloud() {
    let stage = Stage::new();
    let (kwok, _) = stage.start();
    let mut wanted = any("web-1");
    wanted.requests = Resources::from_iter([(CPU, Quantity::whole(1))]);
    let instance = kwok.create(&wanted).await.unwrap();
    let name = instance.provider_id.strip_prefix("kwok://").unwrap();
    let finalizers = json!({"metadata": {"finalizers": ["karpenter.sh/termination"]}});
    let (nodes, key) = (Resource::new("", "nodes"), Key::new("", name));
    stage.lab.caller("test").merge(&nodes, &key, None, finalizers).unwrap();
    stage.delete_node(name);
    assert_eq!(kwok.get(&ClaimId::default(), &instance.provider_id).await, Ok(None));
    assert_eq!(kwok.delete(&wanted.claim, Some(&instance.provider_id)).await, Ok(Deletion::Gone));
    assert_eq!(stage.nodes().len(), 1, "the finalizer is not the cloud's");
}
