//! What is true of any cluster: the same stories in the laboratory and on a real control plane.
//!
//! Whoever tells a story has a client and a clock, and knows nothing of where it is. Instances are
//! KWOK's in both places. Where the two differ, the laboratory is wrong.
//!
//! A real control plane is started where `JOINER_CONTROL_PLANE` names a file with what
//! `scripts/install-real-parts` printed.

mod site;
mod stories;

use std::{env, fs, sync::Arc, time::Duration};

use futures_util::future::{LocalBoxFuture, join_all};
use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Providers};
use joiner_kwok::Kwok;
use joiner_lab::{Lab, Setup};
use joiner_operator::{
    engine::{self, Engine},
    metrics::Registry,
    probes::{Liveness, Readiness},
    random::Random,
    settings::Settings,
    stop::Stop,
};
use joiner_realparts::control_plane::{ControlPlane, Options, Parts};
use joiner_settings::Values;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use self::site::{Site, furnish};
use crate::stage::BUILD;

/// Declares stories: each is a test of the laboratory, and a part of the one on a real control plane.
macro_rules! stories {
    ($($story:ident)+) => {
        mod laboratory {
            $(
                #[tokio::test(start_paused = true)]
                async fn $story() {
                    super::in_the_laboratory(async |place| {
                        super::stories::$story(place.site(stringify!($story))).await;
                    })
                    .await;
                }
            )+
        }

        /// All at once, so that it takes as long as the longest.
        async fn tell_all(place: &Place) {
            let stories: Vec<LocalBoxFuture<'_, ()>> = vec![$(Box::pin(async {
                stories::$story(place.site(stringify!($story))).await;
                println!("{} on a real control plane", stringify!($story));
            })),+];
            join_all(stories).await;
        }
    };
}

stories! {
    pods_that_wait_get_a_node_and_run
    a_claim_that_is_deleted_waits_for_its_pods_budget
    a_node_that_is_deleted_takes_its_claim_with_it
    a_pool_that_is_deleted_takes_its_instances_with_it
    a_claim_whose_instance_is_gone_is_deleted
    a_pool_whose_class_is_missing_says_so_until_it_comes
    a_pod_that_fits_nowhere_is_told_why
}

/// Where stories are told.
pub(crate) struct Place {
    client: Client,
    clock: Clock,
    ask_every: Duration,
}

impl Place {
    fn site(&self, story: &str) -> Site {
        Site::new(self.client.clone(), self.clock.clone(), self.ask_every, story)
    }
}

/// An engine whose instances are KWOK's.
fn engine(client: &Client, lease_client: Client, clock: &Clock) -> Engine {
    let kwok: Arc<dyn CloudProvider> = Arc::new(Kwok::new(client.clone(), clock.clone()));
    let engine = Engine::new(engine::Setup {
        client: client.clone(),
        lease_client,
        clock: clock.clone(),
        providers: Providers::new(vec![kwok], Vec::new()),
        definitions: joiner_api::crd::crds(),
        settings: Settings::read(&Values::default()).unwrap().settings,
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

async fn in_the_laboratory(story: impl AsyncFnOnce(&Place)) {
    let mut lab = Lab::new(Setup::new(1));
    let connect = |name: &str| Client::new(lab.client(name).connect(), "default");
    let clock = lab.server().clock().clone();
    let engine = engine(&connect("joiner"), connect("joiner"), &clock);
    let place = Place { client: connect("user"), clock, ask_every: Duration::from_secs(1) };
    lab.beside(async {
        furnish(&place.site("furniture")).await;
        tokio::select! {
            ended = engine.run(Stop::never()) => panic!("the engine ended: {ended:?}"),
            () = story(&place) => {}
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_story_is_true_of_a_real_control_plane() {
    let Some(listing) = env::var_os("JOINER_CONTROL_PLANE") else { return };
    let parts = Parts::from_listing(&fs::read_to_string(listing).unwrap()).unwrap();
    let options = Options { controllers: true, scheduler: true, kwok: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let config = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(config, &options).await.unwrap();
    let connect = |default_retry: bool| {
        let mut config = config.clone();
        config.default_retry = default_retry;
        Client::try_from(config).unwrap()
    };
    let clock = Clock::wall();
    // As the program connects: to it a refusal is an answer.
    let engine = engine(&connect(false), connect(false), &clock);
    let place = Place { client: connect(true), clock, ask_every: Duration::from_millis(200) };
    furnish(&place.site("furniture")).await;
    tokio::select! {
        ended = engine.run(Stop::never()) => panic!("the engine ended: {ended:?}"),
        () = tell_all(&place) => {}
    }
}
