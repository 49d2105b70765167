//! What guests are given.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::{
    bootstrap::{Distro, Encoded, Encoding, ErrorKind, Facts, class_text::Recipient},
    inputs::ClassInputs,
};
use joiner_cloudstack::{
    NodeClass,
    client::requests::Deploy,
    user_data::{join_needs, text},
};
use joiner_core::instance_type::InstanceType;
use serde_json::{Value, json};

use crate::cloud::class;

fn sent(class: &NodeClass, inputs: Option<&ClassInputs>) -> Option<Result<Encoded, ErrorKind>> {
    let instance_type = &InstanceType::default();
    let recipient = Recipient { node_name: "karpenter-a", instance_type, token: None, order: None };
    Some(text(class, None, inputs, &recipient)?.map_err(|error| error.kind))
}

fn bytes(encoded: &Encoded) -> Vec<u8> {
    STANDARD.decode(encoded.bytes.reveal()).expect("it is base64")
}

#[test]
fn without_bootstrap_the_users_text_is_sent_byte_for_byte() {
    for own in ["#!/bin/bash\necho {{ x }} ${y}\n", "#cloud-config\na: [", "no header", "ä\r\n"] {
        let class = class(json!({"userData": own}));
        let encoded = sent(&class, None).expect("nothing is needed").expect("it is not too long");
        assert_eq!(bytes(&encoded), own.as_bytes(), "{own}");
        assert_eq!(join_needs(&class), None);
    }
}

#[test]
fn a_class_without_a_text_sends_none() {
    let encoded = sent(&class(json!({"userData": null})), None).expect("nothing is needed");
    let user_data =
        String::from_utf8(encoded.expect("nothing is not too long").bytes.reveal().clone());
    let deploy = Deploy { user_data: user_data.ok().map(Into::into), ..Deploy::default() };
    assert_eq!(deploy.command().parameter("userdata"), None);
}

/// Defect 44 of upstream: what is too long is neither compressed nor refused.
#[test]
fn what_is_too_long_is_compressed_where_that_helps_and_refused_where_not() {
    let sent_as = |text: String, format: Value| {
        let class = class(json!({"userData": text, "userDataFormat": format}));
        let encoded = sent(&class, None).expect("nothing is needed");
        encoded.map(|encoded| encoded.encoding)
    };
    // The server's limit is 32,768 letters of base64, which is 24,576 bytes.
    let script = |len: usize| format!("#!/bin/sh\n#{}", "x".repeat(len - 11));
    assert_eq!(sent_as(script(24_576), json!("raw")), Ok(Encoding::Base64));
    assert_eq!(sent_as(script(24_577), json!("raw")), Err(ErrorKind::UserDataTooLarge));
    assert_eq!(sent_as(script(24_577), Value::Null), Ok(Encoding::GzipBase64));
    assert_eq!(sent_as(script(24_576), json!("auto")), Ok(Encoding::Base64));
    assert_eq!(sent_as(script(100), json!("gzip")), Ok(Encoding::GzipBase64));
}

#[test]
fn with_bootstrap_it_has_to_be_known_what_instances_join_with() {
    let class = class(json!({"bootstrap": {
        "distro": "k3s",
        "endpoint": "https://10.0.0.1:6443",
        "tokenSecretRef": {"name": "join", "key": "k3s"},
    }}));
    assert!(sent(&class, None).is_none());
    let needs = join_needs(&class).expect("it joins");
    assert_eq!(needs.distro.as_deref(), Some("k3s"));
    assert_eq!(needs.endpoint.as_deref(), Some("https://10.0.0.1:6443"));
    let token = needs.token.expect("it names a Secret");
    assert_eq!((token.secret.name.as_str(), token.keys[0].as_str()), ("join", "k3s"));
    assert!(!needs.without_token);
    let inputs = ClassInputs {
        joining: Some(Facts {
            token: None,
            ..Facts::given(Distro::None, "https://10.0.0.1:6443", "v1.34.0", "unused")
        }),
        ..ClassInputs::default()
    };
    let encoded = sent(&class, Some(&inputs)).expect("it is known").expect("it can be made");
    assert_eq!(bytes(&encoded), b"#!/bin/sh\n", "the facts decide the distribution");
}

#[test]
fn a_deployment_has_the_parameters_of_its_instance_and_no_others() {
    let deploy = Deploy {
        zone_id: "z".into(),
        service_offering_id: "o".into(),
        template_id: "t".into(),
        network_ids: vec!["n1".into(), "n2".into()],
        name: "karpenter-a".into(),
        job_id: "j".into(),
        details: BTreeMap::from([("karpenter.sh/nodeclaim".into(), "a".into())]),
        ..Deploy::default()
    };
    let command = deploy.command();
    let parameters: Vec<String> =
        command.parameters().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        [
            "customjobid=j",
            "details[0].karpenter.sh/nodeclaim=a",
            "displayname=karpenter-a",
            "dynamicscalingenabled=false",
            "name=karpenter-a",
            "networkids=n1,n2",
            "serviceofferingid=o",
            "templateid=t",
            "zoneid=z",
        ]
    );
}
