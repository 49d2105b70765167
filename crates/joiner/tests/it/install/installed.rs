//! A file of examples/install that is applied, and the program that runs as its Deployment says.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use joiner_realparts::http::{Answer, Request, Server};
use k8s_openapi::api::core::v1;
use serde_json::{Value, json};

use crate::lab::Served;

/// How often something is looked at, and how often before it is said that it does not come.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
pub(super) const LOOKS: usize = 3000;
/// The namespace and the name of the service account.
pub(super) const NAMESPACE: &str = "joiner-system";
const ACCOUNT: &str = "joiner";

/// What the container of the Deployment is started with, and how it is asked how it is.
pub(super) struct Container {
    args: Vec<String>,
    /// Variables that the Deployment writes itself.
    env: Vec<(String, String)>,
    /// Secrets that have more of them.
    env_from: Vec<String>,
    /// By name.
    pub(super) ports: BTreeMap<String, u16>,
    /// Paths that are asked on the port `health`.
    probes: Vec<String>,
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// The one container of the Deployment in a file.
pub(super) fn container(text: &str) -> Container {
    let objects = documents(text);
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["spec"]["replicas"], 2);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], ACCOUNT);
    let [container] = pod["containers"].as_array().unwrap().as_slice() else {
        unreachable!("it has one container")
    };
    assert!(container["command"].is_null(), "the image says which program it is");
    let list = |field: &str| container[field].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let probes = ["livenessProbe", "readinessProbe"].map(|probe| {
        assert_eq!(container[probe]["httpGet"]["port"], "health");
        text(&container[probe]["httpGet"]["path"])
    });
    Container {
        args: list("args").iter().map(text).collect(),
        env: list("env").iter().map(|one| (text(&one["name"]), text(&one["value"]))).collect(),
        env_from: list("envFrom").iter().map(|one| text(&one["secretRef"]["name"])).collect(),
        ports: list("ports")
            .iter()
            .map(|port| {
                let number = port["containerPort"].as_u64().unwrap();
                (text(&port["name"]), u16::try_from(number).unwrap())
            })
            .collect(),
        probes: probes.to_vec(),
    }
}

/// Where objects of a kind are, by the rule that all kinds of these files follow.
fn path(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let version = text(&object["apiVersion"]);
    let root = if version.contains('/') { "apis" } else { "api" };
    let plural = format!("{}s", text(&object["kind"]).to_lowercase());
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{version}/{plural}"),
    }
}

pub(super) async fn send(
    server: &Server,
    method: &str,
    path: &str,
    kind: &str,
    body: &Value,
) -> Answer {
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("content-type".to_owned(), kind.to_owned())],
        body: (!body.is_null()).then(|| body.to_string()),
    };
    server.send(&request).await.unwrap()
}

/// Creates an object, or changes it to what is written, as `kubectl apply --server-side` does: in the
/// file's order, and a field that is not known is an error.
pub(crate) async fn apply(server: &Server, text: &str) {
    for object in documents(text) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}?fieldManager=kubectl&fieldValidation=Strict", path(&object));
        let answer = send(server, "PATCH", &path, "application/apply-patch+yaml", &object).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
        assert_eq!(answer.header("warning"), Vec::<String>::new(), "{path}");
    }
}

/// The program as it runs in the pods of a Deployment.
pub(crate) struct Installed {
    process: Served,
    log: PathBuf,
    health: Server,
    metrics: Server,
    probes: Vec<String>,
}

impl Installed {
    /// Starts the program with the arguments and variables of a file's Deployment. Only ports are
    /// others, since several may run on this computer, and it goes by a kubeconfig: a pod has files
    /// of its service account instead.
    pub(crate) async fn start(server: &Server, config: &Value, folder: &Path, file: &str) -> Self {
        let container = container(file);
        let mut variables = container.env;
        for secret in container.env_from {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{secret}");
            let answer = send(server, "GET", &path, "application/json", &Value::Null).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            let secret: v1::Secret = serde_json::from_str(&answer.body).unwrap();
            let data = secret.data.unwrap_or_default().into_iter();
            variables.extend(data.map(|(key, value)| (key, String::from_utf8(value.0).unwrap())));
        }
        let kubeconfig = folder.join("kubeconfig-of-the-account");
        let mut config = config.clone();
        config["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let [health, metrics] = free_ports();
        let log = folder.join("joiner.log");
        let output = fs::File::create(&log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_joiner"))
            .args(&container.args)
            .env_clear()
            .envs(variables)
            .env("KUBECONFIG", kubeconfig)
            .env("HEALTH_PROBE_PORT", health.to_string())
            .env("METRICS_PORT", metrics.to_string())
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn();
        let at = |port: u16| Server::new(&format!("http://127.0.0.1:{port}"), "none");
        Self {
            process: Served(child.unwrap()),
            log,
            health: at(health),
            metrics: at(metrics),
            probes: container.probes,
        }
    }

    /// What the program has logged so far.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until all probes of the Deployment succeed.
    pub(crate) async fn ready(&mut self) {
        for path in self.probes.clone() {
            let mut looks = 0;
            while self.ask(&path).await.is_none_or(|answer| answer.status != 200) {
                let ended = self.process.0.try_wait().unwrap();
                assert!(ended.is_none() && looks < LOOKS, "{path}: {ended:?}: {}", self.log());
                looks += 1;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    /// What readiness says now.
    pub(crate) async fn readiness(&self) -> String {
        self.ask("/readyz").await.expect("it answers").body
    }

    async fn ask(&self, path: &str) -> Option<Answer> {
        let request =
            Request { method: "GET".to_owned(), path: path.to_owned(), ..Request::default() };
        self.health.send(&request).await.ok()
    }

    /// The page of metrics.
    pub(super) async fn metrics(&self) -> String {
        send(&self.metrics, "GET", "/metrics", "text/plain", &Value::Null).await.body
    }

    /// Tells the program to end, as a kubelet does; it finishes its work.
    pub(crate) fn end(mut self) {
        let told = Command::new("kill").arg(self.process.0.id().to_string()).status().unwrap();
        assert!(told.success());
        let code = self.process.0.wait().unwrap().code();
        assert_eq!(code, Some(0), "{}", self.log());
    }
}

/// A kubeconfig with a token of the service account, as pods are given one.
pub(crate) async fn of_account(server: &Server, mut config: Value) -> Value {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token");
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = send(server, "POST", &path, "application/json", &review).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let mut review: Value = serde_json::from_str(&answer.body).unwrap();
    config["users"][0]["user"] = json!({"token": review["status"]["token"].take()});
    config
}

/// Ports that are free at this moment.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
