//! Mirrors of image registries.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::File;
use crate::bootstrap::{
    error::{Error, ErrorKind},
    inputs::Registry,
    yaml::{Map, Yaml},
};

/// containerd's `hosts.toml`. The image's containerd must have `config_path` set to the folder.
pub(super) fn for_containerd(registries: &[Registry]) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for registry in registries {
        check(registry)?;
        // containerd's word for "all others".
        let folder = if registry.host == "*" { "_default" } else { &registry.host };
        let folder = format!("/etc/containerd/certs.d/{folder}");
        let mut lines = Vec::new();
        if registry.host != "*" {
            lines.push(format!("server = {}\n", toml(&format!("https://{}", registry.host))));
        }
        for endpoint in urls(registry) {
            lines.push(format!("\n[host.{}]\n", toml(&endpoint)));
            lines.push("  capabilities = [\"pull\", \"resolve\"]\n".to_owned());
            if registry.ca_pem.is_some() {
                lines.push(format!("  ca = {}\n", toml(&format!("{folder}/ca.crt"))));
            }
            if registry.skip_verify {
                lines.push("  skip_verify = true\n".to_owned());
            }
            if let Some(login) = &registry.login {
                lines.push(format!("  [host.{}.header]\n", toml(&endpoint)));
                let credentials = format!("{}:{}", login.username, login.password.reveal());
                let header = format!("Basic {}", STANDARD.encode(credentials));
                lines.push(format!("    authorization = {}\n", toml(&header)));
            }
        }
        files.push(File::private(format!("{folder}/hosts.toml"), lines.concat()));
        let ca = registry.ca_pem.as_ref();
        files.extend(ca.map(|pem| File::public(format!("{folder}/ca.crt"), pem)));
    }
    Ok(files)
}

/// `registries.yaml` of RKE2 and k3s.
pub(super) fn for_supervised(registries: &[Registry], path: &str) -> Result<Vec<File>, Error> {
    if registries.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let trust = |registry: &Registry, pem: &str| {
        let name = if registry.host == "*" { "default" } else { &registry.host };
        let path = format!("{folder}/registry-ca/{name}.crt");
        files.push(File::public(&path, pem));
        ("ca_file", path)
    };
    let (mirrors, configs) = tables(registries, "endpoint", "insecure_skip_verify", trust)?;
    let parts = [("mirrors", mirrors), ("configs", configs)].into_iter();
    let said = parts.filter(|(_, map)| !map.0.is_empty());
    let document: Yaml = said.map(|(key, map)| (key, Yaml::Map(map))).collect();
    files.insert(0, File::private(path, document.print()));
    Ok(files)
}

/// `machine.registries` of Talos: mirrors, and what to log in with and trust.
pub(super) fn for_talos(registries: &[Registry]) -> Result<(Map, Map), Error> {
    let trust = |_: &Registry, pem: &str| ("ca", STANDARD.encode(pem));
    tables(registries, "endpoints", "insecureSkipVerify", trust)
}

/// Mirrors by registry, and login and trust by host, with the field names of the reading program.
fn tables(
    registries: &[Registry],
    endpoints: &str,
    skip_verify: &str,
    mut trust: impl FnMut(&Registry, &str) -> (&'static str, String),
) -> Result<(Map, Map), Error> {
    let (mut mirrors, mut configs) = (Map::default(), Map::default());
    for registry in registries {
        check(registry)?;
        if !registry.endpoints.is_empty() {
            let endpoints = [(endpoints, Yaml::texts(&registry.endpoints))];
            mirrors.set(&registry.host, endpoints.into_iter().collect());
        }
        let mut config = Map::default();
        if let Some(login) = &registry.login {
            let auth = config.map_at("auth");
            auth.set("username", Yaml::text(&login.username));
            auth.set("password", Yaml::text(login.password.reveal()));
        }
        if let Some(pem) = &registry.ca_pem {
            let (key, value) = trust(registry, pem);
            config.map_at("tls").set(key, Yaml::text(value));
        }
        if registry.skip_verify {
            config.map_at("tls").set(skip_verify, Yaml::bool(true));
        }
        for host in authorities(registry).filter(|_| !config.0.is_empty()) {
            configs.set(host, Yaml::Map(config.clone()));
        }
    }
    Ok((mirrors, configs))
}

/// Where a registry's login and certificates count: its mirrors, or itself.
fn urls(registry: &Registry) -> Vec<String> {
    if registry.endpoints.is_empty() {
        vec![format!("https://{}", registry.host)]
    } else {
        registry.endpoints.clone()
    }
}

fn authorities(registry: &Registry) -> impl Iterator<Item = String> {
    urls(registry).into_iter().map(|url| {
        let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        host.split('/').next().unwrap_or_default().to_owned()
    })
}

/// JSON's strings are TOML's too; control characters have been refused before.
fn toml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn check(registry: &Registry) -> Result<(), Error> {
    let Registry { host, endpoints, login, .. } = registry;
    let refuse = |problem: String, remedy: &str| {
        let field = format!("registries[{host:?}]");
        Err(Error::new(ErrorKind::InvalidInput, field, problem, remedy))
    };
    let host_like = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
            && !text.starts_with('.')
    };
    if host != "*" && !host_like(host) {
        return refuse("it is no host of a registry".into(), "write HOST, HOST:PORT or *");
    }
    if host == "*" && endpoints.is_empty() {
        return refuse("it stands for all and leads nowhere".into(), "write an endpoint for it");
    }
    for endpoint in endpoints {
        let rest = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
        let plain = !endpoint.chars().any(|c| c.is_whitespace() || c.is_control() || c == '@');
        let host = rest.and_then(|rest| rest.split('/').next());
        if !plain || !host.is_some_and(host_like) {
            let problem = format!("{endpoint:?} is no address");
            return refuse(problem, "write https://HOST:PORT, and the login beside it");
        }
    }
    let has_control = |text: &str| text.chars().any(char::is_control);
    if login
        .as_ref()
        .is_some_and(|login| has_control(&login.username) || has_control(login.password.reveal()))
    {
        return refuse("its login has a control character in it".into(), "write it on one line");
    }
    Ok(())
}
