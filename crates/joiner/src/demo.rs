//! `joiner demo`: a cluster in the process, the control loop, a story, and a picture of it all.

mod audience;
mod control;
mod lines;
mod live;
mod story;
mod virtual_time;
mod vsphere;

use std::{convert::Infallible, ops::RangeInclusive};

use joiner_lab::{Lab, Setup, cluster::instances::SimulatedBoot};

pub(crate) use self::control::control_loop;
use self::vsphere::Estate;

use crate::{
    cli::{DemoArgs, DemoProvider},
    clouds,
    errors::{Exit, Failure},
    lab,
};

/// Runs the demonstration.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    match args.speed {
        // A page or an API that hours pass on at once would be of no use.
        None if args.headless && args.port.is_none() && args.kubeconfig.is_none() => {
            virtual_time::run(args)
        }
        speed => live::run(args, speed.unwrap_or(live::SPEED)),
    }
}

/// A laboratory in which the story can begin: the kinds that it needs are known.
pub(crate) fn laboratory(setup: Setup) -> Lab {
    let lab = Lab::new(setup);
    let admin = lab.caller("admin");
    // Classes of other clouds are defined by the estates that have them.
    let of_nodes_alone = clouds::ALL.defaults().flat_map(|kind| (kind.crds)());
    for definition in joiner_api::crd::karpenter_crds().into_iter().chain(of_nodes_alone) {
        let definition = serde_json::to_value(definition).expect("definitions are data");
        lab::create(lab.server(), &admin, definition).expect("our own definitions are valid");
    }
    lab
}

/// How long a kubelet takes from its start to being ready: images of the network plugin are loaded
/// meanwhile, which takes some ten seconds on most clouds.
const READY_SECONDS: RangeInclusive<u32> = 8..=14;
/// How long nodes take that stand for instances of a cloud: with the above, they take pods some 35
/// seconds after they were asked for, as fast clouds do.
const BOOT_SECONDS: RangeInclusive<u32> = 20..=26;

/// The vCenter of a demonstration that has one, with its guests in the laboratory. Nodes that have no
/// instances take as long as instances would.
fn estate(args: &DemoArgs, lab: &Lab) -> Option<Estate> {
    match args.provider {
        DemoProvider::Kwok => {
            let boot = SimulatedBoot { boot_seconds: BOOT_SECONDS, ready_seconds: READY_SECONDS };
            lab.instances().simulated_nodes_take(boot);
            None
        }
        DemoProvider::Vsphere => Some(Estate::new(lab, args.seed)),
    }
}

/// Lets a vCenter and what belongs to it do their work for ever.
async fn run_estate(lab_server: joiner_apiserver::Server, estate: Option<Estate>) -> Infallible {
    match estate {
        None => std::future::pending().await,
        Some(estate) => tokio::select! {
            biased;
            never = estate.run() => never,
            never = vsphere::cloud_controller(lab_server, estate.clone()) => never,
        },
    }
}
