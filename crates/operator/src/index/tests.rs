//! Objects in, the planner's words out.

mod daemons;
mod instances;
mod pods;
mod pools;

use joiner_core::{
    instance_type::Catalog,
    pod::{Pod, Role},
    snapshot::Node,
};

use super::*;
use crate::files;

/// Now, in every test.
pub(super) const NOW: &str = "2026-06-01T12:00:00Z";

/// Objects from YAML.
pub(super) fn objects(yaml: &str) -> Objects {
    files::read(&["-".into()], yaml.as_bytes()).unwrap()
}

/// A snapshot of objects from YAML, with an empty catalog.
pub(super) fn index(yaml: &str, settings: &IndexSettings) -> Indexed {
    index_with(yaml, Catalog::default(), settings)
}

pub(super) fn index_with(yaml: &str, catalog: Catalog, settings: &IndexSettings) -> Indexed {
    snapshot(&objects(yaml), catalog, settings, NOW.parse().unwrap())
}

pub(super) fn index_default(yaml: &str) -> Snapshot {
    let indexed = index(yaml, &IndexSettings::default());
    assert_eq!(indexed.notes, [] as [&str; 0]);
    indexed.snapshot
}

/// `namespace/name` of pods and why they are there.
pub(super) fn show_pods(pods: &[Pod]) -> String {
    let shown = pods.iter().map(|pod| {
        let role = match &pod.role {
            Role::Pending => "waits".to_owned(),
            Role::Moving => "moves".to_owned(),
            Role::Buffer => "stands for room".to_owned(),
            Role::Bound { daemon_set, terminating } => {
                let end = if *terminating { ", terminating" } else { "" };
                match daemon_set {
                    Some(daemon_set) => format!("stays for {daemon_set}{end}"),
                    None => format!("stays{end}"),
                }
            }
        };
        format!("{} {role}", pod.key())
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// One instance, a line for each thing that is worth a look.
pub(super) fn show_node(node: &Node) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut lines = vec![format!(
        "node {} claim {} pool {} hostname {}{}{}",
        or_none(&node.node),
        or_none(&node.claim),
        or_none(&node.pool),
        node.hostname,
        if node.initialized { " initialized" } else { "" },
        if node.leaving { " leaving" } else { "" },
    )];
    let labels: Vec<String> =
        node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    lines.push(format!("  labels {}", labels.join(" ")));
    for (name, taints) in [("taints", &node.taints), ("object taints", &node.object_taints)] {
        if !taints.is_empty() {
            let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
            lines.push(format!("  {name} {}", taints.join(" ")));
        }
    }
    lines.push(format!("  allocatable {}", node.allocatable));
    lines.push(format!("  capacity {}", node.capacity));
    if !node.volume_limits.is_empty() {
        lines.push(format!("  volumes {:?}", node.volume_limits));
    }
    if !node.pods.is_empty() {
        lines.push(format!("  {}", show_pods(&node.pods).replace('\n', "\n  ")));
    }
    lines.join("\n")
}

pub(super) fn show_nodes(snapshot: &Snapshot) -> String {
    snapshot.nodes.iter().map(show_node).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_namespace_is_known_by_its_object_or_by_its_pods() {
    let snapshot = index_default(
        "
{apiVersion: v1, kind: Namespace, metadata: {name: blue, labels: {team: blue}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: green}}
",
    );
    let shown: Vec<String> =
        snapshot.namespaces.iter().map(|(name, labels)| format!("{name} {labels:?}")).collect();
    assert_eq!(
        shown,
        [
            r#"blue {"kubernetes.io/metadata.name": "blue", "team": "blue"}"#,
            r#"green {"kubernetes.io/metadata.name": "green"}"#
        ]
    );
}

#[test]
fn no_objects_are_an_empty_cluster() {
    let snapshot = index_default("");
    assert!(snapshot.pods.is_empty() && snapshot.nodes.is_empty() && snapshot.pools.is_empty());
}
