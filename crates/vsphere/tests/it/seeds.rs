//! What the predecessor got wrong: one test each.

use std::{sync::Arc, time::Duration};

use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    bootstrap::{Distro, Facts, Secret, token::TokenSource, trust::CaBundle},
    class::NodeClass,
    conformance::Mishap,
    inputs::OrderInputs,
    instance::Instance,
    order::{ClaimId, Order},
};
use joiner_core::{
    label,
    quantity::Quantity,
    requirement::Requirement,
    resources::{CPU, EPHEMERAL_STORAGE},
    taint::{Effect, Taint},
};
use joiner_vim::{Credentials, Endpoint, VimSettings, spec::ConfigSpec};
use joiner_vsphere::{Metrics, crd};
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order, rke2};

const NAME: &str = "prod-karp-general-1";

async fn made(world: &World, order: &Order) -> Instance {
    world.provider().create(order).await.expect("nothing is wrong")
}

fn later(class: &Arc<NodeClass>, change: impl FnOnce(&mut NodeClass)) -> Arc<NodeClass> {
    let mut later = NodeClass::clone(class);
    later.generation += 1;
    change(&mut later);
    Arc::new(later)
}

#[tokio::test(start_paused = true)]
async fn d01_a_list_shows_every_instance_of_the_cluster() {
    let world = World::new();
    let class = class(json!({}));
    for number in 1..=3 {
        made(&world, &order(&class, number)).await;
    }
    assert_eq!(world.provider().list().await.unwrap().instances.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn d02_a_change_of_the_class_is_drift() {
    let world = World::new();
    let before = class(json!({}));
    let instance = made(&world, &order(&before, 1)).await;
    let provider = world.provider();
    assert_eq!(provider.drift(&instance, &before).await, Ok(None));
    let after = later(&before, |class| class.spec["tags"] = json!({"owner": "me"}));
    assert_eq!(provider.drift(&instance, &after).await, Ok(Some("NodeClassDrift".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn d03_rke2_installs_the_clusters_version() {
    let world = World::new();
    made(&world, &order(&class(json!({})), 1)).await;
    let text = world.guest_text(NAME, "guestinfo.userdata").await;
    assert!(text.contains("v1.33.4+rke2r1"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn d04_a_cluster_is_found_by_its_name() {
    let world = World::new();
    let found = condition(&world.provider(), &class(json!({})), "ComputeReady").await;
    assert_eq!(found.0, Some(true), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn d05_sizes_that_make_no_sense_are_told() {
    let world = World::new();
    let class = class(
        json!({"instanceTypes": [{"os": "linux", "cpu": "", "memory": "much", "maxPods": "x"}]}),
    );
    let (holds, reason, message) =
        condition(&world.provider(), &class, "ValidationSucceeded").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "InvalidInstanceType"));
    for field in ["cpu", "memory", "maxPods"] {
        assert!(message.contains(&format!("spec.instanceTypes[0].{field}")), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn d06_kubeadm_joins() {
    let world = World::new();
    let facts = Facts {
        distro: Distro::Kubeadm,
        endpoint: Some("10.0.0.10:6443".to_owned()),
        version: Some("v1.33.4".to_owned()),
        ca: Some(CaBundle::read(CA).unwrap()),
        token: Some(TokenSource::Given(Secret::from("a1b2c3.0123456789abcdef"))),
        ..rke2()
    };
    let order = Order { inputs: OrderInputs::joining(facts), ..order(&class(json!({})), 1) };
    made(&world, &order).await;
    let text = world.guest_text(NAME, "guestinfo.userdata").await;
    assert!(text.contains("JoinConfiguration"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn d07_memory_is_counted_in_mebibytes() {
    let world = World::new();
    made(&world, &order(&class(json!({})), 1)).await;
    let memory = world.property(NAME, "config.hardware.memoryMB").await;
    assert_eq!(memory.as_deref(), Some("4096"));
}

#[tokio::test(start_paused = true)]
async fn d08_an_instance_that_is_off_can_be_removed() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    world.arm_at(Mishap::KilledBefore, "PowerOnVM_Task");
    world.until_killed(async |provider| provider.create(&order).await).await;
    world.remove(&world.provider(), &order.claim, None).await;
    assert_eq!(world.all_instances().await.len(), 0);
    assert_eq!(world.server.count("PowerOffVM_Task"), 0);
}

#[tokio::test(start_paused = true)]
async fn d09_an_instance_whose_tags_are_missing_is_still_known() {
    let world = World::new();
    world.server.trouble("http 503 on /rest always").unwrap();
    let order = order(&class(json!({})), 1);
    let instance = made(&world, &order).await;
    assert_eq!(world.provider().create(&order).await.unwrap().provider_id, instance.provider_id);
    world.server.calm();
    let listed = world.provider().list().await.unwrap().instances;
    assert_eq!(listed.first().and_then(|own| own.claim.clone()), Some(order.claim));
}

#[tokio::test(start_paused = true)]
async fn d10_an_instance_of_an_earlier_attempt_is_adopted() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let first = made(&world, &order).await;
    assert_eq!(made(&world, &order).await.provider_id, first.provider_id);
    assert_eq!(world.server.count("CloneVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn d11_an_instance_that_cannot_be_switched_on_is_tried_again() {
    let world = World::new();
    world.server.trouble("fault HostNotConnected on PowerOnVM_Task once").unwrap();
    let order = order(&class(json!({})), 1);
    let answer = world.provider().create(&order).await;
    assert!(
        matches!(answer, Err(CloudError::Create { reason: "CreateInstanceFailed", .. })),
        "{answer:?}"
    );
    made(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn d12_secrets_are_not_printed() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let client = VimSettings::new(Credentials::new("joiner@vsphere.local", "hunter2"));
    let shown = format!("{:?} {client:?} {order:?}", world.settings);
    let provider = world.provider_of(client, Metrics::default());
    let printed = format!("{shown} {provider:?}");
    assert!(printed.contains("[redacted]"), "{printed}");
    for secret in ["hunter2", "s3cret"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[tokio::test(start_paused = true)]
async fn d13_a_session_that_expires_is_begun_anew() {
    let world = World::new();
    let provider = world.provider();
    let class = class(json!({}));
    provider.create(&order(&class, 1)).await.unwrap();
    world.clock.sleep(Duration::from_hours(48)).await;
    provider.create(&order(&class, 2)).await.unwrap();
    world.server.trouble("expire sessions on RetrievePropertiesEx once").unwrap();
    assert_eq!(provider.list().await.unwrap().instances.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn d14_instances_are_on_demand() {
    let world = World::new();
    let instance = made(&world, &order(&class(json!({})), 1)).await;
    assert_eq!(instance.labels[label::CAPACITY_TYPE], "on-demand");
}

#[tokio::test(start_paused = true)]
async fn d15_the_cheapest_size_that_fits_is_taken() {
    let world = World::new();
    let reversed = class(json!({"instanceTypes": [
        {"os": "linux", "cpu": 8, "memory": 32, "zone": "az1"},
        {"os": "linux", "cpu": 2, "memory": 4, "zone": "az1"},
    ]}));
    let instance = made(&world, &order(&reversed, 1)).await;
    assert_eq!(instance.labels[label::INSTANCE_TYPE], "vsphere-vm.cpu-2.mem-4gb.os-linux");
}

#[tokio::test(start_paused = true)]
async fn d16_a_want_of_room_is_told_and_remembered() {
    let world = World::new();
    let class = class(json!({}));
    let mut large = order(&class, 1);
    large.requests.set(CPU, Quantity::whole(200));
    let provider = world.provider();
    let answer = provider.create(&large).await;
    assert!(matches!(answer, Err(CloudError::InsufficientCapacity(_))), "{answer:?}");
    assert_eq!(world.all_instances().await.len(), 0, "nothing half made is left");
    let available = |provider: &joiner_vsphere::Vsphere| {
        let types = provider.instance_types("general", &class).unwrap();
        types.iter().map(|own| own.offerings[0].available).collect::<Vec<bool>>()
    };
    assert_eq!(available(&provider), [true, true, false]);
    world.clock.sleep(Duration::from_mins(3)).await;
    assert_eq!(available(&provider), [true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn d17_an_instance_goes_where_its_zone_is() {
    let world = World::new();
    let zoned = class(json!({
        "instanceTypes": [{"os": "linux", "cpu": 2, "memory": 4}],
        "zones": [
            {"name": "a", "region": "west"},
            {"name": "b", "region": "east", "computeSelector": {"name": "workers"}, "datastoreSelector": {"name": "datastore2"}},
        ],
    }));
    let mut order = order(&zoned, 1);
    order.requirements.add(label::ZONE, Requirement::one_of(["b"]));
    let instance = made(&world, &order).await;
    assert_eq!(instance.labels[label::ZONE], "b");
    assert_eq!(instance.labels[label::REGION], "east");
    assert_eq!(instance.labels[label::ARCH], "amd64");
    let vm = world.server.vm(NAME).expect("it is there");
    assert_eq!(vm.pool.as_deref(), Some("workers"));
    assert!(vm.disks.iter().all(|disk| disk.starts_with("[datastore2]")), "{:?}", vm.disks);
}

#[tokio::test(start_paused = true)]
async fn d18_an_instance_has_its_templates_disk_at_least() {
    let world = World::new();
    let class = class(json!({}));
    let instance = made(&world, &order(&class, 1)).await;
    assert_eq!(instance.capacity.get(EPHEMERAL_STORAGE), "20Gi".parse().unwrap());
}

#[test]
fn d19_the_definition_has_every_field() {
    let crd = crd();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_ne!(spec["properties"]["k8SDistro"], Value::Null);
    assert_ne!(spec["properties"]["userData"]["properties"]["additionalUserdata"], Value::Null);
    assert_eq!(
        spec["properties"]["computeSelector"]["properties"]["tags"]["maxProperties"],
        Value::Null
    );
}

#[tokio::test(start_paused = true)]
async fn d20_taints_labels_and_pods_reach_the_kubelet() {
    let world = World::new();
    let mut order = order(&class(json!({"kubelet": {"maxPods": 50}})), 1);
    order.labels.insert("team".to_owned(), "a".to_owned());
    order.startup_taints = vec![Taint {
        key: "node.cilium.io/agent-not-ready".to_owned(),
        value: "true".to_owned(),
        effect: Effect::NoExecute,
    }];
    made(&world, &order).await;
    let text = world.guest_text(NAME, "guestinfo.userdata").await;
    for part in ["team=a", "node.cilium.io/agent-not-ready=true:NoExecute", "max-pods=50"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn d21_a_reboot_does_not_join_again() {
    let world = World::new();
    made(&world, &order(&class(json!({"userData": {"type": "ignition"}})), 1)).await;
    let text = world.guest_text(NAME, "guestinfo.ignition.config.data").await;
    assert!(text.contains("ConditionPathExists=!/var/lib/joiner/joined"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn d22_every_key_of_the_users_text_is_kept() {
    let world = World::new();
    let class = class(json!({"userData": {"additionalUserdata": "ntp: {enabled: true}\n"}}));
    made(&world, &order(&class, 1)).await;
    let text = world.guest_text(NAME, "guestinfo.userdata").await;
    assert!(text.contains("ntp"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn d23_tags_are_looked_up_once_and_put_on_at_once() {
    let world = World::new();
    let class = class(
        json!({"tags": {"topology.kubernetes.io/zone": "az1", "k8s-zone": "az1", "owner": "me"}}),
    );
    let (one, other) = (world.provider(), world.provider());
    let (first, second) = (order(&class, 1), order(&class, 2));
    let (a, b) = tokio::join!(one.create(&first), other.create(&second));
    a.unwrap();
    b.unwrap();
    let tags = world.server.vm(NAME).expect("it is there").tags;
    let of = |category: &str| tags.iter().filter(|(own, _)| own == category).count();
    assert_eq!(
        (of("k8s-zone"), of("owner"), of("karpenter.sh/clustername")),
        (1, 1, 1),
        "{tags:?}"
    );
    let before = world.server.calls().len();
    one.create(&order(&class, 3)).await.unwrap();
    let calls = world.server.calls().split_off(before);
    let of_tags = calls.iter().filter(|call| call.method.contains("/rest/")).count();
    assert_eq!(of_tags, 1, "{calls:?}");
}

#[test]
fn d24_an_endpoint_may_be_a_whole_url() {
    let texts =
        ["vcenter.example.com", "vcenter.example.com:443", "https://vcenter.example.com/sdk"];
    let read: Vec<Endpoint> = texts.iter().map(|text| text.parse().expect("it is one")).collect();
    assert!(read.windows(2).all(|pair| pair[0] == pair[1]), "{read:?}");
}

#[tokio::test(start_paused = true)]
async fn d25_a_selector_that_leads_to_several_things_is_told() {
    let mut inventory = joiner_sim_vcenter::Inventory::small();
    let mut twin = joiner_sim_vcenter::inventory::Vm::template("ubuntu-2404");
    twin.folder = "k8s".to_owned();
    inventory.datacenters[0].vms.push(twin);
    let world = World::of(inventory);
    let (holds, reason, message) =
        condition(&world.provider(), &class(json!({})), "ImageReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "ImageAmbiguous"));
    assert!(
        message.contains("/dc1/vm/k8s/ubuntu-2404, /dc1/vm/templates/ubuntu-2404"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn d26_a_size_that_is_no_more_breaks_nothing() {
    let world = World::new();
    let before = class(json!({}));
    let instance = made(&world, &order(&before, 1)).await;
    let after = later(&before, |class| {
        class.spec["instanceTypes"] =
            json!([{"os": "linux", "cpu": 8, "memory": 32, "zone": "az1"}]);
    });
    let provider = world.provider();
    provider.instance_types("general", &after).unwrap();
    let found = provider
        .get(&ClaimId::default(), &instance.provider_id)
        .await
        .unwrap()
        .expect("it is there");
    assert_eq!(found.capacity.get(CPU), Quantity::whole(2));
    assert_eq!(provider.list().await.unwrap().instances.len(), 1);
    assert_eq!(provider.drift(&found, &after).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn d27_an_instance_of_others_is_not_removed() {
    let world = World::new();
    let id = world.clone_as_somebody("database", ConfigSpec::default()).await;
    let claim = ClaimId { name: "general-1".to_owned(), uid: "uid".to_owned() };
    let answer = world.provider().delete(&claim, Some(&id)).await;
    let Err(CloudError::Invalid(message)) = answer else { panic!("{answer:?}") };
    assert!(message.contains("NotOwned") && message.contains("database"), "{message}");
    assert_eq!(world.all_instances().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn d28_an_instance_knows_its_claims_name() {
    let world = World::new();
    let mut order = order(&class(json!({})), 1);
    order.claim.name = "prod-karp-odd-name".to_owned();
    let instance = made(&world, &order).await;
    let found =
        world.provider().get(&ClaimId::default(), &instance.provider_id).await.unwrap().unwrap();
    assert_eq!(found.claim.map(|claim| claim.name), Some("prod-karp-odd-name".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn d29_a_text_that_looks_like_base64_stays_as_it_is() {
    let world = World::new();
    let user = json!({"userData": {"mode": "replace", "additionalUserdata": "YWJjZA=="}});
    made(&world, &order(&class(user), 1)).await;
    assert_eq!(world.guest_text(NAME, "guestinfo.userdata").await, "YWJjZA==");
}

#[tokio::test(start_paused = true)]
async fn d30_a_long_name_is_a_host_name_all_the_same() {
    let world = World::new();
    let mut order = order(&class(json!({})), 1);
    order.claim.name = format!("{}-x7k2p", "long".repeat(15));
    made(&world, &order).await;
    let names: Vec<String> = world.server.picture().vms.into_iter().map(|vm| vm.name).collect();
    let own = names.iter().find(|name| name.starts_with("prod-karp-long")).expect("it is there");
    assert_eq!(own.len(), 63);
    world.remove(&world.provider(), &order.claim, None).await;
    assert_eq!(world.provider().delete(&order.claim, None).await, Ok(Deletion::Gone));
}

/// The authority of a cluster that never was.
const CA: &str = "-----BEGIN CERTIFICATE-----
MIIBbjCCARSgAwIBAgIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5l
dGVzMCAXDTI2MTExNTAyNTU1MFoYDzIxMjYxMDIyMDI1NTUwWjAVMRMwEQYDVQQD
DAprdWJlcm5ldGVzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+EQXAhMfZT48
taU6ihmYU9ueEiaVT5kXjFu2NJedFkRLvU1TCBOB7lMWMUnc5S36whkrIxyUVil2
JYlLic7J86NTMFEwHQYDVR0OBBYEFJah9Qd7ZiBilqtLJ1szg4ovkW7KMB8GA1Ud
IwQYMBaAFJah9Qd7ZiBilqtLJ1szg4ovkW7KMA8GA1UdEwEB/wQFMAMBAf8wCgYI
KoZIzj0EAwIDSAAwRQIhAPkFu2DtwBcZb9CqthEJ5t0Qm1n5fwKsZ60xRT8FTVR9
AiBIB3VeYkSw5i/6rt4FHvudCB0dnSwlPBraVBa7EhKGyg==
-----END CERTIFICATE-----
";
