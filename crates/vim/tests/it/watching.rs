//! An inventory as it changes.

use std::time::Duration;

use joiner_vim::{
    MoRef, VimError,
    watch::{Change, Inventory, News},
};

use crate::scripted::{Reply, Server, fault, returned};

fn server() -> Server {
    let server = Server::new();
    let view = "<returnval type=\"ContainerView\">view-1</returnval>";
    server.reply("CreateContainerView", returned(view));
    let collector = "<returnval type=\"PropertyCollector\">collector-1</returnval>";
    server.reply("CreatePropertyCollector", returned(collector));
    server.reply("CreateFilter", returned("<returnval type=\"PropertyFilter\">f-1</returnval>"));
    for call in ["DestroyPropertyCollector", "DestroyView"] {
        server.reply(call, returned(""));
    }
    server
}

fn inventory(server: &Server) -> Inventory {
    let folder = MoRef::new("Folder", "group-v3");
    server.client().watch(&folder, "VirtualMachine", &["name", "runtime.powerState"])
}

fn update(kind: &str, number: u32, name: Option<&str>) -> String {
    let change = name.map_or_else(String::new, |name| {
        format!("<changeSet><name>name</name><op>assign</op><val xsi:type=\"xsd:string\">{name}</val></changeSet>")
    });
    format!(
        "<objectSet><kind>{kind}</kind><obj type=\"VirtualMachine\">vm-{number}</obj>{change}</objectSet>"
    )
}

fn news(version: u32, truncated: bool, updates: &str) -> Reply {
    Reply::Returned(format!(
        "<returnval><version>{version}</version><filterSet><filter type=\"PropertyFilter\">f-1\
         </filter>{updates}</filterSet><truncated>{truncated}</truncated></returnval>"
    ))
}

/// News in few words.
fn told(news: Result<News, VimError>) -> Vec<String> {
    let name = |object: &joiner_vim::Object| {
        format!("{}={}", object.reference.id, object.text("name").unwrap_or("?"))
    };
    match news.unwrap() {
        News::All(objects) => {
            objects.iter().map(|object| format!("all {}", name(object))).collect()
        }
        News::Changes(changes) => changes
            .iter()
            .map(|change| match change {
                Change::Entered(object) => format!("entered {}", name(object)),
                Change::Modified { reference, values, missing } => format!(
                    "modified {} {:?} {:?}",
                    reference.id,
                    values
                        .iter()
                        .map(|(path, v)| (path, v.as_ref().map(|v| &v.text)))
                        .collect::<Vec<_>>(),
                    missing.keys().collect::<Vec<_>>()
                ),
                Change::Left(reference) => format!("left {}", reference.id),
            })
            .collect(),
    }
}

#[tokio::test(start_paused = true)]
async fn first_all_there_is_then_what_changes() {
    let server = server();
    let first = update("enter", 1, Some("n1")) + &update("enter", 2, Some("n2"));
    server.reply("WaitForUpdatesEx", news(1, true, &first));
    server.reply("WaitForUpdatesEx", news(2, false, &update("enter", 3, Some("n3"))));
    server.reply("WaitForUpdatesEx", returned("").after(60));
    let changes = update("modify", 2, Some("renamed"))
        + &update("enter", 4, Some("n4"))
        + &update("leave", 1, None);
    server.reply("WaitForUpdatesEx", news(3, false, &changes).after(5));
    let mut inventory = inventory(&server);
    assert_eq!(told(inventory.next().await), ["all vm-1=n1", "all vm-2=n2", "all vm-3=n3"]);
    assert_eq!(
        told(inventory.next().await),
        ["modified vm-2 [(\"name\", Some(\"renamed\"))] []", "entered vm-4=n4", "left vm-1"]
    );
    inventory.close().await;
    assert_eq!(
        server.story().split_off(server.story().len() - 2),
        ["DestroyPropertyCollector", "DestroyView"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_unset_is_told_apart_from_one_that_cannot_be_read() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 1, Some("n1"))));
    let change = "<objectSet><kind>modify</kind><obj type=\"VirtualMachine\">vm-1</obj><changeSet>\
        <name>name</name><op>remove</op></changeSet><missingSet><path>runtime.powerState</path>\
        <fault><fault xsi:type=\"NoPermission\"/><localizedMessage/></fault></missingSet></objectSet>";
    server.reply("WaitForUpdatesEx", news(2, false, change));
    let mut inventory = inventory(&server);
    let News::All(mut objects) = inventory.next().await.unwrap() else { panic!("not all") };
    let News::Changes(mut changes) = inventory.next().await.unwrap() else { panic!("no change") };
    let Change::Modified { values, missing, .. } = changes.remove(0) else { panic!("modified") };
    objects[0].change(values, missing);
    assert_eq!(objects[0].value("name"), None);
    assert_eq!(objects[0].missing["runtime.powerState"].kind, "NoPermission");
}

#[tokio::test(start_paused = true)]
async fn after_an_error_everything_is_told_again() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 1, Some("n1"))));
    server.reply("WaitForUpdatesEx", Reply::Broken.after(5));
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 2, Some("n2"))));
    let mut inventory = inventory(&server);
    assert_eq!(told(inventory.next().await), ["all vm-1=n1"]);
    inventory.next().await.unwrap_err();
    assert_eq!(told(inventory.next().await), ["all vm-2=n2"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_session_tells_everything_again_without_an_error() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 1, Some("n1"))));
    server.reply("WaitForUpdatesEx", fault("NotAuthenticated").after(5));
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 2, Some("n2"))));
    let mut inventory = inventory(&server);
    assert_eq!(told(inventory.next().await), ["all vm-1=n1"]);
    assert_eq!(told(inventory.next().await), ["all vm-2=n2"]);
    assert_eq!(server.times("Login"), 2);
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_waiting_loses_nothing() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 1, Some("n1"))));
    server.reply("WaitForUpdatesEx", news(2, false, &update("leave", 1, None)).after(30));
    server.reply("WaitForUpdatesEx", news(1, false, &update("enter", 2, Some("n2"))));
    let mut inventory = inventory(&server);
    assert_eq!(told(inventory.next().await), ["all vm-1=n1"]);
    let impatient = tokio::time::timeout(Duration::from_secs(3), inventory.next());
    impatient.await.expect_err("nothing happens for half a minute");
    assert_eq!(told(inventory.next().await), ["all vm-2=n2"]);
}
