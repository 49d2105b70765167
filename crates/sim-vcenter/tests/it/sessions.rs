//! Logging in, staying in, and what may be done.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use joiner_sim_vcenter::{Inventory, inventory::Account};

use crate::support::{ADMIN, Client, Spec, inside, named, object};

fn instance() -> (String, String) {
    object("ServiceInstance", "ServiceInstance")
}

#[tokio::test(start_paused = true)]
async fn a_stranger_learns_what_is_there_and_nothing_else() {
    let client = Client::stranger(Inventory::small());
    let content = client.call("RetrieveServiceContent", &instance(), "").await.ok();
    assert_eq!(inside(&content, "apiVersion").as_deref(), Some("8.0.3.0"));
    assert_eq!(inside(&content, "rootFolder").as_deref(), Some("group-1"));
    assert_eq!(client.call("CurrentTime", &instance(), "").await.fault(), "NotAuthenticated");
    assert_eq!(client.try_read(&instance(), &["serverClock"]).await.fault(), "NotAuthenticated");
}

#[tokio::test(start_paused = true)]
async fn versions_can_be_asked_for_before_anything_else() {
    let client = Client::stranger(Inventory::small());
    let request = Request::get("/sdk/vimServiceVersions.xml").body(Bytes::new()).unwrap();
    let versions = client.raw(request).await.unwrap().ok();
    assert!(versions.contains("<name>urn:vim25</name><version>8.0.3.0</version><priorVersions><version>8.0.2.0</version>"), "{versions}");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_a_quoted_cookie_and_can_be_asked_about() {
    let client = Client::small().await;
    let cookie = client.cookie.clone().unwrap();
    assert!(cookie.starts_with("vmware_soap_session=\"") && cookie.ends_with('"'), "{cookie}");
    let time = client.call("CurrentTime", &instance(), "").await.ok();
    assert_eq!(inside(&time, "returnval").as_deref(), Some("2026-01-01T12:00:00.000000Z"));
    let manager = object("SessionManager", "SessionManager");
    // The server has a spelling of its own.
    let user = client.text(&manager, "currentSession.userName").await;
    assert_eq!(user.as_deref(), Some("VSPHERE.LOCAL\\administrator"));
    client.log_in("vsphere.local\\Administrator", "secret").await.ok();
    let unquoted = Client { cookie: Some(cookie.replace('"', "")), ..client.clone() };
    unquoted.call("CurrentTime", &instance(), "").await.ok();
    client.call("Logout", &manager, "").await.ok();
    assert_eq!(client.call("CurrentTime", &instance(), "").await.fault(), "NotAuthenticated");
    assert_eq!(client.vcenter.sessions(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_and_one_in_use_does_not() {
    let client = Client::small().await;
    for _ in 0..5 {
        client.clock.sleep(Duration::from_mins(29)).await;
        client.call("CurrentTime", &instance(), "").await.ok();
    }
    client.clock.sleep(Duration::from_mins(30)).await;
    assert_eq!(client.call("CurrentTime", &instance(), "").await.fault(), "NotAuthenticated");
}

#[tokio::test(start_paused = true)]
async fn some_releases_read_nothing_for_a_session_that_is_over() {
    let mut inventory = Inventory::small();
    inventory.behaviour.expired_sessions_read_nothing = true;
    let client = Client::admin(inventory).await;
    let folder = client.find("dc1/vm").await;
    client.vcenter.expire_sessions();
    let answer = client.read(&folder, &["name", "parent"]).await;
    assert_eq!(inside(&answer, "propSet"), None);
    assert_eq!(answer.matches("xsi:type=\"NotAuthenticated\"").count(), 2, "{answer}");
    // A session that never was is told so.
    let stranger = Client { cookie: None, ..client.clone() };
    assert_eq!(stranger.try_read(&folder, &["name"]).await.fault(), "NotAuthenticated");
    assert_eq!(client.call("CurrentTime", &instance(), "").await.fault(), "NotAuthenticated");
}

#[tokio::test(start_paused = true)]
async fn an_account_is_locked_after_too_many_wrong_passwords() {
    let client = Client::stranger(Inventory::small());
    for _ in 0..5 {
        assert_eq!(client.log_in(ADMIN, "wrong").await.fault(), "InvalidLogin");
    }
    assert_eq!(client.log_in(ADMIN, "secret").await.fault(), "InvalidLogin");
    client.clock.sleep(Duration::from_mins(5)).await;
    client.log_in(ADMIN, "secret").await.ok();
    assert_eq!(client.log_in("nobody", "secret").await.fault(), "InvalidLogin");
}

#[tokio::test(start_paused = true)]
async fn a_changed_password_is_the_one_that_counts() {
    let client = Client::small().await;
    client.vcenter.set_password(ADMIN, "new");
    assert_eq!(client.log_in(ADMIN, "secret").await.fault(), "InvalidLogin");
    client.log_in(ADMIN, "new").await.ok();
    client.call("CurrentTime", &instance(), "").await.ok();
}

#[tokio::test(start_paused = true)]
async fn too_many_sessions_are_refused_by_http() {
    let mut inventory = Inventory::small();
    inventory.behaviour.sessions_max = 1;
    let client = Client::admin(inventory).await;
    assert_eq!(client.log_in(ADMIN, "secret").await.status, 503);
}

/// An account that may do what a provider needs, save one thing.
fn limited(without: &str) -> Inventory {
    let mut inventory = Inventory::small();
    let may = |all: &[&'static str]| -> Vec<&'static str> {
        all.iter().copied().filter(|id| *id != without).collect()
    };
    let folder = may(&[
        "VirtualMachine.Inventory.CreateFromExisting",
        "VirtualMachine.Config.CPUCount",
        "VirtualMachine.Interact.PowerOn",
    ]);
    let account = Account::new("joiner@vsphere.local", "pw")
        .grant("/dc1", false, &[])
        .grant("/dc1/vm", true, &[])
        .grant("/dc1/vm/k8s", true, &folder)
        .grant("/dc1/vm/templates", true, &may(&["VirtualMachine.Provisioning.DeployTemplate"]))
        .grant("/dc1/host", true, &may(&["Resource.AssignVMToPool"]))
        .grant("/dc1/datastore", true, &may(&["Datastore.AllocateSpace"]));
    inventory.accounts.push(account);
    inventory
}

async fn limited_client(without: &str) -> Client {
    Client::stranger(limited(without)).logged_in("joiner@vsphere.local", "pw").await
}

#[tokio::test(start_paused = true)]
async fn who_lacks_a_privilege_is_told_which_and_on_what() {
    limited_client("").await.clone_vm("a", &Spec::config("<numCPUs>2</numCPUs>")).await.unwrap();
    for (lacks, on) in [
        ("VirtualMachine.Inventory.CreateFromExisting", "dc1/vm/k8s"),
        ("VirtualMachine.Provisioning.DeployTemplate", "dc1/vm/templates/ubuntu-2404"),
        ("Resource.AssignVMToPool", "dc1/host/cluster1/Resources/workers"),
        ("Datastore.AllocateSpace", "dc1/datastore/datastore1"),
        ("VirtualMachine.Config.CPUCount", "dc1/vm/k8s"),
    ] {
        let client = limited_client(lacks).await;
        let reply = client.begin_clone("a", &Spec::config("<numCPUs>2</numCPUs>")).await;
        assert_eq!(reply.fault(), "NoPermission");
        assert_eq!(inside(&reply.body, "privilegeId").as_deref(), Some(lacks));
        assert_eq!(inside(&reply.body, "object"), Some(client.find(on).await.1));
    }
}

#[tokio::test(start_paused = true)]
async fn privileges_can_be_asked_for() {
    let client = limited_client("Datastore.AllocateSpace").await;
    let manager = object("AuthorizationManager", "AuthorizationManager");
    let (folder, datastore) =
        (client.find("dc1/vm/k8s").await, client.find("dc1/datastore/datastore1").await);
    let asked = format!(
        "{}{}<userName>VSPHERE.LOCAL\\joiner</userName>",
        named("entities", &folder),
        named("entities", &datastore)
    );
    let answer = client.call("FetchUserPrivilegeOnEntities", &manager, &asked).await.ok();
    let results = crate::support::all_inside(&answer, "returnval");
    assert!(results[0].contains("<privileges>VirtualMachine.Interact.PowerOn</privileges>"));
    assert!(results[1].contains("<privileges>System.Read</privileges>"), "{}", results[1]);
    assert!(!results[1].contains("Datastore.AllocateSpace"), "{}", results[1]);
}

#[tokio::test(start_paused = true)]
async fn what_an_account_may_not_see_is_not_in_its_views() {
    let client = limited_client("").await;
    let index = object("SearchIndex", "SearchIndex");
    let path = "<inventoryPath>dc1/network/workers</inventoryPath>";
    let answer = client.call("FindByInventoryPath", &index, path).await.ok();
    assert_eq!(inside(&answer, "returnval"), None);
    let admin = client.clone().logged_in(ADMIN, "secret").await;
    let hidden = admin.find("dc1/network/workers").await;
    let answer = client.read(&hidden, &["name"]).await;
    assert_eq!(inside(&answer, "privilegeId").as_deref(), Some("System.Read"), "{answer}");
}
