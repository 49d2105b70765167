//! What the programs of a control plane are started with: tokens, keys, configurations and flags.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Options, StartError, User, audit, tried};

/// What KWOK does to nodes and pods.
const STAGES: &str = include_str!("stages.yaml");

/// The user for whoever starts a control plane.
pub(super) const ADMIN: &str = "admin";
// Users of the control plane's own programs, so that the audit log tells them apart.
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
pub(super) const SCHEDULER: &str = "kube-scheduler";
pub(super) const KWOK: &str = "kwok";

/// The annotation of nodes that KWOK looks after; others wait for a kubelet.
const KWOK_NODES: &str = "kwok.x-k8s.io/node=fake";

/// The address that the API server is reached at.
const LOOPBACK: &str = "127.0.0.1";
// What it shows to whoever calls.
const CERTIFICATE: &str = "apiserver.crt";
const CERTIFICATE_KEY: &str = "apiserver.key";

/// The token of a user.
pub(super) fn token(user: &str) -> String {
    format!("real-{user}")
}

/// Files of a control plane, and where they are.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// Kubeconfigs by user.
    pub(super) kubeconfigs: BTreeMap<String, PathBuf>,
}

impl Files {
    /// Writes everything that programs read when they start.
    pub(super) fn write(folder: &Path, url: &str, options: &Options) -> Result<Self, StartError> {
        let mut files = Self { folder: folder.to_owned(), kubeconfigs: BTreeMap::new() };
        let parts = [ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK].map(User::in_charge);
        let mut tokens = Vec::new();
        for User { name, groups } in parts.iter().chain(&options.users) {
            let token = token(name);
            tokens.push(format!("{token},{name},{name},\"{}\"\n", groups.join(",")));
            let config = kubeconfig(url, &files.path(CERTIFICATE), name, &token);
            let path = files.put(&format!("kubeconfig-{name}"), &config)?;
            files.kubeconfigs.insert(name.clone(), path);
        }
        files.put("tokens.csv", &tokens.concat())?;
        // Nobody has signed it but itself, so that it is its own authority.
        let server = rcgen::generate_simple_self_signed([LOOPBACK.to_owned()])?;
        files.put(CERTIFICATE, &server.cert.pem())?;
        files.put(CERTIFICATE_KEY, &server.signing_key.serialize_pem())?;
        let key = rcgen::KeyPair::generate()?;
        files.put("service-accounts.key", &key.serialize_pem())?;
        files.put("service-accounts.pub", &key.public_key_pem())?;
        // JSON is YAML too.
        let mut scheduler = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": { "kubeconfig": files.kubeconfig_of(SCHEDULER) },
            "leaderElection": { "leaderElect": false },
        });
        if let Some(qps) = options.client_qps {
            scheduler["clientConnection"]["qps"] = json!(qps);
            scheduler["clientConnection"]["burst"] = json!(qps);
        }
        files.put("scheduler.yaml", &scheduler.to_string())?;
        files.put("audit-policy.yaml", &audit::policy().to_string())?;
        files.put("stages.yaml", STAGES)?;
        Ok(files)
    }

    fn put(&self, name: &str, text: &str) -> Result<PathBuf, StartError> {
        let path = self.folder.join(name);
        tried(path.display().to_string(), fs::write(&path, text)).map(|()| path)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn kubeconfig_of(&self, user: &str) -> String {
        self.path(&format!("kubeconfig-{user}"))
    }

    /// Where etcd keeps what the API server stores.
    pub(super) fn store(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    /// Where the API server writes down what it is asked.
    pub(super) fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    pub(super) fn etcd_flags(&self, port: u16, peer_port: u16) -> Vec<String> {
        let client = format!("http://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer_port}");
        vec![
            format!("--data-dir={}", self.store().display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".into(),
        ]
    }

    pub(super) fn apiserver_flags(
        &self,
        etcd_port: u16,
        port: u16,
        options: &Options,
    ) -> Vec<String> {
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
            // Old versions stay, so that a run may take as long as it likes.
            "--etcd-compaction-interval=0".into(),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".into(),
            "--advertise-address=127.0.0.1".into(),
            format!("--tls-cert-file={}", self.path(CERTIFICATE)),
            format!("--tls-private-key-file={}", self.path(CERTIFICATE_KEY)),
            format!("--token-auth-file={}", self.path("tokens.csv")),
            "--authorization-mode=RBAC".into(),
            "--allow-privileged=true".into(),
            format!("--service-account-key-file={}", self.path("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", self.path("service-accounts.key")),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            // Without controllers there are no service accounts that pods could be given.
            "--disable-admission-plugins=ServiceAccount".into(),
        ];
        if options.audit {
            flags.extend([
                format!("--audit-policy-file={}", self.path("audit-policy.yaml")),
                format!("--audit-log-path={}", self.audit_log().display()),
                // In MB; a log that begins anew would lose calls.
                "--audit-log-maxsize=1000000".into(),
                "--audit-log-mode=blocking".into(),
            ]);
        }
        flags.extend(options.apiserver_flags.iter().cloned());
        flags
    }

    pub(super) fn controller_manager_flags(&self, options: &Options) -> Vec<String> {
        let mut flags = vec![
            format!("--kubeconfig={}", self.kubeconfig_of(CONTROLLER_MANAGER)),
            "--leader-elect=false".into(),
            "--controllers=*,-nodeipam,-route,-service,-cloud-node-lifecycle".into(),
            "--secure-port=0".into(),
            // What every namespace is told to trust.
            format!("--root-ca-file={}", self.path(CERTIFICATE)),
        ];
        if let Some(qps) = options.client_qps {
            flags.extend([format!("--kube-api-qps={qps}"), format!("--kube-api-burst={qps}")]);
        }
        flags
    }

    pub(super) fn scheduler_flags(&self) -> Vec<String> {
        vec![format!("--config={}", self.path("scheduler.yaml")), "--secure-port=0".into()]
    }

    pub(super) fn kwok_flags(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.kubeconfig_of(KWOK)),
            format!("--config={}", self.path("stages.yaml")),
            format!("--manage-nodes-with-annotation-selector={KWOK_NODES}"),
            // What a kubelet takes by default.
            "--node-lease-duration-seconds=40".into(),
            "--node-ip=127.0.0.1".into(),
            // As many addresses as pods are ever likely to be.
            "--cidr=10.128.0.0/9".into(),
        ]
    }
}

fn kubeconfig(url: &str, authority: &str, user: &str, token: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "real",
            "cluster": { "server": url, "certificate-authority": authority },
        }],
        "users": [{ "name": user, "user": { "token": token } }],
        "contexts": [{ "name": "real", "context": { "cluster": "real", "user": user } }],
        "current-context": "real",
    })
    .to_string()
}
