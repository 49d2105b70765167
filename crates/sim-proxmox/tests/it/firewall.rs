//! Firewalls of VMs.

use serde_json::{Value, json};

use crate::support::Client;

const FIREWALL: &str = "/nodes/pve-1/qemu/9001/firewall";

async fn actions(client: &Client, path: &str) -> Vec<Value> {
    let rules = client.call(&format!("GET {path}/rules")).await.ok();
    rules.as_array().unwrap().iter().map(|rule| rule["action"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_new_rule_is_the_first_one_and_a_clone_has_them_too() {
    let client = Client::small();
    for action in ["kubernetes", "web", "unknown"] {
        let line =
            format!("POST {FIREWALL}/rules type=group&action={action}&iface=net0&enable=1&pos=9");
        client.call(&line).await.ok();
    }
    assert_eq!(actions(&client, FIREWALL).await, ["unknown", "web", "kubernetes"]);
    client.call(&format!("PUT {FIREWALL}/rules/2 moveto=0")).await.ok();
    assert_eq!(actions(&client, FIREWALL).await, ["kubernetes", "unknown", "web"]);
    client.call(&format!("DELETE {FIREWALL}/rules/1")).await.ok();
    client.call(&format!("PUT {FIREWALL}/rules/1 comment=ours")).await.ok();
    let gone = client.call(&format!("DELETE {FIREWALL}/rules/2")).await;
    assert_eq!(gone.refusal(), (500, "no rule at position 2"));
    client.call(&format!("PUT {FIREWALL}/options enable=1&policy_in=DROP")).await.ok();
    client.cloned(200).await;
    let path = "/nodes/pve-1/qemu/200/firewall";
    assert_eq!(actions(&client, path).await, ["kubernetes", "web"]);
    let options = client.call(&format!("GET {path}/options")).await.ok();
    assert_eq!((&options["enable"], &options["policy_in"]), (&json!(1), &json!("DROP")));
}

#[tokio::test(start_paused = true)]
async fn a_set_of_addresses_is_emptied_before_it_goes() {
    let client = Client::small();
    client.call(&format!("POST {FIREWALL}/ipset name=ipfilter-net0")).await.ok();
    client
        .call(&format!("POST {FIREWALL}/ipset/ipfilter-net0 cidr=10.0.0.0/24&comment=a"))
        .await
        .ok();
    let members = client.call(&format!("GET {FIREWALL}/ipset/ipfilter-net0")).await.ok();
    assert_eq!(members, json!([{ "cidr": "10.0.0.0/24", "comment": "a" }]));
    client.refused(&format!("POST {FIREWALL}/ipset/ipfilter-net0 cidr=10.0.0.0/33"), "cidr").await;
    let full = client.call(&format!("DELETE {FIREWALL}/ipset/ipfilter-net0")).await;
    assert_eq!(full.refusal(), (500, "IPSet 'ipfilter-net0' is not empty"));
    client.call(&format!("DELETE {FIREWALL}/ipset/ipfilter-net0/10.0.0.0%2F24")).await.ok();
    client.call(&format!("DELETE {FIREWALL}/ipset/ipfilter-net0")).await.ok();
    assert_eq!(client.call(&format!("GET {FIREWALL}/ipset")).await.ok(), json!([]));
}
