//! Fields beyond the predecessor's against govmomi's vCenter simulator: a server that was not
//! written beside the provider.

use std::{sync::Arc, time::Duration};

use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider, Deletion,
    inputs::{Address, OrderInputs},
    order::Order,
};
use joiner_core::quantity::Quantity;
use joiner_realparts::vcsim::{PASSWORD, USER, Vcsim};
use joiner_vim::{Credentials, Endpoint, Https, TlsSettings, Vim, VimSettings, spec::ConfigSpec};
use joiner_vsphere::{ProviderSettings, Vsphere};
use serde_json::{Value, json};

use crate::bench::{
    CLUSTER_UID, SIMULATED, at, class, condition, decoded, order, setting, template_as_somebody,
};

const NAME: &str = "/DC0/vm/prod-karp-general-1";

/// A simulator with a template in it, and a client.
async fn start() -> Option<(Vcsim, Vim)> {
    let program = Vcsim::installed()?;
    let vcsim = Vcsim::start(&program, &[]).await.expect("it starts");
    let endpoint: Endpoint = vcsim.url().parse().expect("it is an endpoint");
    let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
    let transport = Arc::new(Https::new(endpoint, &tls).expect("it can be reached"));
    let mut settings = VimSettings::new(Credentials::new(USER, PASSWORD));
    settings.long_poll = Duration::from_secs(5);
    let vim = Vim::new(settings, transport, Clock::wall());
    template_as_somebody(&vim, &SIMULATED, "ubuntu", ConfigSpec::default()).await;
    Some((vcsim, vim))
}

fn provider(vim: &Vim) -> Vsphere {
    let provider = Vsphere::new(vim.clone(), Clock::wall(), ProviderSettings::new("prod", ""));
    provider.begin(&joiner_cloud::cluster::Cluster::new(CLUSTER_UID));
    provider
}

/// An order of a class that the simulator's inventory suits, with what a test adds.
fn ordered(more: Value) -> Order {
    let mut spec = json!({
        "computeSelector": {"name": "DC0_C0"},
        "datastoreSelector": {"name": "LocalDS_0"},
        "networkSelector": {"name": "VM Network"},
        "imageSelector": {"name": "ubuntu"},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    order(&class(spec), 1)
}

#[tokio::test]
async fn a_guest_is_told_about_each_adapter() {
    let Some((_vcsim, vim)) = start().await else { return };
    let order = ordered(json!({"networks": [
        {},
        {"selector": {"name": "DC0_DVPG0"}, "dhcp4": false, "mtu": 9000},
    ]}));
    let address = Address {
        nic: 1,
        address: "10.9.0.7".parse().expect("it is one"),
        prefix: 24,
        gateway: None,
    };
    let inputs = OrderInputs { addresses: vec![address], ..order.inputs.clone() };
    let instance = provider(&vim).create(&Order { inputs, ..order }).await;
    instance.expect("nothing is wrong");
    let vm = at(&vim, NAME).await;
    let paths = ["config.hardware.device", "config.extraConfig", "runtime.powerState", "network"];
    let read = vim.read(&[vm], &paths).await.expect("it answers").remove(0);
    let devices = read.value("config.hardware.device").expect("it has devices");
    let macs: Vec<&str> =
        devices.children.iter().filter_map(|own| own.text_at("macAddress")).collect();
    assert_eq!(macs.len(), 2, "{macs:?}");
    let settings = read.value("config.extraConfig").expect("it has settings");
    let told: Value = serde_json::from_str(&decoded(&setting(settings, "guestinfo.metadata")))
        .expect("metadata is JSON");
    let ethernets = &told["network"]["ethernets"];
    assert_eq!(ethernets["id0"]["match"]["macaddress"], macs[0].to_lowercase());
    assert_eq!(ethernets["id1"]["match"]["macaddress"], macs[1].to_lowercase());
    assert_eq!(ethernets["id1"]["addresses"], json!(["10.9.0.7/24"]));
    // The simulator also tells of the network that the template was in.
    for path in ["/DC0/network/VM Network", "/DC0/network/DC0_DVPG0"] {
        let network = at(&vim, path).await;
        assert!(read.references("network").contains(&network), "{path}");
    }
    assert_eq!(read.text("runtime.powerState"), Some("poweredOn"));
}

#[tokio::test]
async fn hardware_is_upgraded() {
    let Some((_vcsim, vim)) = start().await else { return };
    let order = ordered(json!({"hardwareVersion": "vmx-19"}));
    provider(&vim).create(&order).await.expect("nothing is wrong");
    let vm = at(&vim, NAME).await;
    let read = vim.read(&[vm], &["config.version"]).await.expect("it answers");
    assert_eq!(read[0].text("config.version"), Some("vmx-19"));
}

#[tokio::test]
async fn a_storage_policy_is_found_by_its_name() {
    let Some((_vcsim, vim)) = start().await else { return };
    let provider = provider(&vim);
    let policy = "vSAN Default Storage Policy";
    let order = ordered(json!({"storagePolicyName": policy}));
    provider.create(&order).await.expect("nothing is wrong");
    let of_another = ordered(json!({"storagePolicyName": "gold"}));
    let (holds, reason, message) = condition(&provider, &of_another.class, "DatastoreReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "StoragePolicyNotFound"));
    assert!(message.contains(policy), "{message}");
}

#[tokio::test]
async fn a_group_that_is_not_there_is_told() {
    let Some((_vcsim, vim)) = start().await else { return };
    let order = ordered(json!({"zones": [{"name": "az1", "vmGroup": "rack1"}]}));
    let (holds, reason, message) = condition(&provider(&vim), &order.class, "ComputeReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "VmGroupNotFound"));
    assert!(message.contains("it has none; make one"), "{message}");
}

#[tokio::test]
async fn instances_are_kept_apart() {
    let Some((_vcsim, vim)) = start().await else { return };
    let order = ordered(json!({"antiAffinity": "preferred"}));
    let provider = provider(&vim);
    provider.create(&order).await.expect("nothing is wrong");
    let modules = vim.modules().all().await.expect("it answers");
    let [module] = &modules[..] else { panic!("{modules:?}") };
    let members = vim.modules().members(&module.id).await.expect("it answers");
    assert_eq!(members, [at(&vim, NAME).await].into());
    while provider.delete(&order.claim, None).await.expect("it answers") != Deletion::Gone {}
    assert_eq!(vim.modules().all().await.expect("it answers"), []);
}

#[tokio::test]
async fn an_instance_has_the_devices_of_its_size() {
    let Some((_vcsim, vim)) = start().await else { return };
    let card = json!({"vendorId": "0x10de", "deviceId": "0x20b5"});
    let order = ordered(json!({"instanceTypes": [{
        "os": "linux", "cpu": 4, "memory": 16, "zone": "az1", "name": "a100",
        "pciDevices": [card], "vgpu": {"profile": "grid_a100-10c"},
    }]}));
    let instance = provider(&vim).create(&order).await.expect("nothing is wrong");
    assert_eq!(instance.capacity.get("nvidia.com/gpu"), Quantity::whole(2));
    let vm = at(&vim, NAME).await;
    let paths = ["config.hardware.device", "config.memoryReservationLockedToMax"];
    let read = vim.read(&[vm], &paths).await.expect("it answers").remove(0);
    let devices = read.value("config.hardware.device").expect("it has devices");
    let passed = devices.children.iter().filter(|own| own.is_of_type("VirtualPCIPassthrough"));
    assert_eq!(passed.count(), 2);
    assert_eq!(read.text("config.memoryReservationLockedToMax"), Some("true"));
}
