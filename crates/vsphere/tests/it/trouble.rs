//! What a provider makes of trouble in the vCenter.

use std::time::Duration;

use joiner_cloud::{CloudError, CloudProvider, instance::Instance, order::ClaimId};
use joiner_core::label;
use joiner_sim_vcenter::Inventory;
use joiner_vim::spec::ConfigSpec;
use serde_json::json;

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

#[tokio::test(start_paused = true)]
async fn a_datastore_without_space_is_left_alone_and_another_is_used() {
    let world = World::new();
    for datastore in ["datastore1", "datastore2"] {
        world.server.tag(&format!("/dc1/datastore/{datastore}"), "k8s", "yes").unwrap();
    }
    let class = class(json!({"datastoreSelector": {"tags": {"k8s": "yes"}}}));
    // The one with most room comes first.
    world.server.trouble("task fault NoDiskSpace after 1s on CloneVM_Task once").unwrap();
    let provider = world.provider();
    provider.create(&order(&class, 1)).await.unwrap();
    let disks = world.server.vm(NAME).unwrap().disks;
    assert!(disks.iter().all(|disk| disk.starts_with("[datastore1]")), "{disks:?}");
    provider.create(&order(&class, 2)).await.unwrap();
    let disks = world.server.vm("prod-karp-general-2").unwrap().disks;
    assert!(disks.iter().all(|disk| disk.starts_with("[datastore1]")), "{disks:?}");
}

#[tokio::test(start_paused = true)]
async fn a_zone_without_room_makes_way_for_another() {
    let world = World::new();
    let class = class(json!({"instanceTypes": [
        {"os": "linux", "cpu": 2, "memory": 4, "zone": "az1"},
        {"os": "linux", "cpu": 2, "memory": 4, "zone": "az2"},
    ]}));
    world
        .server
        .trouble("task fault InsufficientFailoverResourcesFault after 1s on PowerOnVM_Task once")
        .unwrap();
    let instance = world.provider().create(&order(&class, 1)).await.unwrap();
    assert_eq!(instance.labels[label::ZONE], "az2");
    assert_eq!(world.all_instances().await.len(), 1, "the half-made one is gone");
}

#[tokio::test(start_paused = true)]
async fn a_missing_privilege_takes_the_class_out_of_use() {
    let world = World::new();
    world
        .server
        .trouble("fault NoPermission privilegeId=Network.Assign on CloneVM_Task once")
        .unwrap();
    let answer = world.provider().create(&order(&class(json!({})), 1)).await;
    let Err(CloudError::NodeClassNotReady(message)) = answer else { panic!("{answer:?}") };
    assert!(message.contains("Network.Assign"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_was_replaced_is_looked_for_anew() {
    let world = World::new();
    let class = class(json!({"imageSelector": {"pattern": "ubuntu-*"}}));
    let provider = world.provider();
    provider.create(&order(&class, 1)).await.unwrap();
    world.server.remove_vm("ubuntu-2404").unwrap();
    let mut newer = joiner_sim_vcenter::inventory::Vm::template("ubuntu-2604");
    newer.folder = "templates".to_owned();
    world.server.add_vm("dc1", &newer).unwrap();
    let instance = provider.create(&order(&class, 2)).await.unwrap();
    assert_eq!(instance.image_id.as_deref(), Some("/dc1/vm/templates/ubuntu-2604"));
}

#[tokio::test(start_paused = true)]
async fn a_newer_template_is_drift() {
    let world = World::new();
    let class = class(json!({"imageSelector": {"pattern": "ubuntu-*"}}));
    let provider = world.provider();
    let instance = provider.create(&order(&class, 1)).await.unwrap();
    world.clock.sleep(Duration::from_hours(1)).await;
    let mut newer = joiner_sim_vcenter::inventory::Vm::template("ubuntu-2604");
    newer.folder = "templates".to_owned();
    world.server.add_vm("dc1", &newer).unwrap();
    assert_eq!(provider.drift(&instance, &class).await, Ok(Some("ImageDrift".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn while_nobody_can_say_nothing_drifts() {
    let world = World::new();
    let class = class(json!({}));
    let provider = world.provider();
    let instance = provider.create(&order(&class, 1)).await.unwrap();
    world.server.trouble("http 503 always").unwrap();
    let answer = provider.drift(&instance, &class).await;
    assert!(matches!(answer, Err(CloudError::Unknown(_))), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_vcenter_that_restarts_takes_no_class_out_of_use() {
    let world = World::new();
    let class = class(json!({}));
    let provider = world.provider();
    assert_eq!(condition(&provider, &class, "VCenterReady").await.0, Some(true));
    world.server.trouble("http 503 always").unwrap();
    let answer = provider.resolve_class(&class, None).await;
    assert!(matches!(answer, Err(CloudError::Unknown(_))), "what was said stands: {answer:?}");
    world.clock.sleep(Duration::from_mins(10)).await;
    let (holds, reason, _) = condition(&provider, &class, "VCenterReady").await;
    assert_eq!((holds, reason.as_str()), (None, "Unreachable"));
}

#[tokio::test(start_paused = true)]
async fn wrong_credentials_are_told() {
    let world = World::new();
    world.server.set_password("administrator@vsphere.local", "another");
    let (holds, reason, message) =
        condition(&world.provider(), &class(json!({})), "VCenterReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "InvalidLogin"));
    assert!(!message.contains("secret"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn privileges_that_the_account_lacks_are_named_before_anything_fails() {
    let mut inventory = Inventory::small();
    let read_only = joiner_sim_vcenter::inventory::Account::new(
        "administrator@vsphere.local",
        "secret",
    )
    .grant("/", true, &["System.Read", "System.View"]);
    inventory.accounts = vec![read_only];
    let world = World::of(inventory);
    let (holds, reason, message) =
        condition(&world.provider(), &class(json!({})), "NetworkReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "PermissionDenied"));
    assert!(message.contains("Network.Assign on /dc1/network/workers"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_not_there_is_told() {
    let mut world = World::new();
    world.settings.folder = "nowhere".to_owned();
    let (holds, reason, message) =
        condition(&world.provider(), &class(json!({})), "FolderReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "FolderNotFound"));
    assert!(message.contains("/dc1/vm/nowhere"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_status_says_what_the_class_comes_to() {
    let world = World::new();
    let status = world.provider().resolve_class(&class(json!({})), None).await.unwrap();
    assert_eq!(status.fields["image"]["name"], "ubuntu-2404");
    assert_eq!(status.fields["image"]["diskGiB"], 20);
    assert_eq!(status.fields["zones"][0]["datastore"]["name"], "datastore1");
    let broken: Vec<_> = status.conditions.iter().filter(|own| own.holds != Some(true)).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_smaller_disk_than_the_templates_is_told() {
    let world = World::new();
    let (holds, reason, _) =
        condition(&world.provider(), &class(json!({"diskSize": 10})), "ImageReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "DiskSmallerThanTemplate"));
}

#[tokio::test(start_paused = true)]
async fn volumes_outlive_the_instance_that_they_were_attached_to() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let provider = world.provider();
    let instance = provider.create(&order).await.unwrap();
    for (file, id) in [("fcd/pv-1.vmdk", Some("id-1")), ("kubevols/pv-2.vmdk", None)] {
        world.server.attach_volume(NAME, 10, &format!("[datastore1] {file}"), id).unwrap();
    }
    world.remove(&provider, &order.claim, Some(&instance.provider_id)).await;
    let deleted = world.server.deleted_files();
    assert!(!deleted.is_empty(), "its own disk is gone");
    assert!(deleted.iter().all(|file| !file.contains("pv-")), "{deleted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_guest_may_shut_down_before_its_instance_goes() {
    let world = World::new();
    let soft = class(json!({"powerOffMode": "trySoft"}));
    let order = order(&soft, 1);
    let provider = world.provider();
    let instance = provider.create(&order).await.unwrap();
    world.clock.sleep(Duration::from_mins(2)).await;
    world.remove(&provider, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(world.server.count("ShutdownGuest"), 1);
    assert_eq!(world.server.count("PowerOffVM_Task"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_the_predecessor_is_listed_found_and_removed() {
    let world = World::new();
    let id = world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    world.server.tag(&format!("/dc1/vm/k8s/{NAME}"), "karpenter.sh/clustername", "prod").unwrap();
    let provider = world.provider();
    let listed: Vec<Instance> = provider.list().await.unwrap().instances;
    assert_eq!(listed.iter().map(|own| own.provider_id.as_str()).collect::<Vec<_>>(), [&id]);
    let found = provider.get(&ClaimId::default(), &id).await.unwrap().expect("it is there");
    let class = class(json!({"networkSelector": {"name": "VM Network"}}));
    assert_eq!(provider.drift(&found, &class).await, Ok(None), "a takeover drifts nothing");
    let order = order(&class, 1);
    world.remove(&provider, &order.claim, Some(&id)).await;
    assert_eq!(world.all_instances().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_host_is_away_is_not_absent() {
    let world = World::new();
    let provider = world.provider();
    let order = order(&class(json!({})), 1);
    provider.create(&order).await.unwrap();
    let before = provider.list().await.unwrap().instances;
    let host = world.server.vm(NAME).unwrap().host;
    world.server.connect_host(&host, false).unwrap();
    let after = provider.list().await.unwrap().instances;
    assert_eq!(before.len(), after.len());
}

#[tokio::test(start_paused = true)]
async fn an_account_that_sees_nothing_does_not_say_that_nothing_is_there() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let instance = world.provider().create(&order).await.unwrap();
    let id = instance.provider_id.as_str();
    let mut blind = world.clone();
    // As if the account had lost its rights on the folder.
    blind.settings.folder = "unseen".to_owned();
    let provider = blind.provider();
    let listed = provider.list().await;
    assert!(matches!(listed, Err(CloudError::Unknown(_))), "{listed:?}");
    world.server.remove_vm(NAME).unwrap();
    let found = provider.get(&ClaimId::default(), id).await;
    assert!(matches!(found, Err(CloudError::Unknown(_))), "{found:?}");
    let deleted = provider.delete(&order.claim, Some(id)).await;
    assert!(matches!(deleted, Err(CloudError::Unknown(_))), "{deleted:?}");
}

#[tokio::test(start_paused = true)]
async fn too_much_at_once_slows_down_and_is_not_given_up() {
    let world = World::new();
    world
        .server
        .trouble("task fault TooManyConcurrentNativeClones after 1s on CloneVM_Task once")
        .unwrap();
    let provider = world.provider();
    let order = order(&class(json!({})), 1);
    let answer = provider.create(&order).await;
    assert!(matches!(answer, Err(CloudError::Create { .. })), "{answer:?}");
    provider.create(&order).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_takes_too_long_is_adopted_when_it_is_there() {
    let world = World::new();
    world.server.trouble("task lasts 20m on CloneVM_Task").unwrap();
    let order = order(&class(json!({})), 1);
    let provider = world.provider();
    let answer = provider.create(&order).await;
    assert!(matches!(answer, Err(CloudError::Create { reason: "CloneTimeout", .. })), "{answer:?}");
    provider.create(&order).await.unwrap();
    assert_eq!(world.all_instances().await.len(), 1);
}
