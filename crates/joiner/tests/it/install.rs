//! The files of examples/install: made of the roles, the definitions and a Deployment that are kept
//! once, and proved by running what they say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod installed;
mod real;

use std::{collections::BTreeMap, fs, process::Stdio};

use joiner_operator::settings::declared;
use joiner_realparts::http::Server;
use serde_json::Value;
use tempfile::TempDir;

use self::installed::container;
pub(crate) use self::installed::{Installed, apply, of_account};
use crate::{lab::Served, run};

/// The files as people apply them.
const KWOK: &str = include_str!("../../../../examples/install/kwok.yaml");
pub(crate) const VSPHERE: &str = include_str!("../../../../examples/install/vsphere.yaml");

/// What differs from cloud to cloud.
struct Cloud {
    /// As sentences call it.
    name: &'static str,
    /// What is done before the file is applied, if anything.
    before: &'static str,
    /// Its roles, besides those for every cloud.
    roles: &'static str,
    /// The kind of its classes.
    class: &'static str,
    /// The container's environment.
    environment: &'static str,
}

const CLOUDS: [Cloud; 2] = [
    Cloud {
        name: "KWOK",
        before: "KWOK's own controller has to run in the cluster",
        roles: include_str!("../../../../examples/rbac/kwok.yaml"),
        class: "KWOKNodeClass",
        environment: "          env:\n            - {name: PROVIDERS, value: kwok}",
    },
    Cloud {
        name: "VMware vSphere",
        before: "Its pods start once the Secret of examples/vsphere-start/secret.yaml is there",
        roles: include_str!("../../../../examples/rbac/joining.yaml"),
        class: "VsphereNodeClass",
        environment: "          env:
            - {name: PROVIDERS, value: vsphere}
          # GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, VSPHERE_FOLDER and CLUSTER_NAME, and other variables of
          # docs/settings.md.
          envFrom:
            - secretRef: {name: joiner-vsphere}",
    },
];

/// The file for a cloud.
fn file(cloud: &Cloud) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let Cloud { name, before, roles, class, environment } = cloud;
    let head = format!(
        "# Joiner {version} for {name}, with all that it needs in a cluster, for kubectl apply -f.\n\
         # {before}. docs/install.md says more.\n\
         #\n\
         # This file is made from examples/rbac, `joiner crds` and crates/joiner/tests/it/install/deployment.yaml:\n\
         # UPDATE_EXPECT=1 cargo test -p joiner --test it install\n\n",
    );
    let deployment = include_str!("install/deployment.yaml")
        .replace("{version}", version)
        .replace("{environment}", environment);
    let roles = [include_str!("../../../../examples/rbac/controller.yaml"), roles];
    let (roles, definitions) = (roles.map(str::to_owned), definitions(class));
    let parts: Vec<String> = roles.into_iter().chain(definitions).chain([deployment]).collect();
    format!("{head}{}", parts.join("---\n"))
}

/// The definitions that every cloud needs, and that of a cloud's classes.
fn definitions(class: &str) -> Vec<String> {
    let printed = run(&["crds"]).stdout;
    let documents = printed.split("---\n").filter(|text| !text.is_empty()).map(str::to_owned);
    let kind = |text: &str| -> String {
        let definition: Value = serde_saphyr::from_str(text).expect("it is YAML");
        definition["spec"]["names"]["kind"].as_str().expect("it has a kind").to_owned()
    };
    let is_needed = |kind: &str| kind == class || !kind.ends_with("NodeClass");
    documents.filter(|text| is_needed(&kind(text))).collect()
}

#[test]
fn the_files_are_made_of_what_is_kept_once() {
    let [kwok, vsphere] = &CLOUDS;
    expect_test::expect_file!["../../../../examples/install/kwok.yaml"].assert_eq(&file(kwok));
    expect_test::expect_file!["../../../../examples/install/vsphere.yaml"]
        .assert_eq(&file(vsphere));
}

#[test]
fn a_file_has_all_that_a_cloud_needs_and_nothing_of_others() {
    let names = |text: &str| -> Vec<String> {
        let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
        let name = |object: &Value| {
            let name = object["metadata"]["name"].as_str().unwrap();
            format!("{} {name}", object["kind"].as_str().unwrap())
        };
        objects.iter().map(name).collect()
    };
    let of_all = [
        "Namespace joiner-system",
        "ServiceAccount joiner",
        "ClusterRole joiner",
        "Role joiner-leases",
        "CustomResourceDefinition nodepools.karpenter.sh",
        "Deployment joiner",
        "PodDisruptionBudget joiner",
    ];
    let of_kwok =
        ["ClusterRole joiner-kwok", "CustomResourceDefinition kwoknodeclasses.karpenter.kwok.sh"];
    let of_vsphere = [
        "ClusterRole joiner-vsphere",
        "Role joiner-tokens",
        "CustomResourceDefinition vspherenodeclasses.karpenter.vsphere.com",
    ];
    let (kwok, vsphere) = (names(KWOK), names(VSPHERE));
    let has = |file: &[String], name: &str| file.iter().any(|known| known == name);
    for name in of_all {
        assert!(has(&kwok, name) && has(&vsphere, name), "{name}");
    }
    for name in of_kwok {
        assert!(has(&kwok, name) && !has(&vsphere, name), "{name}");
    }
    for name in of_vsphere {
        assert!(!has(&kwok, name) && has(&vsphere, name), "{name}");
    }
}

#[test]
fn the_ports_of_the_deployment_are_those_of_the_settings() {
    for file in [KWOK, VSPHERE] {
        let ports = container(file).ports;
        let of = |setting: &joiner_settings::Setting| setting.default.parse().unwrap();
        let expected = BTreeMap::from([
            ("health".to_owned(), of(&declared::HEALTH_PROBE_PORT)),
            ("metrics".to_owned(), of(&declared::METRICS_PORT)),
        ]);
        assert_eq!(ports, expected);
    }
}

/// The same on the laboratory's API server: without roles, but everywhere.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_for_kwok_installs_a_controller_in_the_laboratory() {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config");
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_joiner"))
        .args(["lab", "serve", "--kubeconfig"])
        .arg(&config)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _lab = Served(child.unwrap());
    let config: Value = loop {
        // Written after the server listens; it can be read before it is whole.
        let read = fs::read_to_string(&config).map(|text| serde_saphyr::from_str::<Value>(&text));
        match read {
            Ok(Ok(config)) if config.pointer("/users/0/user/token").is_some() => break config,
            _ => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let server = Server::new(&text("/clusters/0/cluster/server"), &text("/users/0/user/token"));
    apply(&server, KWOK).await;
    // What is there already is no hindrance.
    apply(&server, KWOK).await;
    let mut installed = Installed::start(&server, &config, folder.path(), KWOK).await;
    installed.ready().await;
    let built = run(&["--version"]).stdout.trim().to_owned();
    let (version, commit) = built
        .strip_prefix("joiner ")
        .and_then(|rest| rest.strip_suffix(')')?.split_once(" ("))
        .unwrap();
    let page = installed.metrics().await;
    let info = page.lines().find(|line| line.starts_with("karpenter_build_info")).unwrap();
    for expected in [format!("version=\"{version}\""), format!("commit=\"{commit}\"")] {
        assert!(info.contains(&expected), "{info}");
    }
    assert!(installed.log().contains(&format!("\"commit\":\"{commit}\"")));
    installed.end();
}
