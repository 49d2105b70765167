//! Jobs: ids, states, and who sees them.

use std::time::Duration;

use serde_json::json;

use crate::support::Client;

const JOB: &str = "0b4a3c1e-1111-5222-8333-444444444444";

#[tokio::test(start_paused = true)]
async fn a_client_may_choose_the_id_of_a_job() {
    let client = Client::small();
    let query = "queryAsyncJobResult";
    let unknown = client.call(query, &[("jobid", JOB)]).await;
    assert!(unknown.refusal().1.contains("entity does not exist"));
    let begun = client.deploy("web-1", &[("customjobid", JOB)]).await.ok();
    assert_eq!(begun["jobid"], JOB);
    assert_eq!(client.wait(JOB).await["jobinstanceid"], begun["id"]);
    let wrong = client.deploy("web-2", &[("customjobid", &JOB.to_uppercase())]).await;
    assert_eq!(wrong.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn a_second_job_of_an_id_is_refused_and_leaves_its_vm() {
    let client = Client::small();
    client.deployed("web-1", &[("customjobid", JOB)]).await;
    let again = client.deploy("web-2", &[("customjobid", JOB)]).await;
    assert!(again.refusal().1.contains("already exists so can't create/update with custom id"));
    assert_eq!(client.states(), json!({ "web-1": "Running", "web-2": "Stopped" }));
    let orphan = &client.list("listVirtualMachines", &[("name", "web-2")]).await[0];
    assert_eq!(orphan.get("jobid"), None);
}

#[tokio::test(start_paused = true)]
async fn jobs_of_others_are_not_shown() {
    let client = Client::small();
    client.deploy("web-1", &[("customjobid", JOB)]).await.ok();
    let other = client.as_account("other");
    assert_eq!(other.call("queryAsyncJobResult", &[("jobid", JOB)]).await.refusal().0, 531);
    assert_eq!(other.call("listAsyncJobs", &[]).await.ok(), json!({}));
    assert_eq!(client.fields("listAsyncJobs", "jobid", &[]).await, [JOB]);
    client.as_account("admin").call("queryAsyncJobResult", &[("jobid", JOB)]).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_pending_job_is_found_by_its_object() {
    let client = Client::small();
    let begun = client.deploy("web-1", &[]).await.ok();
    let object =
        [("resourceid", begun["id"].as_str().unwrap()), ("resourcetype", "VirtualMachine")];
    let found = client.call("queryAsyncJobResult", &object).await.ok();
    assert_eq!(found["jobid"], begun["jobid"]);
    client.wait(begun["jobid"].as_str().unwrap()).await;
    assert_eq!(client.call("queryAsyncJobResult", &object).await.refusal().0, 431);
    assert_eq!(client.call("queryAsyncJobResult", &[]).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn jobs_about_one_vm_wait_for_each_other() {
    let client = Client::small();
    let begun = client.deploy("web-1", &[]).await.ok();
    let id = begun["id"].as_str().unwrap();
    let destroy = client.call("destroyVirtualMachine", &[("id", id)]).await.ok();
    let done = client.wait(destroy["jobid"].as_str().unwrap()).await;
    assert_eq!(done["jobstatus"], 1);
    let deployed = client.wait(begun["jobid"].as_str().unwrap()).await;
    assert!(deployed["completed"].as_str() < done["completed"].as_str(), "{deployed} {done}");
    assert_eq!(client.states(), json!({ "web-1": "Destroyed" }));
}

#[tokio::test(start_paused = true)]
async fn a_restart_interrupts_jobs_and_takes_hosts_away_for_a_while() {
    let client = Client::small();
    let begun = client.deploy("web-1", &[]).await.ok();
    client.clock.sleep(Duration::from_secs(1)).await;
    assert_eq!(client.states(), json!({ "web-1": "Starting" }));
    client.cloud.restart();
    let job = client.wait(begun["jobid"].as_str().unwrap()).await;
    assert_eq!((&job["jobstatus"], &job["jobresultcode"]), (&json!(2), &json!(530)));
    assert_eq!(job.get("jobresult"), None);
    assert_eq!(client.states(), json!({ "web-1": "Stopped" }));
    let again = client.deploy("web-2", &[]).await.ok();
    let job = client.wait(again["jobid"].as_str().unwrap()).await;
    assert_eq!(job["jobresultcode"], 533);
    client.clock.sleep(Duration::from_secs(25)).await;
    client.done("startVirtualMachine", &[("id", begun["id"].as_str().unwrap())]).await;
}

#[tokio::test(start_paused = true)]
async fn jobs_that_do_not_end_are_given_up_and_old_ones_forgotten() {
    let client = Client::small();
    client.cloud.trouble("job never ends on deployVirtualMachine").unwrap();
    client.deploy("web-1", &[("customjobid", JOB)]).await.ok();
    client.clock.sleep(Duration::from_mins(59)).await;
    let query = async || client.call("queryAsyncJobResult", &[("jobid", JOB)]).await;
    assert_eq!(query().await.ok()["jobstatus"], 0);
    client.clock.sleep(Duration::from_mins(1)).await;
    assert_eq!(query().await.ok()["jobstatus"], 2);
    client.clock.sleep(Duration::from_hours(24)).await;
    assert_eq!(query().await.refusal().0, 431);
}
