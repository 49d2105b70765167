//! From an HTTP request to an HTTP response.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::{
    Server, Status,
    body::Body,
    discovery,
    negotiate::{self, Endpoint, Format, Shape},
    object::{Key, Object},
    openapi,
    operation::{Action, FieldValidation, Operation, Outcome},
    options::{ListOptions, Query},
    read::{self, Filter},
    record::Call,
    registry::{Kind, Registry, Rules, Version},
    respond::{page_not_found, refusal_in, respond},
    route::{self, ResourceRoute, Route},
    subresource,
    table::Include,
    view::View,
    watch,
};

impl Server {
    /// Answers a request. Everything but a watch is answered at once; a watch is a body that goes
    /// on.
    pub fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let path = percent_decode_str(request.uri().path()).decode_utf8_lossy();
        let route = route::parse(&path);
        let registry = Arc::clone(&self.state().registry);
        if let Some(response) = non_resource(&registry, &route, request, accept) {
            return response;
        }
        let Route::Resource(route) = route else { return page_not_found() };
        match self.resource(&registry, &route, request, &query, accept) {
            Ok(response) => response,
            Err(Refused::Status(status)) => {
                refusal_in(negotiate::refusal_encoding(accept), &status, &[])
            }
            Err(Refused::NoSuchPath) => page_not_found(),
        }
    }

    fn resource(
        &self,
        registry: &Registry,
        route: &ResourceRoute<'_>,
        request: &Request<Bytes>,
        query: &Query,
        accept: Option<&str>,
    ) -> Result<Response<Body>, Refused> {
        let kind = registry.find(route.group, route.plural);
        let served = kind.and_then(|kind| {
            let mut versions = kind.versions.iter();
            versions.position(|version| version.served && &*version.name == route.version)
        });
        let (Some(kind), Some(version_at)) = (kind, served) else {
            return Err(nothing_there(registry, route));
        };
        check_scope(kind, route, request.method())?;
        let exchange = Exchange {
            server: self,
            route,
            kind,
            version_at,
            request,
            query,
            caller: user_agent(request.headers()),
            accept,
        };
        Ok(exchange.answer().unwrap_or_else(|status| {
            let mut warnings = Vec::new();
            if !status.is_about_nothing() {
                warnings.extend(exchange.deprecation().iter().cloned());
            }
            warnings.extend(status.warnings.iter().cloned());
            refusal_in(negotiate::refusal_encoding(accept), &status, &warnings)
        }))
    }
}

/// Why there is no answer of the usual form.
enum Refused {
    Status(Status),
    /// Nothing is there, not even an API that could say so.
    NoSuchPath,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// The refusal of an unknown resource. Only built-in groups have a status for it.
fn nothing_there(registry: &Registry, route: &ResourceRoute<'_>) -> Refused {
    let mut kinds = registry.kinds_of(route.group);
    if kinds.any(|kind| matches!(kind.stored().rules, Rules::BuiltIn(_))) {
        Refused::Status(Status::no_such_resource())
    } else {
        Refused::NoSuchPath
    }
}

/// One request about objects.
pub(crate) struct Exchange<'a> {
    pub(crate) server: &'a Server,
    pub(crate) route: &'a ResourceRoute<'a>,
    pub(crate) kind: &'a Arc<Kind>,
    version_at: usize,
    pub(crate) request: &'a Request<Bytes>,
    pub(crate) query: &'a Query,
    caller: &'a str,
    accept: Option<&'a str>,
}

impl Exchange<'_> {
    pub(crate) fn version(&self) -> &Version {
        &self.kind.versions[self.version_at]
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.version().rules, Rules::Custom(_))
    }

    fn answer(&self) -> Result<Response<Body>, Status> {
        let verb = self.verb()?;
        match self.route.subresource {
            None => {
                if !self.version().verbs.iter().any(|known| **known == *verb) {
                    return Err(Status::method_not_allowed());
                }
            }
            Some(name) => {
                let subresource = self.version().subresource(name).ok_or_else(|| self.no_part())?;
                if self.route.too_deep {
                    return Err(self.no_part());
                }
                if !subresource.verbs.iter().any(|known| **known == *verb) {
                    return Err(self.method_not_supported(verb));
                }
            }
        }
        if verb == "patch" {
            self.check_patch_type()?;
        }
        if matches!(verb, "update" | "patch") && self.route.name.is_none() {
            return Err(Status::bad_request("name must be provided"));
        }
        let lists = matches!(verb, "list" | "watch");
        let format =
            negotiate::negotiate(self.accept, Endpoint { built_in: !self.is_custom(), lists })?;
        match verb {
            "get" => self.get(format),
            "list" | "watch" => self.list(format),
            "create" => self.create(format),
            "update" => self.update(format),
            "patch" => self.patch(format),
            "delete" => self.delete(format),
            _ => self.delete_collection(format),
        }
    }

    /// What is asked for. Endpoints of custom resources only look at the method, and at the name
    /// where the method leaves a choice.
    fn verb(&self) -> Result<&'static str, Status> {
        let named = self.route.name.is_some();
        let custom = self.is_custom();
        let method = match *self.request.method() {
            Method::HEAD if custom => &Method::GET,
            ref method => method,
        };
        Ok(match *method {
            Method::GET if named && !self.route.watch => "get",
            Method::GET if self.route.watch || self.query.is_on("watch") => "watch",
            Method::GET => "list",
            Method::POST if named && self.route.subresource.is_none() && !custom => {
                return Err(Status::method_not_allowed());
            }
            Method::POST => "create",
            Method::PUT if named || custom => "update",
            Method::PATCH if named || custom => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => return Err(self.method_not_supported("")),
        })
    }

    fn method_not_supported(&self, verb: &str) -> Status {
        if !self.is_custom() {
            return Status::method_not_allowed();
        }
        let resource = &self.kind.resource;
        Status::method_not_supported(&resource.group, &resource.plural, verb)
    }

    fn no_part(&self) -> Status {
        if !self.is_custom() {
            return Status::no_such_resource();
        }
        let resource = &self.kind.resource;
        let name = self.route.name.unwrap_or_default();
        Status::not_found(&resource.group, &resource.plural, name)
    }

    pub(crate) fn key(&self) -> Key {
        Key::new(self.route.namespace.unwrap_or_default(), self.route.name.unwrap_or_default())
    }

    fn view(&self, format: Format) -> Result<View, Status> {
        Ok(View {
            kind: Arc::clone(self.kind),
            version: self.version_at,
            shape: format.shape,
            include: match format.shape {
                Shape::Table => Include::parse(self.query.get("includeObject"))?,
                _ => Include::default(),
            },
        })
    }

    fn get(&self, format: Format) -> Result<Response<Body>, Status> {
        let now = self.server.clock().now();
        let key = self.key();
        let mut call = Call::reading("get", &self.kind.resource, key.clone(), self.caller, now);
        call.subresource = self.route.subresource.map(Into::into);
        let result = self.get_object(&key);
        if let Err(status) = &result {
            call.refuse(status);
        }
        self.server.record(&call);
        let object = result?;
        if self.route.subresource == Some("scale") {
            let scale = subresource::scale_of(self.kind, self.version(), &object)?;
            return Ok(whole(StatusCode::OK, format, &scale, self.deprecation()));
        }
        if matches!(
            self.route.subresource,
            Some("log" | "exec" | "attach" | "portforward" | "proxy")
        ) {
            return Err(no_containers(&key.name));
        }
        self.object(StatusCode::OK, format, &object, self.deprecation())
    }

    pub(crate) fn get_object(&self, key: &Key) -> Result<Arc<Object>, Status> {
        let state = self.server.state();
        if let Some(version) = self.query.get("resourceVersion") {
            let asked = read::parse_version(version).map_err(|error| {
                if &*self.kind.kind == "Event" && !self.is_custom() {
                    // Events are read from the store, which words it differently.
                    Status::bad_request(format!("invalid resource version: {error}"))
                } else {
                    Status::plain(500, "", error.to_string())
                }
            })?;
            if asked > state.store.version() {
                return Err(read::version_too_large(asked, state.store.version()));
            }
        }
        read::check_name(key)?;
        state.store.get(&self.kind.storage, key).cloned().ok_or_else(|| {
            let resource = &self.kind.resource;
            Status::not_found(&resource.group, &resource.plural, &key.name)
        })
    }

    fn list(&self, format: Format) -> Result<Response<Body>, Status> {
        let options = ListOptions::parse(self.query, self.route.watch)?;
        let view = self.view(format)?;
        let filter = Filter::parse(&view, self.route.namespace, self.route.name, &options)?;
        let verb = if options.watch { "watch" } else { "list" };
        let now = self.server.clock().now();
        let key = self.key();
        let mut call = Call::reading(verb, &self.kind.resource, key, self.caller, now);
        let body = if options.watch {
            watch::open(self.server, view, filter, &options).map(Body::stream)
        } else {
            let state = self.server.state();
            let listed = read::list(&state.store, &view, &filter, &options);
            drop(state);
            listed.and_then(|listed| read::list_body(&view, listed, now))
        };
        if let Err(status) = &body {
            call.refuse(status);
        }
        self.server.record(&call);
        let warnings = self.deprecation();
        Ok(respond(StatusCode::OK, format.encoding, body?, warnings))
    }

    fn create(&self, format: Format) -> Result<Response<Body>, Status> {
        self.check_body_type()?;
        self.check_body_size()?;
        let (dry_run, validation) = self.write_options("CreateOptions")?;
        let given = self.parse_body(validation)?;
        let mut operation = self.operation(Action::Create(given.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, &given.text)?;
        self.written(StatusCode::CREATED, format, &outcome)
    }

    fn update(&self, format: Format) -> Result<Response<Body>, Status> {
        self.check_body_size()?;
        let (dry_run, validation) = self.write_options("UpdateOptions")?;
        self.check_body_type()?;
        let given = self.parse_body(validation)?;
        let mut operation = self.operation(Action::Update(given.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, &given.text)?;
        self.written(StatusCode::OK, format, &outcome)
    }

    fn patch(&self, format: Format) -> Result<Response<Body>, Status> {
        self.check_body_size()?;
        let kind = self.patch_kind()?;
        let (dry_run, validation) = self.patch_options(kind)?;
        let given = self.parse_patch(kind, validation)?;
        let mut operation = self.operation(Action::Patch(kind, given.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, &given.text)?;
        self.written(StatusCode::OK, format, &outcome)
    }

    fn delete(&self, format: Format) -> Result<Response<Body>, Status> {
        let (options, dry_run) = self.delete_options()?;
        let cascades = options.cascades;
        let mut operation = self.operation(Action::Delete(options.options));
        operation.dry_run = dry_run;
        let outcome = self.server.execute(self.caller, operation)?;
        let code = if cascades && !outcome.deleted { StatusCode::ACCEPTED } else { StatusCode::OK };
        self.written(code, format, &outcome)
    }

    fn delete_collection(&self, format: Format) -> Result<Response<Body>, Status> {
        let list = ListOptions { watch: false, ..ListOptions::parse(self.query, false)? };
        let view = self.view(format)?;
        let filter = Filter::parse(&view, self.route.namespace, None, &list)?;
        let (options, dry_run) = self.delete_options()?;
        let listed = read::list(&self.server.state().store, &view, &filter, &list)?;
        if self.route.empty_namespace && !listed.objects.is_empty() {
            return Err(Status::bad_request("Namespace parameter required."));
        }
        let mut deleted = Vec::with_capacity(listed.objects.len());
        let mut warnings = self.deprecation().to_vec();
        warnings.extend(crate::delete::orphan_warning(self.kind, &options.options));
        for object in &listed.objects {
            let mut operation = self.operation(Action::Delete(options.options.clone()));
            operation.key = object.key.clone();
            operation.dry_run = dry_run;
            match self.server.execute(self.caller, operation) {
                Ok(outcome) => {
                    deleted.push(Arc::clone(object));
                    for warning in outcome.warnings {
                        if !warnings.contains(&warning) {
                            warnings.push(warning);
                        }
                    }
                }
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let listed = read::Listed { objects: deleted, ..listed };
        let body = read::list_body(&view, listed, self.server.clock().now())?;
        Ok(respond(StatusCode::OK, format.encoding, body, &warnings))
    }

    fn operation(&self, action: Action) -> Operation {
        Operation {
            resource: self.kind.resource.clone(),
            version: Some(self.version().name.as_ref().into()),
            key: self.key(),
            subresource: self.route.subresource.map(Into::into),
            action,
            dry_run: false,
            field_manager: self.query.get("fieldManager").map(Into::into),
            field_validation: FieldValidation::Warn,
        }
    }

    fn deprecation(&self) -> &[String] {
        &self.version().deprecation
    }

    /// The answer to a write.
    fn written(
        &self,
        usual: StatusCode,
        format: Format,
        outcome: &Outcome,
    ) -> Result<Response<Body>, Status> {
        let code = if outcome.created { StatusCode::CREATED } else { usual };
        let mut warnings = self.deprecation().to_vec();
        warnings.extend(outcome.warnings.iter().cloned());
        match (&outcome.answer, &outcome.object) {
            (Some(answer), _) => Ok(whole(code, format, answer, &warnings)),
            (None, Some(object)) => self.object(code, format, object, &warnings),
            (None, None) => Ok(whole(code, format, &json!({}), &warnings)),
        }
    }

    fn object(
        &self,
        code: StatusCode,
        format: Format,
        object: &Object,
        warnings: &[String],
    ) -> Result<Response<Body>, Status> {
        let view = self.view(format)?;
        if format.shape == Shape::MetadataList {
            return Err(view.not_a_list());
        }
        let json = view.json(object, self.server.clock().now());
        Ok(respond(code, format.encoding, Body::whole(json), warnings))
    }
}

fn whole(code: StatusCode, format: Format, value: &Value, warnings: &[String]) -> Response<Body> {
    respond(code, format.encoding, Body::whole(value.to_string()), warnings)
}

/// Resources live in namespaces or they do not, and paths must say so.
fn check_scope(kind: &Kind, route: &ResourceRoute<'_>, method: &Method) -> Result<(), Refused> {
    let custom = matches!(kind.stored().rules, Rules::Custom(_));
    // Lists and watches go over all namespaces; so may the deletion of a collection, in principle.
    // A new object with an empty namespace in its path is looked at before it is refused.
    let across = *method == Method::GET
        || *method == Method::DELETE
        || (route.empty_namespace && *method == Method::POST && !custom);
    let needs_namespace = kind.namespaced
        && route.namespace.is_none()
        && (route.name.is_some() || !across || (custom && *method != Method::GET));
    let misplaced = needs_namespace || (!kind.namespaced && route.namespace.is_some());
    if !misplaced {
        return Ok(());
    }
    if custom {
        return Err(Refused::NoSuchPath);
    }
    if needs_namespace && route.name.is_none() {
        return Err(Status::method_not_allowed().into());
    }
    Err(Status::no_such_resource().into())
}

fn non_resource(
    registry: &Registry,
    route: &Route<'_>,
    request: &Request<Bytes>,
    accept: Option<&str>,
) -> Option<Response<Body>> {
    if let Some(response) = discovery::answer(registry, route, request, accept) {
        return Some(response);
    }
    match route {
        Route::Other(path) => openapi::answer(registry, path, request, accept),
        _ => None,
    }
}

fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("unknown")
}

/// Containers of the laboratory run nothing that could say something.
fn no_containers(pod: &str) -> Status {
    Status::bad_request(format!(
        "containers of the laboratory run nothing: there is no log, shell or port of pod {pod:?}"
    ))
}
