//! The control loop of the demonstration: the engine that `joiner run` runs, on the laboratory.

mod steward;

use std::{convert::Infallible, sync::Arc};

use joiner_clock::Clock;
use joiner_cloud::Providers;
use joiner_kwok::Kwok;
use joiner_lab::{Connection, Lab};
use joiner_operator::{
    engine::{self, Engine},
    metrics::Registry,
    probes::Readiness,
    random::Random,
    settings::{Settings, Values},
    stop::Stop,
};

use self::steward::Steward;
use crate::errors::{Failure, chain};

/// What cares for the laboratory's cluster, for ever, and counts what it does on a page of metrics.
pub(crate) fn control_loop(
    lab: &Lab,
    seed: u64,
    registry: Registry,
) -> impl Future<Output = Result<Infallible, Failure>> + use<> {
    let steward = Steward::new(lab.server());
    let clock = lab.server().clock().clone();
    care(steward, lab.client("joiner").connect(), clock, seed, registry)
}

async fn care(
    steward: Steward,
    connection: Connection,
    clock: Clock,
    seed: u64,
    registry: Registry,
) -> Result<Infallible, Failure> {
    let client = kube::Client::new(connection, "default");
    let kwok = Kwok::new(client.clone(), clock.clone());
    let setup = engine::Setup {
        lease_client: client.clone(),
        client,
        clock,
        providers: Providers::new(vec![Arc::new(kwok)], Vec::new()),
        settings: Settings::read(&Values::default()).map_err(Failure::BadInput)?.settings,
        registry,
        cluster: None,
        identity: "joiner-demo".to_owned(),
        namespace: "kube-system".to_owned(),
        random: Random::seeded(seed),
        readiness: Arc::new(Readiness::new([engine::CACHES])),
    };
    let engine = Engine::new(setup).map_err(|error| Failure::Ended(chain(&error)))?;
    tokio::select! {
        biased;
        ended = engine.run(Stop::never()) => {
            let why = ended.map_or_else(|ended| ended.to_string(), |()| "it stopped".to_owned());
            Err(Failure::Ended(why))
        }
        never = steward.run() => match never {},
    }
}
