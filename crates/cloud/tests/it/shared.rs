//! The instance that most tests are about.

use joiner_cloud::bootstrap::{
    Distro, Error, GuestLookup, Inputs, Install, Kubelet, Mode, ProviderId, Rendered, UserText,
    render,
    token::{BootstrapToken, Token},
    trust::CaBundle,
};
use joiner_core::taint::Taint;
use serde_json::Value;

pub(crate) const CA: &str = include_str!("ca.pem");
pub(crate) const TOKEN: &str = "a1b2c3.0123456789abcdef";
pub(crate) const PINNED_TOKEN: &str =
    "K1074b0b1dfebb04785da4bd028ae15e86ec4e7b1e07c28cbd8058d632231cd0e57::a1b2c3.0123456789abcdef";
pub(crate) const LABELS: &str = "karpenter.sh/capacity-type=on-demand,karpenter.sh/nodepool=general,node.kubernetes.io/instance-type=vsphere-vm.cpu-4.mem-16gb.os-linux,team=a,topology.kubernetes.io/zone=az1";
pub(crate) const TAINTS: &str = "karpenter.sh/unregistered:NoExecute,dedicated=batch:NoSchedule,node.cilium.io/agent-not-ready=true:NoExecute";

/// `key=value:Effect`.
pub(crate) fn taint(text: &str) -> Taint {
    let (rest, effect) = text.rsplit_once(':').unwrap();
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned().into() }
}

pub(crate) fn ca() -> CaBundle {
    CaBundle::read(CA).unwrap()
}

pub(crate) fn minted() -> Token {
    Token::Minted(BootstrapToken::read(TOKEN).unwrap())
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// An instance of the pool `general`, whose guest finds out its provider id by DMI.
pub(crate) fn instance(distro: Distro) -> Inputs {
    let version = match distro {
        Distro::Rke2 | Distro::Rke2Airgapped => "v1.33.4+rke2r1",
        Distro::K3s => "v1.33.4+k3s1",
        Distro::Kubeadm | Distro::Talos | Distro::None => "v1.33.4",
    };
    let amounts = |amounts: &[(&str, &str)]| {
        amounts.iter().map(|(name, amount)| (*name, amount.parse().unwrap())).collect()
    };
    Inputs {
        object: "VsphereNodeClass \"default\"".to_owned(),
        distro,
        format: None,
        node_name: "general-x7k2p".to_owned(),
        endpoint: Some("10.0.0.10".to_owned()),
        token: Some(minted()),
        ca: Some(ca()),
        pin_ca: false,
        version: Some(version.to_owned()),
        labels: pairs(&[
            ("karpenter.sh/nodepool", "general"),
            ("karpenter.sh/capacity-type", "on-demand"),
            ("topology.kubernetes.io/zone", "az1"),
            ("node.kubernetes.io/instance-type", "vsphere-vm.cpu-4.mem-16gb.os-linux"),
            ("kubernetes.io/arch", "amd64"),
            ("node-role.kubernetes.io/worker", ""),
            ("team", "a"),
        ]),
        taints: vec![taint("dedicated=batch:NoSchedule")],
        startup_taints: vec![taint("node.cilium.io/agent-not-ready=true:NoExecute")],
        kubelet: Kubelet {
            max_pods: Some(110),
            kube_reserved: amounts(&[("cpu", "80m"), ("memory", "1465Mi")]),
            eviction_hard: pairs(&[("memory.available", "100Mi"), ("nodefs.available", "10%")]),
            ..Kubelet::default()
        },
        provider_id: ProviderId::Guest(GuestLookup::Dmi),
        cri_socket: None,
        registries: Vec::new(),
        proxy: None,
        install: Install::default(),
        talos_base: None,
        user: UserText::inline("spec.userData", ""),
        mode: Mode::Merge,
    }
}

pub(crate) fn with_user(mut inputs: Inputs, text: &str) -> Inputs {
    inputs.user = UserText::inline("spec.userData", text);
    inputs
}

pub(crate) fn rendered(inputs: &Inputs) -> Rendered {
    render(inputs).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn refused(inputs: &Inputs) -> Error {
    render(inputs).expect_err("it must be refused")
}

pub(crate) fn text(inputs: &Inputs) -> String {
    String::from_utf8(rendered(inputs).text.reveal().clone()).unwrap()
}

pub(crate) fn warnings(inputs: &Inputs) -> Vec<String> {
    rendered(inputs).report.warnings.into_iter().map(|warning| warning.text).collect()
}

pub(crate) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The cloud-config that an instance gets.
pub(crate) fn cloud_config(inputs: &Inputs) -> Value {
    let text = text(inputs);
    assert!(text.starts_with("#cloud-config\n"), "{text}");
    yaml(&text)
}

/// A file of a cloud-config.
pub(crate) fn file<'v>(config: &'v Value, path: &str) -> &'v Value {
    let files = config["write_files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("no {path}"))
}

/// The YAML in a file of a cloud-config.
pub(crate) fn yaml_file(inputs: &Inputs, path: &str) -> Value {
    yaml(file(&cloud_config(inputs), path)["content"].as_str().unwrap())
}
