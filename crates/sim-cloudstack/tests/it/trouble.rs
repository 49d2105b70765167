//! Trouble from a script.

use std::time::Duration;

use joiner_sim_cloudstack::NoAnswer;
use serde_json::json;

use crate::support::{Client, borrowed};

#[tokio::test(start_paused = true)]
async fn answers_are_lost_before_and_after_the_vm_was_made() {
    let client = Client::small();
    client
        .cloud
        .trouble("lost before on deployVirtualMachine\nlost after on deployVirtualMachine")
        .unwrap();
    let parameters = client.deployment("web-1", &[]);
    let deploy = async || client.try_call("deployVirtualMachine", &borrowed(&parameters)).await;
    assert_eq!(deploy().await.unwrap_err(), NoAnswer);
    assert_eq!(client.states(), json!({}));
    assert_eq!(deploy().await.unwrap_err(), NoAnswer);
    client.clock.sleep(Duration::from_secs(5)).await;
    assert_eq!(client.states(), json!({ "web-1": "Running" }));
    assert_eq!(client.cloud.troubled(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_between_vm_and_job_leaves_a_vm_without_job() {
    let client = Client::small();
    client.cloud.trouble("no job on deployVirtualMachine").unwrap();
    let parameters = client.deployment("web-1", &[]);
    let lost = client.try_call("deployVirtualMachine", &borrowed(&parameters)).await;
    assert_eq!(lost.unwrap_err(), NoAnswer);
    client.clock.sleep(Duration::from_mins(1)).await;
    let row = &client.list("listVirtualMachines", &[]).await[0];
    assert_eq!((&row["state"], row.get("jobid")), (&json!("Stopped"), None));
    client.done("startVirtualMachine", &[("id", row["id"].as_str().unwrap())]).await;
}

#[tokio::test(start_paused = true)]
async fn proxies_answer_with_html_and_long_answers_break_off() {
    let client = Client::small();
    client.cloud.trouble("http 502\ncut short\nfail 503 \"being shut down\" on listZones").unwrap();
    let text = client.signed("listZones", &[]);
    let answer = client.send(http::Method::GET, &text).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (502, &"text/html".parse().unwrap())
    );
    let answer = client.send(http::Method::GET, &text).await.unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(answer.body()).is_err());
    let refused = client.call("listZones", &[]).await;
    assert_eq!(refused.refusal(), (503, "being shut down"));
    client.call("listZones", &[]).await.ok();
}

#[tokio::test(start_paused = true)]
async fn jobs_fail_last_and_end_otherwise() {
    let client = Client::small();
    let script = "
        job fails 534 \"Unable to start\" after 30s  on deployVirtualMachine of web-1
        job cancelled                               on deployVirtualMachine of web-2
        job interrupted                             on deployVirtualMachine of web-3
        job lasts 10m                               on deployVirtualMachine of web-4
    ";
    client.cloud.trouble(script).unwrap();
    let began = client.clock.running();
    let mut told = Vec::new();
    for name in ["web-1", "web-2", "web-3", "web-4"] {
        let begun = client.deploy(name, &[]).await.ok();
        let job = client.wait(begun["jobid"].as_str().unwrap()).await;
        told.push((
            job["jobstatus"].clone(),
            job["jobresultcode"].clone(),
            job["jobresult"]["errortext"].clone(),
        ));
    }
    let none = json!(null);
    assert_eq!(told[0], (json!(2), json!(534), json!("Unable to start")));
    assert_eq!(told[1], (json!(3), json!(0), none.clone()));
    assert_eq!(told[2], (json!(2), json!(530), none.clone()));
    assert_eq!(told[3], (json!(1), json!(0), none));
    let states =
        json!({ "web-1": "Error", "web-2": "Stopped", "web-3": "Stopped", "web-4": "Running" });
    assert_eq!(client.states(), states);
    assert!(client.clock.running().saturating_sub(began) > Duration::from_secs(630));
}

#[tokio::test(start_paused = true)]
async fn a_failed_destruction_leaves_the_vm_running() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    client
        .cloud
        .trouble("job fails 530 \"unbacked up Snapshot(s)\" on destroyVirtualMachine")
        .unwrap();
    let (code, text) = client.failed("destroyVirtualMachine", &[("id", &id)]).await;
    assert_eq!((code, text.as_str()), (530, "unbacked up Snapshot(s)"));
    assert_eq!(client.states(), json!({ "web-1": "Running" }));
    client.cloud.trouble("fail 530 on destroyVirtualMachine always").unwrap();
    client.cloud.calm();
    client.done("destroyVirtualMachine", &[("id", &id)]).await;
}

#[tokio::test(start_paused = true)]
async fn the_script_of_the_documentation_is_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sim-cloudstack.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```text\n").unwrap();
    let (script, _) = after.split_once("```").unwrap();
    let client = Client::small();
    client.cloud.trouble(script).unwrap();
    let problem = client.cloud.trouble("lost").unwrap_err();
    assert!(problem.to_string().starts_with("line 1 of the fault script"), "{problem}");
}
