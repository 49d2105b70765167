//! Secrets that classes refer to.

use joiner_cloud::needs::{SecretName, SecretNeed};
use serde_json::json;

use super::stage;

#[tokio::test(start_paused = true)]
async fn a_secret_is_handed_over_with_all_its_keys_once_it_is_there() {
    let mut stage = stage().made_by_kubeadm();
    let secret = SecretName { namespace: None, name: "user-data".to_owned() };
    stage.cloud.state().needs.secrets = vec![SecretNeed {
        field: "userData.secretRef".to_owned(),
        secret: secret.clone(),
        keys: vec!["text".to_owned()],
    }];
    stage.create_class("default");
    stage.pass(1).await;
    let missing = "False SecretNotFound TestNodeClass \"default\": userData.secretRef: Secret \
                   default/user-data is not there; create it, or refer to another";
    assert_eq!(stage.bootstrap_ready(), missing);
    let object = json!({
        "metadata": {"namespace": "default", "name": "user-data"},
        "stringData": {"text": "hunter2"},
    });
    stage.create("", "secrets", object);
    stage.pass(100).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
    let inputs = stage.cloud.state().class_inputs.clone().unwrap();
    assert_eq!(inputs.secrets[&secret]["text"].reveal(), b"hunter2");
    assert!(!format!("{inputs:?}").contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_the_class_counts_before_the_one_of_the_settings() {
    let mut stage = stage().made_by_kubeadm();
    let need = SecretNeed {
        field: "tokenSecretRef".to_owned(),
        secret: SecretName { namespace: None, name: "join".to_owned() },
        keys: vec!["token".to_owned()],
    };
    stage.cloud.state().needs.joining.as_mut().unwrap().token = Some(need);
    let object = json!({
        "metadata": {"namespace": "default", "name": "join"},
        "stringData": {"token": "a1b2c3.0123456789abcdef\n"},
    });
    stage.create("", "secrets", object);
    stage.create_claim("web-1");
    stage.pass(1).await;
    let inputs = stage.cloud.state().order_inputs.values().next().cloned().unwrap();
    let token = joiner_cloud::bootstrap::token::Token::Given("a1b2c3.0123456789abcdef".into());
    assert_eq!(inputs.token, Some(token));
    let change = json!({"stringData": {"token": "hunter2"}});
    stage.merge("", "secrets", "default/join", None, change);
    stage.pass(400).await;
    let said = stage.bootstrap_ready();
    assert!(said.starts_with("False JoinTokenInvalid "), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
