//! A client that is no more than its requests.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use joiner_clock::Clock;
use joiner_sim_vcenter::{Inventory, NoAnswer, VCenter};

pub(crate) const ADMIN: &str = "administrator@vsphere.local";

/// An object: its type and its id.
pub(crate) type Object = (String, String);

pub(crate) fn object(kind: &str, id: &str) -> Object {
    (kind.to_owned(), id.to_owned())
}

/// The object as an element.
pub(crate) fn named(tag: &str, (kind, id): &Object) -> String {
    format!("<{tag} type=\"{kind}\">{id}</{tag}>")
}

/// A clock of virtual time that begins at noon.
pub(crate) fn noon() -> Clock {
    Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap())
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) cookie: Option<String>,
    pub(crate) body: String,
}

impl Reply {
    /// The answer to a call that went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// The type of the fault that a call failed with.
    pub(crate) fn fault(&self) -> String {
        assert_eq!(self.status, 500, "{}", self.body);
        let detail = inside(&self.body, "detail").expect("a fault has a detail");
        instance_type(&detail).expect("a detail says its type")
    }

    /// The object that a call returns.
    pub(crate) fn object(self) -> Object {
        let body = self.ok();
        first_object(&body, "returnval").expect("the call returns an object")
    }
}

/// What stands in the first element of a name.
pub(crate) fn inside(text: &str, tag: &str) -> Option<String> {
    all_inside(text, tag).into_iter().next()
}

/// What stands in each element of a name. Elements of the same name must not lie in each other.
pub(crate) fn all_inside(text: &str, tag: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(&format!("<{tag}")) {
        let after = &rest[at + 1 + tag.len()..];
        rest = after;
        if !after.starts_with(['>', ' ']) {
            continue;
        }
        let begin = after.find('>').unwrap() + 1;
        let Some(end) = after.find(&format!("</{tag}>")) else { break };
        found.push(after[begin..end].to_owned());
        rest = &after[end..];
    }
    found
}

fn instance_type(text: &str) -> Option<String> {
    let (_, after) = text.split_once("xsi:type=\"")?;
    after.split_once('"').map(|(name, _)| name.to_owned())
}

/// The first object that an element of a name names.
pub(crate) fn first_object(text: &str, tag: &str) -> Option<Object> {
    let (_, after) = text.split_once(&format!("<{tag} type=\""))?;
    let (kind, after) = after.split_once('"')?;
    let (_, after) = after.split_once('>')?;
    let (id, _) = after.split_once('<')?;
    Some(object(kind, id))
}

/// Somebody who talks to a vCenter.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) vcenter: VCenter,
    pub(crate) cookie: Option<String>,
    pub(crate) clock: Clock,
}

impl Client {
    /// Somebody who has not logged in.
    pub(crate) fn stranger(inventory: Inventory) -> Self {
        let clock = noon();
        let vcenter = VCenter::new(inventory, clock.clone()).unwrap();
        Self { vcenter, cookie: None, clock }
    }

    /// The administrator of an inventory.
    pub(crate) async fn admin(inventory: Inventory) -> Self {
        Self::stranger(inventory).logged_in(ADMIN, "secret").await
    }

    /// The administrator of the small inventory.
    pub(crate) async fn small() -> Self {
        Self::admin(Inventory::small()).await
    }

    /// How long something took that began at a time.
    pub(crate) fn since(&self, began: Duration) -> Duration {
        self.clock.running().saturating_sub(began)
    }

    pub(crate) async fn logged_in(mut self, user: &str, password: &str) -> Self {
        let reply = self.log_in(user, password).await;
        self.cookie.clone_from(&reply.cookie);
        reply.ok();
        self
    }

    pub(crate) async fn log_in(&self, user: &str, password: &str) -> Reply {
        let arguments = format!("<userName>{user}</userName><password>{password}</password>");
        let manager = object("SessionManager", "SessionManager");
        self.call("Login", &manager, &arguments).await
    }

    /// Makes a call that is answered.
    pub(crate) async fn call(&self, method: &str, this: &Object, arguments: &str) -> Reply {
        self.try_call(method, this, arguments).await.expect("an answer comes")
    }

    pub(crate) async fn try_call(
        &self,
        method: &str,
        this: &Object,
        arguments: &str,
    ) -> Result<Reply, NoAnswer> {
        let this = named("_this", this);
        self.send(&format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
            <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
            <soapenv:Body><{method} xmlns="urn:vim25">{this}{arguments}</{method}></soapenv:Body></soapenv:Envelope>"#
        ))
        .await
    }

    /// Sends a document as it is.
    pub(crate) async fn send(&self, document: &str) -> Result<Reply, NoAnswer> {
        let mut request = Request::post("/sdk")
            .header("content-type", "text/xml; charset=utf-8")
            .header("soapaction", "urn:vim25/8.0.3.0");
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        self.raw(request.body(Bytes::from(document.to_owned())).unwrap()).await
    }

    pub(crate) async fn raw(&self, request: Request<Bytes>) -> Result<Reply, NoAnswer> {
        let response = self.vcenter.answer(request).await?;
        let cookie = response.headers().get("set-cookie").map(|value| {
            let text = value.to_str().unwrap();
            text.split(';').next().unwrap().to_owned()
        });
        let body = String::from_utf8(response.body().to_vec()).unwrap();
        Ok(Reply { status: response.status().as_u16(), cookie, body })
    }

    /// What an inventory path leads to.
    pub(crate) async fn find(&self, path: &str) -> Object {
        let index = object("SearchIndex", "SearchIndex");
        let path = format!("<inventoryPath>{path}</inventoryPath>");
        self.call("FindByInventoryPath", &index, &path).await.object()
    }

    /// A view of what lies in a container.
    pub(crate) async fn container_view(
        &self,
        container: &Object,
        kinds: &[&str],
        recursive: bool,
    ) -> Object {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("<type>{kind}</type>")).collect();
        let arguments = format!(
            "{}{}<recursive>{recursive}</recursive>",
            named("container", container),
            kinds.concat()
        );
        let manager = object("ViewManager", "ViewManager");
        self.call("CreateContainerView", &manager, &arguments).await.object()
    }

    /// Reads properties of one object; the answer's `objects`.
    pub(crate) async fn read(&self, of: &Object, paths: &[&str]) -> String {
        self.try_read(of, paths).await.ok()
    }

    pub(crate) async fn try_read(&self, of: &Object, paths: &[&str]) -> Reply {
        let objects = format!("<objectSet>{}</objectSet>", named("obj", of));
        let spec = format!("<specSet>{}{objects}</specSet><options/>", properties(&of.0, paths));
        self.call("RetrievePropertiesEx", &collector(), &spec).await
    }

    /// The text of one property; none if it is unset.
    pub(crate) async fn text(&self, of: &Object, path: &str) -> Option<String> {
        inside(&self.read(of, &[path]).await, "val")
    }

    /// Calls a method that begins a task, and waits for its end: what it made, or its fault.
    pub(crate) async fn run(
        &self,
        method: &str,
        this: &Object,
        arguments: &str,
    ) -> Result<Option<Object>, String> {
        let task = self.call(method, this, arguments).await.object();
        self.wait(&task).await
    }

    /// Waits for the end of a task.
    pub(crate) async fn wait(&self, task: &Object) -> Result<Option<Object>, String> {
        loop {
            let info = self.read(task, &["info"]).await;
            match inside(&info, "state").as_deref() {
                Some("success") => return Ok(first_object(&info, "result")),
                Some("error") => {
                    let error = inside(&info, "error").unwrap();
                    return Err(instance_type(&error).unwrap());
                }
                _ => self.clock.sleep(Duration::from_millis(250)).await,
            }
        }
    }

    /// Clones the template of the small inventory into `k8s`.
    pub(crate) async fn clone_vm(&self, name: &str, spec: &Spec) -> Result<Object, String> {
        let task = self.begin_clone(name, spec).await.object();
        self.wait(&task).await.map(|made| made.expect("a clone is made"))
    }

    pub(crate) async fn begin_clone(&self, name: &str, spec: &Spec) -> Reply {
        let source = self.find("dc1/vm/templates/ubuntu-2404").await;
        let arguments = self.clone_arguments(name, spec).await;
        self.call("CloneVM_Task", &source, &arguments).await
    }

    pub(crate) async fn clone_arguments(&self, name: &str, spec: &Spec) -> String {
        let folder = self.find("dc1/vm/k8s").await;
        let pool = self.find("dc1/host/cluster1/Resources/workers").await;
        let datastore = self.find(&format!("dc1/datastore/{}", spec.datastore)).await;
        let source = self.find("dc1/vm/templates/ubuntu-2404").await;
        let (disks, snapshot) = if spec.linked {
            let read = self.read(&source, &["snapshot.currentSnapshot"]).await;
            let snapshot = first_object(&read, "val").unwrap();
            ("createNewChildDiskBacking", named("snapshot", &snapshot))
        } else {
            ("moveAllDiskBackingsAndConsolidate", String::new())
        };
        format!(
            "{}<name>{name}</name><spec><location>{}<diskMoveType>{disks}</diskMoveType>{}</location>\
             <template>false</template><config>{}</config><powerOn>{}</powerOn>{snapshot}</spec>",
            named("folder", &folder),
            named("datastore", &datastore),
            named("pool", &pool),
            spec.config,
            spec.power_on,
        )
    }

    /// Makes a REST call: the status and the value.
    pub(crate) async fn rest(
        &self,
        method: &str,
        path: &str,
        session: Option<&str>,
        body: &serde_json::Value,
    ) -> (u16, serde_json::Value) {
        let mut request =
            Request::builder().method(method).uri(format!("/rest/com/vmware/cis/{path}"));
        if let Some(session) = session {
            request = request.header("vmware-api-session-id", session);
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let reply = self.raw(request.body(body).unwrap()).await.expect("an answer comes");
        let value = serde_json::from_str(&reply.body).unwrap_or(serde_json::Value::Null);
        (reply.status, value)
    }

    /// Opens a REST session.
    pub(crate) async fn rest_session(&self, user: &str, password: &str) -> (u16, String) {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let basic = STANDARD.encode(format!("{user}:{password}"));
        let request = Request::post("/rest/com/vmware/cis/session")
            .header("authorization", format!("Basic {basic}"))
            .body(Bytes::new())
            .unwrap();
        let reply = self.raw(request).await.expect("an answer comes");
        let value: serde_json::Value = serde_json::from_str(&reply.body).unwrap_or_default();
        (reply.status, value["value"].as_str().unwrap_or_default().to_owned())
    }
}

/// What is asked of a clone.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) linked: bool,
    pub(crate) power_on: bool,
    pub(crate) datastore: String,
    /// What stands in `config`.
    pub(crate) config: String,
}

impl Default for Spec {
    fn default() -> Self {
        let datastore = "datastore1".to_owned();
        Self { linked: true, power_on: false, datastore, config: String::new() }
    }
}

impl Spec {
    pub(crate) fn config(config: &str) -> Self {
        Self { config: config.to_owned(), ..Self::default() }
    }

    pub(crate) fn full() -> Self {
        Self { linked: false, ..Self::default() }
    }
}

pub(crate) fn collector() -> Object {
    object("PropertyCollector", "propertyCollector")
}

/// A set of properties of a type.
pub(crate) fn properties(kind: &str, paths: &[&str]) -> String {
    let paths: Vec<String> =
        paths.iter().map(|path| format!("<pathSet>{path}</pathSet>")).collect();
    let paths = paths.concat();
    format!("<propSet><type>{kind}</type>{paths}</propSet>")
}

/// All objects that a view has, by a traversal.
pub(crate) fn from_view(view: &Object) -> String {
    format!(
        "<objectSet>{}<skip>true</skip><selectSet xsi:type=\"TraversalSpec\"><name>view</name>\
         <type>{}</type><path>view</path><skip>false</skip></selectSet></objectSet>",
        named("obj", view),
        view.0
    )
}
