//! A whole engine on a stage, with everything that it says.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use joiner_apiserver::Resource;
use joiner_cloud::{CloudProvider, Providers};
use joiner_core::taint::{Effect, Taint};
use joiner_lab::cluster::instances::InstanceSpec;
use joiner_operator::{
    engine::{self, Ended, Engine},
    metrics::Registry,
    probes::{Liveness, Readiness},
    random::Random,
    settings::Settings,
    stop::Stopper,
};
use joiner_settings::Values;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    layer::{self, SubscriberExt},
};

use crate::{
    roles::Roles,
    stage::{BUILD, Stage, sum},
};

/// What the engine under test is called by the laboratory.
pub(super) const CLIENT: &str = "joiner";

/// An engine on a stage.
pub(super) struct Running {
    pub(super) stage: Stage,
    pub(super) readiness: Arc<Readiness>,
    pub(super) roles: Roles,
    /// The engine's page of metrics.
    metrics: Registry,
    log: Log,
    starts: u64,
    engine: Option<(Stopper, JoinHandle<Result<(), Ended>>)>,
    _logging: DefaultGuard,
}

impl Running {
    /// A whole cluster whose engine is not started yet.
    pub(super) fn prepared() -> Self {
        let log = Log::default();
        let subscriber =
            tracing_subscriber::registry().with(log.clone().with_filter(LevelFilter::INFO));
        Self {
            stage: Stage::whole(),
            readiness: Arc::new(Readiness::new(engine::PARTS)),
            roles: Roles::default(),
            metrics: Registry::new(&BUILD).unwrap(),
            log,
            starts: 0,
            engine: None,
            _logging: tracing::subscriber::set_default(subscriber),
        }
    }

    /// A cluster with a pool, whose engine has begun its work.
    pub(super) async fn at_work() -> Self {
        let mut running = Self::prepared();
        running.stage.create_pool("general");
        running.start();
        running.pass(30).await;
        assert_eq!(running.readiness.why_not(), "");
        running
    }

    /// Starts an engine as a new process does.
    pub(super) fn start(&mut self) {
        self.start_with(|_| {});
    }

    /// The same, with other settings.
    pub(super) fn start_with(&mut self, change: impl FnOnce(&mut Settings)) {
        self.starts += 1;
        self.readiness = Arc::new(Readiness::new(engine::PARTS));
        self.metrics = Registry::new(&BUILD).unwrap();
        let mut settings = Settings::read(&Values::default()).unwrap().settings;
        change(&mut settings);
        let client = || {
            let connection = self.stage.lab.client(CLIENT).connect();
            kube::Client::new(self.roles.guard(connection), "default")
        };
        let on: Vec<Arc<dyn CloudProvider>> = vec![Arc::new(self.stage.cloud.clone())];
        let engine = Engine::new(engine::Setup {
            client: client(),
            lease_client: client(),
            clock: self.stage.context.clock.clone(),
            providers: Providers::new(on, Vec::new()),
            definitions: joiner_api::crd::crds(),
            settings,
            registry: self.metrics.clone(),
            cluster: None,
            identity: format!("joiner-{}", self.starts),
            namespace: "default".to_owned(),
            random: Random::seeded(self.starts),
            readiness: Arc::clone(&self.readiness),
            liveness: Liveness::new(self.stage.context.clock.clone()),
        });
        let (stopper, stop) = Stopper::new();
        let running = tokio::spawn(engine.unwrap().run(stop));
        self.engine = Some((stopper, running));
    }

    /// Tells the engine to end.
    pub(super) fn stop(&self) {
        let (stopper, _) = self.engine.as_ref().expect("an engine was started");
        stopper.stop();
    }

    /// Ends the engine in the middle of whatever it does.
    pub(super) fn kill(&mut self) {
        let (_, engine) = self.engine.take().expect("an engine was started");
        engine.abort();
    }

    /// The value of a series on the engine's page of metrics; of all that start so, the sum.
    pub(super) fn metric(&self, start: &str) -> f64 {
        sum(&self.metrics, start)
    }

    /// Lets seconds pass. Instances that the cloud has made meanwhile join.
    pub(super) async fn pass(&mut self, seconds: i64) {
        const STEP: i64 = 10;
        let mut left = seconds;
        while left > 0 {
            self.stage.pass(left.min(STEP)).await;
            left -= STEP;
            self.switch_instances();
        }
    }

    /// Instances are on for as long as the cloud has them.
    fn switch_instances(&self) {
        let instances = self.stage.lab.instances();
        for instance in self.stage.cloud.state().instances.values() {
            let name = instance.provider_id.trim_start_matches("test://");
            let taint = Taint {
                key: "karpenter.sh/unregistered".to_owned(),
                value: String::new(),
                effect: Effect::NoExecute,
            };
            // One that is there is there.
            let _ = instances.boot(InstanceSpec {
                provider_id: instance.provider_id.clone(),
                taints: vec![taint],
                capacity: instance.capacity.clone(),
                allocatable: instance.allocatable.clone(),
                ..InstanceSpec::new(name)
            });
        }
    }

    /// How the engine ended.
    pub(super) async fn ended(&mut self) -> String {
        let (_, engine) = self.engine.take().expect("an engine was started");
        assert!(engine.is_finished(), "it has not ended");
        match engine.await.expect("it does not panic") {
            Ok(()) => "told to".to_owned(),
            Err(why) => why.to_string(),
        }
    }

    /// Whether the engine is still there.
    pub(super) fn is_running(&self) -> bool {
        self.engine.as_ref().is_some_and(|(_, engine)| !engine.is_finished())
    }

    /// Everything that was said and contains these words.
    pub(super) fn said(&self, words: &str) -> Vec<String> {
        let lines = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.contains(words)).cloned().collect()
    }

    /// Somebody wants a pod to run.
    pub(super) fn create_pod(&self, name: &str) {
        let pod = json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{
                "name": "app", "image": "app", "resources": {"requests": {"cpu": "1"}},
            }]},
        });
        self.stage.create("", "pods", pod);
    }

    /// Whether a pod runs.
    pub(super) fn runs(&self, name: &str) -> bool {
        let pod: Option<Value> = self.stage.find("", "pods", &format!("default/{name}"));
        pod.is_some_and(|pod| pod["status"]["phase"] == "Running")
    }

    /// Names of all claims.
    pub(super) fn claims(&self) -> Vec<String> {
        let claims = Resource::new("karpenter.sh", "nodeclaims");
        let claims = self.stage.lab.caller("admin").list(&claims, None);
        let name = |claim: Value| claim["metadata"]["name"].as_str().unwrap().to_owned();
        claims.iter().map(|claim| name(claim.value())).collect()
    }

    /// How many instances the cloud has.
    pub(super) fn instances(&self) -> usize {
        self.stage.cloud.state().instances.len()
    }

    /// A pod that is created now runs soon: the engine works.
    #[track_caller]
    pub(super) fn expect_running(&self, name: &str) {
        assert!(self.runs(name), "{name} does not run; not ready: {}", self.readiness.why_not());
    }

    /// Nothing gets through to the API server for so many seconds.
    pub(super) fn cut_off(&self, seconds: i64) {
        let now = self.stage.context.now();
        let until = now + jiff::SignedDuration::from_secs(seconds);
        self.stage.lab.faults().partition(CLIENT, now, until);
    }
}

/// What was said, a line each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        #[derive(Default)]
        struct Text(String);

        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "message" {
                    let _ = write!(self.0, "{value:?}");
                }
            }
        }

        let mut text = Text::default();
        event.record(&mut text);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.0);
    }
}
