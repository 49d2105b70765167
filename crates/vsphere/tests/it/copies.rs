//! What carries an instance's mark and is not the instance: copies that people make of a virtual
//! machine, and what they make of it.

use std::{collections::BTreeMap, time::Duration};

use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    adoption::Adoption,
    conformance::Mishap,
    instance::Instance,
    listing::Listing,
    order::{ClaimId, Order},
};
use joiner_sim_vcenter::inventory::Vm;
use joiner_vim::{
    Method,
    spec::{ConfigSpec, ExtraConfig},
};
use joiner_vsphere::Vsphere;
use serde_json::json;

use crate::{
    bench::{World, class, order},
    operation::notes,
};

const NAME: &str = "prod-karp-general-1";
/// How long an administrator's change may take.
const CHANGE_WITHIN: Duration = Duration::from_mins(10);

/// The settings of a virtual machine that begin with our prefix.
async fn mark_of(world: &World, path: &str) -> BTreeMap<String, String> {
    let vm = world.at(path).await;
    let read = world.admin.read(&[vm], &["config.extraConfig"]).await.expect("it answers");
    let all = read[0].value("config.extraConfig").expect("there are settings");
    let pairs = all.children.iter().filter_map(|own| {
        Some((own.text_at("key")?.to_owned(), own.text_at("value").unwrap_or_default().to_owned()))
    });
    pairs.filter(|(key, _)| key.starts_with("joiner.")).collect()
}

/// Gives a virtual machine of our folder another name.
async fn rename(world: &World, from: &str, to: &str) {
    let vm = world.at(&format!("/dc1/vm/k8s/{from}")).await;
    let spec = ConfigSpec { name: Some(to.to_owned()), ..ConfigSpec::default() };
    let task = world.admin.start(&vm, Method::Reconfigure(Box::new(spec))).await;
    let task = task.expect("it is taken");
    world.admin.wait(&task, CHANGE_WITHIN).await.expect("it is renamed");
}

/// What people were told of copies so far.
async fn copies_told(provider: &Vsphere) -> Vec<String> {
    let lines = notes(provider).await.into_iter();
    lines.filter(|line| line.contains("CopyFound")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_made_a_template_stays_and_its_claim_goes_without_it() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let provider = world.provider();
    let id = provider.create(&order).await.expect("nothing is wrong").provider_id;
    world.server.mark_as_template(NAME).expect("it is there");
    let template = world.server.vm(NAME);
    for _ in 0..3 {
        assert_eq!(provider.list().await, Ok(Listing::default()));
        assert_eq!(provider.get(&ClaimId::default(), &id).await, Ok(None));
        assert_eq!(provider.delete(&order.claim, Some(&id)).await, Ok(Deletion::Gone));
    }
    world.remove(&world.provider(), &order.claim, None).await;
    assert_eq!(world.server.vm(NAME), template, "nothing of it is changed");
    let told = copies_told(&provider).await;
    let [once] = &told[..] else { panic!("once: {told:#?}") };
    assert!(once.starts_with("class general: ! CopyFound: virtual machine"), "{once}");
    assert!(once.contains(NAME) && once.contains("Clone it to use it"), "{once}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_made_a_template_is_not_answered_as_its_claims_instance() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let first = world.provider().create(&order).await.expect("nothing is wrong");
    world.server.mark_as_template(NAME).expect("it is there");
    let refused = world.provider().create(&order).await.expect_err("its name is taken");
    assert!(
        refused.to_string().contains("is not the instance of NodeClaim general-1"),
        "{refused}"
    );
    rename(&world, NAME, "golden").await;
    let second = world.provider().create(&order).await.expect("the name is free");
    assert_ne!(second.provider_id, first.provider_id);
    assert!(world.server.vm("golden").expect("it is there").template);
}

#[tokio::test(start_paused = true)]
async fn a_template_that_was_a_node_passes_nothing_of_its_mark_on() {
    let was = [
        ("joiner.cluster", "staging"),
        ("joiner.nodeclaim", "old-1"),
        ("joiner.nodeclaim-uid", "uid-of-old-1"),
        ("joiner.nodepool", "old"),
        ("joiner.region", "elsewhere"),
        ("joiner.module", "module-of-others"),
        ("joiner.schema", "1"),
    ];
    let mut template = Vm::template("from-a-node");
    template.folder = "templates".to_owned();
    template.extra_config = was.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let mut inventory = World::inventory();
    inventory.datacenters[0].vms.push(template);
    let world = World::of(inventory);
    let of_template = json!({
        "imageSelector": {"name": "from-a-node"},
        "instanceTypes": [{"os": "linux", "cpu": 2, "memory": 4, "zone": "az1"}],
    });
    world.provider().create(&order(&class(of_template), 1)).await.expect("nothing is wrong");
    let mark = mark_of(&world, &format!("/dc1/vm/k8s/{NAME}")).await;
    assert_eq!(mark["joiner.cluster"], "prod");
    assert_eq!(mark["joiner.nodepool"], "general");
    for key in ["joiner.module", "joiner.region"] {
        assert_eq!(mark.get(key), None, "{key} says nothing of this instance");
    }
}

/// A world with the instance of a claim in it.
async fn with_instance() -> (World, Order, Instance) {
    let mut inventory = World::inventory();
    inventory.datacenters[0].folders.push("k8s/backups".to_owned());
    let world = World::of(inventory);
    let order = order(&class(json!({})), 1);
    let instance = world.provider().create(&order).await.expect("nothing is wrong");
    (world, order, instance)
}

/// The provider ids of what a provider lists.
async fn listed(provider: &Vsphere) -> Vec<String> {
    let all = provider.list().await.expect("it answers").instances;
    all.into_iter().map(|own| own.provider_id).collect()
}

/// Whoever looks sees the instance alone and never its copy; when the claim goes, so does the
/// instance, and the copy is as it was. People hear of the copy once.
async fn copy_stays(world: &World, order: &Order, instance: &Instance, copy: &str) {
    let before = world.server.vm(copy).expect("it is there");
    let copys_id = format!("vsphere://{}", before.uuid);
    let provider = world.provider();
    for _ in 0..3 {
        assert_eq!(listed(&provider).await, [&*instance.provider_id]);
        let found =
            provider.get(&ClaimId::default(), &instance.provider_id).await.expect("it answers");
        assert_eq!(found.expect("it is there").claim.as_ref(), Some(&order.claim));
        let again = provider.create(order).await.expect("it is there");
        assert_eq!(again.provider_id, instance.provider_id);
    }
    world.remove(&provider, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(world.server.vm(NAME), None, "the instance is gone");
    claim_is_gone(&provider, order, &copys_id).await;
    assert_eq!(world.server.vm(copy), Some(before), "the copy is as it was");
    let told = copies_told(&provider).await;
    assert_eq!(told.len(), 1, "once: {told:#?}");
    let once = &told[0];
    for part in [copy, NAME, "settings that begin with \"joiner.\""] {
        assert!(once.contains(part), "{part}: {once}");
    }
}

/// A copy without its claim is nothing to anybody, as garbage collection would ask.
async fn claim_is_gone(provider: &Vsphere, order: &Order, copys_id: &str) {
    assert_eq!(provider.list().await, Ok(Listing::default()));
    assert_eq!(provider.get(&ClaimId::default(), copys_id).await, Ok(None));
    for claim in [&order.claim, &ClaimId::default()] {
        let answer = provider.delete(claim, Some(copys_id)).await;
        assert_eq!(answer, Ok(Deletion::Gone), "there is no such instance");
    }
    assert_eq!(provider.delete(&order.claim, None).await, Ok(Deletion::Gone));
}

#[tokio::test(start_paused = true)]
async fn an_administrators_clone_of_a_node_is_left_alone_while_its_claim_lives() {
    let (world, order, instance) = with_instance().await;
    let id = &instance.provider_id;
    world.copy_as_somebody(id, "/dc1/vm/k8s", "debug-copy", ConfigSpec::default()).await;
    assert_eq!(mark_of(&world, "/dc1/vm/k8s/debug-copy").await["joiner.nodeclaim"], "general-1");
    copy_stays(&world, &order, &instance, "debug-copy").await;
}

#[tokio::test(start_paused = true)]
async fn an_administrators_clone_of_a_node_is_left_alone_once_its_claim_is_gone() {
    let (world, order, instance) = with_instance().await;
    let id = &instance.provider_id;
    let copy = world.copy_as_somebody(id, "/dc1/vm/k8s", "debug-copy", ConfigSpec::default()).await;
    world.remove(&world.provider(), &order.claim, Some(id)).await;
    let before = world.server.vm("debug-copy");
    // A process that knows of neither.
    let provider = world.provider();
    claim_is_gone(&provider, &order, &copy).await;
    world.clock.sleep(Duration::from_hours(1)).await;
    claim_is_gone(&provider, &order, &copy).await;
    assert_eq!(world.server.vm("debug-copy"), before);
    assert_eq!(copies_told(&provider).await.len(), 1, "once");
}

#[tokio::test(start_paused = true)]
async fn a_backup_that_is_restored_beside_the_original_is_left_alone() {
    let (world, order, instance) = with_instance().await;
    let original = world.server.vm(NAME).expect("it is there");
    let restored = ConfigSpec {
        uuid: Some(original.uuid.clone()),
        instance_uuid: Some(original.instance_uuid),
        ..ConfigSpec::default()
    };
    let id = &instance.provider_id;
    let copy = world.copy_as_somebody(id, "/dc1/vm/k8s", "restored", restored).await;
    assert_eq!(&copy, id, "their guests see one identity");
    copy_stays(&world, &order, &instance, "restored").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_registered_twice_is_one_instance() {
    let (world, order, instance) = with_instance().await;
    world.server.register_again(NAME, "twin").expect("it is there");
    copy_stays(&world, &order, &instance, "twin").await;
}

#[tokio::test(start_paused = true)]
async fn a_clone_in_another_folder_is_left_alone() {
    // Below the folder that is listed, and outside of it.
    for folder in ["/dc1/vm/k8s/backups", "/dc1/vm/templates"] {
        let (world, order, instance) = with_instance().await;
        let id = &instance.provider_id;
        let copy = world.copy_as_somebody(id, folder, NAME, ConfigSpec::default()).await;
        let provider = world.provider();
        assert_eq!(listed(&provider).await, [&**id]);
        world.remove(&provider, &order.claim, Some(id)).await;
        claim_is_gone(&provider, &order, &copy).await;
        let left = world.all_instances().await;
        assert!(left.len() == 1 && left.contains_key(&copy), "{left:?}");
        assert_eq!(copies_told(&provider).await.len(), 1, "{folder}");
    }
}

/// Somebody's virtual machine that has the identity of a claim in vCenter.
async fn identity_taken(world: &World, order: &Order) {
    let config =
        ConfigSpec { instance_uuid: Some(order.claim.uid.clone()), ..ConfigSpec::default() };
    world.clone_as_somebody("somebodys", config).await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_identity_vcenter_changes_is_known_by_the_one_that_it_got() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    identity_taken(&world, &order).await;
    let provider = world.provider();
    let made = provider.create(&order).await.expect("nothing is wrong");
    let got = world.server.vm(NAME).expect("it is there").instance_uuid;
    assert_ne!(got, order.claim.uid);
    let mark = mark_of(&world, &format!("/dc1/vm/k8s/{NAME}")).await;
    assert_eq!(mark["joiner.instance-uuid"], got);
    // Its copies are told from it as those of any other.
    let id = &made.provider_id;
    world.copy_as_somebody(id, "/dc1/vm/k8s", "copy", ConfigSpec::default()).await;
    copy_stays(&world, &order, &made, "copy").await;
    assert!(world.server.vm("somebodys").is_some());
}

#[tokio::test(start_paused = true)]
async fn what_may_be_a_copy_after_a_crash_stays_and_is_told() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    identity_taken(&world, &order).await;
    world.arm_at(Mishap::KilledBefore, "ReconfigVM_Task");
    assert!(world.until_killed(async |own| own.create(&order).await).await.is_none());
    let left = world.server.vm(NAME).expect("it was cloned");
    let provider = world.provider();
    let refused = provider.create(&order).await.expect_err("nobody knows whose it is");
    assert!(matches!(refused, CloudError::Create { reason: "NameConflict", .. }), "{refused:?}");
    claim_is_gone(&provider, &order, &format!("vsphere://{}", left.uuid)).await;
    assert_eq!(world.server.vm(NAME), Some(left));
    assert_eq!(copies_told(&provider).await.len(), 1);
}

fn adoption() -> Adoption {
    Adoption {
        claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
        class: "general".to_owned(),
        ..Adoption::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_an_adopted_instance_is_left_alone() {
    let world = World::new();
    let id = world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    world.server.tag(&format!("/dc1/vm/k8s/{NAME}"), "karpenter.sh/clustername", "prod").unwrap();
    let provider = world.provider();
    let listed = provider.list().await.expect("it answers").instances;
    assert_eq!(provider.adopt(&listed[0], &adoption()).await, Ok(true));
    world.copy_as_somebody(&id, "/dc1/vm/k8s", "copy", ConfigSpec::default()).await;
    let provider = world.provider();
    let listed = provider.list().await.expect("it answers").instances;
    let [own] = &listed[..] else { panic!("one: {listed:?}") };
    assert_eq!((&own.provider_id, &own.claim), (&id, &Some(adoption().claim)));
    world.remove(&provider, &adoption().claim, Some(&id)).await;
    assert_eq!(world.server.vm(NAME), None);
    assert!(world.server.vm("copy").is_some());
    assert_eq!(copies_told(&provider).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_an_earlier_version_adopted_goes_for_its_claim_alone_and_is_marked_again()
{
    for is_marked_again in [false, true] {
        let world = World::new();
        let earlier = [("joiner.cluster", "prod"), ("joiner.nodeclaim", "general-1")];
        let earlier = earlier.into_iter().chain([("joiner.nodeclaim-uid", "uid-1")]);
        let extra_config = earlier.map(|(key, value)| ExtraConfig::new(key, value)).collect();
        let config = ConfigSpec { extra_config, ..ConfigSpec::default() };
        let id = world.clone_as_somebody(NAME, config).await;
        let provider = world.provider();
        let listed = provider.list().await.expect("it answers").instances;
        assert_eq!((listed.len(), &listed[0].claim), (1, &None), "there, and nobody's yet");
        provider.delete(&ClaimId::default(), Some(&id)).await.expect_err("it is no orphan");
        assert!(world.server.vm(NAME).is_some());
        if is_marked_again {
            assert_eq!(provider.adopt(&listed[0], &adoption()).await, Ok(true));
            let listed = provider.list().await.expect("it answers").instances;
            assert_eq!(listed[0].claim, Some(adoption().claim));
        }
        world.remove(&provider, &adoption().claim, Some(&id)).await;
        assert_eq!(world.server.vm(NAME), None);
    }
}
