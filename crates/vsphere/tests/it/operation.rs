//! Day two: sessions, what people are told, what dashboards see, and instances that others left.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use joiner_cloud::{
    CloudError, CloudProvider,
    adoption::Adoption,
    class::NodeClass,
    instance::Measured,
    notes::{About, Says},
    order::ClaimId,
};
use joiner_core::{
    label,
    quantity::Quantity,
    resources::{CPU, MEMORY, Resources},
};
use joiner_sim_vcenter::{Inventory, Lost, PoolBounds};
use joiner_vim::{Credentials, VimSettings, spec::ConfigSpec};
use joiner_vsphere::{Metrics, Vsphere};
use prometheus::{Registry, TextEncoder};
use serde_json::json;

use crate::bench::{PASSWORD, USER, World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

/// Everything that a provider has written down so far, a line each.
pub(crate) async fn notes(provider: &Vsphere) -> Vec<String> {
    let notes = provider.notes().expect("it says such things");
    let mut lines = Vec::new();
    while let Ok(note) = tokio::time::timeout(Duration::ZERO, notes.next()).await {
        let about = match note.about {
            About::Claim(claim) => claim.name,
            About::Class { name, .. } => format!("class {name}"),
            About::Cloud => "cloud".to_owned(),
        };
        lines.push(match note.says {
            Says::Happened { reason, message } => format!("{about}: {reason}: {message}"),
            Says::WentWrong { reason, message } => format!("{about}: ! {reason}: {message}"),
            Says::LookAgain => format!("{about}: look again"),
            Says::Progress(text) => format!("{about}: {text}"),
        });
    }
    lines
}

/// Whether one of the lines begins like this.
#[track_caller]
pub(crate) fn told(lines: &[String], start: &str) {
    assert!(lines.iter().any(|line| line.starts_with(start)), "{start:?} is not in {lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_kept_while_nothing_happens_and_ended_at_the_end() {
    let mut inventory = Inventory::small();
    inventory.behaviour.session_idle = Duration::from_mins(30);
    let world = World::of(inventory);
    let provider = world.provider();
    provider.list().await.unwrap();
    let logins = world.server.count("Login");
    let night = tokio::time::timeout(Duration::from_hours(9), provider.keep_alive());
    night.await.expect_err("it never ends");
    provider.list().await.unwrap();
    assert_eq!(world.server.count("Login"), logins, "the session is the one of the evening before");
    provider.close().await;
    assert_eq!(world.server.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_password_that_was_changed_is_used_without_a_restart() {
    let world = World::new();
    let password = Arc::new(Mutex::new(PASSWORD.to_owned()));
    let source = Arc::clone(&password);
    let settings = VimSettings::with_source(Arc::new(move || {
        Credentials::new(USER, source.lock().unwrap().clone())
    }));
    let provider = world.provider_of(settings, Metrics::default());
    provider.list().await.unwrap();
    world.server.set_password(USER, "rotated");
    provider.list().await.expect("the session goes on");
    world.server.expire_sessions();
    let refused = provider.list().await.expect_err("nobody has told us the new one");
    assert!(matches!(refused, CloudError::Unknown(_)), "{refused}");
    *password.lock().unwrap() = "rotated".to_owned();
    provider.list().await.expect("it is tried at once");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gets_no_answer_ends_all_the_same() {
    let world = World::new();
    world.server.trouble("silence before always").unwrap();
    let answer = world.provider().list().await;
    let Err(CloudError::Unknown(message)) = answer else { panic!("{answer:?}") };
    assert!(!message.is_empty());
}

#[tokio::test(start_paused = true)]
async fn people_hear_of_a_clone_and_how_far_it_is() {
    let world = World::new();
    world.server.trouble("task lasts 100s on CloneVM_Task once").unwrap();
    let provider = world.provider();
    provider.create(&order(&class(json!({})), 1)).await.unwrap();
    let lines = notes(&provider).await;
    told(&lines, "general-1: CloneStarted: cloning /dc1/vm/templates/ubuntu-2404");
    let progress: Vec<&String> = lines.iter().filter(|line| line.ends_with(" %")).collect();
    assert_eq!(progress.len(), 3, "every half minute: {lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn people_hear_why_an_instance_cannot_be_had() {
    let world = World::new();
    let provider = world.provider();
    let mut huge = order(&class(json!({})), 1);
    huge.requests.set(CPU, Quantity::whole(200));
    provider.create(&huge).await.expect_err("no host has as much");
    let lines = notes(&provider).await;
    told(&lines, "general-1: ! CloneFailed: switching on virtual machine");
    told(
        &lines,
        "general-1: ! InsufficientCapacity: vsphere-vm.cpu-256.mem-4096gb.os-linux cannot",
    );
}

#[tokio::test(start_paused = true)]
async fn people_hear_whose_instance_is_in_the_way() {
    let world = World::new();
    let foreign = world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    let provider = world.provider();
    let order = order(&class(json!({})), 1);
    provider.create(&order).await.expect_err("the name is taken");
    told(&notes(&provider).await, "general-1: ! NameConflict: virtual machine");
    provider.delete(&order.claim, Some(&foreign)).await.expect_err("it is not ours");
    told(&notes(&provider).await, "general-1: ! NotOwned: NodeClaim general-1 has the provider id");
}

#[tokio::test(start_paused = true)]
async fn people_hear_what_is_wrong_with_a_class_once() {
    let world = World::new();
    let provider = world.provider();
    let nowhere = class(json!({"networkSelector": {"name": "no-such"}}));
    for _ in 0..2 {
        provider.resolve_class(&nowhere, None).await.unwrap();
    }
    let lines = notes(&provider).await;
    assert_eq!(lines.len(), 1, "{lines:#?}");
    told(&lines, "class general: ! ResolutionFailed: spec.networkSelector");
    world
        .server
        .trouble("fault NoPermission privilegeId=Network.Assign on CloneVM_Task once")
        .unwrap();
    provider.create(&order(&class(json!({})), 1)).await.expect_err("it may not");
    told(&notes(&provider).await, "class general: ! PermissionDenied: cloning virtual machine");
}

#[tokio::test(start_paused = true)]
async fn a_class_whose_orders_make_no_sense_is_taken_out_of_use_for_a_while() {
    let world = World::new();
    let provider = world.provider();
    let class = class(json!({}));
    world.server.trouble("fault InvalidArgument on CloneVM_Task 3 times").unwrap();
    for number in 1..=2 {
        provider.create(&order(&class, number)).await.expect_err("it makes no sense");
    }
    let judged = condition(&provider, &class, "OrdersAccepted").await;
    assert_eq!(judged.0, Some(true), "two may be chance");
    provider.create(&order(&class, 3)).await.expect_err("it makes no sense");
    let (holds, reason, message) = condition(&provider, &class, "OrdersAccepted").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "InvalidInstance"));
    assert!(message.contains("InvalidArgument"), "{message}");
    world.clock.sleep(Duration::from_mins(15)).await;
    let judged = condition(&provider, &class, "OrdersAccepted").await;
    assert_eq!(judged.0, Some(true), "somebody may have mended it: it is tried again");
}

/// The page of a process with these metrics, without those of time.
fn page(metrics: &Metrics) -> Vec<String> {
    let registry = Registry::new();
    registry.register(Box::new(metrics.clone())).expect("they are new here");
    let text = TextEncoder::new().encode_to_string(&registry.gather()).expect("it is a page");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn dashboards_see_what_happens_in_a_vcenter() {
    let world = World::new();
    let metrics = Metrics::new(Some("prod")).unwrap();
    let mut settings = VimSettings::new(Credentials::new(USER, PASSWORD));
    settings.observer = Arc::new(metrics.clone());
    let provider = world.provider_of(settings, metrics.clone());
    let class = class(json!({}));
    provider.create(&order(&class, 1)).await.unwrap();
    let mut huge = order(&class, 2);
    huge.requests.set(CPU, Quantity::whole(200));
    provider.create(&huge).await.expect_err("no host has as much");
    provider.list().await.unwrap();
    let page = page(&metrics);
    for start in [
        r#"joiner_vsphere_api_requests_total{cluster="prod",code="200",method="CloneVM_Task"} 2"#,
        r#"joiner_vsphere_api_request_duration_seconds_count{cluster="prod",method="Login"} 1"#,
        r#"joiner_vsphere_sessions_logins_total{cluster="prod",kind="rest",result="ok"} 1"#,
        r#"joiner_vsphere_sessions_logins_total{cluster="prod",kind="soap",result="ok"} 1"#,
        r#"joiner_vsphere_tasks_inflight{cluster="prod",type="CloneVM_Task"} 0"#,
        r#"joiner_vsphere_task_duration_seconds_count{cluster="prod",result="success",type="CloneVM_Task"} 2"#,
        r#"joiner_vsphere_clone_queue_length{cluster="prod",template="/dc1/vm/templates/ubuntu-2404"} 0"#,
        r#"joiner_vsphere_faults_total{cluster="prod",fault="#,
        r#"joiner_vsphere_instances{cluster="prod",state="running"} 1"#,
        r#"joiner_vsphere_datastore_free_bytes{cluster="prod",datastore="datastore1"} "#,
        r#"joiner_vsphere_offering_unavailable{cluster="prod",reason="room",type="vsphere-vm.cpu-256.mem-4096gb.os-linux",zone="az1"} 1"#,
    ] {
        told(&page, start);
    }
    world.clock.sleep(Duration::from_mins(4)).await;
    let later = self::page(&metrics);
    let is_away = |line: &String| line.starts_with("joiner_vsphere_offering_unavailable");
    assert!(!later.iter().any(is_away), "it may be had again: {later:#?}");
}

/// The settings of an instance by their keys.
async fn settings(world: &World, name: &str) -> BTreeMap<String, String> {
    let vm = world.at(&format!("/dc1/vm/k8s/{name}")).await;
    let read = world.admin.read(&[vm], &["config.extraConfig"]).await.expect("it answers");
    let all = read[0].value("config.extraConfig").expect("there are settings");
    let pairs = all.children.iter().filter_map(|own| {
        Some((own.text_at("key")?.to_owned(), own.text_at("value").unwrap_or_default().to_owned()))
    });
    pairs.collect()
}

fn adoption() -> Adoption {
    let labels = [
        (label::INSTANCE_TYPE, "vsphere-vm.cpu-2.mem-4gb.os-linux"),
        (label::ZONE, "az1"),
        (label::NODE_POOL, "general"),
        ("team", "shop"),
    ];
    Adoption {
        claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
        node_pool: Some("general".to_owned()),
        class: "general".to_owned(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_the_predecessor_gets_its_claims_mark_and_keeps_its_identity() {
    let world = World::new();
    world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    world.server.tag(&format!("/dc1/vm/k8s/{NAME}"), "karpenter.sh/clustername", "prod").unwrap();
    let before = world.property(NAME, "config.instanceUuid").await;
    let provider = world.provider();
    let listed = provider.list().await.unwrap().instances;
    assert_eq!((listed.len(), &listed[0].claim), (1, &None));
    assert_eq!(provider.adopt(&listed[0], &adoption()).await, Ok(true));
    let settings = settings(&world, NAME).await;
    for (key, value) in [
        ("joiner.cluster", "prod"),
        ("joiner.nodeclaim", "general-1"),
        ("joiner.nodeclaim-uid", "uid-1"),
        ("joiner.nodepool", "general"),
        ("joiner.nodeclass", "general"),
        ("joiner.instance-type", "vsphere-vm.cpu-2.mem-4gb.os-linux"),
        ("joiner.zone", "az1"),
    ] {
        assert_eq!(settings.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert!(!settings.contains_key("joiner.schema"), "it was not made here");
    assert!(!settings["joiner.labels"].contains("team"), "only what says what it was made as");
    assert_eq!(world.property(NAME, "config.instanceUuid").await, before);
    let listed = world.provider().list().await.unwrap().instances;
    assert_eq!(listed[0].claim, Some(adoption().claim));
    assert_eq!(provider.adopt(&listed[0], &adoption()).await, Ok(false), "once is enough");
}

#[tokio::test(start_paused = true)]
async fn a_tag_alone_makes_no_instance_ours() {
    let world = World::new();
    let id = world.clone_as_somebody("control-plane-1", ConfigSpec::default()).await;
    let path = "/dc1/vm/k8s/control-plane-1";
    world.server.tag(path, "karpenter.sh/clustername", "prod").unwrap();
    let provider = world.provider();
    assert_eq!(provider.list().await.unwrap().instances, []);
    provider.delete(&adoption().claim, Some(&id)).await.expect_err("it is left alone");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_no_host_has_any_more_is_lost_and_one_whose_files_are_away_is_not() {
    let world = World::new();
    let provider = world.provider();
    let made = provider.create(&order(&class(json!({})), 1)).await.unwrap();
    for (why, is_lost) in
        [(Lost::Inaccessible, false), (Lost::Orphaned, true), (Lost::Invalid, true)]
    {
        world.server.lose_vm(NAME, Some(why)).unwrap();
        let found = provider.get(&ClaimId::default(), &made.provider_id).await.unwrap();
        assert_eq!(found.map(|instance| instance.lost.is_some()), Some(is_lost), "{why:?}");
        let listed = provider.list().await.unwrap().instances;
        assert_eq!(
            listed.iter().map(|own| own.lost.is_some()).collect::<Vec<_>>(),
            [is_lost],
            "{why:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn memory_is_a_guess_until_a_node_of_the_type_and_image_has_shown_it() {
    let world = World::new();
    let provider = world.provider();
    let class = class(json!({}));
    let memory = || {
        let types = provider.instance_types("general", &class).unwrap();
        types[0].capacity.get(MEMORY).floor()
    };
    let made = provider.create(&order(&class, 1)).await.unwrap();
    let guess = memory();
    assert_eq!(guess, (4096 - 308) << 20, "7.5 % less than there is");
    let seen = Resources::from_iter([(MEMORY, Quantity::bytes(3911 << 20))]);
    let measured = Measured {
        provider_id: &made.provider_id,
        instance_type: &made.labels[label::INSTANCE_TYPE],
        image_id: made.image_id.as_deref().unwrap(),
        capacity: &seen,
    };
    assert!(provider.measured(&measured));
    assert_eq!(memory(), 3911 << 20);
    assert!(!world.provider().measured(&measured), "a new process looks at the instance first");
}

#[tokio::test(start_paused = true)]
async fn a_place_without_room_is_not_offered_where_the_class_asks_to_look() {
    let world = World::new();
    let provider = world.provider();
    let offered = async |class: &NodeClass| {
        provider.resolve_class(class, None).await.unwrap();
        let types = provider.instance_types("general", class).unwrap();
        types.iter().all(|own| own.offerings.iter().all(|offering| offering.available))
    };
    let careless = class(json!({}));
    let mut careful = NodeClass::clone(&class(json!({"capacityCheck": true})));
    careful.name = "careful".to_owned();
    assert!(offered(&careful).await && offered(&careless).await);
    world.server.leave_free("datastore1", 25).unwrap();
    world.clock.sleep(Duration::from_mins(1)).await;
    assert!(!offered(&careful).await, "20 GiB would not stay free");
    assert!(offered(&careless).await, "it is found out when a clone fails");
    world.server.leave_free("datastore1", 500).unwrap();
    world.clock.sleep(Duration::from_mins(1)).await;
    assert!(offered(&careful).await);
    (1..=8).for_each(|n| world.server.maintain_host(&format!("esx{n}"), true).unwrap());
    world.clock.sleep(Duration::from_mins(1)).await;
    assert!(!offered(&careful).await, "no host takes instances");
}

#[tokio::test(start_paused = true)]
async fn a_pool_without_room_is_not_offered_where_the_class_asks_to_look() {
    let world = World::new();
    let provider = world.provider();
    // How many sizes are offered, of the three.
    let offered = async |class: &NodeClass| {
        world.clock.sleep(Duration::from_mins(1)).await;
        provider.resolve_class(class, None).await.unwrap();
        let types = provider.instance_types("general", class).unwrap();
        types.iter().filter(|own| own.offerings[0].available).count()
    };
    let pool = "/dc1/host/cluster1/Resources/workers";
    let of_pool = json!({
        "computeSelector": {"name": "workers"},
        "resources": {"requests": {"memory": "2Gi", "cpu": "1G"}},
        "capacityCheck": true,
    });
    let class = class(of_pool);
    let bounds = |limit, reservation| PoolBounds { limit, reservation };
    let free = PoolBounds::default();
    assert_eq!(offered(&class).await, 3);
    for (cpu, memory, expected, why) in [
        (free, bounds(Some(16 << 10), None), 1, "only the smallest has less memory than 16 GiB"),
        (free, bounds(None, Some(1 << 10)), 0, "of 1 GiB nobody can be promised 2"),
        (bounds(None, Some(900)), free, 0, "nor a thousand megahertz of 900"),
        (bounds(Some(5000), None), bounds(None, Some(2 << 10)), 3, "that is enough"),
    ] {
        world.server.bound_pool(pool, cpu, memory).expect("there is one");
        assert_eq!(offered(&class).await, expected, "{why}");
    }
    provider.create(&order(&class, 1)).await.expect("there is room");
    assert_eq!(offered(&class).await, 0, "what there was is promised");
}
