//! Mirrors and proxies.

use expect_test::expect;
use joiner_cloud::bootstrap::{Distro, Inputs, Login, Proxy, Registry, Secret};
use serde_json::json;

use crate::shared::{cloud_config, file, instance, refused, text, with_user, yaml, yaml_file};

fn behind_a_proxy(distro: Distro) -> Inputs {
    let mut inputs = instance(distro);
    inputs.proxy = Some(Proxy {
        http: Some(Secret::from("http://u:p%40ss@proxy.example.org:3128")),
        https: Some(Secret::from("http://proxy.example.org:3128")),
        no_proxy: vec!["10.0.0.10".to_owned(), ".example.org".to_owned()],
        cluster_domain: None,
        cluster_cidrs: vec!["10.42.0.0/16".to_owned(), "10.43.0.0/16".to_owned()],
    });
    inputs
}

const DIRECT: &str =
    "127.0.0.1,localhost,.svc,.cluster.local,10.42.0.0/16,10.43.0.0/16,10.0.0.10,.example.org";

#[test]
fn kubeadms_units_get_their_proxy_before_the_join() {
    let config = cloud_config(&behind_a_proxy(Distro::Kubeadm));
    for unit in ["containerd", "kubelet"] {
        let drop_in =
            file(&config, &format!("/etc/systemd/system/{unit}.service.d/http-proxy.conf"));
        assert_eq!(drop_in["permissions"], "0600");
        assert_eq!(
            drop_in["content"].as_str().unwrap(),
            format!(
                "[Service]\n\
                 Environment=\"HTTP_PROXY=http://u:p%%40ss@proxy.example.org:3128\"\n\
                 Environment=\"HTTPS_PROXY=http://proxy.example.org:3128\"\n\
                 Environment=\"NO_PROXY={DIRECT}\"\n"
            )
        );
    }
    let prepare = file(&config, "/usr/local/lib/joiner/pre-join.sh")["content"].as_str().unwrap();
    assert!(prepare.contains("systemctl try-restart containerd.service"));
}

#[test]
fn agents_get_their_proxy_by_an_environment_file() {
    for (distro, path) in [
        (Distro::Rke2, "/etc/default/rke2-agent"),
        (Distro::K3s, "/etc/systemd/system/k3s-agent.service.env"),
    ] {
        let config = cloud_config(&behind_a_proxy(distro));
        let content = file(&config, path)["content"].as_str().unwrap();
        assert_eq!(
            content,
            format!(
                "HTTP_PROXY='http://u:p%40ss@proxy.example.org:3128'\n\
                 HTTPS_PROXY='http://proxy.example.org:3128'\n\
                 NO_PROXY='{DIRECT}'\n\
                 CONTAINERD_HTTP_PROXY='http://u:p%40ss@proxy.example.org:3128'\n\
                 CONTAINERD_HTTPS_PROXY='http://proxy.example.org:3128'\n\
                 CONTAINERD_NO_PROXY='{DIRECT}'\n"
            )
        );
    }
}

#[test]
fn talos_has_its_proxy_in_the_environment() {
    let base = "version: v1alpha1\nmachine: {token: t, ca: {crt: c}, env: {A: b}}\ncluster: {id: i, secret: s}\n";
    let inputs = with_user(behind_a_proxy(Distro::Talos), base);
    assert_eq!(
        yaml(&text(&inputs))["machine"]["env"],
        json!({
            "A": "b",
            "http_proxy": "http://u:p%40ss@proxy.example.org:3128",
            "https_proxy": "http://proxy.example.org:3128",
            "no_proxy": DIRECT,
        })
    );
}

#[test]
fn a_proxy_that_is_none_is_refused_without_its_password() {
    for address in ["proxy:3128", "http://u:pass word@h", "http://h'", "http://$(x)"] {
        let mut inputs = behind_a_proxy(Distro::K3s);
        inputs.proxy.as_mut().unwrap().http = Some(Secret::from(address));
        let error = refused(&inputs);
        assert_eq!(error.field, "proxy.http");
        assert!(!error.to_string().contains("pass"), "{error}");
    }
    let mut inputs = behind_a_proxy(Distro::K3s);
    inputs.proxy.as_mut().unwrap().no_proxy = vec!["a b".to_owned()];
    assert_eq!(refused(&inputs).field, "proxy.noProxy");
}

fn mirrored(distro: Distro) -> Inputs {
    let mut inputs = instance(distro);
    let mirror = |host: &str, endpoint: &str| Registry {
        host: host.to_owned(),
        endpoints: vec![endpoint.to_owned()],
        login: None,
        ca_pem: None,
        skip_verify: false,
    };
    inputs.registries = vec![
        Registry {
            login: Some(Login { username: "u".to_owned(), password: Secret::from("p\"w") }),
            ca_pem: Some("PEM\n".to_owned()),
            ..mirror("images.example.org", "https://mirror.example.org:5000/v2")
        },
        Registry { skip_verify: true, ..mirror("*", "http://cache.example.org") },
    ];
    inputs
}

#[test]
fn agents_read_their_mirrors_in_one_file() {
    let config = yaml_file(&mirrored(Distro::Rke2), "/etc/rancher/rke2/registries.yaml");
    assert_eq!(
        config,
        json!({
            "mirrors": {
                "images.example.org": {"endpoint": ["https://mirror.example.org:5000/v2"]},
                "*": {"endpoint": ["http://cache.example.org"]},
            },
            "configs": {
                "mirror.example.org:5000": {
                    "auth": {"username": "u", "password": "p\"w"},
                    "tls": {"ca_file": "/etc/rancher/rke2/registry-ca/images.example.org.crt"},
                },
                "cache.example.org": {"tls": {"insecure_skip_verify": true}},
            },
        })
    );
    let config = cloud_config(&mirrored(Distro::K3s));
    let path = "/etc/rancher/k3s/registry-ca/images.example.org.crt";
    assert_eq!(file(&config, path)["content"], "PEM\n");
    assert_eq!(file(&config, "/etc/rancher/k3s/registries.yaml")["permissions"], "0600");
}

#[test]
fn containerd_reads_its_mirrors_in_one_file_each() {
    let config = cloud_config(&mirrored(Distro::Kubeadm));
    let path = "/etc/containerd/certs.d/images.example.org/hosts.toml";
    expect![[r#"
        server = "https://images.example.org"

        [host."https://mirror.example.org:5000/v2"]
          capabilities = ["pull", "resolve"]
          ca = "/etc/containerd/certs.d/images.example.org/ca.crt"
          [host."https://mirror.example.org:5000/v2".header]
            authorization = "Basic dTpwInc="
    "#]]
    .assert_eq(file(&config, path)["content"].as_str().unwrap());
    let path = "/etc/containerd/certs.d/_default/hosts.toml";
    expect![[r#"

        [host."http://cache.example.org"]
          capabilities = ["pull", "resolve"]
          skip_verify = true
    "#]]
    .assert_eq(file(&config, path)["content"].as_str().unwrap());
}

#[test]
fn mirrors_that_lead_nowhere_are_refused() {
    for (host, endpoint) in
        [("a b", "https://h"), ("..", "https://h"), ("h", "h:5000"), ("h", "https://u:p@h")]
    {
        let mut inputs = mirrored(Distro::K3s);
        inputs.registries[0].host = host.to_owned();
        inputs.registries[0].endpoints = vec![endpoint.to_owned()];
        assert!(refused(&inputs).field.starts_with("registries["), "{host} {endpoint}");
    }
}
