//! Every kind of trouble that a script can make.

use std::time::Duration;

use crate::support::{Client, Spec, first_object, inside, object};

#[tokio::test(start_paused = true)]
async fn a_call_fails_with_a_fault_and_its_details() {
    let client = Client::small().await;
    let network = client.find("dc1/network/workers").await;
    let script = format!(
        "fault NoPermission object={}:{} privilegeId=Network.Assign on CloneVM_Task",
        network.0, network.1
    );
    client.vcenter.trouble(&script).unwrap();
    let reply = client.begin_clone("web", &Spec::default()).await;
    assert_eq!(reply.fault(), "NoPermission");
    assert_eq!(first_object(&reply.body, "object"), Some(network));
    assert_eq!(inside(&reply.body, "privilegeId").as_deref(), Some("Network.Assign"));
    // Once is once.
    client.clone_vm("web", &Spec::default()).await.unwrap();
    assert_eq!(client.vcenter.troubled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_can_wait_for_a_call_and_for_an_object() {
    let client = Client::small().await;
    let script = "fault InvalidState on CloneVM_Task of bad always
                  fault SystemError on CloneVM_Task after 1 calls 2 times";
    client.vcenter.trouble(script).unwrap();
    let begin = async |name| {
        let reply = client.begin_clone(name, &Spec::default()).await;
        if reply.status == 200 { "ok".to_owned() } else { reply.fault() }
    };
    let mut seen = Vec::new();
    for name in ["a", "bad", "b", "c", "d", "bad"] {
        seen.push(begin(name).await);
    }
    assert_eq!(seen, ["ok", "InvalidState", "SystemError", "SystemError", "ok", "InvalidState"]);
    client.vcenter.calm();
    assert_eq!(begin("bad").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn without_a_call_it_is_the_next_one_that_the_trouble_can_happen_to() {
    let client = Client::small().await;
    client.vcenter.trouble("task fault NoDiskSpace").unwrap();
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    client.read(&vm, &["name"]).await;
    assert_eq!(client.clone_vm("web", &Spec::default()).await.unwrap_err(), "NoDiskSpace");
}

#[tokio::test(start_paused = true)]
async fn a_task_fails_after_a_time() {
    let client = Client::small().await;
    client
        .vcenter
        .trouble("task fault InsufficientHostCapacityFault after 90s on CloneVM_Task")
        .unwrap();
    let before = client.clock.running();
    let failed = client.clone_vm("web", &Spec::default()).await;
    assert_eq!(failed.unwrap_err(), "InsufficientHostCapacityFault");
    assert!(client.since(before) >= Duration::from_secs(90));
    assert_eq!(client.vcenter.vm("web"), None);
}

#[tokio::test(start_paused = true)]
async fn a_task_takes_its_time_or_never_ends() {
    let client = Client::small().await;
    let script = "task lasts 48m on CloneVM_Task of slow
                  task never ends on CloneVM_Task of never";
    client.vcenter.trouble(script).unwrap();
    let never = client.begin_clone("never", &Spec::default()).await.object();
    let before = client.clock.running();
    let slow = client.begin_clone("slow", &Spec::default()).await.object();
    client.clock.sleep(Duration::from_mins(25)).await;
    assert_eq!(client.text(&slow, "info.progress").await.as_deref(), Some("50"));
    // Somebody has to stay in touch, or the session would end.
    client.clock.sleep(Duration::from_mins(20)).await;
    client.wait(&slow).await.unwrap();
    assert!(client.since(before) >= Duration::from_mins(48));
    assert_eq!(client.text(&never, "info.state").await.as_deref(), Some("running"));
    assert_eq!(client.text(&never, "info.progress").await.as_deref(), Some("0"));
    client.call("CancelTask", &never, "").await.ok();
}

#[tokio::test(start_paused = true)]
async fn the_information_of_one_task_cannot_be_made_sense_of() {
    let client = Client::small().await;
    client.vcenter.trouble("task garbage on CloneVM_Task of bad").unwrap();
    let bad = client.begin_clone("bad", &Spec::default()).await.object();
    let good = client.begin_clone("good", &Spec::default()).await.object();
    assert_eq!(client.text(&bad, "info.state").await.as_deref(), Some("perhaps"));
    client.wait(&good).await.unwrap();
    // The task itself goes well.
    assert!(client.vcenter.vm("bad").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_answer_gets_lost_and_the_call_took_effect() {
    let client = Client::small().await;
    client.vcenter.trouble("lost after on CloneVM_Task").unwrap();
    let source = client.find("dc1/vm/templates/ubuntu-2404").await;
    let arguments = client.clone_arguments("web", &Spec::default()).await;
    assert!(client.try_call("CloneVM_Task", &source, &arguments).await.is_err());
    client.clock.sleep(Duration::from_secs(10)).await;
    assert!(client.vcenter.vm("web").is_some());
    assert_eq!(client.vcenter.calls().last().unwrap().outcome, "lost, took effect");
}

#[tokio::test(start_paused = true)]
async fn a_call_gets_lost_and_has_no_effect() {
    let client = Client::small().await;
    client.vcenter.trouble("lost before on CloneVM_Task").unwrap();
    let source = client.find("dc1/vm/templates/ubuntu-2404").await;
    let arguments = client.clone_arguments("web", &Spec::default()).await;
    assert!(client.try_call("CloneVM_Task", &source, &arguments).await.is_err());
    client.clock.sleep(Duration::from_mins(10)).await;
    assert_eq!(client.vcenter.vm("web"), None);
}

#[tokio::test(start_paused = true)]
async fn no_answer_ever_comes() {
    let client = Client::small().await;
    client.vcenter.trouble("silence before on CurrentTime\nsilence after on CloneVM_Task").unwrap();
    let time = object("ServiceInstance", "ServiceInstance");
    let patience = Duration::from_hours(2);
    let call = client.try_call("CurrentTime", &time, "");
    assert!(tokio::time::timeout(patience, call).await.is_err());
    let client = client.logged_in(crate::support::ADMIN, "secret").await;
    let spec = Spec::default();
    let clone = client.begin_clone("web", &spec);
    assert!(tokio::time::timeout(patience, clone).await.is_err());
    assert!(client.vcenter.vm("web").is_some());
}

#[tokio::test(start_paused = true)]
async fn something_in_front_of_the_server_answers() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    client.vcenter.trouble("http 503 on RetrievePropertiesEx 2 times").unwrap();
    assert_eq!(client.try_read(&vm, &["name"]).await.status, 503);
    assert_eq!(client.try_read(&vm, &["name"]).await.status, 503);
    assert_eq!(client.try_read(&vm, &["name"]).await.status, 200);
    client.vcenter.trouble("http 502 on /rest/com/vmware/cis/session").unwrap();
    assert_eq!(client.rest_session(crate::support::ADMIN, "secret").await.0, 502);
    assert_eq!(client.rest_session(crate::support::ADMIN, "secret").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_late() {
    let client = Client::small().await;
    client.vcenter.trouble("slow 30s on CurrentTime").unwrap();
    let before = client.clock.running();
    client.call("CurrentTime", &object("ServiceInstance", "ServiceInstance"), "").await.ok();
    assert_eq!(client.since(before), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn all_sessions_are_over_in_the_middle_of_things() {
    let client = Client::small().await;
    let (_, rest) = client.rest_session(crate::support::ADMIN, "secret").await;
    client.vcenter.trouble("expire sessions on CloneVM_Task").unwrap();
    let reply = client.begin_clone("web", &Spec::default()).await;
    assert_eq!(reply.fault(), "NotAuthenticated");
    let nothing = serde_json::Value::Null;
    assert_eq!(client.rest("GET", "session", Some(&rest), &nothing).await.0, 401);
    let client = client.logged_in(crate::support::ADMIN, "secret").await;
    client.clone_vm("web", &Spec::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn everything_is_read_as_missing() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    client.vcenter.trouble("all missing on RetrievePropertiesEx").unwrap();
    let answer = client.read(&vm, &["name", "config.uuid"]).await;
    assert_eq!(answer.matches("<missingSet>").count(), 2, "{answer}");
    assert_eq!(inside(&answer, "propSet"), None);
    assert_eq!(client.text(&vm, "name").await.as_deref(), Some("ubuntu-2404"));
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_with_their_object_and_session() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    client.read(&vm, &["name"]).await;
    client.call("Destroy_Task", &object("VirtualMachine", "vm-999"), "").await.fault();
    assert_eq!(client.vcenter.count("RetrievePropertiesEx"), 1);
    let last = client.vcenter.calls().pop().unwrap();
    assert_eq!(
        (last.method.as_str(), last.object.as_str()),
        ("Destroy_Task", "VirtualMachine:vm-999")
    );
    assert_eq!(last.outcome, "ManagedObjectNotFound");
    assert!(client.cookie.unwrap().contains(&last.caller));
}

#[tokio::test(start_paused = true)]
async fn the_script_of_the_documentation_is_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sim-vcenter.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```text\n").unwrap();
    let (script, _) = after.split_once("```").unwrap();
    let client = Client::small().await;
    client.vcenter.trouble(script).unwrap();
    let problem = client.vcenter.trouble("lost").unwrap_err();
    assert!(problem.to_string().starts_with("line 1 of the fault script"), "{problem}");
}
