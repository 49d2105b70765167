//! The objects of the demonstration.

use serde_json::{Value, json};

use crate::{cli::DemoProvider, demo::vsphere};

/// The pool of the shop: instances of 4 and 8 cores.
pub(super) const GENERAL: &str = "general";
/// The pool for work that can be repeated: instances of 8 and 16 cores, spot where there is such a
/// thing.
const BATCH: &str = "batch";

/// Pods of the shop besides its web servers.
pub(super) const CHECKOUT: u64 = 4;
pub(super) const CACHE: u64 = 3;

/// What pods of a workload are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    pub(super) cpu: &'static str,
    pub(super) memory: &'static str,
    /// Whether they run on instances of the pool for such work, and only there.
    pub(super) batch: bool,
    /// The label of nodes over which they are spread.
    pub(super) spread_over: Option<&'static str>,
}

impl Workload {
    /// Small pods that run anywhere.
    pub(super) fn new(namespace: &'static str, name: &'static str) -> Self {
        Self { namespace, name, cpu: "500m", memory: "768Mi", batch: false, spread_over: None }
    }
}

/// Everything that is there from the beginning; definitions are there before.
pub(super) fn base(web: u64, provider: DemoProvider) -> Vec<Value> {
    let zone = Some("topology.kubernetes.io/zone");
    let host = Some("kubernetes.io/hostname");
    let web_pods = Workload { spread_over: zone, ..Workload::new("shop", "web") };
    let checkout = Workload { cpu: "750m", memory: "1536Mi", ..Workload::new("shop", "checkout") };
    let cache =
        Workload { cpu: "1", memory: "5Gi", spread_over: host, ..Workload::new("data", "cache") };
    let mut objects: Vec<Value> = ["shop", "data", "batch", "ml"].map(namespace).into();
    objects.extend([
        class(provider),
        pool(provider, GENERAL, "on-demand", &["4", "8"], "96"),
        pool(provider, BATCH, batch_capacity_type(provider), &["8", "16"], "160"),
        daemons(provider),
        deployment(&web_pods, web, provider),
        budget(&web_pods),
        deployment(&checkout, CHECKOUT, provider),
        deployment(&cache, CACHE, provider),
    ]);
    objects
}

/// What instances are made of.
fn class(provider: DemoProvider) -> Value {
    match provider {
        DemoProvider::Kwok => json!({
            "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
            "metadata": {"name": "default"}, "spec": {},
        }),
        DemoProvider::Vsphere => vsphere::class(),
    }
}

/// On-premises virtual machines are never reclaimed.
fn batch_capacity_type(provider: DemoProvider) -> &'static str {
    match provider {
        DemoProvider::Kwok => "spot",
        DemoProvider::Vsphere => "on-demand",
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn pool(
    provider: DemoProvider,
    name: &str,
    capacity_type: &str,
    cpus: &[&str],
    cpu_limit: &str,
) -> Value {
    let class = class(provider);
    let group = class["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    let cpu_label = match provider {
        DemoProvider::Kwok => joiner_kwok::INSTANCE_CPU,
        DemoProvider::Vsphere => joiner_vsphere::INSTANCE_CPU,
    };
    let one_of =
        |key: &str, values: &[&str]| json!({"key": key, "operator": "In", "values": values});
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": {
                "nodeClassRef": {
                    "group": group.map(|(group, _)| group),
                    "kind": class["kind"],
                    "name": class["metadata"]["name"],
                },
                "requirements": [
                    one_of("karpenter.sh/capacity-type", &[capacity_type]),
                    one_of("kubernetes.io/arch", &["amd64"]),
                    one_of("kubernetes.io/os", &["linux"]),
                    one_of(cpu_label, cpus),
                ],
            }},
            "limits": {"cpu": cpu_limit},
            "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]},
        },
    });
    if name == BATCH {
        let taint = json!({"key": "example.com/batch", "effect": "NoSchedule"});
        pool["spec"]["template"]["spec"]["taints"] = json!([taint]);
    }
    pool
}

/// A Deployment.
pub(super) fn deployment(workload: &Workload, replicas: u64, provider: DemoProvider) -> Value {
    let Workload { namespace, name, .. } = workload;
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(workload, provider),
        },
    })
}

/// A Job whose pods all run at once and without an end. Lost pods are made again.
pub(super) fn job(workload: &Workload, pods: u64, provider: DemoProvider) -> Value {
    let mut template = template(workload, provider);
    template["spec"]["restartPolicy"] = "Never".into();
    let Workload { namespace, name, .. } = workload;
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "parallelism": pods, "completions": pods, "backoffLimit": 1000, "template": template,
        },
    })
}

/// Something that every node runs, as in any real cluster.
fn daemons(provider: DemoProvider) -> Value {
    let agent = Workload { cpu: "100m", memory: "128Mi", ..Workload::new("kube-system", "agent") };
    let mut daemons = deployment(&agent, 0, provider);
    daemons["kind"] = "DaemonSet".into();
    if let Some(spec) = daemons["spec"].as_object_mut() {
        spec.remove("replicas");
    }
    daemons["spec"]["template"]["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    daemons
}

fn budget(workload: &Workload) -> Value {
    let Workload { namespace, name, .. } = workload;
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": name}}},
    })
}

fn template(workload: &Workload, provider: DemoProvider) -> Value {
    let Workload { name, cpu, memory, batch, spread_over, .. } = workload;
    // Who does not answer for half a minute is given up; the default of five minutes is long for a
    // demonstration.
    let given_up = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"].map(|key| {
        json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30})
    });
    let mut spec = json!({
        "containers": [{
            "name": name,
            "image": format!("registry.example/{name}:1"),
            "resources": {"requests": {"cpu": cpu, "memory": memory}},
        }],
        "terminationGracePeriodSeconds": 5,
        "tolerations": given_up,
    });
    if *batch {
        spec["nodeSelector"] = match provider {
            DemoProvider::Kwok => json!({"karpenter.sh/capacity-type": "spot"}),
            DemoProvider::Vsphere => json!({"karpenter.sh/nodepool": BATCH}),
        };
        if let Some(tolerations) = spec["tolerations"].as_array_mut() {
            tolerations.push(json!({"key": "example.com/batch", "operator": "Exists"}));
        }
    }
    if let Some(key) = spread_over {
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": name}},
        }]);
    }
    json!({"metadata": {"labels": {"app": name}}, "spec": spec})
}
