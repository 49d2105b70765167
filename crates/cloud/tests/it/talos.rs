//! Talos: our values over the user's configuration.

use joiner_cloud::bootstrap::{Distro, ErrorKind, Inputs, Login, ProviderId, Registry, Secret};
use serde_json::{Value, json};

use crate::shared::{ca, instance, pairs, refused, rendered, text, warnings, with_user, yaml};

const BASE: &str = "\
version: v1alpha1
machine:
  type: controlplane
  token: machine-token
  ca: {crt: bWFjaGluZQ==, key: \"\"}
  network: {hostname: old, interfaces: [{interface: eth0, dhcp: true}]}
  nodeLabels: {rack: r1, team: b}
  kubelet:
    image: registry.example.org/kubelet:v1.30.0
    extraConfig: {serializeImagePulls: false, registerWithTaints: [{key: old, effect: NoExecute}]}
cluster:
  id: id
  secret: secret
  network: {dnsDomain: cluster.local}
";

fn talos(base: &str) -> Inputs {
    let mut inputs = with_user(instance(Distro::Talos), base);
    inputs.provider_id = ProviderId::Known("proxmox://region-1/20001".to_owned());
    inputs
}

#[test]
fn ours_wins_and_the_rest_is_the_users() {
    let config = yaml(&text(&talos(BASE)));
    assert_eq!(
        config,
        json!({
            "version": "v1alpha1",
            "machine": {
                "type": "worker",
                "token": "machine-token",
                "ca": {"crt": "bWFjaGluZQ==", "key": ""},
                "network": {
                    "hostname": "general-x7k2p",
                    "interfaces": [{"interface": "eth0", "dhcp": true}],
                },
                "nodeLabels": {
                    "rack": "r1",
                    "team": "a",
                    "karpenter.sh/capacity-type": "on-demand",
                    "karpenter.sh/nodepool": "general",
                    "node.kubernetes.io/instance-type": "vsphere-vm.cpu-4.mem-16gb.os-linux",
                    "topology.kubernetes.io/zone": "az1",
                },
                "kubelet": {
                    "image": "registry.example.org/kubelet:v1.33.4",
                    "extraConfig": {
                        "serializeImagePulls": false,
                        "maxPods": 110,
                        "kubeReserved": {"cpu": "80m", "memory": "1465Mi"},
                        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
                        "registerWithTaints": [
                            {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
                            {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
                            {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"},
                        ],
                        "providerID": "proxmox://region-1/20001",
                    },
                },
            },
            "cluster": {
                "id": "id",
                "secret": "secret",
                "network": {"dnsDomain": "cluster.local"},
                "controlPlane": {"endpoint": "https://10.0.0.10:6443"},
                "token": "a1b2c3.0123456789abcdef",
                "ca": {"crt": ca().pem_base64()},
            },
        })
    );
}

#[test]
fn a_secret_may_hold_the_base_and_the_text_is_laid_over_it() {
    let mut inputs = talos("");
    inputs.talos_base = Some(Secret::from(BASE));
    assert_eq!(text(&inputs), text(&talos(BASE)));
    let patch = "version: v1alpha1\nmachine: {sysctls: {a: \"1\"}, network: {interfaces: []}}\n";
    let patched = Inputs { talos_base: inputs.talos_base.clone(), ..talos(patch) };
    let machine = yaml(&text(&patched))["machine"].clone();
    assert_eq!(machine["sysctls"], json!({"a": "1"}));
    assert_eq!(machine["network"], json!({"hostname": "general-x7k2p", "interfaces": []}));
    assert_eq!(machine["token"], "machine-token");
}

#[test]
fn what_only_the_user_has_must_be_there() {
    let error =
        refused(&talos("version: v1alpha1\nmachine: {ca: {crt: c}}\ncluster: {id: \"\"}\n"));
    assert_eq!(
        (error.kind.condition(), error.kind.reason()),
        ("BootstrapReady", "TalosSecretsMissing")
    );
    let missing = "machine.token, cluster.id, cluster.secret must be there";
    assert!(error.problem.starts_with(missing), "{error}");
}

#[test]
fn a_worker_carries_no_key_of_an_authority() {
    for key in ["machine", "cluster"] {
        let base = match key {
            "machine" => BASE.replace("key: \"\"", "key: c2VjcmV0"),
            _ => format!("{BASE}  ca: {{crt: YQ==, key: c2VjcmV0}}\n"),
        };
        let error = refused(&talos(&base));
        assert_eq!(error.problem, "a worker must not carry a CA key");
        assert_eq!(error.field, format!("spec.userData: {key}.ca.key"));
        assert!(!error.to_string().contains("c2VjcmV0"));
    }
}

#[test]
fn a_cloud_controller_is_announced_and_a_guest_is_not_asked() {
    let mut inputs = talos(BASE);
    inputs.provider_id = ProviderId::Cloud;
    let config = yaml(&text(&inputs));
    assert_eq!(config["cluster"]["externalCloudProvider"], json!({"enabled": true}));
    assert_eq!(config["machine"]["kubelet"]["extraConfig"].get("providerID"), None);
    inputs.provider_id = ProviderId::Guest(joiner_cloud::bootstrap::GuestLookup::Metadata);
    assert!(rendered(&inputs).report.notes[0].contains("provider id is set later"));
}

#[test]
fn without_an_authority_the_bases_own_stays() {
    let mut inputs = talos(&format!("{BASE}  ca: {{crt: b3duCg==}}\n"));
    inputs.ca = None;
    assert_eq!(yaml(&text(&inputs))["cluster"]["ca"]["crt"], "b3duCg==");
    inputs = talos(BASE);
    inputs.ca = None;
    assert_eq!(refused(&inputs).kind, ErrorKind::CaUnknown);
}

#[test]
fn without_an_image_the_kubelets_version_is_not_ours() {
    let inputs = talos(&BASE.replace("    image: registry.example.org/kubelet:v1.30.0\n", ""));
    assert!(warnings(&inputs)[0].starts_with("machine.kubelet.image is not there"));
}

#[test]
fn arguments_without_a_field_are_arguments() {
    let mut inputs = talos(BASE);
    inputs.kubelet.extra_args = pairs(&[("v", "2")]);
    assert_eq!(yaml(&text(&inputs))["machine"]["kubelet"]["extraArgs"], json!({"v": "2"}));
}

fn mirror() -> Registry {
    Registry {
        host: "images.example.org".to_owned(),
        endpoints: vec!["https://mirror.example.org:5000".to_owned()],
        login: Some(Login { username: "u".to_owned(), password: Secret::from("p") }),
        ca_pem: Some("PEM".to_owned()),
        skip_verify: false,
    }
}

#[test]
fn registries_are_where_the_base_has_them() {
    let mut inputs = talos(BASE);
    inputs.registries = vec![mirror()];
    assert_eq!(
        yaml(&text(&inputs))["machine"]["registries"],
        json!({
            "mirrors": {"images.example.org": {"endpoints": ["https://mirror.example.org:5000"]}},
            "config": {"mirror.example.org:5000": {
                "auth": {"username": "u", "password": "p"},
                "tls": {"ca": "UEVN"},
            }},
        })
    );

    let documents = "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: images.example.org\nendpoints: []\nskipFallback: true\n";
    inputs = Inputs { registries: vec![mirror()], ..talos(&format!("{BASE}{documents}")) };
    let text = text(&inputs);
    let found: Vec<Value> = text.split("---\n").map(yaml).collect();
    assert_eq!(found.len(), 5);
    assert_eq!(found[0]["machine"].get("registries"), None);
    assert_eq!(found[0]["machine"]["network"]["hostname"], "old");
    let head = |kind: &str, rest: Value| {
        let mut document = json!({"apiVersion": "v1alpha1", "kind": kind});
        document.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        document
    };
    assert_eq!(found[1], head("HostnameConfig", json!({"hostname": "general-x7k2p"})));
    assert_eq!(
        found[2],
        head(
            "RegistryMirrorConfig",
            json!({
                "name": "images.example.org",
                "endpoints": [{"url": "https://mirror.example.org:5000"}],
                "skipFallback": true,
            })
        )
    );
    let host = "mirror.example.org:5000";
    let login = json!({"name": host, "username": "u", "password": "p"});
    assert_eq!(found[3], head("RegistryAuthConfig", login));
    assert_eq!(found[4], head("RegistryTLSConfig", json!({"name": host, "ca": "UEVN"})));
}
