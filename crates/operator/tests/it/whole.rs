//! The whole engine on a whole laboratory: pods come, instances are made, nodes join; pods go,
//! instances go. Killed at every call, and on bad days drawn from a seed, it ends the same.

mod bad_day;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use jiff::SignedDuration;
use joiner_api::crd::crds;
use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_cloud::{CloudProvider, Providers};
use joiner_lab::{
    Connection, Lab, Setup,
    checks::{self, Violation},
    cloud::{Host, LAB_NODE_CLASS, LabCloud, lab_node_class_crd},
    faults::Rule,
    history::Timeline,
    process,
};
use joiner_operator::{
    engine::{self, Engine},
    metrics::Registry,
    probes::{Liveness, Readiness},
    random::Random,
    settings::{Settings, declared},
    stop::Stop,
};
use joiner_settings::Values;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::stage::BUILD;

pub(crate) const JOINER: &str = "joiner";

/// Every story needs them, and they are long to make.
static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    crds().iter().map(|definition| serde_json::to_value(definition).unwrap()).collect()
});

/// A laboratory with room for instances, a class and a pool, and nobody who makes instances yet.
pub(crate) fn furnished(seed: u64) -> Lab {
    furnished_as(Setup::new(seed))
}

/// The same, set up otherwise.
pub(crate) fn furnished_as(setup: Setup) -> Lab {
    let lab = Lab::new(setup);
    lab.data_centre().furnish(vec![
        Host::new("host-a", "zone-a", 64, 256),
        Host::new("host-b", "zone-b", 64, 256),
    ]);
    let crd =
        |definition| create(&lab, "apiextensions.k8s.io", "customresourcedefinitions", definition);
    for definition in &*DEFINITIONS {
        crd(definition.clone());
    }
    crd(lab_node_class_crd());
    create_class(&lab, "default", &json!({}));
    create_pool(&lab, "default", &json!({}));
    lab
}

pub(crate) fn create(lab: &Lab, group: &str, plural: &str, object: Value) {
    lab.caller("admin").create(&Resource::new(group, plural), object).unwrap();
}

/// Creates a class with this spec.
pub(crate) fn create_class(lab: &Lab, name: &str, spec: &Value) {
    let class = json!({
        "apiVersion": format!("{}/{}", LAB_NODE_CLASS.group, LAB_NODE_CLASS.version),
        "kind": LAB_NODE_CLASS.kind,
        "metadata": {"name": name},
        "spec": spec,
    });
    create(lab, LAB_NODE_CLASS.group, LAB_NODE_CLASS.plural, class);
}

/// Creates a pool of the class of the same name, with this in its spec besides its template.
pub(crate) fn create_pool(lab: &Lab, name: &str, spec: &Value) {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": spec,
    });
    let class = json!({"group": LAB_NODE_CLASS.group, "kind": LAB_NODE_CLASS.kind, "name": name});
    pool["spec"]["template"] = json!({"spec": {"nodeClassRef": class, "requirements": []}});
    create(lab, "karpenter.sh", "nodepools", pool);
}

/// Changes the spec of the pool.
pub(crate) fn change_pool(lab: &Lab, spec: &Value) {
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "default"));
    lab.caller("user").merge(&pools, &key, None, json!({"spec": spec})).unwrap();
}

/// Has the pool make instances of these types alone.
pub(crate) fn allow_only(lab: &Lab, types: &[&str]) {
    let key = "node.kubernetes.io/instance-type";
    let wanted = json!({"key": key, "operator": "In", "values": types});
    change_pool(lab, &json!({"template": {"spec": {"requirements": [wanted]}}}));
}

pub(crate) fn deployment(name: &str, replicas: u64) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app",
                    "image": "registry.example/app:1",
                    "resources": {"requests": {"cpu": "900m", "memory": "1Gi"}},
                }]},
            },
        },
    })
}

pub(crate) fn scale(lab: &Lab, name: &str, replicas: u64) {
    let (resource, key) = (Resource::new("apps", "deployments"), Key::new("default", name));
    let patch = json!({"spec": {"replicas": replicas}});
    lab.caller("user").merge(&resource, &key, None, patch).unwrap();
}

/// Nobody needs anything any more: the workload is scaled to nothing and the pool deleted.
fn give_up(lab: &Lab) {
    scale(lab, "web", 0);
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "default"));
    lab.caller("user").delete(&pools, &key, DeleteOptions::default()).unwrap();
}

/// One life of the process: from its start until it is killed.
async fn live(connection: Connection, lab_cloud: LabCloud, seed: u64, features: &str) {
    let clock = connection.clock().clone();
    let client = || kube::Client::new(connection.clone(), "default");
    let on: Vec<Arc<dyn CloudProvider>> = vec![Arc::new(lab_cloud)];
    let setup = engine::Setup {
        client: client(),
        lease_client: client(),
        liveness: Liveness::new(clock.clone()),
        clock,
        providers: Providers::new(on, Vec::new()),
        definitions: crds(),
        settings: settings(features),
        registry: Registry::new(&BUILD).unwrap(),
        cluster: None,
        identity: format!("joiner-{seed}-{}", connection.calls()),
        namespace: "kube-system".to_owned(),
        random: Random::seeded(seed),
        readiness: Arc::new(Readiness::new([engine::CACHES])),
    };
    let ended = Engine::new(setup).unwrap().run(Stop::never()).await;
    // Whoever runs the process starts it again.
    assert!(ended.is_err(), "nobody told it to stop");
}

/// Defaults but for these features, and without leases: those have tests of their own, and their
/// renewals would be most of the calls at which the process is killed.
fn settings(features: &str) -> Settings {
    let mut values = Values::default();
    values.give(&declared::FEATURE_GATES, features);
    values.give(&declared::DISABLE_LEADER_ELECTION, "true");
    Settings::read(&values).unwrap().settings
}

/// Lets minutes pass with the engine at work, whatever happens to it.
pub(crate) async fn pass(lab: &mut Lab, minutes: i64, seed: u64) {
    pass_with(lab, minutes, seed, "").await;
}

/// The same, with these features.
pub(crate) async fn pass_with(lab: &mut Lab, minutes: i64, seed: u64, features: &str) {
    let clock = lab.server().clock().clone();
    let over = clock.sleep(std::time::Duration::from_secs(60 * minutes as u64));
    work_beside(lab, seed, features, over).await;
}

/// Has the engine work, whatever happens to it, until a story is over.
pub(crate) async fn work_beside(
    lab: &mut Lab,
    seed: u64,
    features: &str,
    story: impl Future<Output = ()>,
) {
    let (client, centre) = (lab.client(JOINER), lab.data_centre().clone());
    let engine = async {
        loop {
            let starts = process::run(&client, |connection| {
                let cloud = LabCloud::new(&connection, &centre, "test");
                Box::pin(live(connection, cloud, seed, features))
            });
            starts.await;
        }
    };
    lab.beside(async {
        tokio::select! {
            biased;
            () = story => {}
            () = engine => {}
        }
    })
    .await;
}

/// What a story must come to, however it was interrupted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Names of pods that do not run.
    pub(crate) not_running: BTreeSet<String>,
    /// How many pods run.
    pub(crate) running: usize,
    pub(crate) nodes: usize,
    pub(crate) claims: usize,
    pub(crate) instances: usize,
    pub(crate) broken: Vec<String>,
}

impl End {
    pub(crate) fn of(lab: &Lab) -> Self {
        let list = |group: &str, plural: &str| {
            let found = lab.caller("admin").list(&Resource::new(group, plural), None);
            found.iter().map(|object| object.value()).collect::<Vec<Value>>()
        };
        let pods = list("", "pods");
        let (running, others): (Vec<&Value>, Vec<&Value>) =
            pods.iter().partition(|pod| pod["status"]["phase"] == "Running");
        let name = |pod: &&Value| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let guests = lab.data_centre().hosts(lab.server().clock().now());
        Self {
            not_running: others.iter().map(name).collect(),
            running: running.len(),
            nodes: list("", "nodes").len(),
            claims: list("karpenter.sh", "nodeclaims").len(),
            instances: guests.iter().map(|host| host.instances.len()).sum(),
            broken: broken_rules(lab).iter().map(Violation::to_string).collect(),
        }
    }
}

/// What happened that must never happen: neither to anybody, nor by our doing.
pub(crate) fn broken_rules(lab: &Lab) -> Vec<Violation> {
    let mut broken = checks::all(lab.history());
    broken.extend(checks::deletions_within_budgets(lab.history(), JOINER));
    broken
}

pub(crate) fn end(running: usize, instances: usize) -> End {
    End {
        not_running: BTreeSet::new(),
        running,
        nodes: instances,
        claims: instances,
        instances,
        broken: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn pods_that_wait_get_instances_and_run() {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 10));
    pass(&mut lab, 10, 1).await;
    let found = End::of(&lab);
    assert_eq!(found, end(10, found.instances), "{}", lab.history().timeline(&Timeline::default()));
    assert!((1..=3).contains(&found.instances), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_deleted_takes_its_instances_with_it() {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 10));
    pass(&mut lab, 10, 1).await;
    give_up(&lab);
    pass(&mut lab, 10, 2).await;
    assert_eq!(End::of(&lab), end(0, 0));
}

/// A burst, with one kill added when calls are to be counted.
async fn scale_out(kill: Rule) -> Lab {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 3));
    lab.faults().add(kill);
    pass(&mut lab, 3, 1).await;
    lab
}

/// The instances of a cluster that is no longer needed, with one kill added.
async fn scale_in(kill: Rule) -> Lab {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 3));
    pass(&mut lab, 3, 1).await;
    give_up(&lab);
    lab.faults().add(kill);
    pass(&mut lab, 4, 2).await;
    lab
}

#[tokio::test(start_paused = true)]
async fn killed_at_every_call_a_scale_out_ends_the_same() {
    let kills = process::sweep(JOINER, scale_out, End::of)
        .await
        .unwrap_or_else(|interrupted| panic!("{interrupted}"));
    println!("scale-out: {kills} of {kills} kills end the same");
    assert!(kills > 30, "{kills}");
}

#[tokio::test(start_paused = true)]
async fn killed_at_every_call_a_scale_in_ends_the_same() {
    let kills = process::sweep(JOINER, scale_in, End::of)
        .await
        .unwrap_or_else(|interrupted| panic!("{interrupted}"));
    println!("scale-in: {kills} of {kills} kills end the same");
    assert!(kills > 30, "{kills}");
}

/// A number from the environment, or the usual one.
pub(crate) fn chosen(variable: &str, usual: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return usual };
    let number = text.parse();
    assert!(number.is_ok(), "{variable} is not a number: {text:?}");
    number.unwrap_or(usual)
}

/// A runtime whose time passes when there is nothing to do. Each story has one of its own: the order
/// in which a runtime takes up its tasks depends on how many it has taken up before.
pub(crate) fn virtual_time() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap()
}

/// Tells as many stories as there are seeds and asserts that no objection is found.
///
/// The first seed is `JOINER_SEED`, 1 by default. Every seed is a story of its own, in one thread.
/// As many stories are told at once as there are cores.
pub(crate) fn assert_for_seeds(seeds: u64, objections: impl AsyncFn(u64) -> Vec<String> + Sync) {
    assert_for_seeds_from(chosen("JOINER_SEED", 1), seeds, objections);
}

/// The same from a given first seed.
pub(crate) fn assert_for_seeds_from(
    first: u64,
    seeds: u64,
    objections: impl AsyncFn(u64) -> Vec<String> + Sync,
) {
    let next = AtomicU64::new(0);
    let tell = || {
        let mut failed = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return failed;
            }
            let seed = first + number;
            let objections = virtual_time().block_on(objections(seed));
            failed.extend(objections.iter().map(|objection| format!("seed {seed}: {objection}")));
        }
    };
    let failed = std::thread::scope(|threads| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stories: Vec<_> = (0..cores).map(|_| threads.spawn(tell)).collect();
        stories.into_iter().flat_map(|story| story.join().unwrap()).collect::<Vec<String>>()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How long things take is not measured here, but an hour must pass in virtual time.
#[tokio::test(start_paused = true)]
async fn an_hour_of_quiet_changes_nothing() {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 6));
    pass(&mut lab, 10, 1).await;
    let before = End::of(&lab);
    let start = lab.server().clock().now();
    pass(&mut lab, 60, 2).await;
    assert_eq!(End::of(&lab), before);
    assert!(lab.server().clock().now().duration_since(start) >= SignedDuration::from_hours(1));
}
