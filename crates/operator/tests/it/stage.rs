//! A laboratory with a cloud and some controllers: where every test begins.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use joiner_api::{crd::crds, node_claim::NodeClaim, node_pool::NodePool};
use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_cloud::{
    CloudProvider, Providers,
    class::ClassKind,
    testing::{TEST_NODE_CLASS, TestCloud, test_node_class_crd},
};
use joiner_lab::{Lab, Setup};
use joiner_operator::{
    clocks::Clocks,
    cloud_calls::Removals,
    cluster::Cluster,
    context::Context,
    controller::{Controller, Started, start},
    engine::shown,
    events::Recorder,
    identity::Identity,
    inputs::{Inputs, Reach},
    metrics::{Build, Metrics, Registry},
    observability::{self, ClusterFigures},
    probes::Liveness,
    random::Random,
    rounds::{self, Rounds},
    settings::Settings,
    stop::Stop,
    world::{Cache, Feeds, Wanted, feed_all},
};
use joiner_settings::Values;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// What the metrics say that the program was built from.
pub(crate) const BUILD: Build =
    Build { version: "test", compiler: "test", commit: "test", architecture: "x86_64" };

/// A laboratory, a cloud, and controllers that work while time passes.
pub(crate) struct Stage {
    pub(crate) lab: Lab,
    pub(crate) cloud: TestCloud,
    pub(crate) context: Context,
    registry: Registry,
    tasks: JoinSet<()>,
    waiting: Vec<Started>,
}

impl Stage {
    /// An API server without a cluster: no scheduler, no kubelets, nothing that the test does not
    /// do itself.
    pub(crate) fn bare() -> Self {
        Self::new(Lab::new(Setup { bare: true, ..Setup::new(1) }))
    }

    /// The same with a cloud that serves these kinds.
    pub(crate) fn serving(kinds: &'static [ClassKind]) -> Self {
        let Self { lab, cloud, .. } = Self::bare();
        cloud.state().kinds = kinds;
        Self::around(lab, cloud)
    }

    /// A whole cluster.
    pub(crate) fn whole() -> Self {
        Self::new(Lab::new(Setup::new(1)))
    }

    fn new(lab: Lab) -> Self {
        let admin = lab.caller("admin");
        let crd = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
        for definition in crds() {
            admin.create(&crd, serde_json::to_value(definition).unwrap()).unwrap();
        }
        admin.create(&crd, test_node_class_crd()).unwrap();
        Self::around(lab, TestCloud::new())
    }

    /// A new process on the same cluster and cloud: it knows nothing of what the one before did
    /// beyond what is written there.
    pub(crate) fn restarted(self) -> Self {
        Self::around(self.lab, self.cloud)
    }

    fn around(lab: Lab, cloud: TestCloud) -> Self {
        let clock = lab.server().clock().clone();
        let client = kube::Client::new(lab.client("joiner").connect(), "default");
        let clocks = Clocks::new(clock.clone());
        let client = clocks.heard_by(client);
        let (events, writer) = Recorder::new(clock.clone(), client.clone());
        let registry = Registry::new(&BUILD).unwrap();
        let on: Vec<Arc<dyn CloudProvider>> = vec![Arc::new(cloud.clone())];
        let providers = Providers::new(on, Vec::new());
        let cache = Cache::comparing(providers.ids());
        let metrics = Metrics::register(&registry, &shown(&providers, None), &clock).unwrap();
        let context = Context {
            cluster: Cluster::new(client, clock.clone(), cache.clone()),
            liveness: Liveness::new(clock.clone()),
            clock,
            clocks,
            cache,
            providers: Arc::new(providers),
            events,
            metrics: Arc::new(metrics),
            feeds: Feeds::default(),
            random: Arc::new(Random::seeded(1)),
            removals: Removals::default(),
            identity: Identity::default(),
            inputs: Inputs::reaching(Reach::nobody()),
            namespace: "default".to_owned(),
            settings: Arc::new(Settings::read(&Values::default()).unwrap().settings),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.run());
        Self { lab, cloud, context, registry, tasks, waiting: Vec::new() }
    }

    /// Has a controller work once time passes.
    pub(crate) fn with<C: Controller>(mut self, controller: impl FnOnce(Context) -> C) -> Self {
        let controller = controller(self.context.clone());
        self.waiting.push(start(controller, &self.context));
        self
    }

    /// Has something be done again and again once time passes.
    pub(crate) fn with_rounds<R: Rounds>(mut self, make: impl FnOnce(Context) -> R) -> Self {
        self.waiting.push(rounds::start(make(self.context.clone()), &self.context));
        self
    }

    /// With other settings, for what is put on the stage from now on.
    pub(crate) fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.context.settings));
        self
    }

    /// Lets seconds pass, with everything working.
    pub(crate) async fn pass(&mut self, seconds: i64) {
        if !self.waiting.is_empty() {
            self.begin().await;
        }
        let clock = self.context.clock.clone();
        let end = clock.now() + SignedDuration::from_secs(seconds);
        self.lab.beside(async move { clock.sleep_until(end).await }).await;
    }

    /// Has something of the test's own go on beside the controllers.
    pub(crate) fn beside(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Starts to learn what there is, and has the controllers begin.
    pub(crate) async fn begin(&mut self) {
        let gates = self.context.settings.planner.gates;
        let wanted = Wanted {
            classes: self.cloud.state().kinds.to_vec(),
            overlays: gates.node_overlay,
            buffers: gates.capacity_buffer,
            ..Wanted::default()
        };
        let Context { cache, clock, cluster, feeds, .. } = &self.context;
        let running = feed_all(cluster.client(), cache, clock, feeds, &wanted);
        for feed in running {
            self.tasks.spawn(async move {
                let never = feed.await;
                match never {}
            });
        }
        feeds.when_synced().await;
        observability::count_changes(&self.context);
        self.registry.show(ClusterFigures::new(self.context.clone()));
        for started in self.waiting.drain(..) {
            self.tasks.spawn(async move {
                started.run(Stop::never()).await;
            });
        }
        // What follows at once from what is there already.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Creates an object as an administrator would.
    pub(crate) fn create(&self, group: &str, plural: &str, object: Value) -> Value {
        let created = self.lab.caller("admin").create(&Resource::new(group, plural), object);
        created.unwrap().value()
    }

    /// Somebody pauses disruption, in a word: of a pool, or of everything. With none it goes on.
    pub(crate) fn pause(&self, plural: &str, name: &str, why: Option<&str>) {
        let group = if plural == "namespaces" { "" } else { "karpenter.sh" };
        let patch = json!({"metadata": {"annotations": {"joiner.sh/pause-disruption": why}}});
        self.merge(group, plural, name, None, patch);
    }

    /// Changes an object as an administrator would; `status` for its status.
    pub(crate) fn merge(
        &self,
        group: &str,
        plural: &str,
        name: &str,
        subresource: Option<&'static str>,
        patch: Value,
    ) -> Value {
        let (resource, key) = (Resource::new(group, plural), key(name));
        let merged = self.lab.caller("admin").merge(&resource, &key, subresource, patch);
        merged.unwrap().value()
    }

    /// An object as it is now; none if it is gone.
    pub(crate) fn find<T: DeserializeOwned>(
        &self,
        group: &str,
        plural: &str,
        name: &str,
    ) -> Option<T> {
        let found = self.lab.caller("admin").get(&Resource::new(group, plural), &key(name)).ok()?;
        Some(serde_json::from_value(found.value()).unwrap())
    }

    /// The value of a series on the metrics page, such as `karpenter_nodes_created_total{..}`: of
    /// all series that start so, the sum.
    pub(crate) fn metric(&self, start: &str) -> f64 {
        sum(&self.registry, start)
    }

    /// Reasons and messages of all events about an object.
    pub(crate) fn events(&self, kind: &str, name: &str) -> Vec<String> {
        let events = self.lab.caller("admin").list(&Resource::new("", "events"), None);
        let about = |event: &Value| {
            event["involvedObject"]["kind"] == kind && event["involvedObject"]["name"] == name
        };
        let text = |event: &Value| {
            let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", field("reason"), field("message"))
        };
        let about_it = events.iter().filter(|event| about(&event.value()));
        about_it.map(|event| text(&event.value())).collect()
    }

    /// Deletes an object as an administrator would.
    pub(crate) fn delete(&self, group: &str, plural: &str, name: &str) {
        let (resource, options) = (Resource::new(group, plural), DeleteOptions::default());
        self.lab.caller("admin").delete(&resource, &key(name), options).unwrap();
    }

    /// The series of a metric as they are served, in order.
    pub(crate) fn series(&self, name: &str) -> Vec<String> {
        let text = self.registry.text();
        let series = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        series.map(|line| line[name.len()..].to_owned()).collect()
    }

    /// A claim that is there.
    pub(crate) fn claim(&self, name: &str) -> NodeClaim {
        self.find("karpenter.sh", "nodeclaims", name).unwrap()
    }

    /// A pool that is there.
    pub(crate) fn pool(&self, name: &str) -> NodePool {
        self.find("karpenter.sh", "nodepools", name).unwrap()
    }

    /// Creates a ready class, a pool that refers to it, and answers the pool.
    pub(crate) fn create_pool(&self, name: &str) -> Value {
        self.create_class("default");
        self.create("karpenter.sh", "nodepools", pool(name))
    }

    /// Creates a class that is ready, unless it is there.
    pub(crate) fn create_class(&self, name: &str) {
        if self.find::<Value>(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, name).is_some() {
            return;
        }
        let class = json!({
            "apiVersion": format!("{}/{}", TEST_NODE_CLASS.group, TEST_NODE_CLASS.version),
            "kind": TEST_NODE_CLASS.kind,
            "metadata": {"name": name},
            "spec": {},
        });
        self.create(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, class);
        let ready = json!({"status": {"conditions": [{
            "type": "Ready", "status": "True", "reason": "Ready", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        self.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, name, Some("status"), ready);
    }

    /// Lets a kind's objects say whatever they like in their spec, as older definitions do. There are none of them yet.
    pub(crate) fn allow_anything(&self, definition: &str) {
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        self.delete(group, plural, definition);
        let is_it = |crd: &Value| crd["metadata"]["name"] == definition;
        let mut all = crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
        let mut lax = all.find(is_it).unwrap();
        lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.create(group, plural, lax);
    }

    /// Creates a pool that cannot be read, which only lax definitions allow.
    pub(crate) fn create_unreadable_pool(&self, name: &str) {
        let mut odd = pool(name);
        odd["spec"]["weight"] = "high".into();
        self.create("karpenter.sh", "nodepools", odd);
    }

    /// Has calls of the controllers end otherwise than they should, in the words of fault scripts.
    pub(crate) fn faults(&self, script: &str) {
        self.lab.faults().add_script(script).unwrap();
    }

    /// A kind cannot be listed or watched any more. What is watched already comes to its end within five minutes.
    pub(crate) fn hide(&self, plural: &str) {
        for verb in ["list", "watch"] {
            self.faults(&format!("at 0s joiner: 503 on {verb} {plural} always"));
        }
    }

    /// Creates a claim of the test cloud.
    pub(crate) fn create_claim(&self, name: &str) -> Value {
        self.create_class("default");
        self.create("karpenter.sh", "nodeclaims", claim(name))
    }
}

/// The sum of all series on a page of metrics that start so.
pub(crate) fn sum(page: &Registry, start: &str) -> f64 {
    let page = page.text();
    let lines = page.lines().filter(|line| line.starts_with(start));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

fn key(name: &str) -> Key {
    match name.split_once('/') {
        Some((namespace, name)) => Key::new(namespace, name),
        None => Key::new("", name),
    }
}

/// How pools and claims refer to the class of the test cloud.
pub(crate) fn class_reference() -> Value {
    json!({"group": TEST_NODE_CLASS.group, "kind": TEST_NODE_CLASS.kind, "name": "default"})
}

/// A pool that takes whatever the test cloud has.
pub(crate) fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"nodeClassRef": class_reference(), "requirements": []}}},
    })
}

/// A claim that somebody wrote by hand.
pub(crate) fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name},
        "spec": {"nodeClassRef": class_reference(), "requirements": []},
    })
}
