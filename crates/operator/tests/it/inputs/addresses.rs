//! Addresses of instances, from pools.

use joiner_cloud::{
    class::{ClassKind, Role},
    inputs::Address,
    needs::{AddressNeed, AddressPool},
};
use serde_json::{Value, json};

use crate::{lifecycle::with_lifecycle, stage::Stage};

const GROUP: &str = "ipam.cluster.x-k8s.io";

/// A stage whose instances have two addresses each.
fn stage() -> Stage {
    let stage = with_lifecycle(Stage::bare());
    let need = |index, name: &str| AddressNeed {
        nic: 0,
        index,
        pool: AddressPool {
            group: GROUP.to_owned(),
            kind: "InClusterIPPool".to_owned(),
            name: name.to_owned(),
        },
    };
    stage.cloud.state().needs.addresses = vec![need(0, "v4"), need(1, "v6")];
    stage
}

/// An IPAM provider of Cluster API is installed.
fn install(stage: &Stage) {
    for (kind, plural) in [("IPAddressClaim", "ipaddressclaims"), ("IPAddress", "ipaddresses")] {
        let role = Role::Ingredient;
        let kind = ClassKind { role, group: GROUP, version: "v1beta1", kind, plural };
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut definition = kind.definition(&anything);
        definition["spec"]["scope"] = "Namespaced".into();
        // Kinds of this group are protected, as the real ones are.
        definition["metadata"]["annotations"] =
            json!({"api-approved.kubernetes.io": "https://example.org/1"});
        stage.create("apiextensions.k8s.io", "customresourcedefinitions", definition);
    }
}

/// The IPAM provider gives a claim its address.
fn bind(stage: &Stage, claim: &str, spec: &Value) {
    let address = json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddress",
        "metadata": {"namespace": "default", "name": claim}, "spec": spec,
    });
    stage.create(GROUP, "ipaddresses", address);
    let bound = json!({"status": {"addressRef": {"name": claim}}});
    stage.merge(GROUP, "ipaddressclaims", &format!("default/{claim}"), Some("status"), bound);
}

#[tokio::test(start_paused = true)]
async fn an_instance_waits_for_all_its_addresses_and_owns_them() {
    let mut stage = stage();
    install(&stage);
    let created = stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(stage.cloud.calls("create"), 0);
    let (status, reason, message) = stage.condition("web-1", "Launched").unwrap();
    assert_eq!((&*status, &*reason), ("Unknown", "AddressPending"));
    assert!(message.starts_with("IPAddressClaim default/web-1-0-0 has no address of"), "{message}");
    let asked: Value = stage.find(GROUP, "ipaddressclaims", "default/web-1-0-1").unwrap();
    let pool = json!({"apiGroup": GROUP, "kind": "InClusterIPPool", "name": "v6"});
    assert_eq!(asked["spec"]["poolRef"], pool);
    assert_eq!(asked["metadata"]["ownerReferences"][0]["uid"], created["metadata"]["uid"]);
    let v4 = json!({"address": "10.0.0.7", "prefix": 24, "gateway": "10.0.0.1"});
    bind(&stage, "web-1-0-0", &v4);
    bind(&stage, "web-1-0-1", &json!({"address": "fd00::7", "prefix": 64}));
    stage.pass(60).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
    let inputs = stage.cloud.state().order_inputs.values().next().cloned().unwrap();
    let address = |text: &str, prefix, gateway: Option<&str>| Address {
        nic: 0,
        address: text.parse().unwrap(),
        prefix,
        gateway: gateway.map(|text| text.parse().unwrap()),
    };
    let expected = [address("10.0.0.7", 24, Some("10.0.0.1")), address("fd00::7", 64, None)];
    assert_eq!(inputs.addresses, expected);
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_somebody_else_is_not_taken() {
    let mut stage = stage();
    install(&stage);
    let foreign = json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
        "metadata": {"namespace": "default", "name": "web-1-0-0"}, "spec": {},
    });
    stage.create(GROUP, "ipaddressclaims", foreign);
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(stage.condition("web-1", "Launched").unwrap().1, "AddressClaimTaken");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_an_ipam_provider_is_told_so_on_the_class() {
    let mut stage = stage().with(joiner_operator::classes::ClassResolution::new);
    stage.create_class("default");
    stage.pass(1).await;
    let said = stage.class_condition("default", "BootstrapReady");
    assert!(said.starts_with("False AddressesNotServed TestNodeClass"), "{said}");
}
