//! `kubeadm join`.

use super::{File, Join, Layout, Ready, guest_lookup, known_id, mirrors, pre_join, proxy};
use crate::bootstrap::{
    error::{Error, ErrorKind},
    kubelet::{self, PROVIDER_ID_PLACEHOLDER},
    script,
    token::needed,
    version::{KubeVersion, KubeadmApi},
    yaml::Yaml,
};

const CONTAINERD: &str = "unix:///run/containerd/containerd.sock";

pub(super) fn join(ready: &Ready<'_>, layout: Layout) -> Result<Join, Error> {
    let config = layout.secret("kubeadm-join.yaml");
    let cri_socket = ready.inputs.cri_socket.as_deref().unwrap_or(CONTAINERD);
    let socket = cri_socket.strip_prefix("unix://").filter(|path| path.starts_with('/'));
    let socket = socket.ok_or_else(|| {
        let problem = format!("{cri_socket:?} is no socket");
        let remedy = format!("write unix:// and a path, such as {CONTAINERD}");
        Error::new(ErrorKind::InvalidInput, "criSocket", problem, remedy)
    })?;

    let mut files = vec![File::private(&config, configuration(ready, cri_socket)?.print())];
    files.extend(mirrors::for_containerd(&ready.inputs.registries)?);
    let proxies = proxy::for_containerd(ready)?;
    let lookup = guest_lookup(ready.inputs);
    let mut steps = Vec::new();
    steps.extend(lookup.map(|_| script::COMPLETE_KUBEADM));
    steps.extend((!proxies.is_empty()).then_some(script::RESTART_RUNTIME));
    files.extend(proxies);
    let (first, scripts) = pre_join(lookup, layout, &[("config", &config)], &steps);
    files.extend(scripts);

    let join = layout.script("join.sh");
    files.push(File::script(
        &join,
        script::script(
            "Joins this instance to its cluster. Can be run again.",
            &[("config", &config), ("socket", socket)],
            &[script::COMMON, script::JOIN_KUBEADM, script::JOINED],
        ),
    ));
    Ok(Join { node_name: ready.inputs.node_name.clone(), files, first, last: join })
}

fn configuration(ready: &Ready<'_>, cri_socket: &str) -> Result<Yaml, Error> {
    let inputs = ready.inputs;
    let api = ready.version.as_ref().map_or(KubeadmApi::V1Beta4, KubeVersion::kubeadm_api);
    let provider_id = match guest_lookup(inputs) {
        Some(_) => Some(PROVIDER_ID_PLACEHOLDER),
        None => known_id(inputs),
    };
    let arguments = kubelet::arguments(inputs, provider_id, Some(&ready.labels))?;
    let (api_version, arguments): (_, Yaml) = match api {
        KubeadmApi::V1Beta4 => {
            let named = |argument: kubelet::Argument| {
                [("name", argument.name), ("value", argument.value)]
                    .map(|(key, value)| (key, Yaml::text(value)))
                    .into_iter()
                    .collect()
            };
            let list = arguments.into_iter().map(named).collect();
            ("kubeadm.k8s.io/v1beta4", Yaml::List(list))
        }
        KubeadmApi::V1Beta3 => {
            let pairs = arguments.into_iter();
            let map = pairs.map(|argument| (argument.name, Yaml::text(argument.value))).collect();
            ("kubeadm.k8s.io/v1beta3", map)
        }
    };
    let discovery: Yaml = [
        ("apiServerEndpoint", Yaml::text(ready.endpoint.authority())),
        ("token", Yaml::text(ready.token.reveal())),
        ("caCertHashes", Yaml::texts(needed(inputs.ca.as_ref())?.kubeadm_hashes())),
    ]
    .into_iter()
    .collect();
    let registration = [
        ("name", Yaml::text(&inputs.node_name)),
        ("criSocket", Yaml::text(cri_socket)),
        ("taints", Yaml::List(ready.taints.iter().map(Yaml::from).collect())),
        ("kubeletExtraArgs", arguments),
    ];
    Ok([
        ("apiVersion", Yaml::text(api_version)),
        ("kind", Yaml::text("JoinConfiguration")),
        ("discovery", [("bootstrapToken", discovery)].into_iter().collect()),
        ("nodeRegistration", registration.into_iter().collect()),
    ]
    .into_iter()
    .collect())
}
