//! A token for each claim, from its making to its end.

use joiner_cloud::{
    bootstrap::{
        Distro,
        token::{Token, TokenGroup},
    },
    needs::{JoinNeeds, SecretName, SecretNeed},
};
use joiner_operator::inputs::{TokenCollection, TokenSweep};
use serde_json::{Value, json};

use super::{calls, stage, stage_with};
use crate::{play::node, stage::Stage};

fn with_collection() -> Stage {
    stage().made_by_kubeadm().with(TokenCollection).with_rounds(TokenSweep)
}

/// Names of the Secrets of all tokens.
fn secrets(stage: &Stage) -> Vec<String> {
    let resource = joiner_apiserver::Resource::new("", "secrets");
    let listed = stage.lab.caller("admin").list(&resource, None);
    let name = |secret: Value| secret["metadata"]["name"].as_str().unwrap().to_owned();
    listed.iter().map(|secret| name(secret.value())).collect()
}

/// The token that a claim's instance was ordered with.
fn token_of(stage: &Stage, name: &str) -> String {
    let state = stage.cloud.state();
    let (_, inputs) = state.order_inputs.iter().find(|(claim, _)| claim.name == name).unwrap();
    match inputs.token.as_ref().unwrap() {
        Token::Minted(token) => token.text().reveal().clone(),
        Token::Given(text) => text.reveal().clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_gets_a_token_that_the_cluster_knows() {
    let mut stage = with_collection();
    let created = stage.create_claim("web-1");
    stage.pass(1).await;
    let token = token_of(&stage, "web-1");
    let (id, secret) = token.split_once('.').unwrap();
    let name = format!("kube-system/bootstrap-token-{id}");
    let kept: Value = stage.find("", "secrets", &name).unwrap();
    assert_eq!(kept["type"], "bootstrap.kubernetes.io/token");
    assert_eq!(
        kept["metadata"]["labels"],
        json!({
            "joiner.sh/nodeclaim": "web-1",
            "joiner.sh/nodeclaim-uid": created["metadata"]["uid"],
        })
    );
    let known: k8s_openapi::api::core::v1::Secret = serde_json::from_value(kept).unwrap();
    let data = |key: &str| String::from_utf8(known.data.as_ref().unwrap()[key].0.clone()).unwrap();
    assert_eq!(data("token-secret"), secret);
    assert_eq!(data("usage-bootstrap-signing"), "true");
}

#[tokio::test(start_paused = true)]
async fn a_retry_finds_the_token_that_was_made() {
    let mut stage = with_collection();
    let error = joiner_cloud::CloudError::Unknown("no answer".to_owned());
    stage.cloud.state().next_create.push_back(Some(error));
    stage.lab.faults().add_script("at 0s joiner: cut after on create secrets once").unwrap();
    stage.create_claim("web-1");
    stage.pass(10).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
    assert_eq!(secrets(&stage).len(), 1);
    let before = token_of(&stage, "web-1");
    assert!(secrets(&stage)[0].ends_with(before.split_once('.').unwrap().0));
}

#[tokio::test(start_paused = true)]
async fn a_token_goes_when_its_node_has_registered() {
    let mut stage = with_collection();
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(secrets(&stage).len(), 1);
    stage.join(node("node-1", "web-1"));
    stage.pass(5).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    assert_eq!(secrets(&stage), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_token_goes_with_its_claim() {
    let mut stage = with_collection();
    stage.create_claim("web-1");
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(5).await;
    assert_eq!(secrets(&stage), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_another_process_has_left_is_found_and_what_is_needed_or_foreign_stays() {
    let mut stage = with_collection();
    stage.create_claim("web-1");
    stage.create_claim("web-2");
    stage.pass(1).await;
    let kept = format!("bootstrap-token-{}", token_of(&stage, "web-2").split_once('.').unwrap().0);
    let foreign = json!({
        "metadata": {"namespace": "kube-system", "name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": "abcdef", "token-secret": "0123456789abcdef"},
    });
    stage.create("", "secrets", foreign);
    // Whoever knew of it is gone, and so is the claim.
    let mut stage = stage.restarted();
    let gone = json!({"metadata": {"finalizers": null}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, gone);
    stage.delete_claim("web-1");
    stage = stage.with_rounds(TokenSweep);
    stage.pass(1).await;
    let mut expected = vec!["bootstrap-token-abcdef".to_owned(), kept];
    expected.sort();
    assert_eq!(secrets(&stage), expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_while_it_is_not_known_whether_its_claim_is_there() {
    let mut stage = with_collection();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut stage = stage.restarted();
    let gone = json!({"metadata": {"finalizers": null}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, gone);
    stage.delete_claim("web-1");
    stage.lab.faults().add_script("at 0s joiner: 500 on get nodeclaims 3 times").unwrap();
    stage = stage.with_rounds(TokenSweep);
    stage.pass(0).await;
    assert_eq!(secrets(&stage).len(), 1);
    stage.pass(60).await;
    assert_eq!(secrets(&stage).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_configured_token_makes_no_secret() {
    let token = "a1b2c3.0123456789abcdef";
    let mut stage = stage_with(|settings| settings.joining.token = Some(token.into()));
    stage = stage.made_by_kubeadm();
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(token_of(&stage, "web-1"), token);
    assert_eq!(secrets(&stage), [""; 0]);
    assert_eq!(calls(&stage, "selfsubjectaccessreviews"), 0, "nobody asks for nothing");
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_forgets_an_instance_that_never_became_a_node() {
    let mut stage = stage_with(|settings| {
        settings.joining.distro = Some(Distro::K3s);
        settings.joining.endpoint = Some("https://10.0.0.10:6443".to_owned());
        settings.joining.version = Some("v1.33.4+k3s1".to_owned());
    });
    stage = stage.made_by_kubeadm();
    for name in ["web-1", "web-2"] {
        let name = format!("{name}.node-password.k3s");
        let object = json!({"metadata": {"namespace": "kube-system", "name": name}});
        stage.create("", "secrets", object);
    }
    stage.join(node("web-2", "somebody-elses"));
    stage.create_claim("web-1");
    stage.create_claim("web-2");
    stage.pass(1).await;
    assert_eq!(stage.cloud.calls("create"), 2);
    let left: Vec<String> =
        secrets(&stage).into_iter().filter(|name| name.contains("password")).collect();
    assert_eq!(left, ["web-2.node-password.k3s"], "that one is a node");
    assert!(token_of(&stage, "web-1").contains('.'));
}

#[tokio::test(start_paused = true)]
async fn a_text_in_a_secret_says_of_which_group_its_token_is_and_that_no_more_is_needed() {
    let mut stage = stage();
    // There is no endpoint that anything could be found at: the text knows its own.
    stage.publish("default/kube-root-ca.crt", &json!({"ca.crt": super::PEM}));
    stage.create("", "secrets", json!({
        "metadata": {"namespace": "default", "name": "text"}, "stringData": {"user-data": "join"},
    }));
    let read = JoinNeeds {
        token_group: Some(TokenGroup::ProxmoxTemplates),
        text_joins: true,
        ..JoinNeeds::default()
    };
    {
        let mut state = stage.cloud.state();
        state.needs.secrets = vec![SecretNeed {
            field: "spec.textRef".to_owned(),
            secret: SecretName { namespace: None, name: "text".to_owned() },
            keys: Vec::new(),
        }];
        state.join_needs = Some(read);
    }
    stage.create_claim("web-1");
    stage.pass(1).await;
    let facts = stage.facts().unwrap();
    assert_eq!((facts.distro, facts.endpoint.as_deref()), (Distro::None, None));
    assert!(facts.version.is_some() && facts.ca.is_some());
    let token = token_of(&stage, "web-1");
    let (id, _) = token.split_once('.').unwrap();
    let kept: k8s_openapi::api::core::v1::Secret =
        stage.find("", "secrets", &format!("kube-system/bootstrap-token-{id}")).unwrap();
    let groups = String::from_utf8(kept.data.unwrap()["auth-extra-groups"].0.clone()).unwrap();
    assert_eq!(groups, "system:bootstrappers:karpenter:proxmox");
}
