//! The control loop of the demonstration: the engine that `joiner run` runs, on the laboratory.

use std::{convert::Infallible, sync::Arc, time::Duration};

use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Providers, RepairPolicy};
use joiner_kwok::Kwok;
use joiner_lab::{Connection, Lab};
use joiner_operator::{
    engine::{self, Engine},
    metrics::Registry,
    probes::{Liveness, Readiness},
    random::Random,
    settings::{Settings, declared},
    stop::Stop,
};
use joiner_settings::Values;

use crate::{
    clouds, crds,
    errors::{Failure, chain},
};

/// Silent instances are replaced after one minute: ten minutes are too long for a demonstration.
const REPAIR: &[RepairPolicy] = &[
    RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(1) },
    RepairPolicy { condition: "Ready", status: "Unknown", toleration: Duration::from_mins(1) },
];

/// Runs the engine on the laboratory's cluster forever, with its metrics. Its instances are KWOK's.
pub(crate) fn control_loop(
    lab: &Lab,
    seed: u64,
    registry: Registry,
) -> impl Future<Output = Result<Infallible, Failure>> + use<> {
    control_loop_with(lab, seed, registry, None)
}

/// The same with the instances of some cloud, or KWOK's.
pub(super) fn control_loop_with(
    lab: &Lab,
    seed: u64,
    registry: Registry,
    cloud: Option<Arc<dyn CloudProvider>>,
) -> impl Future<Output = Result<Infallible, Failure>> + use<> {
    let clock = lab.server().clock().clone();
    care(lab.client("joiner").connect(), clock, seed, registry, cloud)
}

async fn care(
    connection: Connection,
    clock: Clock,
    seed: u64,
    registry: Registry,
    cloud: Option<Arc<dyn CloudProvider>>,
) -> Result<Infallible, Failure> {
    let client = kube::Client::new(connection, "default");
    let kwok = || Kwok::new(client.clone(), clock.clone()).repaired_by(REPAIR);
    let cloud = cloud.unwrap_or_else(|| Arc::new(kwok()));
    let mut values = Values::default();
    values.give(&declared::FEATURE_GATES, "NodeRepair=true");
    let setup = engine::Setup {
        lease_client: client.clone(),
        client,
        liveness: Liveness::new(clock.clone()),
        clock,
        providers: Providers::new(vec![cloud], Vec::new()),
        definitions: crds::all(clouds::ALL),
        settings: Settings::read(&values).map_err(Failure::BadInput)?.settings,
        registry,
        cluster: None,
        identity: "joiner-demo".to_owned(),
        namespace: "kube-system".to_owned(),
        random: Random::seeded(seed),
        readiness: Arc::new(Readiness::new([engine::CACHES])),
    };
    let engine = Engine::new(setup).map_err(|error| Failure::Ended(chain(&error)))?;
    let ended = engine.run(Stop::never()).await;
    let why = ended.map_or_else(|ended| ended.to_string(), |()| "it stopped".to_owned());
    Err(Failure::Ended(why))
}
