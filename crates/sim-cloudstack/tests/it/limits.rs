//! Limits of accounts, and of calls.

use std::time::Duration;

use joiner_sim_cloudstack::{Inventory, Resource, inventory::Throttle};
use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_limit_is_refused_at_once_and_named() {
    for (resource, limit) in [
        (Resource::UserVm, 0),
        (Resource::Cpu, 1),
        (Resource::Memory, 4095),
        (Resource::Volume, 0),
        (Resource::PrimaryStorage, 7),
    ] {
        let client = Client::small();
        client.cloud.set_limit("user", resource, Some(limit)).unwrap();
        let reply = client.deploy("web-1", &[]).await;
        let (code, text) = reply.refusal();
        assert_eq!(code, 535);
        let begins = format!("Maximum amount of resources of Type = '{}'", resource.name());
        assert!(text.starts_with(&begins), "{text}");
        assert!(text.contains("Account Name = user"), "{text}");
        assert_eq!(reply.body["cserrorcode"], 9999);
        client.cloud.set_limit("user", resource, None).unwrap();
        client.deployed("web-1", &[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vm_in_error_gives_its_share_back() {
    let client = Client::small();
    client.cloud.set_limit("user", Resource::UserVm, Some(1)).unwrap();
    let offering = client.id("serviceoffering", "huge");
    let begun = client.deploy("web-1", &[("serviceofferingid", &offering)]).await.ok();
    client.wait(begun["jobid"].as_str().unwrap()).await;
    client.deployed("web-2", &[]).await;
    assert_eq!(client.deploy("web-3", &[]).await.refusal().0, 535);
}

#[tokio::test(start_paused = true)]
async fn limits_are_listed_and_counted() {
    let client = Client::small();
    client.cloud.set_limit("user", Resource::Cpu, Some(8)).unwrap();
    client.deployed("web-1", &[]).await;
    let row = &client.list("listResourceLimits", &[("resourcetypename", "cpu")]).await[0];
    assert_eq!(
        (&row["max"], &row["resourcetype"], &row["account"]),
        (&json!(8), &json!("8"), &json!("user"))
    );
    let row = &client.list("listResourceLimits", &[("resourcetype", "0")]).await[0];
    assert_eq!((&row["max"], &row["resourcetypename"]), (&json!(-1), &json!("user_vm")));
    let domain = client.id("domain", "customers");
    let whose = [("domainid", domain.as_str()), ("account", "user"), ("resourcetype", "8")];
    let counted = client.as_account("admin").list("updateResourceCount", &whose).await;
    assert_eq!((counted.len(), &counted[0]["resourcecount"]), (1, &json!(2)));
    assert_eq!(client.call("updateResourceCount", &whose).await.refusal().0, 432);
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_rate_are_told_when_to_come_back() {
    let mut inventory = Inventory::small();
    let interval = Duration::from_secs(1);
    inventory.behaviour.throttle = Some(Throttle { calls: 2, interval });
    let client = Client::of(inventory);
    client.call("listZones", &[]).await.ok();
    client.clock.sleep(Duration::from_millis(400)).await;
    client.call("listZones", &[]).await.ok();
    let refused = client.call("listZones", &[]).await;
    let (code, text) = refused.refusal();
    assert_eq!((code, &refused.body["cserrorcode"]), (429, &json!(4545)));
    assert!(text.contains("api limit") && text.contains(" ms"), "{text}");
    client.as_account("other").call("listZones", &[]).await.ok();
    let admin = client.as_account("admin");
    for _ in 0..5 {
        admin.call("listZones", &[]).await.ok();
    }
    client.clock.sleep(interval).await;
    let capability = client.call("listCapabilities", &[]).await.ok()["capability"].clone();
    assert_eq!(
        (&capability["apilimitmax"], &capability["apilimitinterval"]),
        (&json!(2), &json!(1))
    );
}
