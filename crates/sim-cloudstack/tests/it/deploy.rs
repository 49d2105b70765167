//! Deploying a VM: what is checked at once.

use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn the_vm_is_known_at_once_and_runs_when_its_job_is_done() {
    let client = Client::small();
    let begun = client.deploy("web-1", &[("details[0].mark", "a"), ("displayname", "A web")]).await;
    assert_eq!(begun.envelope, "deployvirtualmachineresponse");
    let (id, job) = (begun.body["id"].as_str().unwrap(), begun.body["jobid"].as_str().unwrap());
    let listed = &client.list("listVirtualMachines", &[("id", id)]).await[0];
    assert_eq!((&listed["state"], &listed["jobid"]), (&json!("Stopped"), &json!(job)));
    assert_eq!((&listed["jobstatus"], &listed["details"]["mark"]), (&json!(0), &json!("a")));
    let pending = client.call("queryAsyncJobResult", &[("jobid", job)]).await.ok();
    assert_eq!((&pending["jobresultcode"], pending.get("jobresult")), (&json!(0), None));
    assert_eq!(pending["cmd"], "org.apache.cloudstack.api.command.user.vm.DeployVMCmd");
    let done = client.wait(job).await;
    assert_eq!(
        (&done["jobinstancetype"], &done["jobinstanceid"]),
        (&json!("VirtualMachine"), &json!(id))
    );
    let vm = &done["jobresult"]["virtualmachine"];
    assert_eq!(
        (&vm["state"], &vm["displayname"], vm.get("jobid")),
        (&json!("Running"), &json!("A web"), None)
    );
    let volumes = client.list("listVolumes", &[("virtualmachineid", id)]).await;
    assert_eq!(
        (volumes.len(), &volumes[0]["type"], &volumes[0]["state"]),
        (1, &json!("ROOT"), &json!("Ready"))
    );
    assert_eq!(client.cloud.complaints(), []);
}

/// A deployment that is refused, without a VM.
async fn check(changed: &[(&str, &str)], code: u16, part: &str) {
    let client = Client::small();
    refuse(&client, changed, code, part).await;
    assert_eq!(client.states(), json!({}), "{changed:?}");
    assert_eq!(client.list("listVolumes", &[]).await.len(), 0, "{changed:?}");
}

async fn refuse(client: &Client, changed: &[(&str, &str)], code: u16, part: &str) {
    let named =
        |kind, value: &str| client.cloud.id(kind, value).unwrap_or_else(|_| value.to_owned());
    let changed: Vec<(&str, String)> = changed
        .iter()
        .map(|(name, value)| {
            let value = match *name {
                "zoneid" => named("zone", value),
                "serviceofferingid" => named("serviceoffering", value),
                "templateid" => named("template", value),
                "networkids" => named("network", value),
                "diskofferingid" => named("diskoffering", value),
                "securitygroupids" => named("securitygroup", value),
                _ => (*value).to_owned(),
            };
            (*name, value)
        })
        .collect();
    let changed: Vec<(&str, &str)> =
        changed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let reply = client.deploy("web-1", &changed).await;
    let (found, text) = reply.refusal();
    assert_eq!(found, code, "{changed:?}: {text}");
    assert!(text.contains(part), "{changed:?}: {text}");
    assert_eq!(reply.body["cserrorcode"], 9999, "{changed:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_deployment_names_has_to_suit() {
    check(&[("zoneid", "zone-off"), ("networkids", "off")], 531, "Zone is currently disabled")
        .await;
    check(&[("serviceofferingid", "retired")], 431, "not active").await;
    check(&[("serviceofferingid", "zone-2-only")], 531, "not available").await;
    check(&[("templateid", "downloading")], 431, "not available for use in zone").await;
    check(&[("templateid", "zone-2-only")], 431, "not available for use in zone").await;
    check(&[("templateid", "router")], 431, "network function").await;
    check(&[("templateid", "")], 431, "templateid").await;
    check(&[("networkids", "nodes-2")], 431, "doesn't belong to the zone").await;
    check(&[("networkids", "others")], 531, "permission denied").await;
    check(&[("networkids", "")], 431, "More than 1 default Isolated networks").await;
    check(&[("diskofferingid", "Custom disk")], 431, "requires a custom size").await;
    check(&[("keypair", "nobody")], 431, "Not all specified keypairs exist").await;
    check(&[("affinitygroupnames", "nobody")], 431, "Unable to find affinity group").await;
    check(&[("securitygroupids", "default")], 431, "not enabled").await;
    check(&[("details[0].extraconfig-1", "x")], 431, "extraconfig").await;
}

#[tokio::test(start_paused = true)]
async fn user_data_is_base64_of_a_limited_length_and_needs_the_service() {
    check(&[("userdata", "no base64!")], 431, "not base64").await;
    check(&[("userdata", &"A".repeat(32_772))], 431, "too long").await;
    check(&[("userdata", "QQ=="), ("networkids", "bare")], 431, "UserData service").await;
    check(&[("keypair", "ops"), ("networkids", "bare")], 431, "UserData service").await;
    check(&[("userdata", "QQ=="), ("templateid", "own-user-data")], 431, "not allowed to override")
        .await;
    let client = Client::small();
    client.deployed("web-1", &[("userdata", &"A".repeat(32_768))]).await;
    let long = "A".repeat(4_100);
    let parameters = client.deployment("web-2", &[("userdata", &long)]);
    let text = client.signed("deployVirtualMachine", &crate::support::borrowed(&parameters));
    let got = client.send(http::Method::GET, &text).await.unwrap();
    assert_eq!(crate::support::Reply::read(&got).refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn the_root_disk_is_at_least_as_large_as_the_template() {
    check(&[("rootdisksize", "7")], 431, "smaller than template size (8 GB)").await;
    check(&[("rootdisksize", "50"), ("serviceofferingid", "big-root")], 431, "not allowed").await;
    let client = Client::small();
    client.deployed("web-1", &[("rootdisksize", "50")]).await;
    assert_eq!(client.list("listVolumes", &[]).await[0]["size"], 50_u64 << 30);
}

#[tokio::test(start_paused = true)]
async fn customized_offerings_need_their_size_inside_of_the_constraints() {
    let constrained = ("serviceofferingid", "constrained");
    let size =
        |cpus, memory| [constrained, ("details[0].cpuNumber", cpus), ("details[0].memory", memory)];
    check(&[constrained], 431, "cpuNumber").await;
    check(&size("9", "4096"), 431, "outside of the constraints").await;
    check(&size("2", "512"), 431, "outside of the constraints").await;
    check(&size("two", "4096"), 431, "Invalid cpuNumber").await;
    let free = ("serviceofferingid", "free");
    check(&[free, ("details[0].cpuNumber", "2"), ("details[0].memory", "64")], 431, "cpuSpeed")
        .await;
    check(&[("details[0].cpuNumber", "2")], 431, "not customized").await;
    let client = Client::small();
    let offering = client.id("serviceoffering", "constrained");
    let sized = [
        ("serviceofferingid", offering.as_str()),
        ("details[0].cpuNumber", "3"),
        ("details[0].memory", "6144"),
    ];
    client.deployed("web-1", &sized).await;
    let row = &client.list("listVirtualMachines", &[]).await[0];
    assert_eq!((&row["cpunumber"], &row["memory"]), (&json!(3), &json!(6144)));
}

#[tokio::test(start_paused = true)]
async fn names_are_host_names_and_unique_in_their_networks() {
    for name in ["1web", "-web", "web-", "we_b", "web.1", &"w".repeat(64)] {
        check(&[("name", name)], 431, "Invalid name").await;
    }
    let client = Client::small();
    client.deployed("web-1", &[]).await;
    refuse(&client, &[], 431, "already exists in the network domain").await;
    refuse(&client, &[("name", "WEB-1")], 431, "already exists in the network domain").await;
    client.deployed("web-1", &[("networkids", &client.id("network", "fresh"))]).await;
    let fresh = &client.list("listNetworks", &[("name", "fresh")]).await[0];
    assert_eq!(fresh["state"], "Implemented");
}

#[tokio::test(start_paused = true)]
async fn a_data_disk_comes_with_the_vm() {
    let client = Client::small();
    let offering = client.id("diskoffering", "Custom disk");
    let id = client.deployed("web-1", &[("diskofferingid", &offering), ("size", "20")]).await;
    let data = [("virtualmachineid", id.as_str()), ("type", "DATADISK")];
    let volumes = client.list("listVolumes", &data).await;
    assert_eq!((volumes.len(), &volumes[0]["size"]), (1, &json!(20_u64 << 30)));
    assert!(volumes[0]["name"].as_str().unwrap().starts_with("DATA-"));
}

#[tokio::test(start_paused = true)]
async fn a_vm_may_be_made_without_being_started() {
    let client = Client::small();
    let id = client.deployed("web-1", &[("startvm", "false")]).await;
    assert_eq!(client.states(), json!({ "web-1": "Stopped" }));
    client.done("startVirtualMachine", &[("id", &id)]).await;
    assert_eq!(client.states(), json!({ "web-1": "Running" }));
}
