//! §11.1 L-01 to L-75: the life of a claim.

mod deletion;
mod initialization;
mod launch;
mod liveness;
mod registration;

use joiner_operator::{
    lifecycle::Lifecycle,
    registration_health::{PoolRegistrationHealth, RegistrationHealth},
};

use crate::stage::Stage;

/// A stage with the controller, and with the one that keeps pools' health.
fn stage() -> Stage {
    with_lifecycle(Stage::bare())
}

fn with_lifecycle(stage: Stage) -> Stage {
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
