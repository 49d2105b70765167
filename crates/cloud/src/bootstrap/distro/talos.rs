//! Talos: our values over a machine configuration of the user's.
//!
//! The secrets of Talos' own instancery are not in Kubernetes, so the user brings a configuration
//! that has them.

use super::{Ready, known_id, mirrors, proxy};
use crate::bootstrap::{
    error::{Error, ErrorKind},
    kubelet,
    report::Warning,
    token::needed,
    yaml::{Map, Yaml, documents},
};

/// The fields that every worker needs and that only the user has.
const REQUIRED: [&[&str]; 4] =
    [&["machine", "token"], &["machine", "ca", "crt"], &["cluster", "id"], &["cluster", "secret"]];

/// Keys that would give every worker full control of the cluster.
const FORBIDDEN: [&[&str]; 2] = [&["machine", "ca", "key"], &["cluster", "ca", "key"]];

/// A text with the name of where it is from.
pub(crate) struct Source<'t> {
    pub(crate) field: &'t str,
    pub(crate) text: &'t str,
}

/// The machine configuration: the base, the user's patch over it, and ours over both.
pub(crate) fn configuration(
    ready: &Ready<'_>,
    base: &Source<'_>,
    patch: Option<&Source<'_>>,
) -> Result<(String, Vec<Warning>), Error> {
    let mut all = read(base)?;
    if let Some(patch) = patch {
        for document in read(patch)? {
            merge_document(&mut all, document);
        }
    }
    let mut warnings = Vec::new();
    let machine_config = main_document(&mut all).ok_or_else(|| {
        Error::new(
            ErrorKind::TalosSecretsMissing,
            base.field,
            "there is no document with version: v1alpha1 and instance in it",
            "give a worker's configuration as `talosctl gen config` writes it",
        )
    })?;
    check(machine_config, base.field)?;
    set_machine(machine_config, ready, base.field, &mut warnings)?;
    set_cluster(machine_config, ready)?;
    set_hostname(&mut all, &ready.inputs.node_name);
    set_registries(&mut all, ready)?;
    let texts: Vec<_> = all.into_iter().map(|map| Yaml::Map(map).print()).collect();
    Ok((texts.join("---\n"), warnings))
}

fn read(source: &Source<'_>) -> Result<Vec<Map>, Error> {
    let refuse = |problem: String| {
        let remedy = "give a Talos machine configuration, which begins with version: v1alpha1";
        Error::new(ErrorKind::InvalidUserData, source.field, problem, remedy)
    };
    let found = documents(source.text)
        .map_err(|error| refuse(format!("line {}: {}", error.line, error.problem)))?;
    let mut maps = Vec::new();
    for document in found {
        match document {
            Yaml::Map(map) => maps.push(map),
            other if other.is_null() => {}
            other => return Err(refuse(format!("a document of it is {}", other.noun()))),
        }
    }
    Ok(maps)
}

fn main_document(all: &mut [Map]) -> Option<&mut Map> {
    all.iter_mut().find(|map| is_main(map))
}

fn is_main(map: &Map) -> bool {
    map.get("version").and_then(Yaml::as_str) == Some("v1alpha1") && map.get("machine").is_some()
}

/// Puts a document of a patch over the one that it is meant for.
fn merge_document(all: &mut Vec<Map>, patch: Map) {
    fn names(map: &Map) -> [Option<&str>; 2] {
        ["kind", "name"].map(|key| map.get(key).and_then(Yaml::as_str))
    }
    let same = all.iter_mut().find(|map| {
        if is_main(&patch) { is_main(map) } else { !is_main(map) && names(map) == names(&patch) }
    });
    match same {
        Some(map) => lay_over(map, patch),
        None => all.push(patch),
    }
}

/// Merges maps recursively; other values are replaced.
fn lay_over(under: &mut Map, over: Map) {
    for (key, value) in over.0 {
        match (under.get_mut(&key.text), value) {
            (Some(Yaml::Map(under)), Yaml::Map(over)) => lay_over(under, over),
            (Some(old), value) => *old = value,
            (None, value) => under.0.push((key, value)),
        }
    }
}

fn check(config: &Map, field: &str) -> Result<(), Error> {
    let said = |path: &[&str]| {
        config.find(path).is_some_and(|v| v.as_str().is_some_and(|t| !t.is_empty()))
    };
    let dotted =
        |paths: Vec<&&[&str]>| -> Vec<String> { paths.iter().map(|p| p.join(".")).collect() };
    let forbidden = dotted(FORBIDDEN.iter().filter(|path| said(path)).collect());
    if let Some(path) = forbidden.first() {
        return Err(Error::new(
            ErrorKind::InvalidUserData,
            format!("{field}: {path}"),
            "a worker must not carry a CA key",
            "use the configuration of a worker, not that of a control plane",
        ));
    }
    let missing = dotted(REQUIRED.iter().filter(|path| !said(path)).collect());
    if !missing.is_empty() {
        return Err(Error::new(
            ErrorKind::TalosSecretsMissing,
            field,
            format!("{} must be there and cannot be found in Kubernetes", missing.join(", ")),
            "give a worker's configuration as `talosctl gen config` writes it, best in a Secret",
        ));
    }
    Ok(())
}

fn set_machine(
    config: &mut Map,
    ready: &Ready<'_>,
    field: &str,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let kubelet = &ready.inputs.kubelet;
    let machine = config.map_at("machine");
    machine.set("type", Yaml::text("worker"));
    for (key, value) in &ready.labels.passed {
        machine.map_at("nodeLabels").set(key, Yaml::text(value));
    }
    let env = proxy::for_talos(ready)?;
    if !env.0.is_empty() {
        lay_over(machine.map_at("env"), env);
    }

    let section = machine.map_at("kubelet");
    let image = section.get("image").and_then(Yaml::as_str).map(repository);
    match (image, &ready.version) {
        (Some(repository), Some(version)) => {
            section.set("image", Yaml::text(format!("{repository}:{}", version.image_tag())));
        }
        (None, _) => warnings.push(Warning::new(
            field,
            "machine.kubelet.image is not there, so the kubelet is of the version that the image \
             of the instance brings",
        )),
        (Some(_), None) => {}
    }
    for argument in kubelet::extra_arguments(kubelet)? {
        section.map_at("extraArgs").set(argument.name, Yaml::text(argument.value));
    }
    let extra = section.map_at("extraConfig");
    if let Some(pods) = kubelet::max_pods(kubelet) {
        extra.set("maxPods", Yaml::number(pods));
    }
    for (key, pairs) in [
        ("kubeReserved", kubelet::reserved("kubeReserved", &kubelet.kube_reserved)?),
        ("systemReserved", kubelet::reserved("systemReserved", &kubelet.system_reserved)?),
        ("evictionHard", kubelet::eviction_hard(kubelet)?),
    ] {
        for (name, amount) in pairs {
            extra.map_at(key).set(name, Yaml::text(amount));
        }
    }
    extra.set("registerWithTaints", Yaml::List(ready.taints.iter().map(Yaml::from).collect()));
    if let Some(id) = known_id(ready.inputs) {
        extra.set("providerID", Yaml::text(id));
    }
    Ok(())
}

fn set_cluster(config: &mut Map, ready: &Ready<'_>) -> Result<(), Error> {
    let has_ca = config.find(&["cluster", "ca", "crt"]).is_some_and(|crt| crt.as_str().is_some());
    let cluster = config.map_at("cluster");
    cluster.map_at("controlPlane").set("endpoint", Yaml::text(ready.endpoint.url()));
    cluster.set("token", Yaml::text(ready.token.reveal()));
    // The base's own certificate is as good as the one that was not found.
    if ready.inputs.ca.is_some() || !has_ca {
        let ca = needed(ready.inputs.ca.as_ref())?;
        cluster.map_at("ca").set("crt", Yaml::text(ca.pem_base64()));
    }
    if kubelet::external_cloud_provider(ready.inputs) {
        cluster.map_at("externalCloudProvider").set("enabled", Yaml::bool(true));
    }
    Ok(())
}

/// Newer versions have a document for the host name; where the base has it, it is that one's.
fn set_hostname(all: &mut [Map], name: &str) {
    let hostname = Yaml::text(name);
    if let Some(document) = all.iter_mut().find(|map| is_kind(map, "HostnameConfig")) {
        // A name that is made up and one that is given exclude each other.
        document.remove("auto");
        document.set("hostname", hostname);
    } else if let Some(main) = main_document(all) {
        main.map_at("machine").map_at("network").set("hostname", hostname);
    }
}

/// As with the host name, registries stay in documents of their own where the base has them there.
fn set_registries(all: &mut Vec<Map>, ready: &Ready<'_>) -> Result<(), Error> {
    const KINDS: [&str; 3] = ["RegistryMirrorConfig", "RegistryAuthConfig", "RegistryTLSConfig"];
    let (mirrors, configs) = mirrors::for_talos(&ready.inputs.registries)?;
    if !all.iter().any(|map| KINDS.iter().any(|kind| is_kind(map, kind))) {
        if let Some(main) = main_document(all) {
            for (key, table) in [("mirrors", mirrors), ("config", configs)] {
                if !table.0.is_empty() {
                    lay_over(main.map_at("machine").map_at("registries").map_at(key), table);
                }
            }
        }
        return Ok(());
    }
    for (host, mirror) in mirrors.0 {
        let urls = mirror.as_map().and_then(|map| map.get("endpoints")).and_then(Yaml::as_list);
        let url = |url: &Yaml| [("url", url.clone())].into_iter().collect();
        let endpoints = Yaml::List(urls.unwrap_or_default().iter().map(url).collect());
        merge_document(all, document(KINDS[0], &host.text, [("endpoints", endpoints)]));
    }
    for (host, config) in configs.0 {
        for (key, kind) in [("auth", KINDS[1]), ("tls", KINDS[2])] {
            if let Some(part) = config.as_map().and_then(|map| map.get(key)?.as_map()) {
                let fields = part.0.iter().map(|(key, value)| (key.text.as_str(), value.clone()));
                merge_document(all, document(kind, &host.text, fields));
            }
        }
    }
    Ok(())
}

fn is_kind(map: &Map, kind: &str) -> bool {
    map.get("kind").and_then(Yaml::as_str) == Some(kind)
}

fn document<'k>(kind: &str, name: &str, fields: impl IntoIterator<Item = (&'k str, Yaml)>) -> Map {
    let head = [("apiVersion", "v1alpha1"), ("kind", kind), ("name", name)];
    head.map(|(key, text)| (key, Yaml::text(text))).into_iter().chain(fields).collect()
}

/// An image's name without tag and digest.
fn repository(image: &str) -> String {
    let name = image.split('@').next().unwrap_or_default();
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn the_repository_of_an_image_stays() {
        for image in ["r:5000/k", "r:5000/k:v1.33.4", "r:5000/k@sha256:0", "r:5000/k:v1@sha256:0"] {
            assert_eq!(repository(image), "r:5000/k");
        }
    }
}
