use std::collections::BTreeMap;

use joiner_cloud::{
    bootstrap::{
        Distro, Facts, GuestLookup, ProviderId,
        class_text::{Fetched, Recipient, example_token},
    },
    inputs::SecretData,
    order::{ClaimId, Order},
};
use joiner_core::taint::Taint;
use serde_json::Value;

use super::*;
use crate::Settings;

const SPEC: &str = r#"{"instanceTypes": [{"os": "linux", "cpu": 4, "memory": 16, "zone": "az1"}], "diskSize": 40}"#;

fn class(more: Value) -> NodeClass {
    let mut spec: Value = serde_json::from_str(SPEC).unwrap();
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    NodeClass::read(&json!({"metadata": {"name": "general"}, "spec": spec})).unwrap()
}

fn rke2() -> Facts {
    Facts {
        provider_id: Some(ProviderId::Guest(GuestLookup::Dmi)),
        ..Facts::given(Distro::Rke2, "https://10.0.0.10:9345", "v1.33.4+rke2r1", "s3cret")
    }
}

fn order() -> Order {
    let claim = ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() };
    Order {
        labels: [("team".to_owned(), "a".to_owned())].into(),
        startup_taints: vec![Taint::unregistered()],
        ..Order::plain(claim, "general", std::sync::Arc::default())
    }
}

/// A Secret with a user's text in it.
fn secrets() -> BTreeMap<SecretName, SecretData> {
    let name = SecretName { namespace: None, name: "texts".to_owned() };
    let text = Secret::new(b"packages: [from-secret]".to_vec());
    [(name, [("userData".to_owned(), text)].into())].into()
}

/// What the guest reads.
fn text_of(class: &NodeClass, cluster: &Facts) -> Result<String, String> {
    let instances = class.instances(&Settings::default()).unwrap();
    let order = order();
    let recipient = Recipient {
        node_name: "prod-karp-general-1",
        instance_type: &instances.types[0],
        token: example_token(cluster),
        order: Some(&order),
    };
    let fetched = Fetched { facts: cluster, secrets: &secrets() };
    let encoded =
        class_text(class).text(&fetched, &recipient).map_err(|error| error.to_string())?;
    let bytes = STANDARD.decode(encoded.bytes.reveal()).unwrap();
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn labels_startup_taints_and_the_planners_numbers_reach_the_kubelet() {
    let text = text_of(&class(json!({})), &rke2()).unwrap();
    for part in [
        "node-name: prod-karp-general-1",
        "team=a",
        "karpenter.sh/unregistered:NoExecute",
        "max-pods=110",
        "kube-reserved=cpu=80m,ephemeral-storage=1Gi,memory=1465Mi",
        "eviction-hard=memory.available<100Mi,nodefs.available<10%",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_soft_threshold_has_a_grace_period() {
    let kubelet = json!({"kubelet": {"evictionSoft": {"memory.available": "1Gi"}, "evictionHard": {"memory.available": "5%"}}});
    let text = text_of(&class(kubelet), &rke2()).unwrap();
    for part in [
        "eviction-soft=memory.available<1Gi",
        "eviction-soft-grace-period=memory.available=2m",
        "memory.available<5%",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_class_says_how_its_instances_join_and_the_rest_is_found_out() {
    let needs = class_text(&class(json!({"k8SDistro": "rke2airgapped"}))).join_needs();
    assert_eq!(needs.distro.as_deref(), Some("rke2airgapped"));
    assert!(!needs.without_token);
    let needs = class_text(&class(json!({"k8SDistro": "none"}))).join_needs();
    assert!(needs.without_token);
    let replaced = json!({"userData": {"mode": "replace", "additionalUserdata": "#!/bin/sh"}});
    assert!(class_text(&class(replaced)).join_needs().without_token, "the text asks for none");
    assert_eq!(class_text(&class(json!({}))).join_needs().distro, None);
}

#[test]
fn every_key_of_the_users_text_is_kept() {
    let user = json!({"userdata": {"type": "cloud-config", "additionalUserdata": "packages: [jq]\nruncmd: [echo joined]\n"}});
    let text = text_of(&class(user), &rke2()).unwrap();
    assert!(text.contains("jq") && text.contains("echo joined"), "{text}");
}

#[test]
fn a_text_that_looks_like_base64_is_not_decoded() {
    let replace = json!({"userData": {"mode": "replace", "additionalUserdata": "YWJjZA=="}});
    assert_eq!(text_of(&class(replace), &rke2()).unwrap(), "YWJjZA==");
}

#[test]
fn an_ignition_guest_joins_once() {
    let ignition = json!({"userData": {"type": "ignition"}});
    let text = text_of(&class(ignition), &rke2()).unwrap();
    assert!(text.contains("ConditionPathExists=!/var/lib/joiner/joined"), "{text}");
}

#[test]
fn the_users_text_may_be_in_a_secret() {
    let class = class(json!({"userData": {"secretRef": {"name": "texts"}}}));
    assert_eq!(secret_need(&class).unwrap().secret.name, "texts");
    assert!(text_of(&class, &rke2()).unwrap().contains("from-secret"));
}

#[test]
fn words_that_nobody_knows_are_told() {
    let spec = |user: Value| class(json!({"userData": user})).spec;
    let told = |user: Value| -> Vec<String> {
        problems(&spec(user)).iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(json!({"type": ""})), Vec::<String>::new());
    assert_eq!(
        told(json!({"type": "bash", "mode": "append"})),
        [
            "InvalidUserData: spec.userData.type: \"bash\" is not known; write cloud-config, \
             ignition or talos",
            "InvalidUserData: spec.userData.mode: \"append\" is not known; write merge or replace",
        ]
    );
    assert_eq!(
        told(json!({"additionalUserdata": "#cloud-config", "secretRef": {"name": ""}})),
        [
            "InvalidUserData: spec.userData.secretRef.name: is empty; write the name of a Secret \
             whose key userData is the text",
            "InvalidUserData: spec.userData.secretRef: is set, and so is \
             spec.userData.additionalUserdata; remove one of them",
        ]
    );
}

#[test]
fn a_guest_gets_its_text_and_its_name_and_forgets_the_token() {
    let class = class(json!({}));
    let instances = class.instances(&Settings::default()).unwrap();
    let recipient = Recipient {
        node_name: "node-1",
        instance_type: &instances.types[0],
        token: example_token(&rke2()),
        order: None,
    };
    let fetched = Fetched { facts: &rke2(), secrets: &secrets() };
    let text = class_text(&class).text(&fetched, &recipient).unwrap();
    let settings: BTreeMap<String, Secret<String>> =
        guestinfo(&text, "node-1", "uid-1").into_iter().collect();
    assert_eq!(settings["guestinfo.userdata.encoding"].reveal(), "base64");
    let metadata = STANDARD.decode(settings["guestinfo.metadata"].reveal()).unwrap();
    let metadata: Value = serde_json::from_slice(&metadata).unwrap();
    assert_eq!(
        metadata,
        json!({
            "instance-id": "uid-1",
            "local-hostname": "node-1",
            "cleanup-guestinfo": ["userdata"],
        })
    );
    assert!(!format!("{settings:?}").contains("s3cret"));
}
