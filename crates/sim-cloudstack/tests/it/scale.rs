//! Five thousand VMs, and runs that agree.

use std::collections::BTreeMap;

use joiner_sim_cloudstack::{Inventory, inventory::Vm};

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn thousands_of_vms_are_listed_by_a_tag_page_by_page() {
    let mut inventory = Inventory::small();
    inventory.networks[0].addresses = 6_000;
    inventory.vms = (0..5_000)
        .map(|number| Vm {
            name: format!("vm-{number:04}"),
            account: "user".to_owned(),
            network: "nodes".to_owned(),
            template: "ubuntu-2404".to_owned(),
            offering: "small".to_owned(),
            tags: BTreeMap::from([("owned".to_owned(), (number % 2).to_string())]),
            ..Vm::default()
        })
        .collect();
    let client = Client::of(inventory);
    let mut names = Vec::new();
    for page in 1..=5 {
        let page = page.to_string();
        let parameters = [
            ("page", page.as_str()),
            ("pagesize", "500"),
            ("tags[0].key", "owned"),
            ("tags[0].value", "1"),
            ("details", "min,nics"),
        ];
        names.extend(client.fields("listVirtualMachines", "name", &parameters).await);
    }
    assert_eq!(names.len(), 2_500);
    assert!(names.is_sorted());
}

#[tokio::test(start_paused = true)]
async fn equal_calls_at_equal_times_get_equal_answers() {
    let story = async || {
        let client = Client::small();
        let id = client.deployed("web-1", &[]).await;
        client.done("destroyVirtualMachine", &[("id", &id)]).await;
        (client.cloud.vms(), client.cloud.calls())
    };
    assert_eq!(story().await, story().await);
}
