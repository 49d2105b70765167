//! Questions that change nothing: whole answers or errors, asked again while that may help.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use joiner_vim::{Method, MoRef, Uuid, VimError};
use tokio::time::Instant;

use crate::scripted::{Reply, Server, fault, returned};

fn folder() -> MoRef {
    MoRef::new("Folder", "group-v3")
}

/// A page of instances, and what to ask for the next one with.
fn page(instances: std::ops::Range<u32>, token: Option<&str>) -> Reply {
    let mut inside = String::from("<returnval>");
    if let Some(token) = token {
        write!(inside, "<token>{token}</token>").unwrap();
    }
    for number in instances {
        write!(
            inside,
            "<objects><obj type=\"VirtualMachine\">vm-{number}</obj><propSet><name>name</name>\
             <val xsi:type=\"xsd:string\">n{number}</val></propSet></objects>"
        )
        .unwrap();
    }
    Reply::Returned(inside + "</returnval>")
}

fn listing(server: &Server) {
    server.reply(
        "CreateContainerView",
        returned("<returnval type=\"ContainerView\">session[1]view-1</returnval>"),
    );
    server.reply("DestroyView", returned(""));
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_and_its_view_goes() {
    let server = Server::new();
    listing(&server);
    server.reply("RetrievePropertiesEx", page(0..200, Some("more")));
    server.reply("ContinueRetrievePropertiesEx", page(200..400, Some("still more")));
    server.reply("ContinueRetrievePropertiesEx", page(400..450, None));
    let instances = server.client().list(&folder(), "VirtualMachine", &["name"]).await.unwrap();
    assert_eq!(instances.len(), 450);
    assert_eq!(instances[449].text("name"), Some("n449"));
    let calls = server.story().split_off(3);
    assert_eq!(
        calls,
        [
            "CreateContainerView",
            "RetrievePropertiesEx",
            "ContinueRetrievePropertiesEx",
            "ContinueRetrievePropertiesEx",
            "DestroyView"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_without_objects_is_empty() {
    let server = Server::new();
    listing(&server);
    server.reply("RetrievePropertiesEx", returned(""));
    let instances = server.client().list(&folder(), "VirtualMachine", &["name"]).await;
    assert_eq!(instances, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_off_is_begun_anew_and_never_short() {
    let server = Server::new();
    listing(&server);
    server.reply("RetrievePropertiesEx", page(0..200, Some("more")));
    server.reply("ContinueRetrievePropertiesEx", Reply::Broken);
    server.reply("ContinueRetrievePropertiesEx", page(200..250, None));
    let instances = server.client().list(&folder(), "VirtualMachine", &["name"]).await.unwrap();
    assert_eq!(instances.len(), 250);
    assert_eq!(server.times("RetrievePropertiesEx"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_session_ends_is_begun_anew_in_a_new_one_with_a_new_view() {
    let server = Server::new();
    listing(&server);
    server.reply("RetrievePropertiesEx", page(0..200, Some("more")));
    server.reply("ContinueRetrievePropertiesEx", fault("NotAuthenticated"));
    server.reply("ContinueRetrievePropertiesEx", page(200..250, None));
    let instances = server.client().list(&folder(), "VirtualMachine", &["name"]).await.unwrap();
    assert_eq!(instances.len(), 250);
    assert_eq!((server.times("Login"), server.times("CreateContainerView")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_in_the_middle_is_an_error() {
    let server = Server::new();
    listing(&server);
    let half = "<soapenv:Envelope xmlns:soapenv=\"x\"><soapenv:Body><R><returnval><objects>\
                <obj type=\"VirtualMachine\">vm-1</obj></objects>";
    server.reply("RetrievePropertiesEx", Reply::Status(200, half.to_owned()));
    let error = server.client().list(&folder(), "VirtualMachine", &["name"]).await.unwrap_err();
    assert!(matches!(error, VimError::Malformed(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_unknown_and_what_is_not_said_is_absent() {
    let server = Server::new();
    let inside = "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><propSet>\
        <name>runtime.host</name><val type=\"HostSystem\" xsi:type=\"ManagedObjectReference\">host-9\
        </val></propSet><missingSet><path>config</path><fault><fault xsi:type=\"NoPermission\">\
        <object type=\"VirtualMachine\">vm-1</object><privilegeId>System.View</privilegeId></fault>\
        <localizedMessage/></fault></missingSet></objects></returnval>";
    server.reply("RetrievePropertiesEx", returned(inside));
    let paths = ["runtime.host", "config", "parent"];
    let objects = server.client().read(&[MoRef::new("VirtualMachine", "vm-1")], &paths).await;
    let instance = objects.unwrap().remove(0);
    assert_eq!(instance.reference("runtime.host"), Some(MoRef::new("HostSystem", "host-9")));
    assert_eq!(
        instance.missing["config"].to_string(),
        "NoPermission (missing privilege System.View on VirtualMachine:vm-1)"
    );
    assert!(instance.value("parent").is_none() && !instance.missing.contains_key("parent"));
}

#[tokio::test(start_paused = true)]
async fn questions_are_asked_again_while_what_is_in_the_way_may_pass() {
    for reply in
        [Reply::Broken, Reply::Status(503, "busy".to_owned()), Reply::Status(502, String::new())]
    {
        let server = Server::new();
        server.reply("FindByInventoryPath", reply.clone()).reply("FindByInventoryPath", reply);
        server.reply(
            "FindByInventoryPath",
            returned("<returnval type=\"Folder\">group-v3</returnval>"),
        );
        let found = server.client().find_by_path("DC0/vm").await;
        assert_eq!(found, Ok(Some(folder())));
        assert_eq!(server.times("FindByInventoryPath"), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn questions_are_not_asked_for_ever() {
    let server = Server::new();
    server.reply("FindByInventoryPath", Reply::Status(503, String::new()));
    let began = Instant::now();
    let found = server.client().find_by_path("DC0/vm").await;
    assert_eq!(found, Err(VimError::Http(503)));
    assert!(began.elapsed() <= Duration::from_mins(2));
    assert!(server.times("FindByInventoryPath") > 5);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_not_asked_again() {
    let server = Server::new();
    server.reply("FindByInventoryPath", fault("NoPermission"));
    let error = server.client().find_by_path("DC0/vm").await.unwrap_err();
    assert!(error.is_fault("SecurityError"));
    assert_eq!(server.times("FindByInventoryPath"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let server = Server::new();
    server.reply("PowerOffVM_Task", Reply::Silence);
    let began = Instant::now();
    let instance = MoRef::new("VirtualMachine", "vm-1");
    let error = server.client().start(&instance, Method::PowerOff).await.unwrap_err();
    assert_eq!(error.to_string(), "vCenter did not answer: no answer within 120 s");
    assert_eq!(began.elapsed(), Duration::from_mins(2));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_starts_something_is_never_made_twice() {
    for reply in [Reply::Broken, Reply::Status(503, String::new())] {
        let server = Server::new();
        server.reply("Destroy_Task", reply);
        let instance = MoRef::new("VirtualMachine", "vm-1");
        server.client().start(&instance, Method::Destroy).await.unwrap_err();
        assert_eq!(server.times("Destroy_Task"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn instances_are_found_by_their_identifiers() {
    let server = Server::new();
    server.reply(
        "FindAllByUuid",
        returned(
            "<returnval type=\"VirtualMachine\">vm-1</returnval>\
             <returnval type=\"VirtualMachine\">vm-2</returnval>",
        ),
    );
    server.reply("FindByUuid", returned(""));
    let vim = server.client();
    let all = vim.find_all_by_uuid(None, "4201", Uuid::Bios).await.unwrap();
    assert_eq!(all, [MoRef::new("VirtualMachine", "vm-1"), MoRef::new("VirtualMachine", "vm-2")]);
    let datacenter = MoRef::new("Datacenter", "dc-1");
    assert_eq!(vim.find_by_uuid(Some(&datacenter), "5201", Uuid::Instance).await, Ok(None));
    let asked = server.log().pop().unwrap().body;
    assert!(
        asked.contains(
            "<FindByUuid><_this type=\"SearchIndex\">SearchIndex</_this>\
             <datacenter type=\"Datacenter\">dc-1</datacenter><uuid>5201</uuid>\
             <vmSearch>true</vmSearch><instanceUuid>true</instanceUuid></FindByUuid>"
        ),
        "{asked}"
    );
}

#[tokio::test(start_paused = true)]
async fn privileges_are_asked_for_under_the_name_that_the_server_knows() {
    let server = Server::new();
    server.reply(
        "FetchUserPrivilegeOnEntities",
        returned(
            "<returnval><entity type=\"Folder\">group-v3</entity><privileges>System.Read</privileges>\
             <privileges>Network.Assign</privileges></returnval>",
        ),
    );
    let privileges = server.client().privileges(&[folder()]).await.unwrap();
    let expected = BTreeSet::from(["Network.Assign".to_owned(), "System.Read".to_owned()]);
    assert_eq!(privileges[&folder()], expected);
    assert!(server.log().pop().unwrap().body.contains("<userName>LAB\\joiner</userName>"));
}
