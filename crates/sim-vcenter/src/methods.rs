//! The methods that clients call by SOAP.

mod authorization;
mod clusters;
mod instances;
mod search;
mod storage;

use std::collections::BTreeSet;

use crate::{
    fault::Fault,
    properties::{ObjectReader, service},
    reference::{Kind, Ref},
    session::Viewer,
    trouble::TaskTrouble,
    views::Container,
    wire::{element::Element, value::Value},
    world::World,
};

/// A call that was understood.
#[derive(Debug)]
pub(crate) struct Request<'c> {
    pub(crate) call: &'c Element,
    pub(crate) this: Ref,
    pub(crate) viewer: &'c Viewer,
    /// What goes wrong with the task, if it begins one.
    pub(crate) trouble: Option<TaskTrouble>,
}

impl Request<'_> {
    /// The user who calls.
    fn user(&self, world: &World) -> String {
        let session = world.sessions.get(&self.viewer.session);
        session.map(|session| session.user.clone()).unwrap_or_default()
    }
}

/// Methods that need no session.
pub(crate) const OPEN_TO_ALL: [&str; 2] = ["RetrieveServiceContent", "Login"];

/// The object that an element names, if it is the name of one that could be.
pub(crate) fn named(element: Option<&Element>) -> Result<Ref, Fault> {
    let reference = element.map(Element::reference);
    reference
        .unwrap_or_else(|| Err((String::new(), String::new())))
        .map_err(|(kind, id)| Fault::not_found(Value::NoSuchRef(kind.into(), id.into())))
}

impl World {
    /// An object that is named and is there.
    pub(crate) fn present(&self, element: Option<&Element>) -> Result<Ref, Fault> {
        let object = named(element)?;
        if self.has(object) { Ok(object) } else { Err(Fault::gone(object)) }
    }

    /// Does what a call asks for, and gives what stands in its answer.
    pub(crate) fn perform(&mut self, request: &Request<'_>) -> Result<String, Fault> {
        let Request { call, this, viewer, .. } = request;
        let session = viewer.session.clone();
        if !has_method(this.kind, &call.name) {
            let message = format!("{this} has no method {}", call.name);
            let fault = Fault::new("MethodNotFound", message);
            return Err(fault
                .with("receiver", Value::Ref(*this))
                .with("method", Value::text(call.name.clone())));
        }
        match call.name.as_str() {
            "RetrieveServiceContent" => Ok(returned(&service::service_content(self))),
            "CurrentTime" => Ok(returned(&Value::Time(self.moment(self.agenda.now())))),
            "Logout" => {
                self.end_session(&session);
                Ok(String::new())
            }
            "CreateContainerView" => {
                let of = self.present(call.child("container"))?;
                let kinds = call.all("type").map(|kind| kind.text.clone()).collect();
                let recursive = call.says("recursive");
                let view = Container { of, kinds, recursive, session };
                Ok(returned(&Value::Ref(self.views.add_container(view))))
            }
            "CreateListView" => {
                let objects: Result<BTreeSet<Ref>, Fault> =
                    call.all("obj").map(|object| self.present(Some(object))).collect();
                let view = self.views.add_list(objects?, &session);
                Ok(returned(&Value::Ref(view)))
            }
            "ModifyListView" => self.modify_list(call, *this),
            "DestroyView" => {
                self.views.remove(*this);
                self.changes.structure();
                Ok(String::new())
            }
            "RetrievePropertiesEx" => {
                let objects = self.retrieve(viewer, call)?;
                let none = objects.is_empty();
                Ok(if none { String::new() } else { wrap(&objects) })
            }
            // What pyvmomi reads each property by.
            "Fetch" => {
                let path = call.text_of("prop").unwrap_or_default();
                let value = ObjectReader::new(self, viewer, *this).write(path, "returnval");
                value.ok_or_else(|| Fault::invalid_property(path))
            }
            "ContinueRetrievePropertiesEx" => {
                let token = call.text_of("token").unwrap_or_default();
                Ok(wrap(&self.retrieve_more(viewer, token)?))
            }
            "CancelRetrievePropertiesEx" => {
                self.retrieve_no_more(call.text_of("token").unwrap_or_default());
                Ok(String::new())
            }
            "CreatePropertyCollector" => {
                let collector = self.collectors.add_collector(&session);
                Ok(returned(&Value::Ref(collector)))
            }
            "DestroyPropertyCollector" => {
                self.collectors.remove_collector(*this, &session);
                self.changes.structure();
                Ok(String::new())
            }
            "CreateFilter" => {
                let Some(spec) = call.child("spec") else { return Ok(String::new()) };
                let spec = crate::collect::FilterSpec::read(spec)?;
                let filter = self.collectors.add_filter(*this, &session, spec);
                self.changes.structure();
                Ok(returned(&Value::Ref(filter)))
            }
            "DestroyPropertyFilter" => {
                self.collectors.remove_filter(*this);
                Ok(String::new())
            }
            "CancelWaitForUpdates" => {
                self.collectors.cancel(*this, &session);
                self.changes.structure();
                Ok(String::new())
            }
            "FindByUuid" => Ok(self.find_by_uuid(request, true)),
            "FindAllByUuid" => Ok(self.find_by_uuid(request, false)),
            "FindByInventoryPath" => Ok(self.find_by_path(request)),
            "FetchUserPrivilegeOnEntities" => self.fetch_privileges(request),
            "HasUserPrivilegeOnEntities" => self.has_privileges(request),
            "RecommendDatastores" => self.recommend_datastores(request),
            "CancelTask" => self.cancel_task(*this).map(|()| String::new()),
            "CloneVM_Task" => self.clone_vm(request),
            "ReconfigVM_Task" => self.reconfigure_vm(request),
            "PowerOnVM_Task" => self.power_on_vm(request),
            "PowerOffVM_Task" => self.power_off_vm(request),
            "ShutdownGuest" => self.shut_down_guest(request),
            "UpgradeVM_Task" => self.upgrade_vm(request),
            "Destroy_Task" => self.destroy_vm(request),
            "ReconfigureComputeResource_Task" => self.reconfigure_cluster(request),
            "CreateSnapshot_Task" => self.snapshot_vm(request),
            // The schema has no others; these two are not answered here.
            _ => Ok(String::new()),
        }
    }

    fn modify_list(&mut self, call: &Element, view: Ref) -> Result<String, Fault> {
        let (mut add, mut unresolved) = (Vec::new(), String::new());
        for object in call.all("add") {
            match self.present(Some(object)) {
                Ok(object) => add.push(object),
                // What cannot be added is handed back; the rest is added all the same.
                Err(_) => {
                    let kind = object.object_type.clone().unwrap_or_default();
                    let gone = Value::NoSuchRef(kind.into(), object.text.clone().into());
                    gone.write(&mut unresolved, "returnval");
                }
            }
        }
        let remove: Vec<Ref> =
            call.all("remove").filter_map(|object| named(Some(object)).ok()).collect();
        self.views.modify(view, add, &remove).ok_or_else(|| Fault::gone(view))?;
        self.changes.structure();
        Ok(unresolved)
    }

    /// Ends a session with everything that it has made.
    pub(crate) fn end_session(&mut self, key: &str) {
        self.sessions.log_out(key);
        self.forget_ended_sessions();
    }

    /// Drops what sessions that are over have made.
    pub(crate) fn forget_ended_sessions(&mut self) {
        for key in self.sessions.take_ended() {
            self.views.end_session(&key);
            self.collectors.end_session(&key);
            self.changes.structure();
        }
    }
}

/// Whether objects of a kind have a method.
fn has_method(kind: Kind, method: &str) -> bool {
    match method {
        "Fetch" => true,
        "RetrieveServiceContent" | "CurrentTime" => kind == Kind::ServiceInstance,
        "Login" | "Logout" => kind == Kind::SessionManager,
        "CreateContainerView" | "CreateListView" => kind == Kind::ViewManager,
        "ModifyListView" => kind == Kind::ListView,
        "DestroyView" => kind.is("View"),
        "FindByUuid" | "FindAllByUuid" | "FindByInventoryPath" => kind == Kind::SearchIndex,
        "FetchUserPrivilegeOnEntities" | "HasUserPrivilegeOnEntities" => {
            kind == Kind::AuthorizationManager
        }
        "RecommendDatastores" => kind == Kind::StorageResourceManager,
        "CancelTask" => kind == Kind::Task,
        "DestroyPropertyFilter" => kind == Kind::PropertyFilter,
        "ReconfigureComputeResource_Task" => kind == Kind::ClusterComputeResource,
        _ if method.ends_with("_Task") || method == "ShutdownGuest" => kind == Kind::VirtualMachine,
        _ => kind == Kind::PropertyCollector,
    }
}

/// A value as what a call returns.
pub(crate) fn returned(value: &Value<'_>) -> String {
    let mut out = String::new();
    value.write(&mut out, "returnval");
    out
}

/// What is written already, as what a call returns.
pub(crate) fn wrap(content: &str) -> String {
    format!("<returnval>{content}</returnval>")
}
