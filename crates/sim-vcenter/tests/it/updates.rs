//! Waiting for changes.

use std::time::Duration;

use crate::support::{
    Client, Object, Spec, all_inside, collector, from_view, inside, named, object, properties,
};

async fn list_view(client: &Client, objects: &[&Object]) -> Object {
    let objects: String = objects.iter().map(|object| named("obj", object)).collect();
    client.call("CreateListView", &object("ViewManager", "ViewManager"), &objects).await.object()
}

async fn filter(client: &Client, collector: &Object, kind: &str, path: &str, view: &Object) {
    let spec = format!(
        "<spec>{}{}</spec><partialUpdates>false</partialUpdates>",
        properties(kind, &[path]),
        from_view(view)
    );
    client.call("CreateFilter", collector, &spec).await.object();
}

async fn wait(client: &Client, collector: &Object, version: &str, seconds: u32) -> String {
    let arguments = format!(
        "<version>{version}</version><options><maxWaitSeconds>{seconds}</maxWaitSeconds></options>"
    );
    client.call("WaitForUpdatesEx", collector, &arguments).await.ok()
}

async fn own_collector(client: &Client) -> Object {
    client.call("CreatePropertyCollector", &collector(), "").await.object()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_to_its_end() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let view = list_view(&client, &[]).await;
    filter(&client, &own, "Task", "info", &view).await;
    let task = client.begin_clone("web", &Spec::default()).await.object();
    client.call("ModifyListView", &view, &named("add", &task)).await.ok();
    let first = wait(&client, &own, "", 60).await;
    assert_eq!(inside(&first, "kind").as_deref(), Some("enter"));
    let (mut version, mut seen) = (inside(&first, "version").unwrap(), Vec::new());
    while seen.last().map(String::as_str) != Some("success") {
        let update = wait(&client, &own, &version, 60).await;
        version = inside(&update, "version").unwrap();
        assert_eq!(inside(&update, "kind").as_deref(), Some("modify"));
        assert_eq!(inside(&update, "name").as_deref(), Some("info"));
        seen.push(inside(&update, "state").unwrap());
    }
    // The start, being half-way, and the end.
    assert_eq!(seen, ["running", "running", "success"]);
    client.call("ModifyListView", &view, &named("remove", &task)).await.ok();
    let update = wait(&client, &own, &version, 60).await;
    assert_eq!(inside(&update, "kind").as_deref(), Some("leave"));
}

#[tokio::test(start_paused = true)]
async fn nothing_to_tell_is_an_empty_answer_after_the_wait() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    let view = list_view(&client, &[&vm]).await;
    filter(&client, &own, "VirtualMachine", "name", &view).await;
    let first = wait(&client, &own, "", 0).await;
    let version = inside(&first, "version").unwrap();
    let before = client.clock.running();
    let empty = wait(&client, &own, &version, 30).await;
    assert_eq!(inside(&empty, "returnval"), None);
    assert_eq!(client.since(before), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_got_lost_can_be_had_again() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    let view = list_view(&client, &[&vm]).await;
    filter(&client, &own, "VirtualMachine", "config.annotation", &view).await;
    let first = wait(&client, &own, "", 0).await;
    let version = inside(&first, "version").unwrap();
    let note = "<spec><annotation>new</annotation></spec>";
    client.run("ReconfigVM_Task", &vm, note).await.unwrap();
    client.vcenter.trouble("lost after on WaitForUpdatesEx").unwrap();
    let arguments = format!("<version>{version}</version>");
    assert!(client.try_call("WaitForUpdatesEx", &own, &arguments).await.is_err());
    let again = wait(&client, &own, &version, 0).await;
    assert_eq!(inside(&again, "val").as_deref(), Some("new"));
    let reply = client.call("WaitForUpdatesEx", &own, "<version>77</version>").await;
    assert_eq!(reply.fault(), "InvalidCollectorVersion");
}

#[tokio::test(start_paused = true)]
async fn a_folder_can_be_watched() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let folder = client.find("dc1/vm/k8s").await;
    let view = client.container_view(&folder, &["VirtualMachine"], true).await;
    filter(&client, &own, "VirtualMachine", "runtime.powerState", &view).await;
    let waiting = {
        let (client, own) = (client.clone(), own.clone());
        tokio::spawn(async move { wait(&client, &own, "", 600).await })
    };
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    let update = waiting.await.unwrap();
    assert_eq!(inside(&update, "kind").as_deref(), Some("enter"));
    assert_eq!(inside(&update, "val").as_deref(), Some("poweredOff"));
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    let update = wait(&client, &own, &inside(&update, "version").unwrap(), 600).await;
    assert_eq!(inside(&update, "val").as_deref(), Some("poweredOn"));
    client.vcenter.remove_vm("web").unwrap();
    let update = wait(&client, &own, &inside(&update, "version").unwrap(), 600).await;
    assert_eq!(inside(&update, "kind").as_deref(), Some("leave"));
}

#[tokio::test(start_paused = true)]
async fn updates_come_in_pieces_if_the_client_wants_them_small() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let mut vms = Vec::new();
    for n in 0..5 {
        vms.push(client.clone_vm(&format!("vm{n}"), &Spec::default()).await.unwrap());
    }
    let view = list_view(&client, &vms.iter().collect::<Vec<_>>()).await;
    filter(&client, &own, "VirtualMachine", "name", &view).await;
    let (mut version, mut sizes) = (String::new(), Vec::new());
    loop {
        let arguments = format!(
            "<version>{version}</version><options><maxWaitSeconds>0</maxWaitSeconds>\
             <maxObjectUpdates>2</maxObjectUpdates></options>"
        );
        let update = client.call("WaitForUpdatesEx", &own, &arguments).await.ok();
        let Some(next) = inside(&update, "version") else { break };
        version = next;
        sizes.push(all_inside(&update, "objectSet").len());
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_cancelled() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let waiting = {
        let (client, own) = (client.clone(), own.clone());
        tokio::spawn(async move { client.call("WaitForUpdatesEx", &own, "").await })
    };
    client.clock.sleep(Duration::from_secs(1)).await;
    client.call("CancelWaitForUpdates", &own, "").await.ok();
    assert_eq!(waiting.await.unwrap().fault(), "RequestCanceled");
}

#[tokio::test(start_paused = true)]
async fn what_a_session_made_goes_with_it() {
    let client = Client::small().await;
    let own = own_collector(&client).await;
    let view = list_view(&client, &[]).await;
    client.vcenter.expire_sessions();
    let again = client.logged_in(crate::support::ADMIN, "secret").await;
    let arguments = "<options><maxWaitSeconds>0</maxWaitSeconds></options>";
    let reply = again.call("WaitForUpdatesEx", &own, arguments).await;
    assert_eq!(reply.fault(), "ManagedObjectNotFound");
    assert_eq!(again.call("DestroyView", &view, "").await.fault(), "ManagedObjectNotFound");
}
