//! The server: objects and rules behind one lock.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_kinds as kinds;
use serde_json::{Value, json};

use crate::{
    Caller, Feed, Status, custom,
    ids::Ids,
    input::Text,
    object::{Key, Object, Resource},
    operation::{Action, DeleteOptions, FieldValidation, Operation, Outcome},
    record::{Call, Recorder},
    registry::Registry,
    store::Store,
    write::{Request, request_value, text},
};

/// A Kubernetes API server; clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    clock: Clock,
    recorder: Option<Arc<dyn Recorder>>,
}

/// Everything that requests change.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Arc<Registry>,
    pub(crate) ids: Ids,
}

impl Server {
    /// A server with what every cluster has from its first moment: its namespaces and its own
    /// priority classes. Uids and generated names come from the seed.
    pub fn new(clock: Clock, seed: u64) -> Self {
        Self::recorded(clock, seed, None)
    }

    /// A server with a recorder of every call.
    pub fn recorded(clock: Clock, seed: u64, recorder: Option<Arc<dyn Recorder>>) -> Self {
        let mut state = State {
            store: Store::new(recorder.clone()),
            registry: Arc::new(Registry::built_in()),
            ids: Ids::new(seed),
        };
        for kind in state.registry.kinds() {
            state.store.ensure_table(&kind.storage);
        }
        let server = Self(Arc::new(Inner { state: Mutex::new(state), clock, recorder }));
        let caller = server.caller("kube-apiserver");
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"metadata": {"name": name}});
            caller
                .create(&Resource::new("", "namespaces"), namespace)
                .expect("the server accepts its own namespaces");
        }
        for class in kinds::system_priority_classes() {
            caller
                .create(&Resource::new("scheduling.k8s.io", "priorityclasses"), class)
                .expect("the server accepts its own priority classes");
        }
        server
    }

    /// A caller inside the process with this name.
    pub fn caller(&self, name: &str) -> Caller {
        Caller::new(self.clone(), name)
    }

    /// The clock that everything here goes by.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The version of the last change.
    pub fn version(&self) -> u64 {
        self.state().store.version()
    }

    /// The resource of the objects that say they are of this kind, and whether they live in
    /// namespaces; none when no such kind is served.
    pub fn resource_of(&self, api_version: &str, kind: &str) -> Option<(Resource, bool)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let registry = Arc::clone(&self.state().registry);
        let found = registry
            .kinds_of(group)
            .find(|known| &*known.kind == kind && known.served(version).is_some())?;
        Some((found.resource.clone(), found.namespaced))
    }

    /// Every object that is there, as added, and every change from now on.
    pub fn feed_with_past(&self) -> Feed {
        let now = self.0.clock.now();
        self.state().store.feed_with_past(now)
    }

    /// Carries out a request in the name of a caller.
    pub fn execute(&self, caller: &str, operation: Operation) -> Result<Outcome, Status> {
        self.execute_noting(caller, operation, &Text::default())
    }

    /// The same, where the text of the request is known.
    pub(crate) fn execute_noting(
        &self,
        caller: &str,
        operation: Operation,
        text: &Text,
    ) -> Result<Outcome, Status> {
        let now = self.0.clock.now();
        let mut state = self.state();
        let call = self.0.recorder.as_ref().map(|_| Call::of(&operation, caller, now));
        let result = state.execute(caller, now, operation, text);
        if let Some(mut call) = call {
            call.finish(&result);
            self.record(&call);
        }
        result
    }

    /// Tells the recorder about a call. The caller holds the lock, so calls are told in the order
    /// in which they took effect.
    pub(crate) fn record(&self, call: &Call) {
        if let Some(recorder) = &self.0.recorder {
            recorder.call(call);
        }
    }

    pub(crate) fn peek(&self, resource: &Resource, key: &Key) -> Option<Arc<Object>> {
        self.state().store.get(resource, key).cloned()
    }

    pub(crate) fn peek_all(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Vec<Arc<Object>> {
        let state = self.state();
        let Some(table) = state.store.table(resource) else { return Vec::new() };
        table.range(namespace, None).cloned().collect()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn execute(
        &mut self,
        caller: &str,
        now: Timestamp,
        operation: Operation,
        text: &Text,
    ) -> Result<Outcome, Status> {
        let registry = Arc::clone(&self.registry);
        let kind = registry.get(&operation.resource).ok_or_else(Status::no_such_resource)?;
        let version = match &operation.version {
            Some(name) => kind.served(name).ok_or_else(Status::no_such_resource)?,
            None => kind.stored(),
        };
        let manager = operation.field_manager.as_deref().unwrap_or_else(|| manager_of(caller));
        let (warnings, unsettled, empty) =
            (RefCell::default(), Cell::default(), RefCell::default());
        let request = Request {
            kind,
            version,
            warnings: &warnings,
            unsettled: &unsettled,
            empty: &empty,
            key: &operation.key,
            subresource: operation.subresource.as_deref(),
            manager,
            now,
            dry_run: operation.dry_run,
            validation: operation.field_validation,
        };
        let result = self.carry_out(&request, operation.action, text);
        let warnings = warnings.take();
        match result {
            Ok(outcome) => Ok(Outcome { warnings, ..outcome }),
            Err(status) => Err(Status { warnings, ..status }),
        }
    }

    fn carry_out(
        &mut self,
        request: &Request<'_>,
        action: Action,
        text: &Text,
    ) -> Result<Outcome, Status> {
        match (request.subresource, action) {
            (Some("scale"), Action::Update(scale)) => self.set_scale(request, scale),
            (Some("scale"), Action::Patch(kind, patch)) => self.patch_scale(request, kind, &patch),
            (Some("eviction"), Action::Create(eviction)) => self.evict(request, &eviction),
            (Some("binding"), Action::Create(binding)) => self.bind(request, &binding),
            (Some("token"), Action::Create(review)) => self.token(request, review),
            (Some(_), Action::Create(_) | Action::Delete(_)) => Err(Status::method_not_allowed()),
            (_, Action::Create(object)) => self.create(request, object, text),
            (_, Action::Update(object)) => self.update(request, object, text),
            (_, Action::Patch(kind, patch)) => self.patch(request, kind, &patch, text),
            (_, Action::Delete(options)) => self.delete(request, &options),
        }
    }

    /// What must happen after an object was written: definitions take effect.
    pub(crate) fn after_write(
        &mut self,
        request: &Request<'_>,
        stored: Arc<Object>,
    ) -> Arc<Object> {
        if request.kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            if stored.deleting {
                self.clean_up_definition(request, &stored);
            } else if request.subresource.is_none() {
                self.establish(request, &stored);
            }
        }
        stored
    }

    /// Serves what a definition describes, and says so in its status.
    fn establish(&mut self, request: &Request<'_>, stored: &Object) {
        let mut definition = request_value(request, stored);
        let serves = custom::accept_names(&self.registry, &mut definition, &request.time());
        if serves && let Some(kind) = custom::kind_of(&definition) {
            self.store.ensure_table(&kind.storage);
            Arc::make_mut(&mut self.registry).insert(kind);
        }
        let write = Request {
            key: &stored.key,
            subresource: Some("status"),
            manager: "kube-apiserver",
            dry_run: false,
            validation: FieldValidation::Ignore,
            ..*request
        };
        self.update(&write, definition, &Text::default())
            .expect("the server accepts its own status of a definition");
    }

    /// Deletes the objects of a definition that goes, and lets the definition go when they are.
    fn clean_up_definition(&mut self, request: &Request<'_>, stored: &Object) {
        let mut definition = request_value(request, stored);
        let resource = custom::described(&definition);
        let registry = Arc::clone(&self.registry);
        if let Some(kind) = registry.get(&resource) {
            let keys: Vec<Key> = self
                .store
                .table(&kind.storage)
                .into_iter()
                .flat_map(|table| table.range(None, None).map(|object| object.key.clone()))
                .collect();
            for key in keys {
                let delete = Request {
                    kind,
                    version: kind.stored(),
                    key: &key,
                    subresource: None,
                    ..*request
                };
                // Objects with a finalizer stay, and keep the definition.
                let _ = self.delete(&delete, &DeleteOptions::default());
            }
        }
        self.release_definition(request, &mut definition, &resource);
    }

    fn release_definition(
        &mut self,
        request: &Request<'_>,
        definition: &mut Value,
        resource: &Resource,
    ) {
        if self.store.table(resource).is_some_and(|table| table.len() > 0) {
            return;
        }
        let finalizers = definition["metadata"]["finalizers"].as_array_mut();
        if let Some(finalizers) = finalizers {
            finalizers.retain(|finalizer| finalizer != custom::CLEANUP_FINALIZER);
        }
        let main = Request {
            subresource: None,
            manager: "kube-apiserver",
            dry_run: false,
            validation: FieldValidation::Ignore,
            ..*request
        };
        let outcome = self.update(&main, definition.clone(), &Text::default());
        if outcome.is_ok_and(|outcome| outcome.deleted) {
            Arc::make_mut(&mut self.registry).remove(resource);
            self.store.drop_table(resource);
        }
    }

    /// The endpoints of a service go with it.
    fn remove_endpoints(&mut self, request: &Request<'_>, service: &Object) {
        let Some(kind) = self.registry.get(&Resource::new("", "endpoints")).cloned() else {
            return;
        };
        let endpoints = Request {
            kind: &kind,
            version: kind.stored(),
            key: &service.key,
            subresource: None,
            ..*request
        };
        // There may be none, which is as well.
        let _ = self.delete(&endpoints, &DeleteOptions::default());
    }

    /// What must happen after an object is gone: endpoints go with their service, and a definition
    /// that waited for it may go too.
    pub(crate) fn after_removal(&mut self, request: &Request<'_>, gone: &Object) {
        if request.kind.is("", "Service") && !request.custom() {
            self.remove_endpoints(request, gone);
        }
        if matches!(request.version.rules, crate::registry::Rules::BuiltIn(_)) {
            return;
        }
        let name = format!("{}.{}", request.kind.resource.plural, request.kind.resource.group);
        let definitions = custom::definitions();
        let key = Key::new("", &name);
        let waiting = self.store.get(&definitions, &key).filter(|found| found.deleting).cloned();
        let (Some(found), Some(kind)) = (waiting, self.registry.get(&definitions).cloned()) else {
            return;
        };
        let release = Request {
            kind: &kind,
            version: kind.stored(),
            key: &key,
            subresource: None,
            ..*request
        };
        debug_assert!(gone.key.name.len() <= 253, "names were checked when it was created");
        let mut definition = request_value(&release, &found);
        self.release_definition(&release, &mut definition, &request.kind.resource);
    }

    pub(crate) fn world(&mut self, now: Timestamp) -> World<'_> {
        World { store: &self.store, ids: RefCell::new(&mut self.ids), now }
    }
}

/// The manager that a caller without one is recorded as: its user agent up to the slash.
fn manager_of(caller: &str) -> &str {
    const MANAGER_MAX: usize = 128;
    let name = caller.split('/').next().unwrap_or_default();
    let end = name.char_indices().map(|(at, _)| at).take_while(|at| *at <= MANAGER_MAX).last();
    if name.len() > MANAGER_MAX { &name[..end.unwrap_or(0)] } else { name }
}

/// What preparing an object may have to know beside the object.
pub(crate) struct World<'a> {
    store: &'a Store,
    ids: RefCell<&'a mut Ids>,
    now: Timestamp,
}

impl kinds::World for World<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn user(&self) -> kinds::User {
        kinds::User {
            name: "admin".to_owned(),
            uid: "admin".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        }
    }

    fn priority_class(&self, name: &str) -> Option<Value> {
        let classes = Resource::new("scheduling.k8s.io", "priorityclasses");
        Some((*self.store.get(&classes, &Key::new("", name))?.shared()).clone())
    }

    fn default_priority_class(&self) -> Option<Value> {
        let classes = Resource::new("scheduling.k8s.io", "priorityclasses");
        let classes = self.store.table(&classes)?.range(None, None);
        classes
            .map(|class| class.shared())
            .filter(|class| class["globalDefault"] == true)
            .min_by_key(|class| class["value"].as_i64())
            .map(Arc::unwrap_or_clone)
    }

    fn runtime_class(&self, name: &str) -> Option<Value> {
        let classes = Resource::new("node.k8s.io", "runtimeclasses");
        Some(self.store.get(&classes, &Key::new("", name))?.value())
    }

    fn default_storage_class(&self) -> Option<String> {
        const MARK: &str = "storageclass.kubernetes.io/is-default-class";
        let classes = Resource::new("storage.k8s.io", "storageclasses");
        let classes = self.store.table(&classes)?.range(None, None);
        // The newest wins; among equally old ones the first by name.
        classes
            .map(|class| class.value())
            .filter(|class| class["metadata"]["annotations"][MARK] == "true")
            .max_by(|a, b| {
                let age = |class: &Value| text(class, "/metadata/creationTimestamp").to_owned();
                let name = |class: &Value| text(class, "/metadata/name").to_owned();
                age(a).cmp(&age(b)).then_with(|| name(b).cmp(&name(a)))
            })
            .map(|class| text(&class, "/metadata/name").to_owned())
    }

    fn allocate_cluster_ip(&self) -> String {
        // 10.96.0.0/16, as kubeadm has it. Two services may be given the same address: nothing
        // in the laboratory sends packets.
        let number = self.ids.borrow_mut().below(65_000) + 10;
        format!("10.96.{}.{}", number >> 8, number & 0xff)
    }

    fn allocate_node_port(&self) -> u16 {
        30_000 + self.ids.borrow_mut().below(2_768) as u16
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server at version {}", self.version())
    }
}
