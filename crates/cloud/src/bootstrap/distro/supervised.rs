//! RKE2 and k3s, whose agents join by a supervisor.

use joiner_core::taint::Taint;

use super::{File, Join, Layout, Ready, guest_lookup, known_id, mirrors, pre_join, proxy};
use crate::bootstrap::{error::Error, inputs::Distro, kubelet, script, yaml::Yaml};

/// Where RKE2 and k3s differ in nothing but names.
pub(super) struct Paths {
    config: &'static str,
    pub(super) registries: &'static str,
    pub(super) environment: &'static str,
    drop_in: &'static str,
}

const RKE2: Paths = Paths {
    config: "/etc/rancher/rke2/config.yaml",
    registries: "/etc/rancher/rke2/registries.yaml",
    environment: "/etc/default/rke2-agent",
    drop_in: "/etc/rancher/rke2/config.yaml.d/60-joiner-provider-id.yaml",
};

const K3S: Paths = Paths {
    config: "/etc/rancher/k3s/config.yaml",
    registries: "/etc/rancher/k3s/registries.yaml",
    environment: "/etc/systemd/system/k3s-agent.service.env",
    drop_in: "/etc/rancher/k3s/config.yaml.d/60-joiner-provider-id.yaml",
};

const RKE2_URL: &str = "https://get.rke2.io";
const K3S_URL: &str = "https://get.k3s.io";
const AIRGAPPED_SCRIPT: &str = "/opt/install.sh";
const AIRGAPPED_ARTIFACTS: &str = "/opt/rke2-artifacts";

pub(super) fn paths(distro: Distro) -> &'static Paths {
    if distro == Distro::K3s { &K3S } else { &RKE2 }
}

pub(super) fn join(ready: &Ready<'_>, layout: Layout) -> Result<Join, Error> {
    let inputs = ready.inputs;
    let paths = paths(inputs.distro);
    let mut files = vec![File::private(paths.config, configuration(ready)?.print())];
    files.extend(mirrors::for_supervised(&inputs.registries, paths.registries)?);
    let environment = proxy::for_supervised(ready, paths.environment)?;
    files.extend(environment.clone());
    let lookup = guest_lookup(inputs);
    let steps: Vec<_> = lookup.map(|_| script::COMPLETE_SUPERVISED).into_iter().collect();
    let (first, scripts) = pre_join(lookup, layout, &[("drop_in", paths.drop_in)], &steps);
    files.extend(scripts);

    let (default_url, default_script, artifacts, body) = match inputs.distro {
        Distro::K3s => (K3S_URL, "", "", script::JOIN_K3S),
        Distro::Rke2Airgapped => {
            let artifacts = inputs.install.artifacts.as_deref().unwrap_or(AIRGAPPED_ARTIFACTS);
            ("", AIRGAPPED_SCRIPT, artifacts, script::JOIN_RKE2)
        }
        _ => (RKE2_URL, "", "", script::JOIN_RKE2),
    };
    let values = [
        ("release", ready.version.as_ref().map_or("", |version| version.as_str())),
        ("url", inputs.install.url.as_deref().unwrap_or(default_url)),
        ("script", inputs.install.script.as_deref().unwrap_or(default_script)),
        ("artifacts", artifacts),
        ("environment", environment.as_ref().map_or("", |file| &file.path)),
        ("drop_in", if lookup.is_some() { paths.drop_in } else { "" }),
    ];
    let join = layout.script("join.sh");
    files.push(File::script(
        &join,
        script::script(
            "Installs the agent and joins this instance to its cluster. Can be run again.",
            &values,
            &[script::COMMON, script::SUPERVISED, body, script::JOINED],
        ),
    ));
    Ok(Join { node_name: inputs.node_name.clone(), files, first, last: join })
}

fn configuration(ready: &Ready<'_>) -> Result<Yaml, Error> {
    let inputs = ready.inputs;
    let k3s = inputs.distro == Distro::K3s;
    let arguments = kubelet::arguments(inputs, known_id(inputs), None)?;
    let spelled = |argument: &kubelet::Argument| match (argument.name.as_str(), k3s) {
        // COMPAT: the vSphere provider spells this one with dashes on RKE2.
        ("cloud-provider", false) => format!("--{}", argument.text()),
        _ => argument.text(),
    };
    let server = ("server", Yaml::text(ready.endpoint.url()));
    let token = ("token", Yaml::text(ready.token.reveal()));
    let name = ("node-name", Yaml::text(&inputs.node_name));
    let labels = ("node-label", Yaml::texts(ready.labels.texts()));
    let taints = ("node-taint", Yaml::texts(ready.taints.iter().map(Taint::to_string)));
    let arguments = ("kubelet-arg", Yaml::texts(arguments.iter().map(spelled)));
    let entries = if k3s {
        [server, token, name, labels, taints, arguments]
    } else {
        [server, arguments, token, taints, name, labels]
    };
    let said = |value: &Yaml| value.as_list().is_none_or(|list| !list.is_empty());
    Ok(entries.into_iter().filter(|(_, value)| said(value)).collect())
}

/// The Secret in which a supervisor keeps the password of a node's first contact. An instance that
/// is made anew under its old name is refused as long as it is there.
pub fn node_password_secret(distro: Distro, node_name: &str) -> Option<String> {
    let suffix = match distro {
        Distro::K3s => "k3s",
        Distro::Rke2 | Distro::Rke2Airgapped => "rke2",
        Distro::Kubeadm | Distro::Talos | Distro::None => return None,
    };
    Some(format!("{node_name}.node-password.{suffix}"))
}
