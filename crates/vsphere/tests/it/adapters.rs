//! Classes with several adapters: what instances get, and what their guests are told.

use std::sync::Arc;

use joiner_cloud::{
    CloudError, CloudProvider,
    class::NodeClass,
    conformance::Mishap,
    inputs::{Address, OrderInputs},
    needs::AddressPool,
    order::Order,
};
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

/// Two adapters, the second of which gets its address from a pool.
fn two_adapters() -> Arc<NodeClass> {
    class(json!({"networks": [
        {"dhcp4": true},
        {
            "selector": {"name": "storage"},
            "addressesFromPools": [
                {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "storage"},
            ],
            "mtu": 9000,
        },
    ]}))
}

/// A vCenter whose hosts see a second network.
fn world() -> World {
    let mut inventory = World::inventory();
    let datacenter = &mut inventory.datacenters[0];
    let mut storage = datacenter.networks[0].clone();
    "storage".clone_into(&mut storage.name);
    datacenter.networks.push(storage);
    World::of(inventory)
}

fn with_address(order: Order) -> Order {
    let address = Address {
        nic: 1,
        address: "10.9.0.7".parse().expect("it is an address"),
        prefix: 24,
        gateway: Some("10.9.0.1".parse().expect("it is an address")),
    };
    let inputs = OrderInputs { addresses: vec![address], ..order.inputs };
    Order { inputs, ..order }
}

/// Name of the network and hardware address of each adapter.
async fn adapters(world: &World, name: &str) -> Vec<(String, String)> {
    let vm = world.at(&format!("/dc1/vm/k8s/{name}")).await;
    let read = world.admin.read(&[vm], &["config.hardware.device"]).await.expect("it answers");
    let devices = &read[0].value("config.hardware.device").expect("it has devices").children;
    let text = |device: &joiner_vim::Element, path: &str| device.text_at(path).map(str::to_owned);
    devices
        .iter()
        .filter_map(|device| {
            let network = text(device, "backing.deviceName")
                .or_else(|| text(device, "backing.port.portgroupKey"))?;
            Some((network, text(device, "macAddress")?))
        })
        .collect()
}

async fn told(world: &World) -> Value {
    let text = world.guest_text(NAME, "guestinfo.metadata").await;
    serde_json::from_str(&text).expect("metadata is JSON")
}

#[tokio::test(start_paused = true)]
async fn a_guest_is_told_about_each_adapter_before_it_starts() {
    let world = world();
    let order = with_address(order(&two_adapters(), 1));
    world.provider().create(&order).await.expect("nothing is wrong");
    let adapters = adapters(&world, NAME).await;
    let [(first, first_mac), (second, second_mac)] = &adapters[..] else { panic!("{adapters:?}") };
    assert_ne!(first, second);
    assert_eq!(
        told(&world).await,
        json!({
            "instance-id": order.claim.uid,
            "local-hostname": NAME,
            "cleanup-guestinfo": ["userdata"],
            "wait-on-network": {"ipv4": true, "ipv6": false},
            "network": {"version": 2, "ethernets": {
                "id0": {
                    "match": {"macaddress": first_mac},
                    "set-name": "eth0",
                    "dhcp4": true,
                    "dhcp6": false,
                },
                "id1": {
                    "match": {"macaddress": second_mac},
                    "set-name": "eth1",
                    "dhcp4": false,
                    "dhcp6": false,
                    "addresses": ["10.9.0.7/24"],
                    "routes": [{"to": "0.0.0.0/0", "via": "10.9.0.1"}],
                    "mtu": 9000,
                },
            }},
        })
    );
    assert_eq!(world.server.count("ReconfigVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_class_without_adapters_tells_its_guests_nothing_of_them() {
    let world = world();
    world.provider().create(&order(&class(json!({})), 1)).await.expect("nothing is wrong");
    assert_eq!(told(&world).await.get("network"), None);
    assert_eq!(world.server.count("ReconfigVM_Task"), 0);
}

#[tokio::test(start_paused = true)]
async fn addresses_are_asked_for_by_adapter_and_pool() {
    let needs = world().provider().needs(&two_adapters());
    let [need] = &needs.addresses[..] else { panic!("{needs:?}") };
    assert_eq!(need.claim_name(NAME), "prod-karp-general-1-1-0");
    let AddressPool { group, kind, name } = &need.pool;
    assert_eq!(
        (group.as_str(), kind.as_str(), name.as_str()),
        ("ipam.cluster.x-k8s.io", "InClusterIPPool", "storage")
    );
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_before_the_guest_is_told_leaves_the_instance_off() {
    for mishap in [Mishap::KilledBefore, Mishap::KilledAfter] {
        let world = world();
        let order = with_address(order(&two_adapters(), 1));
        world.arm_at(mishap, "ReconfigVM_Task");
        let answer = world.until_killed(async |provider| provider.create(&order).await).await;
        assert!(answer.is_none(), "it was to be killed: {answer:?}");
        let power = world.property(NAME, "runtime.powerState").await;
        assert_eq!(power.as_deref(), Some("poweredOff"));
        world.provider().create(&order).await.expect("the next process goes on");
        assert_eq!(told(&world).await["network"]["ethernets"]["id1"]["mtu"], 9000);
        assert_eq!(world.all_instances().await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_lacks_an_adapter_is_made_anew() {
    let world = world();
    let before = order(&class(json!({"networks": [{}]})), 1);
    world.arm_at(Mishap::KilledBefore, "PowerOnVM_Task");
    world.until_killed(async |provider| provider.create(&before).await).await;
    let after = with_address(order(&two_adapters(), 1));
    let provider = world.provider();
    let refused = provider.create(&after).await.expect_err("it has one adapter");
    assert!(refused.to_string().contains("it is made anew"), "{refused}");
    provider.create(&after).await.expect("nothing is wrong now");
    assert_eq!(adapters(&world, NAME).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hardware_address_is_one_instances_at_a_time() {
    let world = world();
    let class = class(json!({"networks": [{"macAddr": "00:50:56:00:00:AA"}]}));
    let provider = world.provider();
    let (one, two) = (order(&class, 1), order(&class, 2));
    let (first, second) = tokio::join!(provider.create(&one), provider.create(&two));
    first.expect("nobody has the address");
    let refused = second.expect_err("one instance has it");
    assert!(matches!(refused, CloudError::InsufficientCapacity(_)), "{refused:?}");
    assert!(refused.to_string().contains("spec.networks[].macAddr"), "{refused}");
    assert_eq!(adapters(&world, NAME).await[0].1, "00:50:56:00:00:aa");
    provider.create(&one).await.expect("its own instance is found again");
    world.remove(&provider, &one.claim, None).await;
    provider.create(&two).await.expect("the address is free again");
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_leads_nowhere_is_told() {
    let class = class(json!({"networks": [{}, {"selector": {"name": "nowhere"}}]}));
    let (holds, reason, message) = condition(&world().provider(), &class, "NetworkReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "NetworkNotFound"));
    assert!(message.contains("spec.networks[1].selector"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn guests_that_cannot_be_told_are_no_ready_class() {
    let networks = json!([{"mtu": 9000}]);
    let of_class = class(json!({"networks": networks, "userData": {"type": "ignition"}}));
    let (holds, reason, message) =
        condition(&world().provider(), &of_class, "ValidationSucceeded").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "InvalidNetwork"), "{message}");
    assert!(message.contains("only guests with cloud-init receive"), "{message}");
    let error = world().provider().create(&order(&of_class, 1)).await;
    assert!(matches!(error, Err(CloudError::NodeClassNotReady(_))), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn another_network_of_an_adapter_is_drift_and_its_settings_are_the_classs() {
    let world = world();
    let before = two_adapters();
    let order = with_address(order(&before, 1));
    let provider = world.provider();
    let instance = provider.create(&order).await.expect("nothing is wrong");
    assert_eq!(provider.drift(&instance, &before).await, Ok(None));
    let changed = |change: fn(&mut Value)| {
        let mut class = NodeClass::clone(&before);
        class.generation += 1;
        change(&mut class.spec["networks"]);
        class
    };
    let elsewhere = changed(|networks| {
        networks[0]["selector"] = json!({"name": "storage"});
        networks[1]["selector"] = json!({"name": "workers"});
    });
    assert_eq!(provider.drift(&instance, &elsewhere).await, Ok(None), "it is in both networks");
    let small = changed(|networks| networks[1]["mtu"] = json!(1500));
    assert_eq!(provider.drift(&instance, &small).await, Ok(Some("NodeClassDrift".to_owned())));
}
