//! What lists show, and to whom.

use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn zones_tell_state_and_on_request_capacity() {
    let client = Client::small();
    assert_eq!(
        client.fields("listZones", "allocationstate", &[]).await,
        ["Enabled", "Enabled", "Disabled"]
    );
    assert_eq!(client.list("listZones", &[("available", "true")]).await.len(), 2);
    let rows = client.list("listZones", &[("showcapacities", "true"), ("name", "zone-1")]).await;
    assert_eq!(rows[0]["capacity"][0]["capacitytotal"], (2_u64 * 64 * 1024) << 20);
    let admin = client.as_account("admin");
    client.deployed("web-1", &[]).await;
    let zone = client.id("zone", "zone-1");
    let cpu = admin.list("listCapacity", &[("type", "1"), ("zoneid", &zone)]).await;
    assert_eq!(
        (&cpu[0]["capacitytotal"], &cpu[0]["capacityused"]),
        (&json!(64_000), &json!(4_000))
    );
}

#[tokio::test(start_paused = true)]
async fn offerings_show_those_of_the_domain_that_are_active() {
    let client = Client::small();
    let names = client.fields("listServiceOfferings", "name", &[]).await;
    assert!(!names.contains(&"retired".to_owned()), "{names:?}");
    let twins = [("name", "Large Instance")];
    assert_eq!(client.as_account("admin").list("listServiceOfferings", &twins).await.len(), 2);
    let own = client.list("listServiceOfferings", &[("name", "Large Instance")]).await;
    assert_eq!((own.len(), &own[0]["memory"]), (1, &json!(16_384)));
    let all = client.fields("listServiceOfferings", "state", &[("state", "all")]).await;
    assert!(all.contains(&"Inactive".to_owned()));
    let free = &client.list("listServiceOfferings", &[("name", "free")]).await[0];
    assert_eq!((free.get("cpunumber"), &free["iscustomized"]), (None, &json!(true)));
    let constrained = &client.list("listServiceOfferings", &[("name", "constrained")]).await[0];
    assert_eq!(constrained["serviceofferingdetails"]["maxcpunumber"], "8");
    let gpu = client.fields("listServiceOfferings", "name", &[("gpuenabled", "true")]).await;
    assert_eq!(gpu, ["gpu"]);
    let disks = client.list("listDiskOfferings", &[]).await;
    assert_eq!((&disks[0]["disksize"], &disks[1]["iscustomized"]), (&json!(5), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn templates_have_a_row_for_each_zone_and_a_status_for_their_owner() {
    let client = Client::small();
    let executable = ("templatefilter", "executable");
    let rows = client.list("listTemplates", &[executable, ("name", "downloading")]).await;
    let told: Vec<_> =
        rows.iter().map(|row| (row["zonename"].as_str().unwrap(), &row["isready"])).collect();
    assert_eq!(told, [("zone-1", &json!(false)), ("zone-2", &json!(true))]);
    assert_eq!(rows[0]["status"], "42% Downloaded");
    let public = client.list("listTemplates", &[executable, ("name", "public")]).await;
    assert_eq!(public[0].get("status"), None);
    let own = client.fields("listTemplates", "name", &[("templatefilter", "self")]).await;
    assert!(!own.contains(&"public".to_owned()), "{own:?}");
    let arm = [executable, ("arch", "aarch64"), ("isready", "true")];
    assert_eq!(client.list("listTemplates", &arm).await.len(), 2);
    let tagged = [executable, ("tags[0].key", "karpenter.sh/discovery"), ("tags[0].value", "prod")];
    assert_eq!(client.list("listTemplates", &tagged).await.len(), 2);
    let denied = client.call("listTemplates", &[("templatefilter", "all")]).await;
    assert_eq!(denied.refusal().0, 531);
    assert_eq!(client.call("listTemplates", &[("templatefilter", "mine")]).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn networks_are_those_of_the_account_and_those_of_all() {
    let client = Client::small();
    let zone = client.id("zone", "zone-1");
    let names = client.fields("listNetworks", "name", &[("zoneid", &zone)]).await;
    assert_eq!(names, ["nodes", "fresh", "shared", "bare"]);
    let project = client.id("project", "shop");
    let names = client.fields("listNetworks", "name", &[("projectid", &project)]).await;
    assert_eq!(names, ["shop-nodes"]);
    assert_eq!(client.fields("listNetworks", "name", &[("projectid", "-1")]).await, ["shop-nodes"]);
    let served = client.list("listNetworks", &[("supportedservices", "UserData")]).await;
    assert!(served.iter().all(|row| row["name"] != "bare"));
    let bare = &client.list("listNetworks", &[("name", "bare")]).await[0];
    assert_eq!((&bare["service"], bare.get("gateway")), (&json!([]), None));
    client.cloud.set_addresses("shared", 0).unwrap();
    let usable = client.fields("listNetworks", "name", &[("canusefordeploy", "true")]).await;
    assert!(!usable.contains(&"shared".to_owned()), "{usable:?}");
}

#[tokio::test(start_paused = true)]
async fn projects_are_closed_to_other_accounts() {
    let client = Client::small();
    assert_eq!(client.fields("listProjects", "name", &[]).await, ["shop"]);
    let other = client.as_account("other");
    assert_eq!(other.call("listProjects", &[]).await.ok(), json!({}));
    let project = client.id("project", "shop");
    let denied = other.call("listVirtualMachines", &[("projectid", &project)]).await;
    assert_eq!(denied.refusal().0, 531);
}

#[tokio::test(start_paused = true)]
async fn vms_of_others_are_not_there() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    let project = client.id("project", "shop");
    let network = client.id("network", "shop-nodes");
    let of_shop = [("projectid", project.as_str()), ("networkids", network.as_str())];
    let shop = client.deployed("shop-1", &of_shop).await;
    let other = client.as_account("other");
    let list = "listVirtualMachines";
    assert_eq!(other.call(list, &[("id", &id)]).await.ok(), json!({}));
    assert_eq!(other.call(list, &[("listall", "true")]).await.ok(), json!({}));
    // A project's VM is not there without the project, either.
    assert_eq!(client.call(list, &[("id", &shop)]).await.ok(), json!({}));
    assert_eq!(client.fields(list, "name", &[("listall", "true")]).await, ["web-1"]);
    let in_project = [("id", shop.as_str()), ("projectid", "-1")];
    assert_eq!(client.fields(list, "project", &in_project).await, ["shop"]);
    let admin = client.as_account("admin");
    assert_eq!(admin.call(list, &[]).await.ok(), json!({}));
    assert_eq!(admin.fields(list, "name", &[("listall", "true")]).await, ["web-1"]);
    let domain_admin = client.as_account("domain-admin");
    assert_eq!(domain_admin.fields(list, "name", &[("listall", "true")]).await, ["web-1"]);
    let domain = client.id("domain", "customers");
    let as_user = [("account", "user"), ("domainid", domain.as_str())];
    assert_eq!(admin.fields(list, "name", &as_user).await, ["web-1"]);
    assert_eq!(other.call(list, &as_user).await.refusal().0, 531);
    assert_eq!(admin.call(list, &[("account", "user")]).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_compared_whole_and_a_keyword_is_a_part() {
    let client = Client::small();
    client.deployed("web-1", &[]).await;
    let list = "listVirtualMachines";
    assert_eq!(client.call(list, &[("name", "web")]).await.ok(), json!({}));
    assert_eq!(client.list(list, &[("name", "web-1")]).await.len(), 1);
    assert_eq!(client.list(list, &[("keyword", "WEB")]).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn details_choose_the_parts_of_a_vm() {
    let client = Client::small();
    client.deployed("web-1", &[("details[0].owner", "me")]).await;
    let list = "listVirtualMachines";
    let row = &client.list(list, &[("details", "min")]).await[0];
    for left_out in ["nic", "templateid", "serviceofferingid", "hostid"] {
        assert_eq!(row.get(left_out), None, "{left_out}");
    }
    assert_eq!((&row["details"]["owner"], &row["state"]), (&json!("me"), &json!("Running")));
    let row = &client.list(list, &[("details", "min,nics,tmpl,servoff")]).await[0];
    assert_eq!(row["nic"][0]["ipaddress"], "10.1.1.10");
    assert_eq!((&row["nic"][0]["isdefault"], &row["memory"]), (&json!(true), &json!(4096)));
    let row = &client.as_account("admin").list(list, &[("listall", "true")]).await[0];
    assert_eq!(row["hostname"], "host-1");
    assert_eq!(client.call(list, &[("details", "everything")]).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn groups_and_key_pairs_are_those_of_the_account() {
    let client = Client::small();
    assert_eq!(client.fields("listSSHKeyPairs", "name", &[]).await, ["ops"]);
    let made =
        client.call("registerSSHKeyPair", &[("name", "new"), ("publickey", "ssh-ed25519 A")]);
    assert_eq!(made.await.ok()["keypair"]["name"], "new");
    assert_eq!(client.fields("listSSHKeyPairs", "name", &[]).await, ["ops", "new"]);
    assert_eq!(client.fields("listSecurityGroups", "name", &[]).await, ["default"]);
    assert_eq!(client.fields("listAffinityGroups", "name", &[]).await, ["apart"]);
    let made = [("name", "pool"), ("type", "host anti-affinity")];
    let made = client.done("createAffinityGroup", &made).await;
    let id = made["affinitygroup"]["id"].as_str().unwrap().to_owned();
    client.deployed("web-1", &[("affinitygroupids", &id)]).await;
    let row = &client.list("listAffinityGroups", &[("id", &id)]).await[0];
    assert_eq!(row["virtualmachineIds"].as_array().unwrap().len(), 1);
    assert_eq!(client.failed("deleteAffinityGroup", &[("id", &id)]).await.0, 536);
    client.cloud.expunge("web-1").unwrap();
    client.done("deleteAffinityGroup", &[("id", &id)]).await;
    assert_eq!(client.fields("listAffinityGroups", "name", &[]).await, ["apart"]);
    let wrong = client.call("createAffinityGroup", &[("name", "x"), ("type", "near")]).await;
    assert_eq!(wrong.refusal().0, 431);
    assert_eq!(client.as_account("other").call("listSSHKeyPairs", &[]).await.ok(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_control_character_that_is_stored_makes_answers_invalid_json() {
    let mut inventory = joiner_sim_cloudstack::Inventory::small();
    inventory.networks[1].name.push('\u{1}');
    let client = Client::of(inventory);
    let answer = client.send(http::Method::GET, &client.signed("listNetworks", &[])).await.unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(answer.body()).is_err());
    let mended: Vec<u8> = answer.body().iter().copied().filter(|byte| *byte != 1).collect();
    let mended: serde_json::Value = serde_json::from_slice(&mended).unwrap();
    assert_eq!(mended["listnetworksresponse"]["network"][1]["name"], "fresh");
}
