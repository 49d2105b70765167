//! What carries an instance's mark and is not the instance: copies that people make of a virtual
//! machine, and what they make of it.

use std::collections::BTreeMap;

use joiner_cloud::CloudProvider;
use joiner_vcenter::inventory::Machine;
use serde_json::json;

use crate::bench::{World, class, order};

const NAME: &str = "prod-karp-general-1";

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
