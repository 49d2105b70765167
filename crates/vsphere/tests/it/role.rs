//! The role of the documentation: enough for everything, and nothing is said to be missing.

use std::collections::BTreeMap;

use joiner_cloud::CloudProvider;
use joiner_cloud::doctor::{Patient, Severity};
use joiner_vcenter::{Inventory, inventory::Account};
use serde_json::json;

use crate::bench::{PASSWORD, USER, World, class, order};

/// A row of the documentation's table.
struct Row {
    /// Where in the vCenter of the tests.
    path: &'static str,
    propagate: bool,
    privileges: Vec<&'static str>,
}

fn rows() -> Vec<Row> {
    let page = include_str!("../../../../docs/vsphere-start.md");
    let (_, table) = page.split_once("| Object | Propagate | Privileges |").expect("it is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<Row> = rows.map(row).collect();
    assert_eq!(rows.len(), 7, "every row is understood");
    rows
}

fn row(line: &'static str) -> Row {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let (object, propagate, privileges) = (cells[1], cells[2] == "yes", cells[3]);
    let places = [
        ("the vCenter's root", "/"),
        ("the datacenter", "/dc1"),
        ("the folder of instances", "/dc1/vm/k8s"),
        ("the template", "/dc1/vm/templates/ubuntu-2404"),
        ("the cluster", "/dc1/host/cluster1"),
        ("each datastore", "/dc1/datastore/datastore1"),
        ("each network", "/dc1/network/workers"),
    ];
    let (_, path) = places.iter().find(|(name, _)| object.starts_with(name)).expect(object);
    // Every other piece is between the marks of an id; with each role one may look.
    let ids = privileges.split('`').skip(1).step_by(2).chain(["System.Read"]);
    Row { path, propagate, privileges: ids.collect() }
}

/// The account whose rights are the rows of the documentation's table, as far as they are wanted.
pub(crate) fn account_with(wanted: impl Fn(&str) -> bool) -> Account {
    rows().into_iter().fold(Account::new(USER, PASSWORD), |account, row| {
        let granted: Vec<&str> = row.privileges.into_iter().filter(|id| wanted(id)).collect();
        account.grant(row.path, row.propagate, &granted)
    })
}

#[tokio::test(start_paused = true)]
async fn it_is_enough_from_the_first_look_to_the_end_of_an_instance() {
    let mut inventory = Inventory::small();
    inventory.accounts = vec![account_with(|_| true)];
    let world = World::of(inventory);
    let class = class(json!({"tags": {"k8s-zone": "az1", "owner": "platform"}, "diskSize": 40}));
    let patient = Patient {
        address: "vcenter.example.org".to_owned(),
        classes: Ok(vec![joiner_cloud::class::NodeClass::clone(&class)]),
        claims: Ok(Vec::new()),
        secrets: BTreeMap::new(),
    };
    let provider = world.provider();
    let found = provider.examine(&patient).await;
    let wrong: Vec<_> = found.iter().filter(|own| own.severity == Severity::Problem).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let order = order(&class, 1);
    let instance = provider.create(&order).await.expect("it is made");
    world.remove(&provider, &order.claim, Some(&instance.provider_id)).await;
    assert_eq!(world.server.picture().vms.len(), 1, "the template is left");
}
