//! What must never be seen, and values that come back as they went in.

use joiner_cloud::bootstrap::{
    Carrier, Distro, Format, Inputs, Login, ProviderId, Proxy, Registry, Secret, UserText, encode,
    render,
    token::{BootstrapToken, Token},
};
use joiner_core::taint::{Effect, Taint};
use proptest::prelude::*;

use crate::shared::{instance, rendered, warnings, with_user, yaml_file};

const SECRET: &str = "zzzzzzzzzzzzzzzz";

/// An instance all of whose secrets are the same word.
fn full_of_secrets(distro: Distro, format: Option<Format>) -> Inputs {
    let mut inputs = instance(distro);
    inputs.format = format;
    inputs.token = Some(Token::Minted(BootstrapToken::read(&format!("abcdef.{SECRET}")).unwrap()));
    inputs.proxy =
        Some(Proxy { http: Some(Secret::new(format!("http://u:{SECRET}@h"))), ..Proxy::default() });
    inputs.registries = vec![Registry {
        host: "h".to_owned(),
        endpoints: Vec::new(),
        login: Some(Login { username: "u".to_owned(), password: Secret::from(SECRET) }),
        ca_pem: None,
        skip_verify: false,
    }];
    let base = format!(
        "version: v1alpha1\nmachine: {{token: {SECRET}, ca: {{crt: c}}}}\ncluster: {{id: i, secret: {SECRET}}}\n"
    );
    inputs.talos_base = (distro == Distro::Talos).then(|| Secret::new(base));
    inputs
}

#[test]
fn no_secret_is_in_what_people_see() {
    for (distro, format) in [
        (Distro::Kubeadm, None),
        (Distro::Kubeadm, Some(Format::Ignition)),
        (Distro::Rke2, None),
        (Distro::K3s, None),
        (Distro::Talos, None),
    ] {
        let inputs = full_of_secrets(distro, format);
        let rendered = rendered(&inputs);
        let encoded = encode(rendered.clone(), Carrier::ProxmoxCdrom).unwrap();
        let seen = format!("{inputs:?} {rendered:?} {encoded:?} {}", encoded.report);
        assert!(!seen.contains(SECRET), "{seen}");
        assert!(!seen.contains(&inputs.ca.as_ref().unwrap().pem_base64()));
    }
}

#[test]
fn errors_do_not_quote_the_users_text() {
    for user in [
        format!("password is {SECRET}"),
        format!("#cloud-config\npassword: {SECRET}\npassword: {SECRET}\n"),
        format!("#cloud-config\nusers: [{SECRET}\n"),
        format!("#cloud-config\n- {SECRET}\n"),
        format!("#cloud-config\nruncmd: {{a: {SECRET}}}\n"),
        format!("{{\"ignition\":{{\"version\":\"3.4.0\"}}, \"x\": {SECRET}}}"),
        format!("variant: fcos\nversion: 1.5.0\npasswd: {{users: [{{uid: {SECRET}}}]}}\n"),
        format!("version: v1alpha1\nmachine: {{token: {SECRET}}}\n"),
    ] {
        let error = render(&with_user(instance(Distro::Kubeadm), &user)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
    }
}

#[test]
fn the_report_says_what_was_made() {
    let encoded = encode(rendered(&instance(Distro::K3s)), Carrier::VsphereGuestinfo).unwrap();
    let text = encoded.report.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("k3s by cloud-config: "), "{first}");
    assert!(first.contains(" as base64, sha256 "), "{first}");
    assert_eq!(encoded.report.fingerprint.len(), 8);
    assert!(text.contains("file     0600 /etc/rancher/k3s/config.yaml (joiner)\n"), "{text}");
    assert!(text.contains("part     runcmd (joiner)\n"), "{text}");
    assert!(text.contains("labels   2 set at registration: kubernetes.io/arch, "), "{text}");
}

#[test]
fn secrets_in_a_text_that_many_read_are_warned_about() {
    let secrets = [
        format!("K10{}::server:x", "a".repeat(64)),
        crate::shared::TOKEN.to_owned(),
        "-----BEGIN EC PRIVATE KEY-----".to_owned(),
    ];
    for secret in secrets {
        let mut inputs = with_user(instance(Distro::K3s), &format!("#!/bin/sh\n# {secret}\n"));
        let warned = warnings(&inputs);
        assert!(warned[0].contains("move it to a Secret"), "{warned:?}");
        assert!(!warned[0].contains(&secret));
        inputs.user = UserText { readable: false, ..inputs.user };
        assert_eq!(warnings(&inputs), Vec::<String>::new());
    }
    let harmless = with_user(instance(Distro::K3s), "#!/bin/sh\n-----BEGIN PUBLIC KEY-----\n");
    assert_eq!(warnings(&harmless), Vec::<String>::new());
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,10}[a-zA-Z0-9])?",
        // What readers of YAML take for something else.
        prop::sample::select(vec![
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "true",
            "null",
            "0640",
            "1e3",
            "0x1f",
            "1_000",
            "2026-01-02",
            "12.5",
            "190.20.30",
            "NaN",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Anything that fits on one line, quotes and all.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![word(), "[ -~äß€\u{85}\u{2028}\t]{0,20}"]
}

fn effect() -> impl Strategy<Value = Effect> {
    prop::sample::select(vec![Effect::NoSchedule, Effect::PreferNoSchedule, Effect::NoExecute])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn labels_taints_and_arguments_come_back(
        labels in prop::collection::btree_map(word(), word(), 0..4),
        taints in prop::collection::vec((word(), word(), effect()), 0..4),
        arguments in prop::collection::btree_map("x[a-z-]{1,8}", line(), 0..4),
        id in "[!-~]{1,30}",
    ) {
        let mut inputs = instance(Distro::K3s);
        inputs.provider_id = ProviderId::Known(id.clone());
        inputs.kubelet = joiner_cloud::bootstrap::Kubelet {
            extra_args: arguments.clone(),
            ..Default::default()
        };
        inputs.labels = labels.clone();
        inputs.startup_taints = Vec::new();
        inputs.taints = taints
            .into_iter()
            .map(|(key, value, effect)| Taint { key, value, effect })
            .collect();
        let config = yaml_file(&inputs, "/etc/rancher/k3s/config.yaml");
        let texts = |key: &str| -> Vec<String> {
            let list = config[key].as_array().cloned().unwrap_or_default();
            list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let pairs = |map: &std::collections::BTreeMap<String, String>| -> Vec<String> {
            map.iter().map(|(key, value)| format!("{key}={value}")).collect()
        };
        prop_assert_eq!(texts("node-label"), pairs(&labels));
        let mut expected = vec![format!("provider-id={id}")];
        expected.extend(pairs(&arguments));
        prop_assert_eq!(texts("kubelet-arg"), expected);
        let told = texts("node-taint");
        for taint in &inputs.taints {
            let known = told.iter().any(|text| crate::shared::taint(text).matches(taint));
            prop_assert!(known, "{taint} is not in {told:?}");
        }
    }

    #[test]
    fn the_users_texts_come_back(keys in prop::collection::btree_map("[a-z]{3,6}", line(), 1..4)) {
        let line = |(key, value)| format!("u{key}: {}\n", serde_json::to_string(value).unwrap());
        let user = keys.iter().map(line).collect::<Vec<_>>().concat();
        // JSON's quotes leave line ends of Unicode as they are, and YAML reads them as such.
        prop_assume!(!user.contains(['\u{85}', '\u{2028}']));
        let config = crate::shared::cloud_config(&with_user(instance(Distro::K3s), &format!("#cloud-config\n{user}")));
        for (key, value) in &keys {
            prop_assert_eq!(config[format!("u{key}")].as_str(), Some(value.as_str()));
        }
    }
}
