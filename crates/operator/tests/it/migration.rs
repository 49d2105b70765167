//! A cluster and a vCenter as vSphere's Karpenter left them, and our engine takes over.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use joiner_api::crd::crds;
use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Providers};
use joiner_core::{
    quantity::Quantity,
    resources::{CPU, MEMORY, PODS, Resources},
};
use joiner_lab::{Lab, Setup, cluster::instances::InstanceSpec};
use joiner_operator::{
    engine::{self, Engine},
    metrics::Registry,
    probes::{Liveness, Readiness},
    random::Random,
    settings::{Settings, declared},
    stop::Stop,
};
use joiner_settings::Values;
use joiner_sim_vcenter::{GuestEvent, Inventory, VCenter};
use joiner_vim::{
    Credentials, Method, MoRef, Transport, Vim, VimSettings,
    spec::{CloneSpec, ConfigSpec, ExtraConfig, RelocateSpec},
    transport::TransportError,
};
use joiner_vsphere::{NODE_CLASS, ProviderSettings, Vsphere};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::{
    stage::BUILD,
    whole::{create, deployment, scale},
};

const CLAIMS: [&str; 3] = ["general-4x7kq", "general-9sd2f", "general-zz8pw"];
const TYPE: &str = "vsphere-vm.cpu-2.mem-4gb.os-linux";
const HASH: &str = "karpenter.vsphere.com/vspherenodeclass-hash";
const HASH_VERSION: &str = "karpenter.vsphere.com/vspherenodeclass-hash-version";

struct Line(VCenter);

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let lost = |_| TransportError::NoAnswer("the connection broke".to_owned());
        self.0.answer(request).await.map_err(lost)
    }
}

fn vim(server: &VCenter, clock: &Clock) -> Vim {
    let settings = VimSettings::new(Credentials::new("administrator@vsphere.local", "secret"));
    Vim::new(settings, Arc::new(Line(server.clone())), clock.clone())
}

/// The definitions of our kinds and of the cloud's.
fn definitions() -> Vec<CustomResourceDefinition> {
    let of_cloud = serde_json::from_value(joiner_vsphere::crd()).unwrap();
    crds().into_iter().chain([of_cloud]).collect()
}

/// What the predecessor was told to do.
fn define(lab: &Lab) {
    let crd = |definition| {
        create(lab, "apiextensions.k8s.io", "customresourcedefinitions", definition);
    };
    for definition in definitions() {
        crd(serde_json::to_value(definition).unwrap());
    }
    create(
        lab,
        NODE_CLASS.group,
        NODE_CLASS.plural,
        json!({
            "apiVersion": "karpenter.vsphere.com/v1alpha1",
            "kind": "VsphereNodeClass",
            "metadata": {
                "name": "general",
                "finalizers": ["karpenter.vsphere.com/termination"],
                "annotations": {HASH: "13370203920021829201", HASH_VERSION: "v1"},
            },
            "spec": {
                "computeSelector": {"name": "cluster1"},
                "datastoreSelector": {"name": "datastore1"},
                "networkSelector": {"name": "VM Network"},
                "imageSelector": {"pattern": "ubuntu-*"},
                "instanceTypes": [{
                    "os": "linux", "arch": "amd64", "cpu": "2", "memory": "4Gi",
                    "maxPods": "110", "zone": "az1", "region": "dc1",
                }],
                "userData": {"type": "cloud-config"},
            },
        }),
    );
    let on_demand = json!({
        "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"],
    });
    create(
        lab,
        "karpenter.sh",
        "nodepools",
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "general"},
            "spec": {
                "template": {"spec": {
                    "nodeClassRef": {
                        "group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": "general",
                    },
                    "requirements": [on_demand],
                }},
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
            },
        }),
    );
    // One for each node.
    let mut web = deployment("web", 3);
    let container = &mut web["spec"]["template"]["spec"]["containers"][0];
    container["resources"]["requests"]["cpu"] = "1500m".into();
    create(lab, "apps", "deployments", web);
}

/// Our engine in a cluster, with the instances of a vCenter.
fn engine(lab: &Lab, server: &VCenter) -> Engine {
    let clock = lab.server().clock().clone();
    let client = || kube::Client::new(lab.client("joiner").connect(), "default");
    let cloud =
        Vsphere::new(vim(server, &clock), clock.clone(), ProviderSettings::new("prod", "k8s"));
    let on: Vec<Arc<dyn CloudProvider>> = vec![Arc::new(cloud)];
    let mut values = Values::default();
    values.give(&declared::DISABLE_LEADER_ELECTION, "true");
    values.give(&declared::CLUSTER_NAME, "prod");
    values.give(&declared::CLUSTER_ENDPOINT, "https://10.0.0.10:9345");
    values.give(&declared::JOIN_TOKEN, "s3cret");
    values.give(&declared::KUBE_DISTRO, "rke2");
    values.give(&declared::KUBE_VERSION, "v1.33.4+rke2r1");
    let engine = Engine::new(engine::Setup {
        client: client(),
        lease_client: client(),
        clock: clock.clone(),
        providers: Providers::new(on, Vec::new()),
        definitions: definitions(),
        settings: Settings::read(&values).unwrap().settings,
        registry: Registry::new(&BUILD).unwrap(),
        cluster: None,
        identity: "joiner".to_owned(),
        namespace: "kube-system".to_owned(),
        random: Random::seeded(1),
        readiness: Arc::new(Readiness::new(engine::PARTS)),
        liveness: Liveness::new(clock.clone()),
    });
    engine.unwrap()
}

/// What is told about the class of a cluster with this reason.
fn told(lab: &Lab, reason: &str) -> Vec<String> {
    let events = lab.caller("admin").list(&Resource::new("", "events"), None);
    let events = events.iter().map(|event| event.value());
    let about = events.filter(|event| {
        event["reason"] == reason && event["involvedObject"]["kind"] == "VsphereNodeClass"
    });
    about.map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

/// A cluster with instances in a vCenter, as the predecessor left both.
struct Site {
    lab: Lab,
    server: VCenter,
    admin: Vim,
}

impl Site {
    async fn left_by_the_predecessor() -> Self {
        let lab = Lab::new(Setup::new(1));
        let clock = lab.server().clock().clone();
        let server = VCenter::new(Inventory::small(), clock.clone()).unwrap();
        let instances = lab.instances().clone();
        server.on_guest(move |event| {
            if let GuestEvent::PoweredOff { name, .. } = event {
                // One that never ran here has no kubelet to stop.
                let _ = instances.destroy(name);
            }
        });
        let admin = vim(&server, &clock);
        let mut site = Self { lab, server, admin };
        define(&site.lab);
        for claim in CLAIMS {
            site.leave(claim).await;
        }
        site.lab.beside(async move { clock.sleep(Duration::from_mins(2)).await }).await;
        for node in site.list("", "nodes") {
            let kept = json!({"metadata": {"finalizers": ["karpenter.sh/termination"]}});
            site.merge("", "nodes", node["metadata"]["name"].as_str().unwrap(), None, kept);
        }
        site
    }

    async fn at(&self, path: &str) -> MoRef {
        self.admin.find_by_path(path).await.unwrap().expect("the path leads somewhere")
    }

    /// Leaves an instance, its claim and its node.
    async fn leave(&self, claim: &str) {
        let name = format!("prod-karp-{claim}");
        let template = self.at("/dc1/vm/templates/ubuntu-2404").await;
        let spec = CloneSpec {
            location: RelocateSpec {
                pool: Some(self.at("/dc1/host/cluster1/Resources").await),
                datastore: Some(self.at("/dc1/datastore/datastore1").await),
                ..RelocateSpec::default()
            },
            // It counted in megabytes where vSphere counts in mebibytes.
            config: Some(ConfigSpec {
                num_cpus: Some(2),
                memory_mb: Some(4296),
                ..ConfigSpec::default()
            }),
            ..CloneSpec::default()
        };
        let folder = self.at("/dc1/vm/k8s").await;
        let clone = Method::Clone { folder, name: name.clone(), spec: Box::new(spec) };
        self.carry_out(&template, clone).await;
        let vm = self.at(&format!("/dc1/vm/k8s/{name}")).await;
        self.carry_out(&vm, Method::PowerOn { host: None }).await;
        let path = format!("/dc1/vm/k8s/{name}");
        self.server.tag(&path, "karpenter.sh/clustername", "prod").unwrap();
        self.server.tag(&path, "karpenter.vsphere.com/instance-size", TYPE).unwrap();
        let read = self.admin.read(&[vm], &["config.uuid"]).await.unwrap();
        let id = format!("vsphere://{}", read[0].text("config.uuid").unwrap());
        let labels = json!({
            "karpenter.sh/capacity-type": "OnDemand",
            "karpenter.sh/nodepool": "general",
            "karpenter.vsphere.com/vspherenodeclass": "general",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": TYPE,
            "topology.kubernetes.io/zone": "az1",
        });
        create(
            &self.lab,
            "karpenter.sh",
            "nodeclaims",
            json!({
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodeClaim",
                "metadata": {
                    "name": claim, "labels": labels,
                    "annotations": {HASH: "13370203920021829201", HASH_VERSION: "v1"},
                    "finalizers": ["karpenter.sh/termination"],
                },
                "spec": {
                    "nodeClassRef": {
                        "group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": "general",
                    },
                    "requirements": [],
                },
            }),
        );
        let is_done = |type_: &str| {
            json!({"type": type_, "status": "True", "reason": type_, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = ["Launched", "Registered", "Initialized", "Ready"].map(is_done);
        let status = json!({"status": {
            "providerID": id, "nodeName": name,
            "capacity": {"cpu": "2", "memory": "4Gi", "pods": "110"},
            "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"},
            "conditions": conditions,
        }});
        self.merge("karpenter.sh", "nodeclaims", claim, Some("status"), status);
        let mut labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        for key in ["karpenter.sh/registered", "karpenter.sh/initialized"] {
            labels.insert(key.to_owned(), "true".to_owned());
        }
        let amounts: Resources = [
            (CPU, Quantity::whole(2)),
            (MEMORY, Quantity::bytes(4 << 30)),
            (PODS, Quantity::whole(110)),
        ]
        .into_iter()
        .collect();
        let instance = InstanceSpec {
            provider_id: id,
            labels,
            capacity: amounts.clone(),
            allocatable: amounts,
            ..InstanceSpec::new(&name)
        };
        self.lab.instances().boot(instance).unwrap();
    }

    /// Clones an instance beside itself, as an administrator does.
    async fn copy(&self, instance: &str, name: &str) {
        let original = self.at(&format!("/dc1/vm/k8s/{instance}")).await;
        let folder = self.at("/dc1/vm/k8s").await;
        let spec = Box::new(CloneSpec::default());
        let clone = Method::Clone { folder, name: name.to_owned(), spec };
        self.carry_out(&original, clone).await;
    }

    fn delete_claim(&self, name: &str) {
        let (resource, key) = (Resource::new("karpenter.sh", "nodeclaims"), Key::new("", name));
        let options = DeleteOptions::default();
        self.lab.caller("admin").delete(&resource, &key, options).unwrap();
    }

    async fn carry_out(&self, object: &MoRef, method: Method) {
        let task = self.admin.start(object, method).await.unwrap();
        self.admin.wait(&task, Duration::from_hours(1)).await.unwrap();
    }

    fn merge(
        &self,
        group: &str,
        plural: &str,
        name: &str,
        part: Option<&'static str>,
        patch: Value,
    ) {
        let (resource, key) = (Resource::new(group, plural), Key::new("", name));
        self.lab.caller("admin").merge(&resource, &key, part, patch).unwrap();
    }

    fn list(&self, group: &str, plural: &str) -> Vec<Value> {
        let found = self.lab.caller("admin").list(&Resource::new(group, plural), None);
        found.iter().map(|object| object.value()).collect()
    }

    /// Lets minutes pass with our engine at work.
    async fn pass(&mut self, minutes: u64) {
        let engine = engine(&self.lab, &self.server);
        self.work(engine, minutes).await;
    }

    /// Lets minutes pass with an engine at work, whosever it is.
    async fn work(&mut self, engine: Engine, minutes: u64) {
        let clock = self.lab.server().clock().clone();
        let working = Box::pin(engine.run(Stop::never()));
        let over = async move { clock.sleep(Duration::from_secs(60 * minutes)).await };
        let server = self.server.clone();
        self.lab
            .beside(async move {
                tokio::select! {
                    biased;
                    () = over => {}
                    () = server.run() => {}
                    ended = working => panic!("{ended:?}"),
                }
            })
            .await;
    }

    /// Another cluster of the same name, which has no claims and goes by the same clock.
    fn namesake(&self) -> Lab {
        let clock = Some(self.lab.server().clock().clone());
        let lab = Lab::new(Setup { bare: true, clock, ..Setup::new(2) });
        define(&lab);
        lab
    }

    /// Makes the marks ones from before marks said which cluster of a name they are of.
    async fn forget_the_cluster(&self) {
        for instance in self.instances() {
            let vm = self.at(&format!("/dc1/vm/k8s/{instance}")).await;
            let extra_config = vec![ExtraConfig::new("joiner.cluster-uid", "")];
            let spec = ConfigSpec { extra_config, ..ConfigSpec::default() };
            self.carry_out(&vm, Method::Reconfigure(Box::new(spec))).await;
        }
    }

    fn cluster_uid(&self) -> String {
        let all = self.list("", "namespaces").into_iter();
        let mut own = all.filter(|namespace| namespace["metadata"]["name"] == "kube-system");
        own.next().unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Names of the virtual machines of the cluster.
    fn instances(&self) -> Vec<String> {
        let all = self.server.picture().vms.into_iter().map(|vm| vm.name);
        all.filter(|name| name.starts_with("prod-karp-")).collect()
    }

    async fn setting(&self, instance: &str, key: &str) -> Option<String> {
        let vm = self.at(&format!("/dc1/vm/k8s/{instance}")).await;
        let path = format!("config.extraConfig[\"{key}\"].value");
        let read = self.admin.read(&[vm], &[&path]).await.unwrap();
        read[0].text(&path).map(str::to_owned)
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_predecessor_left_is_taken_over_as_it_is() {
    let mut site = Site::left_by_the_predecessor().await;
    let instances = site.instances();
    assert_eq!(instances.len(), 3);
    site.pass(90).await;

    assert_eq!(site.instances(), instances, "nothing is made, nothing is removed");
    let claims = site.list("karpenter.sh", "nodeclaims");
    let names: Vec<&str> =
        claims.iter().map(|claim| claim["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, CLAIMS);
    let class = &site.list(NODE_CLASS.group, NODE_CLASS.plural)[0];
    assert_eq!(class["metadata"]["annotations"][HASH_VERSION], "v2");
    for claim in &claims {
        let metadata = &claim["metadata"];
        let conditions = claim["status"]["conditions"].as_array().unwrap();
        let drifted = conditions.iter().find(|condition| condition["type"] == "Drifted");
        assert_eq!(drifted, None, "{}", metadata["name"]);
        assert_eq!(metadata["labels"]["karpenter.sh/capacity-type"], "on-demand");
        assert_eq!(metadata["annotations"][HASH], class["metadata"]["annotations"][HASH]);
        assert_eq!(metadata["annotations"][HASH_VERSION], "v2");
        let instance = format!("prod-karp-{}", metadata["name"].as_str().unwrap());
        let uid = site.setting(&instance, "joiner.nodeclaim-uid").await;
        assert_eq!(uid.as_deref(), metadata["uid"].as_str(), "{instance} carries its claim's mark");
        assert_eq!(site.setting(&instance, "joiner.cluster").await.as_deref(), Some("prod"));
        let cluster_uid = site.setting(&instance, "joiner.cluster-uid").await;
        assert_eq!(cluster_uid, Some(site.cluster_uid()));
    }
    for node in site.list("", "nodes") {
        assert_eq!(node["metadata"]["labels"]["karpenter.sh/capacity-type"], "on-demand");
        assert_eq!(node["spec"]["unschedulable"], Value::Null);
    }

    scale(&site.lab, "web", 2);
    site.pass(30).await;
    assert_eq!(site.instances().len(), 2, "one is empty now, and goes");
    assert_eq!(site.list("karpenter.sh", "nodeclaims").len(), 2);
    assert_eq!(site.list("", "nodes").len(), 2);
    let pods = site.list("", "pods");
    let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running");
    assert_eq!(running.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_an_administrator_makes_of_a_node_outlives_it() {
    const COPY: &str = "prod-karp-copy";
    let mut site = Site::left_by_the_predecessor().await;
    let instances = site.instances();
    site.pass(10).await;
    let original = format!("prod-karp-{}", CLAIMS[0]);
    site.copy(&original, COPY).await;
    assert_eq!(site.setting(COPY, "joiner.nodeclaim").await.as_deref(), Some(CLAIMS[0]));
    site.pass(30).await;
    assert_eq!(site.instances(), [&instances[..], &[COPY.to_owned()]].concat(), "all are there");
    let events = site.list("", "events").into_iter();
    let told: Vec<Value> = events.filter(|event| event["reason"] == "CopyFound").collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["involvedObject"]["name"], "general");
    assert!(told[0]["message"].as_str().unwrap().contains(COPY), "{told:#?}");

    site.delete_claim(CLAIMS[0]);
    site.pass(30).await;
    let left = site.instances();
    assert!(!left.contains(&original), "the instance goes with its claim: {left:?}");
    assert!(left.contains(&COPY.to_owned()), "its copy does not: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_cluster_of_the_same_name_removes_nothing() {
    let mut site = Site::left_by_the_predecessor().await;
    let instances = site.instances();
    let staging = site.namesake();
    // The predecessor's tag and name say nothing of which cluster it is.
    let theirs = engine(&staging, &site.server);
    site.work(theirs, 60).await;
    assert_eq!(site.instances(), instances);
    let events = told(&staging, "ClusterUnproven");
    assert!(
        events.iter().any(|event| event.starts_with("3 instances have the name")),
        "{events:?}"
    );
    assert_eq!(
        site.setting(&instances[0], "joiner.cluster").await,
        None,
        "nor are they taken over"
    );

    // Nor does it once their own cluster has taken them over, and it is told whose they are.
    site.pass(5).await;
    let theirs = engine(&staging, &site.server);
    site.work(theirs, 60).await;
    assert_eq!(site.instances(), instances);
    let events = told(&staging, "OtherCluster");
    let [event] = &events[..] else { panic!("once: {events:?}") };
    assert!(event.contains(&site.cluster_uid()), "{event}");
    assert_eq!(site.list("karpenter.sh", "nodeclaims").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn marks_of_an_older_joiner_are_completed_and_its_instances_kept() {
    let mut site = Site::left_by_the_predecessor().await;
    site.pass(5).await;
    site.forget_the_cluster().await;
    let instances = site.instances();
    site.pass(30).await;
    assert_eq!(site.instances(), instances);
    for instance in &instances {
        let cluster_uid = site.setting(instance, "joiner.cluster-uid").await;
        assert_eq!(cluster_uid, Some(site.cluster_uid()), "{instance}");
    }
    // They are removed as ever.
    site.forget_the_cluster().await;
    scale(&site.lab, "web", 2);
    site.pass(30).await;
    assert_eq!(site.instances().len(), 2);
}
