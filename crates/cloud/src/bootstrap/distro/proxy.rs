//! The way to the outside.

use super::{File, Ready};
use crate::bootstrap::{
    error::{Error, ErrorKind},
    inputs::Proxy,
    yaml::{Map, Yaml},
};

const CLUSTER_DOMAIN: &str = "cluster.local";

/// Drop-ins for the units that reach out.
pub(super) fn for_containerd(ready: &Ready<'_>) -> Result<Vec<File>, Error> {
    let variables = variables(ready)?;
    if variables.is_empty() {
        return Ok(Vec::new());
    }
    // systemd reads a percent sign in a unit as the beginning of a name of its own.
    let line = |(name, value): &(&str, String)| {
        format!("Environment=\"{name}={}\"\n", value.replace('%', "%%"))
    };
    let text = format!("[Service]\n{}", variables.iter().map(line).collect::<String>());
    let file = |unit: &str| {
        File::private(format!("/etc/systemd/system/{unit}.service.d/http-proxy.conf"), &text)
    };
    Ok(["containerd", "kubelet"].map(file).into())
}

/// The environment file of an agent's unit; its containerd has variables of its own.
pub(super) fn for_supervised(ready: &Ready<'_>, path: &str) -> Result<Option<File>, Error> {
    let variables = variables(ready)?;
    let lines = ["", "CONTAINERD_"].into_iter().flat_map(|prefix| {
        variables.iter().map(move |(name, value)| format!("{prefix}{name}='{value}'\n"))
    });
    Ok((!variables.is_empty()).then(|| File::private(path, lines.collect::<String>())))
}

/// `machine.env` of Talos.
pub(super) fn for_talos(ready: &Ready<'_>) -> Result<Map, Error> {
    let variables = variables(ready)?.into_iter();
    Ok(variables.map(|(name, value)| (name.to_lowercase(), Yaml::text(value))).collect())
}

/// Names and values, which have nothing in them that a shell or systemd would read.
fn variables(ready: &Ready<'_>) -> Result<Vec<(&'static str, String)>, Error> {
    let Some(proxy) = ready.inputs.proxy.as_ref() else {
        return Ok(Vec::new());
    };
    let mut variables = Vec::new();
    let urls = [("HTTP_PROXY", "http", &proxy.http), ("HTTPS_PROXY", "https", &proxy.https)];
    for (name, field, url) in urls {
        let Some(url) = url.as_ref().map(|url| url.reveal().as_str()) else { continue };
        if !(url.starts_with("http://") || url.starts_with("https://")) || !is_plain(url) {
            // Never the address itself: there may be a password in it.
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("proxy.{field}"),
                "it is no address of a proxy",
                "write http://HOST:PORT, and other than plain characters as %XX",
            ));
        }
        variables.push((name, url.to_owned()));
    }
    if !variables.is_empty() {
        variables.push(("NO_PROXY", direct(proxy, ready)?));
    }
    Ok(variables)
}

/// What is reached without the proxy: the cluster first, then the user's; each once.
fn direct(proxy: &Proxy, ready: &Ready<'_>) -> Result<String, Error> {
    let domain = proxy.cluster_domain.as_deref().unwrap_or(CLUSTER_DOMAIN);
    let own = ["127.0.0.1", "localhost", ".svc"].map(str::to_owned).into_iter();
    let cluster = [format!(".{domain}")].into_iter().chain(proxy.cluster_cidrs.iter().cloned());
    let endpoint = [ready.endpoint.bare_host().to_owned()].into_iter();
    let mut all: Vec<String> = Vec::new();
    for entry in own.chain(cluster).chain(endpoint).chain(proxy.no_proxy.iter().cloned()) {
        let entry = entry.trim().to_owned();
        if !is_plain(&entry) || entry.contains(',') {
            let problem = format!("{entry:?} is no host, domain or network");
            let remedy = "write one entry for each";
            return Err(Error::new(ErrorKind::InvalidInput, "proxy.noProxy", problem, remedy));
        }
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
    Ok(all.join(","))
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!&()*+,;=%".contains(&byte))
}
