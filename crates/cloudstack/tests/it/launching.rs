//! The life of an instance: how it is made, seen, taken over, found different and removed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::{Either, join_all, select};
use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    adoption::Adoption,
    class::NodeClass,
    cluster::{ClaimFacts, Cluster},
    notes::{Note, Says},
    order::{ClaimId, Order},
    testing::scenes::{calls_for_one_more, remove},
};
use joiner_cloudstack::{CloudStack, Expunge, Metrics, provider_id::uuid_of};
use joiner_core::{label, requirement::Requirement};
use joiner_sim_cloudstack::{
    VmState,
    inventory::{Throttle, Vm},
};
use prometheus::core::Collector;
use serde_json::{Value, json};

use crate::bench::{CLUSTER_UID, World, class};

const DEPLOY: &str = "deployVirtualMachine";

/// The reason of an event.
fn reason(note: &Note) -> &'static str {
    match note.says {
        Says::Happened { reason, .. } | Says::WentWrong { reason, .. } => reason,
        Says::Progress(_) | Says::LookAgain => "",
    }
}

fn available(world: &World, provider: &dyn CloudProvider) -> Vec<(String, bool)> {
    let types = provider.instance_types("general", &world.class).unwrap();
    types.iter().map(|own| (own.name.clone(), own.offerings[0].available)).collect()
}

/// Defects 29, 34 and 45 of upstream: requirements and prices are not looked at, what failed stays,
/// and no offering is ever unavailable.
#[tokio::test(start_paused = true)]
async fn a_deployment_without_room_tries_the_next_offering_in_the_same_call() {
    let world = World::new();
    world.server.trouble("job fails 533 \"No destination found\" on deployVirtualMachine").unwrap();
    let provider = world.provider();
    let instance = provider.create(&world.order(1)).await.unwrap();
    assert_eq!(instance.labels[label::INSTANCE_TYPE], "medium");
    let names: Vec<String> = world.vms().into_iter().map(|vm| vm.name).collect();
    assert_eq!(names, ["karpenter-general-1-r1"], "what failed is removed, and holds its name");
    assert_eq!(reason(&provider.notes().unwrap().next().await), "InsufficientCapacity");
    let is_offered = |name: &str| {
        let offered = available(&world, &provider);
        offered.into_iter().find(|own| own.0 == name).unwrap().1
    };
    assert!(!is_offered("small") && is_offered("medium"));
    world.clock.sleep(Duration::from_mins(3)).await;
    assert!(is_offered("small"));
}

/// Defect 31 of upstream: a creation waits for ten minutes.
#[tokio::test(start_paused = true)]
async fn a_job_that_takes_long_is_not_waited_for_and_its_instance_is_known() {
    let world = World::new();
    world.server.trouble("job lasts 10m on deployVirtualMachine").unwrap();
    let began = world.clock.now();
    let instance = world.provider().create(&world.order(1)).await.unwrap();
    assert!(world.clock.now().duration_since(began).as_secs() < 60);
    assert_eq!(instance.labels[label::INSTANCE_TYPE], "small");
    world.clock.sleep(Duration::from_mins(11)).await;
    let again = world.provider().create(&world.order(1)).await.unwrap();
    assert_eq!(again.provider_id, instance.provider_id);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_fails_later_is_lost_and_removed_with_its_claim() {
    let world = World::new();
    world.server.trouble("job fails 533 \"No room\" after 2m on deployVirtualMachine").unwrap();
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    world.clock.sleep(Duration::from_mins(3)).await;
    let listed = provider.list().await.unwrap().instances;
    let lost = listed[0].lost.clone().unwrap();
    assert!(lost.why.contains("Error"), "{lost:?}");
    assert_eq!(lost.offering[label::INSTANCE_TYPE], "small");
    provider.lost_before_it_joined(&world.class, &lost);
    let offered = available(&world, &provider);
    assert!(offered.contains(&("small".to_owned(), false)), "{offered:?}");
    remove(&provider, &world.clock, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(world.vms().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_the_server_leaves_an_instance_that_is_started() {
    let world = World::new();
    world.server.trouble("job interrupted on deployVirtualMachine").unwrap();
    world.provider().create(&world.order(1)).await.unwrap();
    let vms = world.vms();
    assert_eq!((vms.len(), vms[0].state), (1, VmState::Running));
}

/// Defect 37 of upstream: ordinary keys cannot remove anything.
#[tokio::test(start_paused = true)]
async fn a_key_that_may_not_expunge_removes_all_the_same_and_is_not_asked_twice() {
    let mut world = World::new();
    world.settings.expunge = Expunge::Always;
    let provider = world.provider();
    for (number, destroyed) in [(1, 2), (2, 3)] {
        let order = world.order(number);
        let instance = provider.create(&order).await.unwrap();
        remove(&provider, &world.clock, &order.claim, Some(&instance.provider_id)).await;
        assert_eq!(world.server.count("destroyVirtualMachine"), destroyed);
    }
    assert_eq!(world.vms().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_protected_instance_stays_and_its_claim_is_told_why() {
    let world = World::new();
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    let id = uuid_of(&instance.provider_id).unwrap();
    world.update(&id, "deleteprotection", "true").await;
    let answer = provider.delete(&order.claim, Some(&instance.provider_id)).await;
    let Err(CloudError::Unknown(why)) = answer else { panic!("{answer:?}") };
    assert!(why.contains("karpenter-general-1") && why.contains("deleteprotection"), "{why}");
    assert_eq!(reason(&provider.notes().unwrap().next().await), "DeleteProtected");
    assert_eq!(world.vms().len(), 1);
    world.update(&id, "deleteprotection", "false").await;
    remove(&provider, &world.clock, &order.claim, Some(&instance.provider_id)).await;
}

/// Defects 4 and 38 of upstream: there are no data disks, and they would stay.
#[tokio::test(start_paused = true)]
async fn the_data_disk_of_an_instance_goes_with_it() {
    let mut world = World::new();
    world.class = class(json!({"diskOffering": "Small disk"}));
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    let disks = async || {
        use joiner_cloudstack::client::{Command, api, objects::Volume};
        let command = Command::new(api::LIST_VOLUMES).with("type", "DATADISK");
        world.client(false).list::<Volume>(command).await.unwrap().len()
    };
    assert_eq!(disks().await, 1);
    remove(&provider, &world.clock, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(disks().await, 0);
}

/// The n-th change of a class.
fn changed(world: &World, number: i64, change: &Value) -> NodeClass {
    let mut own = (*world.class).clone();
    own.generation += number;
    for (field, value) in change.as_object().unwrap() {
        own.spec[field] = value.clone();
    }
    own
}

/// Defect 46 of upstream: nothing but a hash of the whole class is compared.
#[tokio::test(start_paused = true)]
async fn an_instance_drifts_by_what_it_is_made_of() {
    let world = World::new();
    let provider = world.provider();
    let instance = provider.create(&world.order(1)).await.unwrap();
    let names = |name: &str| json!([{"name": name}]);
    let changes = [
        (json!({}), None),
        (json!({"zones": ["zone-2"]}), None),
        (json!({"templateSelectorTerms": names("public")}), Some("TemplateDrift")),
        (json!({"networkSelectorTerms": names("fresh")}), Some("NetworkDrift")),
        (json!({"serviceOfferingSelectorTerms": names("medium")}), Some("ServiceOfferingDrift")),
        (json!({"zone": "zone-2"}), Some("ZoneDrift")),
    ];
    for ((change, expected), number) in changes.into_iter().zip(1..) {
        let class = changed(&world, number, &change);
        let found = provider.drift(&instance, &class).await;
        assert_eq!(found, Ok(expected.map(str::to_owned)), "{change}");
    }
}

/// Defects 35 and 36 of upstream: what is gone is still found, and never done with.
#[tokio::test(start_paused = true)]
async fn an_instance_that_others_removed_is_gone() {
    let world = World::new();
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    world.server.set_state("karpenter-general-1", VmState::Destroyed).unwrap();
    let id = instance.provider_id.as_str();
    assert_eq!(provider.get(&order.claim, id).await, Ok(None));
    assert_eq!(provider.delete(&order.claim, Some(id)).await, Ok(Deletion::Gone));
}

/// Defect 43 of upstream: ids of other forms are other instances.
#[tokio::test(start_paused = true)]
async fn an_instance_is_found_by_ids_of_all_forms() {
    let world = World::new();
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    let uuid = uuid_of(&instance.provider_id).unwrap();
    for id in [format!("cloudstack://zone-1/{uuid}"), format!("external-cloudstack://{uuid}")] {
        assert!(provider.get(&order.claim, &id).await.unwrap().is_some(), "{id}");
        assert_eq!(provider.canonical(&id), instance.provider_id, "{id}");
    }
    assert_eq!(provider.canonical("aws:///a/i-1"), "aws:///a/i-1");
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_upstream_is_taken_over() {
    let world = World::new();
    let tags = [
        ("karpenter.sh/managed-by", "karpenter"),
        ("kubernetes.io/cluster/prod", "owned"),
        ("karpenter.sh/nodeclaim", "general-7"),
    ];
    let tags: BTreeMap<String, String> =
        tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let id = world.deploy_as_somebody("karpenter-general-7", BTreeMap::new(), &tags).await;
    let provider = world.provider();
    let listed = provider.list().await.unwrap().instances;
    assert!(listed.len() == 1 && listed[0].cluster_unproven, "{listed:?}");
    let claim = ClaimId { name: "general-7".to_owned(), uid: "uid-7".to_owned() };
    let by = Adoption {
        claim: claim.clone(),
        class: "general".to_owned(),
        node_pool: Some("general".to_owned()),
        ..Adoption::default()
    };
    assert_eq!(provider.adopt(&listed[0], &by).await, Ok(true));
    let found = world.provider().get(&claim, &id).await.unwrap().unwrap();
    assert_eq!((found.claim.as_ref(), found.cluster_unproven), (Some(&claim), false));
    remove(&provider, &world.clock, &claim, Some(&id)).await;
    assert_eq!(world.vms().len(), 0);
}

fn in_scope(world: &World, scope: &str) -> Arc<NodeClass> {
    Arc::new(NodeClass { status: json!({"scope": scope}), ..(*world.class).clone() })
}

fn confirmed(status: &joiner_cloud::class::ClassStatus) -> (Option<bool>, String) {
    let own = status.conditions.iter().find(|own| own.type_ == "ScopeConfirmed").unwrap();
    (own.holds, own.message.clone())
}

#[tokio::test(start_paused = true)]
async fn nothing_counts_as_absent_with_keys_of_another_account() {
    let world = World::new();
    let order = world.order(1);
    let instance = world.provider().create(&order).await.unwrap();
    let status = world.provider().resolve_class(&world.class, None).await.unwrap();
    let scope = status.fields["scope"].as_str().unwrap().to_owned();
    let provider = world.provider();
    let class = in_scope(&world, "another");
    provider.begin(&Cluster { classes: vec![Arc::clone(&class)], ..Cluster::new(CLUSTER_UID) });
    assert!(
        provider
            .get(&order.claim, "cloudstack:///00000000-0000-4000-8000-000000000000")
            .await
            .is_err()
    );
    assert!(provider.delete(&order.claim, Some(&instance.provider_id)).await.is_err());
    assert!(provider.list().await.is_err());
    assert_eq!(world.vms().len(), 1);
    let status = provider.resolve_class(&class, None).await.unwrap();
    let (holds, message) = confirmed(&status);
    assert_eq!(holds, Some(false));
    assert!(message.contains(&format!("confirm-scope: {scope}")), "{message}");
    assert_eq!(status.fields["scope"], "another");
    let annotations = [("karpenter.k8s.cloudstack/confirm-scope".to_owned(), scope.clone())];
    let class = NodeClass { annotations: annotations.into(), ..(*class).clone() };
    let status = provider.resolve_class(&class, None).await.unwrap();
    assert_eq!((confirmed(&status).0, &status.fields["scope"]), (Some(true), &json!(scope)));
    assert_eq!(provider.list().await.unwrap().instances.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_doubted_for_a_while_where_claims_have_instances() {
    let world = World::new();
    let provider = world.provider();
    let claim = |number: u32| ClaimFacts {
        claim: world.order(number).claim,
        provider_id: Some("cloudstack:///x".to_owned()),
        ..ClaimFacts::default()
    };
    let cluster = Cluster { claims: (1..=3).map(claim).collect(), ..Cluster::new(CLUSTER_UID) };
    provider.begin(&cluster);
    assert!(matches!(provider.list().await, Err(CloudError::Unknown(_))));
    world.clock.sleep(Duration::from_mins(10)).await;
    assert_eq!(provider.list().await.unwrap().instances.len(), 0);
}

/// Calls are refused with 429 above 50 in a second; the client stays below.
#[tokio::test(start_paused = true)]
async fn two_hundred_claims_at_once_are_launched_below_the_servers_limit() {
    let world = World::new();
    world.server.behave(|behaviour| {
        behaviour.throttle = Some(Throttle { calls: 50, interval: Duration::from_secs(1) });
    });
    let provider = world.provider();
    let orders: Vec<Order> = (0..200).map(|number| world.order(number)).collect();
    let made = join_all(orders.iter().map(|order| provider.create(order))).await;
    let failed: Vec<_> = made.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(world.vms().len(), 200);
    let refused = world.server.calls().into_iter().filter(|call| call.outcome == "429").count();
    assert_eq!(refused, 0);
    assert_eq!(world.server.count(DEPLOY), 200);
}

#[tokio::test(start_paused = true)]
async fn one_more_instance_takes_as_many_calls_among_thousands() {
    let calls = async |others: usize| {
        let mut inventory = World::inventory();
        for network in &mut inventory.networks {
            network.addresses = 6_000;
        }
        inventory.vms = (0..others)
            .map(|number| Vm {
                name: format!("other-{number}"),
                account: "user".to_owned(),
                network: "nodes-2".to_owned(),
                template: "ubuntu-2404".to_owned(),
                offering: "small".to_owned(),
                ..Vm::default()
            })
            .collect();
        let world = World::of(inventory);
        let called = || world.server.calls().into_iter().map(|call| call.method).collect();
        calls_for_one_more(&world, called).await
    };
    let few = calls(100).await;
    assert_eq!(calls(5000).await, few);
    assert!(few.len() <= 8, "{few:?}");
    assert_eq!(few.iter().filter(|call| *call == "listVirtualMachines").count(), 1, "{few:?}");
}

/// What clients send that the server's commands do not have is a mistake of ours.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_that_commands_do_not_have() {
    let mut world = World::new();
    world.class = class(json!({
        "diskOffering": "Small disk", "sshKeyPair": "ops", "tags": {"team": "a b"},
        "affinityGroups": [{"name": "apart"}], "rootDiskSize": 20, "details": {"note": "x"},
        "instanceGroup": "nodes",
    }));
    let (provider, order) = (world.provider(), world.order(1));
    let instance = provider.create(&order).await.unwrap();
    provider.list().await.unwrap();
    provider.resolve_class(&world.class, None).await.unwrap();
    remove(&provider, &world.clock, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(world.server.complaints(), []);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_after_its_creation_is_told_within_a_minute() {
    let world = World::new();
    world.server.trouble("job fails 533 \"No room\" after 2m on deployVirtualMachine").unwrap();
    let (provider, began) = (world.provider(), world.clock.now());
    provider.create(&world.order(1)).await.unwrap();
    let watching = Box::pin(provider.keep_alive());
    let told = Box::pin(async {
        let notes = provider.notes().unwrap();
        [notes.next().await, notes.next().await]
    });
    let Either::Right((told, _)) = select(watching, told).await else { panic!("it ends") };
    assert_eq!(reason(&told[0]), "LaunchFailed");
    assert_eq!(told[1], Note::look_again_at_claim(&world.order(1).claim));
    assert!(world.clock.now().duration_since(began).as_secs() < 180);
}

#[tokio::test(start_paused = true)]
async fn instances_that_upstream_may_have_left_are_told_and_stay() {
    let world = World::new();
    let none = BTreeMap::new();
    world.deploy_as_somebody("karpenter-old", BTreeMap::new(), &none).await;
    let provider = world.provider();
    assert_eq!(provider.list().await.unwrap().instances, []);
    let note = provider.notes().unwrap().next().await;
    assert_eq!(reason(&note), "SuspectOrphans");
    assert!(format!("{note:?}").contains("karpenter-old"), "{note:?}");
    assert_eq!(world.vms().len(), 1);
}

/// Names are taken within a network only, so a second process may make a row in another zone before
/// its job's id is refused.
#[tokio::test(start_paused = true)]
async fn the_row_that_a_refused_job_leaves_in_another_zone_is_removed() {
    let mut world = World::new();
    world.class = class(json!({
        "zones": ["zone-2"], "networkSelectorTerms": [{"name": "nodes"}, {"name": "nodes-2"}],
    }));
    let (one, other, order) = (world.provider(), world.provider(), world.order(1));
    let mut elsewhere = order.clone();
    elsewhere.requirements.add(label::ZONE, Requirement::one_of(["zone-2"]));
    let mut here = order.clone();
    here.requirements.add(label::ZONE, Requirement::one_of(["zone-1"]));
    let (one, other) = tokio::join!(one.create(&here), other.create(&elsewhere));
    assert_eq!(one.unwrap().provider_id, other.unwrap().provider_id);
    assert_eq!(world.vms().len(), 1, "{:?}", world.vms());
    assert_eq!(world.server.count(DEPLOY), 2, "the second one was refused after its row");
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_identity_does_not_cost_a_claim_of_its_name_the_instance() {
    let world = World::new();
    let (provider, order) = (world.provider(), world.order(1));
    provider.create(&order).await.unwrap();
    let nameless = ClaimId { uid: String::new(), ..order.claim.clone() };
    let gone = "cloudstack:///00000000-0000-4000-8000-000000000000";
    assert_eq!(provider.delete(&nameless, Some(gone)).await, Ok(Deletion::Gone));
    assert_eq!(world.vms().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_launch_is_counted_by_the_kind_of_error_and_the_offering() {
    let world = World::new();
    world.server.trouble("job fails 533 \"No room\" on deployVirtualMachine").unwrap();
    let (metrics, clock) = (Metrics::default(), world.clock.clone());
    let provider =
        CloudStack::counted(world.client(true), clock, world.settings.clone(), metrics.clone());
    provider.begin(&Cluster::new(CLUSTER_UID));
    provider.create(&world.order(1)).await.unwrap();
    let families = metrics.collect();
    let of = |name: &str| {
        let found = families.iter().find(|own| own.name() == name).unwrap();
        let labels = |metric: &prometheus::proto::Metric| {
            let values = metric.get_label().iter().map(|own| own.value().to_owned());
            values.collect::<Vec<_>>().join(" ")
        };
        found.get_metric().iter().map(labels).collect::<Vec<_>>()
    };
    assert_eq!(of("joiner_cloudstack_launch_failures_total"), ["Capacity small zone-1"]);
    assert_eq!(of("joiner_cloudstack_gc_destroyed_total"), ["Error"]);
    assert!(of("joiner_cloudstack_cache_refresh_total").contains(&"zones ok".to_owned()));
}

/// What CloudStack's controller and the quick start call zones and types, and what we call them.
#[tokio::test(start_paused = true)]
async fn labels_of_others_get_our_values_back() {
    let mut world = World::new();
    world.class = class(json!({"serviceOfferingSelectorTerms": [{"name": "Large Instance"}]}));
    let provider = world.provider();
    provider.resolve_class(&world.class, None).await.unwrap();
    let zone = world.server.id("zone", "zone-1").unwrap();
    for (key, value, ours) in [
        (label::ZONE, zone.as_str(), Some("zone-1")),
        (label::ZONE, "zone-1", None),
        (label::INSTANCE_TYPE, "Large Instance", Some("Large-Instance")),
        (label::INSTANCE_TYPE, "nothing of ours", None),
    ] {
        let found = provider.corrected_label(key, value);
        assert_eq!(found.as_deref(), ours, "{key} {value}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_claim_of_an_instance_that_people_stopped_is_told_once() {
    let world = World::new();
    let provider = world.provider();
    provider.create(&world.order(1)).await.unwrap();
    world.server.set_state("karpenter-general-1", VmState::Stopped).unwrap();
    provider.list().await.unwrap();
    world.clock.sleep(Duration::from_mins(10)).await;
    for _ in 0..2 {
        assert_eq!(provider.list().await.unwrap().instances.len(), 1);
    }
    provider.notes().unwrap().write(Note::look_again(&world.class));
    let notes = provider.notes().unwrap();
    assert_eq!(reason(&notes.next().await), "InstanceStopped");
    assert_eq!(notes.next().await, Note::look_again(&world.class), "it was told once");
}
