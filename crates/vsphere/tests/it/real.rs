//! The provider against govmomi's vCenter simulator: a server that was not written beside it.
//!
//! `JOINER_VCSIM` names the simulator; without it these tests are skipped.

mod simulator;

use joiner_cloud::{CloudError, CloudProvider, conformance};
use joiner_realparts::vcsim::{Refusal, Vcsim};
use serde_json::json;

use self::simulator::{DATASTORES, Simulator, order_of};
use crate::bench::OnSite;

fn refusal(method: &str, fault: &str, max: u32) -> Refusal {
    let (method, fault) = (method.to_owned(), fault.to_owned());
    Refusal { method, fault, message: "ordered by the test".to_owned(), max, ..Refusal::default() }
}

#[tokio::test(start_paused = true)]
async fn the_provider_does_what_every_provider_has_to() {
    let Some(program) = Vcsim::installed() else { return };
    let report = conformance::check(async || OnSite::new(Simulator::start(&program).await)).await;
    println!("{report}");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_clone_without_room_is_a_want_of_capacity_and_the_next_size_is_tried() {
    let Some(program) = Vcsim::installed() else { return };
    let simulator = Simulator::start(&program).await;
    let provider = simulator.provider();
    let order = order_of(1, json!({}));
    simulator.refuse(refusal("CloneVM_Task", "InsufficientHostCapacityFault", 0)).await;
    let refused = provider.create(&order).await;
    assert!(matches!(refused, Err(CloudError::InsufficientCapacity(_))), "{refused:?}");
    simulator.accept_all().await;
    // Every size was tried, and none is offered for a while.
    let types = provider.instance_types("general", &order.class).unwrap();
    let offered = types.iter().flat_map(|own| &own.offerings).filter(|own| own.available);
    assert_eq!(offered.count(), 0);

    let simulator = Simulator::start(&program).await;
    let provider = simulator.provider();
    simulator.refuse(refusal("CloneVM_Task", "InsufficientHostCapacityFault", 1)).await;
    let instance = provider.create(&order_of(1, json!({}))).await.unwrap();
    assert_eq!(instance.labels["karpenter.vsphere.com/instance-cpu"], "8", "{instance:?}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_cannot_be_started_for_want_of_space_is_made_on_another_datastore() {
    let Some(program) = Vcsim::installed() else { return };
    let simulator = Simulator::start(&program).await;
    simulator.tag_datastores().await;
    let provider = simulator.provider();
    let order = order_of(1, json!({"datastoreSelector": {"tags": {"k8s": "yes"}}}));
    simulator.refuse(refusal("PowerOnVM_Task", "NoDiskSpace", 1)).await;
    let instance = provider.create(&order).await.unwrap();
    let first = simulator.datastore_of(&instance.provider_id).await;
    assert_eq!(simulator.count().await, 1, "the first one is gone");

    // The full one is left alone for a while: the next instance is made where there was room.
    let order = order_of(2, json!({"datastoreSelector": {"tags": {"k8s": "yes"}}}));
    let second = provider.create(&order).await.unwrap();
    assert_eq!(simulator.datastore_of(&second.provider_id).await, first);
    assert!(DATASTORES.contains(&&*first), "{first}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_in_the_middle_is_begun_anew() {
    let Some(program) = Vcsim::installed() else { return };
    let methods = ["FindAllByUuid", "CloneVM_Task", "WaitForUpdatesEx", "PowerOnVM_Task"];
    for method in methods {
        let simulator = Simulator::start(&program).await;
        let provider = simulator.provider();
        simulator.refuse(refusal(method, "NotAuthenticated", 1)).await;
        let created = provider.create(&order_of(1, json!({}))).await;
        assert!(created.is_ok(), "{method}: {created:?}");
        assert_eq!(simulator.count().await, 1, "{method}");
    }
}
