//! What each distribution's instances are told.

use joiner_cloud::bootstrap::{
    Distro, ErrorKind, Format, Inputs, ProviderId, Secret, node_password_secret, token::Token,
};
use serde_json::{Value, json};

use crate::shared::{
    LABELS, PINNED_TOKEN, TAINTS, TOKEN, cloud_config, file, instance, pairs, refused, rendered,
    taint, text, warnings, yaml, yaml_file,
};

const KUBEADM: &str = "/run/joiner/kubeadm-join.yaml";
const RKE2: &str = "/etc/rancher/rke2/config.yaml";
const K3S: &str = "/etc/rancher/k3s/config.yaml";

fn keys(inputs: &Inputs, path: &str) -> Vec<String> {
    let config = cloud_config(inputs);
    let content = file(&config, path)["content"].as_str().unwrap().to_owned();
    let top_level = content.lines().filter(|line| !line.starts_with([' ', '-']));
    top_level.map(|line| line.split(':').next().unwrap().to_owned()).collect()
}

#[test]
fn kubeadm_joins_by_a_configuration_file() {
    let expected = format!(
        r#"
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: 10.0.0.10:6443
    token: {TOKEN}
    caCertHashes: ["sha256:96775d278f48a23e0efff59a00dbc6a7011496c938d9e302b19e7a4f43c3f61e"]
nodeRegistration:
  name: general-x7k2p
  criSocket: unix:///run/containerd/containerd.sock
  taints:
  - {{key: karpenter.sh/unregistered, effect: NoExecute}}
  - {{key: dedicated, value: batch, effect: NoSchedule}}
  - {{key: node.cilium.io/agent-not-ready, value: "true", effect: NoExecute}}
  kubeletExtraArgs:
  - {{name: provider-id, value: "@JOINER_PROVIDER_ID@"}}
  - {{name: node-labels, value: "{LABELS}"}}
  - {{name: max-pods, value: "110"}}
  - {{name: kube-reserved, value: "cpu=80m,memory=1465Mi"}}
  - {{name: eviction-hard, value: "memory.available<100Mi,nodefs.available<10%"}}
"#
    );
    assert_eq!(yaml_file(&instance(Distro::Kubeadm), KUBEADM), yaml(&expected));
}

#[test]
fn before_1_31_kubeadm_has_arguments_as_a_map() {
    let mut inputs = instance(Distro::Kubeadm);
    let new = yaml_file(&inputs, KUBEADM);
    inputs.version = Some("v1.30.4".to_owned());
    let old = yaml_file(&inputs, KUBEADM);
    assert_eq!(old["apiVersion"], "kubeadm.k8s.io/v1beta3");
    let named = new["nodeRegistration"]["kubeletExtraArgs"].as_array().unwrap();
    let as_map: Value = named
        .iter()
        .map(|argument| (argument["name"].as_str().unwrap().to_owned(), argument["value"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(old["nodeRegistration"]["kubeletExtraArgs"], as_map);
    assert_eq!(old["discovery"], new["discovery"]);
}

#[test]
fn rke2_joins_by_its_supervisor() {
    let mut inputs = instance(Distro::Rke2);
    inputs.provider_id = ProviderId::Cloud;
    let static_token = format!("K10{}::server:s3cret", "0".repeat(64));
    inputs.token = Some(Token::Given(Secret::new(static_token.clone())));
    let config = yaml_file(&inputs, RKE2);
    assert_eq!(
        config,
        json!({
            "server": "https://10.0.0.10:9345",
            "kubelet-arg": [
                "--cloud-provider=external",
                "max-pods=110",
                "kube-reserved=cpu=80m,memory=1465Mi",
                "eviction-hard=memory.available<100Mi,nodefs.available<10%",
            ],
            "token": static_token,
            "node-taint": TAINTS.split(',').collect::<Vec<_>>(),
            "node-name": "general-x7k2p",
            "node-label": LABELS.split(',').collect::<Vec<_>>(),
        })
    );
    let order = ["server", "kubelet-arg", "token", "node-taint", "node-name", "node-label"];
    assert_eq!(keys(&inputs, RKE2), order);
}

#[test]
fn k3s_joins_by_its_supervisor() {
    let mut inputs = instance(Distro::K3s);
    inputs.provider_id = ProviderId::Known("proxmox://region-1/20001".to_owned());
    assert_eq!(
        yaml_file(&inputs, K3S),
        json!({
            "server": "https://10.0.0.10:6443",
            "token": PINNED_TOKEN,
            "node-name": "general-x7k2p",
            "node-label": LABELS.split(',').collect::<Vec<_>>(),
            "node-taint": TAINTS.split(',').collect::<Vec<_>>(),
            "kubelet-arg": [
                "provider-id=proxmox://region-1/20001",
                "max-pods=110",
                "kube-reserved=cpu=80m,memory=1465Mi",
                "eviction-hard=memory.available<100Mi,nodefs.available<10%",
            ],
        })
    );
    let order = ["server", "token", "node-name", "node-label", "node-taint", "kubelet-arg"];
    assert_eq!(keys(&inputs, K3S), order);
}

#[test]
fn what_is_not_said_is_not_written() {
    let mut inputs = instance(Distro::Rke2);
    (inputs.kubelet, inputs.labels) = Default::default();
    assert_eq!(keys(&inputs, RKE2), ["server", "token", "node-taint", "node-name"]);
    inputs.kubelet.max_pods = Some(0);
    inputs.kubelet.kube_reserved = [("cpu", "0".parse().unwrap())].into_iter().collect();
    assert_eq!(keys(&inputs, RKE2), ["server", "token", "node-taint", "node-name"]);
}

#[test]
fn the_classs_own_arguments_come_last_and_never_twice() {
    let mut inputs = instance(Distro::K3s);
    inputs.kubelet.extra_args = pairs(&[("v", "2"), ("cloud-provider", "external"), ("a", "b c")]);
    let arguments = yaml_file(&inputs, K3S)["kubelet-arg"].clone();
    let arguments: Vec<_> =
        arguments.as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    assert_eq!(arguments[0], "cloud-provider=external");
    assert_eq!(arguments[4..], ["a=b c", "v=2"]);

    for (name, value) in [
        ("register-with-taints", "a:NoExecute"),
        ("provider-id", "x"),
        ("--v", "2"),
        ("v", "2\n- x"),
        ("cloud-provider", "vsphere"),
    ] {
        inputs.kubelet.extra_args = pairs(&[(name, value)]);
        let error = refused(&inputs);
        assert_eq!(error.kind, ErrorKind::InvalidInput, "{name}");
        assert!(error.field.contains(name), "{error}");
    }
}

#[test]
fn a_taint_is_there_once_and_the_unregistered_one_always() {
    let mut inputs = instance(Distro::K3s);
    // The pool lists it too, as examples for Proxmox do.
    inputs.startup_taints.push(taint("karpenter.sh/unregistered:NoExecute"));
    inputs.startup_taints.push(taint("dedicated=other:NoSchedule"));
    let taints = yaml_file(&inputs, K3S)["node-taint"].clone();
    assert_eq!(taints, json!(TAINTS.split(',').collect::<Vec<_>>()));

    inputs.taints = vec![taint("a=1:NoAdmit")];
    assert_eq!(refused(&inputs).field, "taints[0]");
}

#[test]
fn labels_that_a_kubelet_may_not_set_are_counted() {
    let report = rendered(&instance(Distro::Kubeadm)).report;
    let held_back = ["kubernetes.io/arch", "node-role.kubernetes.io/worker"];
    assert_eq!(report.held_back_labels, held_back);
    let mut inputs = instance(Distro::Kubeadm);
    inputs.labels = pairs(&[("team", "a,b")]);
    assert_eq!(refused(&inputs).field, "labels[\"team\"]");
}

#[test]
fn files_with_a_token_are_for_root_alone() {
    for (distro, path) in [(Distro::Kubeadm, KUBEADM), (Distro::Rke2, RKE2), (Distro::K3s, K3S)] {
        let config = cloud_config(&instance(distro));
        assert_eq!(file(&config, path)["permissions"], "0600");
        assert_eq!(file(&config, path)["owner"], "root:root");
        let script = file(&config, "/usr/local/lib/joiner/join.sh");
        assert_eq!(script["permissions"], "0700");
        assert!(!script["content"].as_str().unwrap().contains("0123456789abcdef"));
    }
}

#[test]
fn the_join_is_called_once_and_by_words() {
    let config = cloud_config(&instance(Distro::Kubeadm));
    let commands = json!([
        ["/bin/sh", "/usr/local/lib/joiner/pre-join.sh"],
        ["/bin/sh", "/usr/local/lib/joiner/join.sh"],
    ]);
    assert_eq!(config["runcmd"], commands);
    assert_eq!(config["hostname"], "general-x7k2p");
    assert_eq!(config["preserve_hostname"], false);
}

#[test]
fn under_ignition_a_unit_joins_and_nothing_is_in_run_or_usr() {
    let mut inputs = instance(Distro::Kubeadm);
    inputs.format = Some(Format::Ignition);
    let config: Value = serde_json::from_str(&text(&inputs)).unwrap();
    assert_eq!(config["ignition"]["version"], "3.4.0");
    let files = config["storage"]["files"].as_array().unwrap();
    let of = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(of("/etc/joiner/kubeadm-join.yaml")["mode"], 0o600);
    assert_eq!(of("/etc/joiner/join.sh")["mode"], 0o700);
    assert_eq!(of("/etc/joiner/provider-id")["mode"], 0o755);
    assert_eq!(
        *of("/etc/hostname"),
        json!({"contents": {"source": "data:,general-x7k2p"}, "mode": 420, "overwrite": true, "path": "/etc/hostname"})
    );
    assert!(files.iter().all(|file| file["path"].as_str().unwrap().starts_with("/etc/")));
    let unit = &config["systemd"]["units"][0];
    assert_eq!(
        (unit["name"].as_str(), &unit["enabled"]),
        (Some("joiner-join.service"), &json!(true))
    );
    for line in [
        "Type=oneshot",
        "Wants=network-online.target",
        "After=network-online.target",
        "ConditionPathExists=!/var/lib/joiner/joined",
        "ExecStartPre=/bin/sh /etc/joiner/pre-join.sh",
        "ExecStart=/bin/sh /etc/joiner/join.sh",
    ] {
        assert!(unit["contents"].as_str().unwrap().lines().any(|known| known == line), "{line}");
    }
}

#[test]
fn versions_that_cannot_be_installed_are_refused() {
    let mut inputs = instance(Distro::Rke2);
    inputs.version = Some("v1.33.4".to_owned());
    let error = refused(&inputs);
    assert_eq!(error.kind, ErrorKind::VersionUnknown);
    assert_eq!(
        error.to_string(),
        "VsphereNodeClass \"default\": version: \"v1.33.4\" is the name of no rke2 release; write \
         a release of rke2, such as v1.33.4+rke2r1"
    );
    // The image brings what is installed, so nobody has to know.
    inputs.distro = Distro::Rke2Airgapped;
    inputs.version = None;
    let config = cloud_config(&inputs);
    let script =
        file(&config, "/usr/local/lib/joiner/join.sh")["content"].as_str().unwrap().to_owned();
    assert!(script.contains("artifacts='/opt/rke2-artifacts'\n"), "{script}");
    assert!(script.contains("script='/opt/install.sh'\n"), "{script}");
}

#[test]
fn rke2_by_the_api_port_is_refused_with_the_right_one() {
    let mut inputs = instance(Distro::Rke2);
    inputs.endpoint = Some("https://h:6443".to_owned());
    let error = refused(&inputs);
    assert_eq!(
        (error.kind.condition(), error.kind.reason()),
        ("BootstrapReady", "EndpointInvalid")
    );
    assert!(error.remedy.contains("9345"), "{error}");
}

#[test]
fn without_distribution_nothing_is_added() {
    let mut inputs = instance(Distro::None);
    for seed in
        ["#!/bin/bash\necho \"Node initialization script\"", "", "${X} {{ y }}\n\n", "\u{feff}?"]
    {
        inputs = crate::shared::with_user(inputs, seed);
        assert_eq!(text(&inputs), seed);
    }
    assert!(rendered(&inputs).report.notes[0].contains("karpenter.sh/unregistered:NoExecute"));
}

#[test]
fn equal_instances_have_equal_texts() {
    for distro in [Distro::Kubeadm, Distro::Rke2, Distro::K3s] {
        assert_eq!(rendered(&instance(distro)), rendered(&instance(distro)));
    }
}

#[test]
fn a_distribution_is_known_by_its_api_server() {
    let detect = |version, info| Distro::detect(version, info).map_err(|error| error.problem);
    assert_eq!(detect("v1.32.9+rke2r1", None), Ok(Distro::Rke2));
    assert_eq!(detect("v1.32.9+k3s1", None), Ok(Distro::K3s));
    assert_eq!(detect("v1.32.9", Some(true)), Ok(Distro::Kubeadm));
    assert!(detect("v1.32.9", Some(false)).unwrap_err().contains("has no ConfigMap"));
    assert!(detect("v1.32.9", None).unwrap_err().contains("could not be read"));
    assert_eq!("rke2airgapped".parse(), Ok(Distro::Rke2Airgapped));
    assert_eq!("RKE2".parse::<Distro>().unwrap_err().kind, ErrorKind::DistroUnknown);
}

#[test]
fn names_are_checked_before_they_get_anywhere() {
    for name in ["", "Node", "a.b", "-a", "a b", "a\nb", "a'b", &"a".repeat(64)] {
        let mut inputs = instance(Distro::Kubeadm);
        inputs.node_name = name.to_owned();
        assert_eq!(refused(&inputs).field, "nodeName", "{name:?}");
    }
    let mut inputs = instance(Distro::K3s);
    inputs.provider_id = ProviderId::Known("proxmox://a\nb".to_owned());
    assert_eq!(refused(&inputs).field, "providerID");
}

#[test]
fn a_supervisor_remembers_nodes_by_a_secret() {
    assert_eq!(node_password_secret(Distro::K3s, "a").as_deref(), Some("a.node-password.k3s"));
    assert_eq!(
        node_password_secret(Distro::Rke2Airgapped, "a").as_deref(),
        Some("a.node-password.rke2")
    );
    assert_eq!(node_password_secret(Distro::Kubeadm, "a"), None);
}

#[test]
fn a_servers_token_works_and_is_warned_about() {
    let mut inputs = instance(Distro::Rke2);
    let hash = inputs.ca.as_ref().unwrap().supervisor_hash();
    let mut said = |token: String| {
        inputs.token = Some(Token::Given(Secret::new(token)));
        warnings(&inputs).join("\n")
    };
    assert!(said(format!("K10{hash}::server:s")).contains("gives every node the whole cluster"));
    assert!(said("s".to_owned()).contains("trust the first server they meet"));
    assert_eq!(said(format!("K10{hash}::node:s")), "");
    assert!(
        said(format!("K10{}::node:s", "0".repeat(64))).contains("another certificate authority")
    );
}

#[test]
fn some_words_are_in_no_text() {
    for distro in [Distro::Kubeadm, Distro::Rke2, Distro::Rke2Airgapped, Distro::K3s] {
        let text = text(&instance(distro));
        for (word, why) in [
            ("sleep 10", "a wait has a reason and an end"),
            ("register-with-taints", "taints have a place of their own"),
            ("node.cluster.x-k8s.io/uninitialized", "nobody would ever remove it"),
            ("unsafe", "certificates are always checked"),
            ("cloud-provider", "without a controller the node would never be ready"),
        ] {
            assert!(!text.contains(word), "{distro} has {word}: {why}");
        }
    }
}

#[test]
fn a_guest_is_not_asked_what_is_known_already() {
    let mut inputs = instance(Distro::Kubeadm);
    inputs.provider_id = ProviderId::Known("proxmox://region-1/20001".to_owned());
    let config = cloud_config(&inputs);
    assert_eq!(config["runcmd"], json!([["/bin/sh", "/usr/local/lib/joiner/join.sh"]]));
    let arguments = &yaml_file(&inputs, KUBEADM)["nodeRegistration"]["kubeletExtraArgs"];
    assert_eq!(arguments[0], json!({"name": "provider-id", "value": "proxmox://region-1/20001"}));
}
