//! What carries an instance's mark and is not the instance: copies that people make of a virtual
//! machine, and what they make of it.

use std::{collections::BTreeMap, time::Duration};

use joiner_cloud::{CloudProvider, Deletion};
use joiner_vcenter::inventory::Machine;
use joiner_vim::{Method, spec::ConfigSpec};
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
        assert_eq!(provider.list().await, Ok(Vec::new()));
        assert_eq!(provider.get(&id).await, Ok(None));
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
    let mut template = Machine::template("from-a-node");
    template.folder = "templates".to_owned();
    template.extra_config = was.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let mut inventory = World::inventory();
    inventory.datacenters[0].machines.push(template);
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
