//! What is wrong in a vCenter or a class is said with its object and a remedy, with the right kind
//! of error, and nothing of ours is left behind. One test for each thing that can be wrong.

mod real;

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_cloud::{CloudError, CloudProvider, class::NodeClass, order::Order};
use joiner_core::{quantity::Quantity, resources::CPU};
use joiner_vcenter::{
    Inventory, PoolBounds, VCenter,
    inventory::{Account, Vm},
};
use joiner_vim::{
    Credentials, Endpoint, Https, TlsSettings, Vim, VimSettings, spec::ConfigSpec,
    transport::Thumbprint,
};
use joiner_vsphere::{ProviderSettings, Vsphere};
use serde_json::json;

use crate::{
    bench::{CLUSTER, PASSWORD, USER, World, class, condition, order},
    role::account_with,
};

const NAME: &str = "prod-karp-general-1";

/// What a class's condition says is false: for this reason, with these words.
async fn refused(world: &World, class: &NodeClass, type_: &str, reason: &str, words: &[&str]) {
    let (holds, said, message) = condition(&world.provider(), class, type_).await;
    assert_eq!((holds, said.as_str()), (Some(false), reason), "{message}");
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
    assert_nothing_of_ours(&world.server);
}

/// What is answered to an order, when the instance cannot be made.
async fn answer(world: &World, class: &Arc<NodeClass>) -> CloudError {
    let answer = world.provider().create(&order(class, 1)).await;
    answer.expect_err("it cannot be made")
}

/// The class cannot be used, and the answer says why.
async fn not_ready(world: &World, class: &Arc<NodeClass>, words: &[&str]) {
    let error = answer(world, class).await;
    assert!(matches!(error, CloudError::NodeClassNotReady(_)), "{error:?}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
    assert_nothing_of_ours(&world.server);
}

/// There is no room for the order, and the answer says for whom, where, and what helps.
async fn no_capacity(world: &World, order: &Order, words: &[&str]) {
    let error = world.provider().create(order).await.expect_err("it cannot be made");
    assert!(matches!(error, CloudError::InsufficientCapacity(_)), "{error:?}");
    let message = error.to_string();
    for words in [NAME, "NodeClaim general-1"].iter().chain(words) {
        assert!(message.contains(words), "{words:?} is not in {message:?}");
    }
    assert_nothing_of_ours(&world.server);
}

fn assert_nothing_of_ours(server: &VCenter) {
    let prefix = format!("{CLUSTER}-karp-");
    let ours = server.picture().vms.into_iter().filter(|vm| vm.name.starts_with(&prefix));
    let ours: Vec<String> = ours.map(|vm| vm.name).collect();
    assert_eq!(ours, Vec::<String>::new(), "nothing is left behind");
}

fn with_template(change: impl FnOnce(&mut Vm)) -> World {
    let mut inventory = Inventory::small();
    change(&mut inventory.datacenters[0].vms[0]);
    World::of(inventory)
}

/// What is said of a vCenter that is reached over TLS.
async fn over_tls(tls: TlsSettings) -> (Option<bool>, String, String) {
    let server = VCenter::new(Inventory::small(), Clock::wall()).expect("it holds together");
    let serving = server.serve(true).await.expect("it is served");
    let endpoint: Endpoint = serving.url().parse().expect("it is an address");
    let line = Https::new(endpoint, &tls).expect("it is a way there");
    let settings = VimSettings::new(Credentials::new(USER, PASSWORD));
    let vim = Vim::new(settings, Arc::new(line), Clock::wall());
    let provider = Vsphere::new(vim, Clock::wall(), ProviderSettings::new(CLUSTER, "k8s"));
    let said = condition(&provider, &class(json!({})), "VCenterReady").await;
    assert_eq!(server.count("Login"), 0, "nobody is told a password");
    let presented = serving.thumbprint().expect("it has a certificate");
    assert!(said.2.contains(&presented), "what was presented is named: {}", said.2);
    said
}

#[tokio::test]
async fn a_wrong_thumbprint() {
    let wrong: Thumbprint = "AB:".repeat(32).trim_end_matches(':').parse().expect("it is one");
    let (holds, reason, message) =
        over_tls(TlsSettings { thumbprints: vec![wrong], ..TlsSettings::default() }).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "NotTrusted"));
    assert!(message.contains("AB:AB:AB") && message.contains("VSPHERE_THUMBPRINT"), "{message}");
}

#[tokio::test]
async fn an_authority_that_nobody_knows() {
    let (holds, reason, message) = over_tls(TlsSettings::default()).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "NotTrusted"));
    assert!(message.contains("127.0.0.1") && message.contains("GOVC_TLS_CA_CERTS"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_locked_account() {
    let world = World::new();
    world.server.set_password(USER, "changed");
    let before = class(json!({}));
    for _ in 0..5 {
        refused(&world, &before, "VCenterReady", "InvalidLogin", &[USER, "GOVC_PASSWORD"]).await;
    }
    // Now it is locked, and the right password is wrong too.
    world.server.set_password(USER, PASSWORD);
    refused(&world, &before, "VCenterReady", "InvalidLogin", &[USER, "unlock the account"]).await;
    let error = answer(&world, &before).await;
    assert!(matches!(error, CloudError::Unknown(_)), "it may pass: {error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_privilege() {
    let mut inventory = Inventory::small();
    let may = ["System.Read", "Resource.AssignVMToPool"];
    inventory.accounts = vec![Account::new(USER, PASSWORD).grant("/", true, &may)];
    let world = World::of(inventory);
    let class = class(json!({}));
    let words = ["Network.Assign on /dc1/network/workers", "add them to its role"];
    refused(&world, &class, "NetworkReady", "PermissionDenied", &words).await;
    let words = ["VirtualMachine.Provisioning.DeployTemplate", "to the account's role"];
    not_ready(&world, &class, &words).await;
}

/// vCenter says the same of a template without tools and of one that never ran, so a class of one
/// is told and stays in use.
#[tokio::test(start_paused = true)]
async fn a_template_in_which_tools_were_never_seen() {
    let world = with_template(|template| template.tools = false);
    let said = condition(&world.provider(), &class(json!({})), "ImageReady").await;
    assert_eq!(said.0, Some(true));
    let words = ["/dc1/vm/templates/ubuntu-2404", "VMware Tools", "open-vm-tools"];
    assert!(words.iter().all(|word| said.2.contains(word)), "{}", said.2);
    assert_nothing_of_ours(&world.server);
}

#[tokio::test(start_paused = true)]
async fn a_template_whose_firmware_cannot_start_it() {
    let world = with_template(|template| {
        template.firmware = "bios".to_owned();
        template.mainboard = Some("acpiHostBridges".to_owned());
    });
    let class = class(json!({}));
    let words = ["/dc1/vm/templates/ubuntu-2404", "BIOS", "set the template's firmware"];
    refused(&world, &class, "ImageReady", "FirmwareCannotBoot", &words).await;
    not_ready(&world, &class, &words).await;
}

#[tokio::test(start_paused = true)]
async fn a_full_datastore() {
    let world = World::new();
    world.server.leave_free("datastore1", 1).expect("there is one");
    let order = order(&class(json!({"cloneMode": "fullClone"})), 1);
    let remedy = "make room in /dc1/datastore/datastore1, or have spec.datastoreSelector lead to";
    no_capacity(&world, &order, &["NoDiskSpace", remedy]).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_without_room() {
    let world = World::new();
    let mut order = order(&class(json!({})), 1);
    order.requests.set(CPU, Quantity::whole(200));
    let remedy = "make room in /dc1/host/cluster1, or give the class more places with spec.zones";
    no_capacity(&world, &order, &["InsufficientHost", remedy]).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_promise_what_the_class_asks_for() {
    let world = World::new();
    let memory = PoolBounds { reservation: Some(1024), ..PoolBounds::default() };
    let pool = "/dc1/host/cluster1/Resources/workers";
    world.server.bound_pool(pool, PoolBounds::default(), memory).expect("there is one");
    let class = class(json!({
        "computeSelector": {"name": "workers"},
        "resources": {"requests": {"memory": "2Gi"}},
    }));
    let words = ["InsufficientMemoryResourcesFault", &format!("make room in {pool}")];
    no_capacity(&world, &order(&class, 1), &words).await;
}

#[tokio::test(start_paused = true)]
async fn a_vcenter_without_a_licence() {
    let world = World::new();
    world.server.trouble("fault NotEnoughLicenses on PowerOnVM_Task always").expect("understood");
    let (provider, class) = (world.provider(), class(json!({})));
    let error = provider.create(&order(&class, 1)).await.expect_err("it does not start");
    assert!(matches!(error, CloudError::Create { reason: "NotEnoughLicenses", .. }), "{error:?}");
    assert_nothing_of_ours(&world.server);
    let (holds, reason, message) = condition(&provider, &class, "VCenterReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "NotEnoughLicenses"));
    assert!(message.contains("add or renew the licence") && message.contains(NAME), "{message}");
    world.clock.sleep(std::time::Duration::from_mins(15)).await;
    assert_eq!(condition(&provider, &class, "VCenterReady").await.0, Some(true), "try again");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_instance_that_has_the_name() {
    let world = World::new();
    world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    let before = world.all_instances().await;
    let error = answer(&world, &class(json!({}))).await;
    let CloudError::Create { reason: "NameConflict", message } = error else { panic!("{error:?}") };
    for word in [NAME, "general-1", "rename or remove it", "CLUSTER_NAME"] {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
    assert_eq!(world.all_instances().await, before, "nobody touches what is somebody else's");
}

#[tokio::test(start_paused = true)]
async fn a_category_that_is_not_for_instances() {
    let world = World::new();
    world.server.define_category("owner", false, &["HostSystem"]);
    let class = class(json!({"tags": {"owner": "platform"}}));
    let words = ["\"owner\"", "\"platform\"", "HostSystem only", "add VirtualMachine"];
    refused(&world, &class, "TagsReady", "CategoryNotForInstances", &words).await;
    not_ready(&world, &class, &words).await;
    // Once that is mended, nobody has to wait until what was known is forgotten.
    let provider = world.provider();
    assert_eq!(condition(&provider, &class, "TagsReady").await.0, Some(false));
    world.server.define_category("owner", false, &["HostSystem", "VirtualMachine"]);
    assert_eq!(condition(&provider, &class, "TagsReady").await.0, Some(true));
}

#[tokio::test(start_paused = true)]
async fn tags_that_nobody_can_ask_for_at_the_moment() {
    let world = World::new();
    world.server.trouble("http 503 on /rest always").expect("it is understood");
    let mut class = NodeClass::clone(&class(json!({"tags": {"owner": "platform"}})));
    let said = condition(&world.provider(), &class, "TagsReady").await;
    assert_eq!((said.0, said.1.as_str()), (None, "TagsUnknown"), "{}", said.2);
    class.status = json!({"conditions": [{"type": "TagsReady", "status": "True"}]});
    let answer = world.provider().resolve_class(&class, None).await;
    assert!(matches!(answer, Err(CloudError::Unknown(_))), "what was said stands: {answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_category_for_reports_that_is_not_for_instances_keeps_nobody_from_working() {
    let world = World::new();
    world.server.define_category("karpenter.sh/clustername", false, &["HostSystem"]);
    let class = class(json!({}));
    let (holds, _, message) = condition(&world.provider(), &class, "TagsReady").await;
    assert_eq!(holds, Some(true));
    assert!(message.contains("karpenter.sh/clustername"), "{message}");
    world.provider().create(&order(&class, 1)).await.expect("instances are made");
}

#[tokio::test(start_paused = true)]
async fn a_category_of_one_tag_of_which_the_instance_has_another() {
    let world = World::new();
    world.server.define_category("k8s-zone", true, &["VirtualMachine"]);
    let class = class(json!({"tags": {"k8s-zone": "az1"}}));
    // The instance was cloned, and is not on yet, when somebody gives it another zone.
    world.server.trouble("fault InvalidState on PowerOnVM_Task once").expect("it is understood");
    let provider = world.provider();
    provider.create(&order(&class, 1)).await.expect_err("it does not start");
    let made = format!("/dc1/vm/k8s/{NAME}");
    world.server.untag(&made, "k8s-zone", "az1").expect("it is there");
    world.server.tag(&made, "k8s-zone", "az2").expect("it is there");
    let error = provider.create(&order(&class, 1)).await.expect_err("it cannot be tagged");
    let CloudError::Create { reason: "TaggingFailed", message } = error else {
        panic!("{error:?}")
    };
    assert!(message.contains(NAME) && message.contains("k8s-zone=az1"), "{message}");
    assert_nothing_of_ours(&world.server);
    provider.create(&order(&class, 1)).await.expect("a new one has no other zone");
}

#[tokio::test(start_paused = true)]
async fn a_category_that_the_account_may_not_make() {
    let mut inventory = Inventory::small();
    let is_not_about_tags = |id: &str| !id.starts_with("InventoryService.Tagging.");
    inventory.accounts = vec![account_with(is_not_about_tags)];
    let world = World::of(inventory);
    let class = class(json!({"tags": {"owner": "platform"}}));
    let words = ["\"owner\"", "InventoryService.Tagging.CreateCategory", "make it, or add"];
    refused(&world, &class, "TagsReady", "PermissionDenied", &words).await;
}

#[tokio::test(start_paused = true)]
async fn user_data_that_cannot_be_read() {
    let world = World::new();
    let class = class(json!({"userData": {"additionalUserdata": "runcmd: [unclosed"}}));
    let words =
        ["VsphereNodeClass general", "spec.userData.additionalUserdata", "write a cloud-config"];
    refused(&world, &class, "ValidationSucceeded", "InvalidUserData", &words).await;
    not_ready(&world, &class, &words).await;
}

#[tokio::test(start_paused = true)]
async fn user_data_that_is_too_large() {
    let world = World::new();
    let text = format!("#cloud-config\nbootcmd: ['{}']\n", "x".repeat(600 << 10));
    let class = class(json!({"userData": {"additionalUserdata": text}}));
    let words = ["VsphereNodeClass general", "spec.userData", "takes 524288", "shorten the user's"];
    refused(&world, &class, "ValidationSucceeded", "UserDataTooLarge", &words).await;
    not_ready(&world, &class, &words).await;
}

#[tokio::test(start_paused = true)]
async fn one_of_two_datacenters_that_nobody_names() {
    let mut inventory = Inventory::small();
    inventory.datacenters.push(joiner_vcenter::inventory::Datacenter::new("dc2"));
    let world = World::of(inventory);
    let before = class(json!({}));
    let words = ["general", "dc1, dc2", "VSPHERE_DC"];
    refused(&world, &before, "ValidationSucceeded", "DatacenterAmbiguous", &words).await;
    let image = condition(&world.provider(), &before, "ImageReady").await;
    assert_eq!(image.0, None, "nobody has looked for it");
}
