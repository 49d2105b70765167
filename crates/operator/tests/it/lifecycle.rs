//! §11.1 L-01 to L-75: the life of a claim.

mod deletion;
mod initialization;
mod launch;
mod liveness;
mod reboot;
mod registration;

use joiner_core::taint::{Effect, Taint};
use joiner_lab::cluster::instances::InstanceSpec;
use joiner_operator::{
    lifecycle::Lifecycle,
    registration_health::{PoolRegistrationHealth, RegistrationHealth},
};

use crate::stage::Stage;

/// A stage with the controller, and with the one that keeps pools' health.
fn stage() -> Stage {
    with_lifecycle(Stage::bare())
}

pub(crate) fn with_lifecycle(stage: Stage) -> Stage {
    let health = RegistrationHealth::default();
    stage
        .with(|context| Lifecycle::new(context, health.clone()))
        .with(|context| PoolRegistrationHealth::new(context, health.clone()))
}

/// Why claims were given up, as metrics call it.
fn given_up(stage: &Stage) -> Vec<String> {
    let counted = stage.series("karpenter_nodeclaims_disrupted_total");
    let reason = |series: &String| {
        let (_, rest) = series.split_once("reason=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    counted.iter().map(reason).collect()
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_a_whole_cluster_is_ready_as_soon_as_its_instance_is() {
    let mut stage = with_lifecycle(Stage::whole());
    stage.create_claim("web-1");
    stage.pass(1).await;
    let unregistered = Taint {
        key: "karpenter.sh/unregistered".to_owned(),
        value: String::new(),
        effect: Effect::NoExecute,
    };
    let instance = InstanceSpec {
        provider_id: "test://web-1".to_owned(),
        taints: vec![unregistered],
        ..InstanceSpec::new("node-1")
    };
    stage.lab.instances().boot(instance).unwrap();
    stage.pass(25).await;
    assert_eq!(stage.condition("web-1", "Registered").unwrap().1, "NodeNotFound");
    stage.pass(60).await;
    assert_eq!(stage.status_of("web-1", "Ready").as_deref(), Some("True"));
    assert_eq!(stage.taints_of("node-1"), [] as [&str; 0]);
    let given_up = given_up(&stage);
    assert!(given_up.is_empty(), "{given_up:?}");
}
