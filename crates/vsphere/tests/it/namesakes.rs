//! Clusters of one name that share a vCenter, and marks from before marks told them apart.

use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    adoption::Adoption,
    instance::Instance,
    listing::Listing,
    order::{ClaimId, Order},
};
use joiner_vsphere::Vsphere;
use serde_json::json;

use crate::{
    bench::{CLUSTER_UID, World, class, order},
    operation::notes,
};

const NAME: &str = "prod-karp-general-1";

async fn made(world: &World) -> (Order, Instance) {
    let order = order(&class(json!({})), 1);
    let instance = world.provider().create(&order).await.expect("nothing is wrong");
    (order, instance)
}

async fn cluster_uid(world: &World) -> Option<String> {
    world.property(NAME, "config.extraConfig[\"joiner.cluster-uid\"].value").await
}

/// Makes the mark one from before clusters had an identity.
async fn forget_the_cluster(world: &World) {
    world.change_settings(NAME, &[("joiner.cluster-uid", "")]).await;
    assert_eq!(cluster_uid(world).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_instance_says_which_cluster_of_the_name_it_is_of() {
    let world = World::new();
    let (_, instance) = made(&world).await;
    assert_eq!(cluster_uid(&world).await.as_deref(), Some(CLUSTER_UID));
    assert!(!instance.cluster_unproven);
}

#[tokio::test(start_paused = true)]
async fn another_cluster_of_the_name_is_told_of_once_and_what_to_do() {
    let world = World::new();
    made(&world).await;
    let provider = world.elsewhere().provider();
    for _ in 0..3 {
        assert_eq!(provider.list().await, Ok(Listing::default()));
    }
    let told = notes(&provider).await;
    let [told] = &told[..] else { panic!("once: {told:?}") };
    let start = "cloud: ! OtherCluster: Give one of two clusters another CLUSTER_NAME: 1 instances";
    assert!(told.starts_with(start), "{told}");
    for part in [NAME, CLUSTER_UID, "uid-of-staging"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    // An event has room for 300 letters, and real UIDs have 36 each.
    let message = told.strip_prefix("cloud: ! OtherCluster: ").unwrap();
    let longer = 2 * 36 - CLUSTER_UID.len() - "uid-of-staging".len();
    assert!(message.len() + longer <= 270, "{} letters: {told}", message.len() + longer);
}

#[tokio::test(start_paused = true)]
async fn a_mark_without_a_cluster_is_completed_and_nothing_else_changes() {
    let world = World::new();
    let (order, instance) = made(&world).await;
    let before = world.all_instances().await;
    forget_the_cluster(&world).await;
    let provider = world.provider();
    let found = provider.list().await.unwrap().instances.remove(0);
    assert!(found.cluster_unproven);
    assert_eq!(found.claim.as_ref(), Some(&order.claim));
    let again = provider.get(&ClaimId::default(), &instance.provider_id).await.unwrap();
    assert!(again.is_some(), "its claim still has it meanwhile");
    let by = Adoption { claim: order.claim.clone(), ..Adoption::default() };
    assert_eq!(provider.adopt(&found, &by).await, Ok(true));
    assert_eq!(world.all_instances().await, before);
    assert!(!provider.list().await.unwrap().instances[0].cluster_unproven);
    assert_eq!(world.elsewhere().provider().list().await, Ok(Listing::default()));
    assert_eq!(world.elsewhere().provider().adopt(&found, &by).await, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_creation_goes_on_with_what_an_older_process_has_begun() {
    let world = World::new();
    let (order, instance) = made(&world).await;
    forget_the_cluster(&world).await;
    let again = world.provider().create(&order).await.unwrap();
    assert_eq!(again.provider_id, instance.provider_id);
}

#[tokio::test(start_paused = true)]
async fn a_mark_without_a_cluster_is_enough_for_its_claim_and_for_nobody_else() {
    let world = World::new();
    let (order, instance) = made(&world).await;
    forget_the_cluster(&world).await;
    let id = Some(instance.provider_id.as_str());
    let provider = world.provider();
    provider.delete(&ClaimId::default(), id).await.expect_err("nothing says that it may go");
    assert_eq!(world.all_instances().await.len(), 1);
    world.remove(&provider, &order.claim, id).await;
    assert_eq!(world.all_instances().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_listed_or_removed_while_nobody_has_said_which_cluster_it_is() {
    let world = World::new();
    let (order, instance) = made(&world).await;
    let before = world.all_instances().await;
    let provider = Vsphere::new(world.admin.clone(), world.clock.clone(), world.settings.clone());
    let is_unknown = |error: Option<CloudError>| {
        let Some(CloudError::Unknown(why)) = error else { panic!("it is not known: {error:?}") };
        assert!(why.contains("kube-system"), "{why}");
    };
    let id = instance.provider_id.as_str();
    is_unknown(provider.list().await.err());
    is_unknown(provider.get(&ClaimId::default(), id).await.err());
    is_unknown(provider.create(&order).await.err());
    is_unknown(provider.delete(&order.claim, Some(id)).await.err());
    is_unknown(provider.delete(&order.claim, None).await.err());
    is_unknown(provider.empty_join_data(&order.claim, id).await.err());
    assert_eq!(world.all_instances().await, before);
    provider.begin(&joiner_cloud::cluster::Cluster::new(CLUSTER_UID));
    assert_eq!(provider.delete(&order.claim, Some(id)).await, Ok(Deletion::Gone));
}
