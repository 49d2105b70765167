//! A cluster and a vCenter that are reached through a proxy alone.

use joiner_proxy::testing::TestProxy;
use joiner_sim_vcenter::{Inventory, VCenter};

use super::*;

/// A name that leads nowhere.
const API_SERVER: &str = "api.cluster.invalid";

/// A cluster whose kubeconfig names a server that only a proxy can reach.
async fn behind_a_proxy() -> (Cluster, TestProxy) {
    let cluster = Cluster::first_look().await;
    let any = "127.0.0.1:0".parse().unwrap();
    let protection = Protection { tls: true, token: Some("let-me-in".to_owned()) };
    let serving = Serving::bind(cluster.lab.server().clone(), any, protection).await.unwrap();
    let address = serving.address();
    let server = format!("{API_SERVER}:6443\n    tls-server-name: localhost");
    let config = kubeconfig(&serving).replace(&address.to_string(), &server);
    fs::write(cluster.folder.path().join("config"), config).unwrap();
    let cluster = Cluster { serving, ..cluster };
    (cluster, TestProxy::leading_to(address).await.unwrap())
}

async fn run_behind(variables: &[(&'static str, String)], args: &[&str]) -> Run {
    program_with(args.iter().map(ToString::to_string).collect(), variables.to_vec()).await
}

#[tokio::test]
async fn a_cluster_behind_a_proxy_is_planned_for() {
    let (cluster, proxy) = behind_a_proxy().await;
    let config = cluster.path("config");
    let plan = ["plan", "--kubeconfig", &config];
    let through = run_behind(&[("https_proxy", proxy.url())], &plan).await;
    assert_eq!(through.code, Some(0), "{through}");
    assert_eq!(proxy.asked()[0], format!("CONNECT {API_SERVER}:6443 HTTP/1.1"));
    // What kubeconfig says of its cluster counts more than what variables say of all servers.
    let named = fs::read_to_string(&config).unwrap();
    let field = format!("cluster:\n    proxy-url: {}\n", proxy.url());
    fs::write(&config, named.replacen("cluster:\n", &field, 1)).unwrap();
    let everywhere =
        [("HTTPS_PROXY", "http://127.0.0.1:1".to_owned()), ("NO_PROXY", "*".to_owned())];
    let seen = proxy.asked().len();
    let named = run_behind(&everywhere, &plan).await;
    assert_eq!(named.code, Some(0), "{named}");
    assert!(proxy.asked().len() > seen);
}

#[tokio::test]
async fn a_proxy_that_keeps_us_out_is_named_and_exceptions_go_past_it() {
    let (cluster, _) = behind_a_proxy().await;
    let refusing = TestProxy::answering("HTTP/1.1 407 No\r\n\r\n").await.unwrap();
    let config = cluster.path("config");
    let plan = ["plan", "--kubeconfig", &config];
    let url = refusing.url().replace("://", "://joiner:hunter2@");
    let refused = run_behind(&[("HTTPS_PROXY", url.clone())], &plan).await;
    let told =
        format!("the proxy {} (HTTPS_PROXY) does not lead to {API_SERVER}:6443", refusing.url());
    assert!(refused.stderr.contains(&told), "{refused}");
    assert!(!refused.stderr.contains("hunter2"), "{refused}");
    let seen = refusing.asked().len();
    let variables = [("HTTPS_PROXY", url), ("NO_PROXY", "10.0.0.0/8,.invalid".to_owned())];
    let excepted = run_behind(&variables, &plan).await;
    assert!(!excepted.stderr.contains("the proxy"), "{excepted}");
    assert_eq!(refusing.asked().len(), seen);
}

#[tokio::test]
async fn a_variable_that_names_no_proxy_is_refused_without_its_password() {
    let socks = "socks5://joiner:hunter2@proxy:1080".to_owned();
    let run = run_behind(&[("HTTPS_PROXY", socks)], &["plan", "--kubeconfig", "none"]).await;
    assert_eq!(run.code, Some(2), "{run}");
    expect![[r"
        joiner: HTTPS_PROXY names no proxy that can be used: its scheme is socks5; write http://HOST:PORT or https://HOST:PORT
    "]].assert_eq(&run.stderr);
}

#[tokio::test]
async fn a_vcenter_behind_a_proxy_is_looked_at() {
    let vcenter = VCenter::new(Inventory::small(), Clock::wall()).unwrap();
    let serving = vcenter.serve(true).await.unwrap();
    let proxy = TestProxy::leading_to(serving.address()).await.unwrap();
    let thumbprint = format!("--vsphere-thumbprint={}", serving.thumbprint().unwrap());
    let args = [
        "doctor",
        "vsphere",
        "--cluster-name=prod",
        "--vsphere-username=administrator@vsphere.local",
        "--vsphere-password=secret",
        "--vsphere-path=k8s",
        "--vsphere-endpoint=vcenter.only.proxies.know",
        &thumbprint,
    ];
    let run = run_behind(&[("HTTPS_PROXY", proxy.url())], &args).await;
    assert!(run.stdout.contains("address     answers"), "{run}");
    assert_eq!(proxy.asked()[0], "CONNECT vcenter.only.proxies.know:443 HTTP/1.1");
}
