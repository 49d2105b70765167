//! Pages of lists.

use joiner_sim_cloudstack::{Inventory, inventory::Vm};

use crate::support::Client;

/// Seven VMs that run.
fn seven() -> Client {
    let mut inventory = Inventory::small();
    inventory.vms = (1..=7)
        .map(|number| Vm {
            name: format!("vm-{number}"),
            account: "user".to_owned(),
            network: "nodes".to_owned(),
            template: "ubuntu-2404".to_owned(),
            offering: "small".to_owned(),
            ..Vm::default()
        })
        .collect();
    inventory.behaviour.page_size_max = 3;
    Client::of(inventory)
}

#[tokio::test(start_paused = true)]
async fn without_pages_the_first_rows_come_with_the_whole_count() {
    let client = seven();
    let body = client.call("listVirtualMachines", &[]).await.ok();
    assert_eq!(body["count"], 7);
    assert_eq!(body["virtualmachine"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other_and_the_one_after_the_last_has_only_a_count() {
    let client = seven();
    let mut names = Vec::new();
    for page in ["1", "2", "3"] {
        let parameters = [("page", page), ("pagesize", "3")];
        names.extend(client.fields("listVirtualMachines", "name", &parameters).await);
    }
    assert_eq!(names, ["vm-1", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6", "vm-7"]);
    let past = client.call("listVirtualMachines", &[("page", "4"), ("pagesize", "3")]).await.ok();
    assert_eq!(past, serde_json::json!({ "count": 7 }));
}

#[tokio::test(start_paused = true)]
async fn page_and_size_come_together_and_have_a_maximum() {
    let client = seven();
    let reply = client.call("listVirtualMachines", &[("page", "1")]).await;
    let text = "\"pagesize\" parameter is required when \"page\" is specified";
    assert_eq!(reply.refusal(), (431, text));
    assert_eq!(client.call("listZones", &[("pagesize", "2")]).await.refusal().0, 431);
    let reply = client.call("listVirtualMachines", &[("page", "1"), ("pagesize", "4")]).await;
    assert_eq!(reply.refusal(), (431, "Page size can't exceed max allowed page size value: 3"));
    assert_eq!(reply.body["cserrorcode"], 4350);
    assert_eq!(
        client.call("listZones", &[("page", "0"), ("pagesize", "1")]).await.refusal().0,
        431
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_can_be_counted_only() {
    let client = seven();
    let body = client.call("listVirtualMachines", &[("retrieveonlyresourcecount", "true")]).await;
    assert_eq!(body.ok(), serde_json::json!({ "count": 7 }));
}
