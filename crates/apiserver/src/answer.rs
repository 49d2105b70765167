//! From an HTTP request to an HTTP response.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    Server, Status,
    body::Body,
    discovery, json,
    negotiate::{self, Encoding, Format},
    object::{Key, Object},
    openapi,
    operation::{
        Action, DeleteOptions, FieldValidation, Operation, Outcome, PatchKind, Propagation,
    },
    options::{self, ListOptions, Query},
    read::{self, Filter},
    record::Call,
    registry::{Kind, Registry, Rules, Version},
    review,
    route::{self, ResourceRoute, Route},
    subresource,
    table::Include,
    view::View,
    watch,
    write::text,
};

impl Server {
    /// Answers a request. Everything but a watch is answered at once; a watch is a body that goes
    /// on.
    pub fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let route = route::parse(request.uri().path());
        let registry = Arc::clone(&self.state().registry);
        if let Some(response) = non_resource(&registry, &route, request, accept) {
            return response;
        }
        let Route::Resource(route) = route else { return page_not_found() };
        match self.resource(&registry, &route, request, &query, accept) {
            Ok(response) => response,
            Err(Refused::Status(status)) => refusal(&status),
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
        if !registry.versions_of(route.group).contains(&route.version) {
            return Err(Refused::NoSuchPath);
        }
        let kind = registry.find(route.group, route.plural).ok_or_else(Status::no_such_resource)?;
        let version_at = kind
            .versions
            .iter()
            .position(|version| version.served && &*version.name == route.version)
            .ok_or_else(Status::no_such_resource)?;
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
        let warnings = exchange.deprecation();
        exchange.answer().or_else(|status| {
            let mut response = refusal(&status);
            warn(response.headers_mut(), warnings);
            Ok(response)
        })
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

/// One request about objects.
struct Exchange<'a> {
    server: &'a Server,
    route: &'a ResourceRoute<'a>,
    kind: &'a Arc<Kind>,
    version_at: usize,
    request: &'a Request<Bytes>,
    query: &'a Query,
    caller: &'a str,
    accept: Option<&'a str>,
}

impl Exchange<'_> {
    fn version(&self) -> &Version {
        &self.kind.versions[self.version_at]
    }

    fn answer(&self) -> Result<Response<Body>, Status> {
        let verb = self.verb().ok_or_else(Status::method_not_allowed)?;
        let allowed = match self.route.subresource {
            None => self.version().verbs.iter().any(|known| **known == *verb),
            Some(name) => {
                let subresource =
                    self.version().subresource(name).ok_or_else(Status::no_such_resource)?;
                subresource.verbs.iter().any(|known| **known == *verb)
            }
        };
        if self.route.too_deep {
            return Err(Status::no_such_resource());
        }
        if !allowed {
            return Err(Status::method_not_allowed());
        }
        let format = negotiate::negotiate(self.accept)?;
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

    fn verb(&self) -> Option<&'static str> {
        let named = self.route.name.is_some();
        Some(match *self.request.method() {
            Method::GET if named && !self.route.watch => "get",
            Method::GET if self.route.watch || self.query.is_on("watch") => "watch",
            Method::GET => "list",
            Method::POST if named && self.route.subresource.is_none() => return None,
            Method::POST => "create",
            Method::PUT if named => "update",
            Method::PATCH if named => "patch",
            Method::DELETE if named => "delete",
            Method::DELETE => "deletecollection",
            _ => return None,
        })
    }

    fn key(&self) -> Key {
        Key::new(self.route.namespace.unwrap_or_default(), self.route.name.unwrap_or_default())
    }

    fn view(&self, format: Format) -> Result<View, Status> {
        Ok(View {
            kind: Arc::clone(self.kind),
            version: self.version_at,
            shape: format.shape,
            include: Include::parse(self.query.get("includeObject"))?,
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
            return Ok(self.whole(StatusCode::OK, format, scale, &[]));
        }
        if matches!(
            self.route.subresource,
            Some("log" | "exec" | "attach" | "portforward" | "proxy")
        ) {
            return Err(no_containers(&key.name));
        }
        Ok(self.object(StatusCode::OK, format, &object, self.deprecation()))
    }

    fn get_object(&self, key: &Key) -> Result<Arc<Object>, Status> {
        let state = self.server.state();
        if let Some(version) = self.query.get("resourceVersion") {
            let asked = read::parse_version(version)
                .map_err(|error| Status::plain(500, "", error.to_string()))?;
            if asked > state.store.version() {
                return Err(read::version_too_large(asked, state.store.version()));
            }
        }
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
            listed.map(|listed| read::list_body(&view, listed, now))
        };
        if let Err(status) = &body {
            call.refuse(status);
        }
        self.server.record(&call);
        let warnings = self.deprecation();
        Ok(respond(StatusCode::OK, format.encoding, body?, warnings))
    }

    fn create(&self, format: Format) -> Result<Response<Body>, Status> {
        let (dry_run, validation) = self.write_options("CreateOptions")?;
        let parsed = self.parse_body()?;
        if let Some(answer) = review::answer(self.kind, &parsed.value) {
            return Ok(self.whole(StatusCode::CREATED, format, answer?, &[]));
        }
        let mut operation = self.operation(Action::Create(parsed.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, parsed.duplicates)?;
        Ok(self.written(StatusCode::CREATED, format, &outcome))
    }

    fn update(&self, format: Format) -> Result<Response<Body>, Status> {
        let (dry_run, validation) = self.write_options("UpdateOptions")?;
        let parsed = self.parse_body()?;
        let mut operation = self.operation(Action::Update(parsed.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, parsed.duplicates)?;
        Ok(self.written(StatusCode::OK, format, &outcome))
    }

    fn patch(&self, format: Format) -> Result<Response<Body>, Status> {
        let kind = self.patch_kind()?;
        let (dry_run, validation) = self.write_options("PatchOptions")?;
        self.check_patch_options(kind)?;
        let parsed = self.parse_patch(kind)?;
        let mut operation = self.operation(Action::Patch(kind, parsed.value));
        operation.dry_run = dry_run;
        operation.field_validation = validation;
        let outcome = self.server.execute_noting(self.caller, operation, parsed.duplicates)?;
        Ok(self.written(StatusCode::OK, format, &outcome))
    }

    fn delete(&self, format: Format) -> Result<Response<Body>, Status> {
        let (options, dry_run) = self.delete_options()?;
        let mut operation = self.operation(Action::Delete(options));
        operation.dry_run = dry_run;
        let outcome = self.server.execute(self.caller, operation)?;
        Ok(self.written(StatusCode::OK, format, &outcome))
    }

    fn delete_collection(&self, format: Format) -> Result<Response<Body>, Status> {
        let (options, dry_run) = self.delete_options()?;
        let list = ListOptions { watch: false, ..ListOptions::parse(self.query, false)? };
        let view = self.view(format)?;
        let filter = Filter::parse(&view, self.route.namespace, None, &list)?;
        let listed = read::list(&self.server.state().store, &view, &filter, &list)?;
        let mut deleted = Vec::with_capacity(listed.objects.len());
        for object in &listed.objects {
            let mut operation = self.operation(Action::Delete(options.clone()));
            operation.key = object.key.clone();
            operation.dry_run = dry_run;
            match self.server.execute(self.caller, operation) {
                Ok(outcome) => deleted.extend(outcome.object),
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let version = self.server.version();
        let listed = read::Listed { version, objects: deleted, next: None };
        let body = read::list_body(&view, listed, self.server.clock().now());
        Ok(respond(StatusCode::OK, format.encoding, body, self.deprecation()))
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

    /// What all writes may say in their query: whether nothing is to be stored, and what happens
    /// to fields that the kind does not have.
    fn write_options(&self, options: &str) -> Result<(bool, FieldValidation), Status> {
        let mut errors = Vec::new();
        let values: Vec<&str> = self.query.all("dryRun").collect();
        errors.extend(options::dry_run_error(&values));
        if let Some(manager) = self.query.get("fieldManager") {
            errors.extend(joiner_schema::meta::validate_field_manager(manager, "fieldManager"));
        }
        match self.query.field_validation() {
            Ok(validation) if errors.is_empty() => return Ok((!values.is_empty(), validation)),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
        Err(options::invalid_options(options, &errors))
    }

    fn check_patch_options(&self, kind: PatchKind) -> Result<(), Status> {
        use joiner_schema::FieldError;
        let apply = matches!(kind, PatchKind::Apply { .. });
        let error = if apply && self.query.get("fieldManager").is_none() {
            FieldError::required("fieldManager", "is required for apply patch")
        } else if !apply && self.query.get("force").is_some() {
            FieldError::forbidden("force", "may not be specified for non-apply patch")
        } else {
            return Ok(());
        };
        Err(options::invalid_options("PatchOptions", &[error]))
    }

    fn patch_kind(&self) -> Result<PatchKind, Status> {
        let custom = matches!(self.version().rules, Rules::Custom(_));
        match media_type(self.request.headers()) {
            "application/json-patch+json" => Ok(PatchKind::Json),
            "application/merge-patch+json" => Ok(PatchKind::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
            "application/apply-patch+yaml" => {
                Ok(PatchKind::Apply { force: self.query.is_on("force") })
            }
            "application/strategic-merge-patch+json" => Err(Status::plain(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/apply-patch+yaml",
            )),
            _ => {
                let details = Some(crate::Details::default());
                let status =
                    Status::plain(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                Err(Status { details, ..status })
            }
        }
    }

    fn parse_patch(&self, kind: PatchKind) -> Result<json::Parsed, Status> {
        let body = self.request.body();
        match kind {
            PatchKind::Apply { .. } => parse_yaml(body)
                .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}"))),
            PatchKind::Strategic => json::parse(body).map_err(Status::bad_request),
            PatchKind::Json | PatchKind::Merge => json::parse(body)
                .map_err(|why| Status::bad_request(format!("error decoding patch: {why}"))),
        }
    }

    /// Reads the body of a create or an update.
    fn parse_body(&self) -> Result<json::Parsed, Status> {
        let body = self.request.body();
        let parsed = match media_type(self.request.headers()) {
            "" | "application/json" => json::parse(body)
                .map_err(|why| format!("couldn't get version/kind; json parse error: {why}")),
            "application/yaml" => parse_yaml(body),
            "application/vnd.kubernetes.protobuf" if self.speaks_protobuf() => {
                joiner_kinds::from_protobuf(body)
                    .map(|value| json::Parsed { value, duplicates: Vec::new() })
                    .map_err(|why| format!("the protobuf {why}"))
            }
            _ => {
                return Err(Status::plain(
                    415,
                    "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types \
                     include: application/json, application/yaml",
                ));
            }
        };
        let refuse = |why: String| {
            let kind =
                match self.route.subresource.and_then(|name| self.version().subresource(name)) {
                    Some(subresource) => &subresource.kind,
                    None => &self.kind.kind,
                };
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({})",
                summary(body)
            ))
        };
        let mut parsed = parsed.map_err(refuse)?;
        match &parsed.value {
            Value::Object(_) => {}
            Value::Null => parsed.value = json!({}),
            other => return Err(refuse(not_an_object(other))),
        }
        Ok(parsed)
    }

    /// Whether bodies may be in protobuf, which the types of custom resources do not have. Their
    /// options do.
    fn speaks_protobuf(&self) -> bool {
        matches!(self.version().rules, Rules::BuiltIn(_)) || self.request.method() == Method::DELETE
    }

    fn delete_options(&self) -> Result<(DeleteOptions, bool), Status> {
        let body = self.request.body();
        let value = if body.is_empty() { json!({}) } else { self.parse_body()?.value };
        let kind = text(&value, "/kind");
        if !matches!(kind, "" | "DeleteOptions") {
            let version = text(&value, "/apiVersion");
            let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
            return Err(Status::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \
                 \"pkg/runtime/scheme.go:111\""
            )));
        }
        let policy = match text(&value, "/propagationPolicy") {
            "" => self.query.get("propagationPolicy").unwrap_or_default(),
            given => given,
        };
        let propagation = match policy {
            "" if value["orphanDependents"] == true => Some(Propagation::Orphan),
            "" => None,
            "Foreground" => Some(Propagation::Foreground),
            "Background" => Some(Propagation::Background),
            "Orphan" => Some(Propagation::Orphan),
            other => {
                let error = joiner_schema::FieldError::not_supported(
                    "propagationPolicy",
                    other,
                    &["Foreground", "Background", "Orphan", "nil"],
                );
                return Err(options::invalid_options("DeleteOptions", &[error]));
            }
        };
        let grace = match value["gracePeriodSeconds"].as_i64() {
            None => self.query.integer("gracePeriodSeconds")?,
            given => given,
        };
        let in_body: Vec<&str> =
            value["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let values: Vec<&str> =
            if in_body.is_empty() { self.query.all("dryRun").collect() } else { in_body };
        if let Some(error) = options::dry_run_error(&values) {
            return Err(options::invalid_options("DeleteOptions", &[error]));
        }
        let options = DeleteOptions {
            grace_period_seconds: grace,
            uid: value["preconditions"]["uid"].as_str().map(Into::into),
            resource_version: value["preconditions"]["resourceVersion"].as_str().map(Into::into),
            propagation,
        };
        Ok((options, !values.is_empty()))
    }

    fn deprecation(&self) -> &[String] {
        &self.version().deprecation
    }

    /// The answer to a write.
    fn written(&self, usual: StatusCode, format: Format, outcome: &Outcome) -> Response<Body> {
        let code = if outcome.created { StatusCode::CREATED } else { usual };
        let mut warnings = self.deprecation().to_vec();
        warnings.extend(outcome.warnings.iter().cloned());
        match (&outcome.answer, &outcome.object) {
            (Some(answer), _) => self.whole(code, format, answer.clone(), &warnings),
            (None, Some(object)) => self.object(code, format, object, &warnings),
            (None, None) => self.whole(code, format, json!({}), &warnings),
        }
    }

    fn object(
        &self,
        code: StatusCode,
        format: Format,
        object: &Object,
        warnings: &[String],
    ) -> Response<Body> {
        match self.view(format) {
            Ok(view) => {
                let json = view.json(object, self.server.clock().now());
                respond(code, format.encoding, Body::whole(json), warnings)
            }
            Err(status) => refusal(&status),
        }
    }

    fn whole(
        &self,
        code: StatusCode,
        format: Format,
        value: Value,
        warnings: &[String],
    ) -> Response<Body> {
        respond(code, format.encoding, Body::whole(value.to_string()), warnings)
    }
}

/// Resources live in namespaces or they do not, and paths must say so.
fn check_scope(kind: &Kind, route: &ResourceRoute<'_>, method: &Method) -> Result<(), Status> {
    let needs_namespace = kind.namespaced
        && route.namespace.is_none()
        && (route.name.is_some() || method == Method::POST);
    if needs_namespace && route.name.is_none() && method == Method::POST {
        return Err(Status::method_not_allowed());
    }
    if needs_namespace || (!kind.namespaced && route.namespace.is_some()) {
        return Err(Status::no_such_resource());
    }
    Ok(())
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

/// The media type of a body without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let full = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    full.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

fn parse_yaml(text: &[u8]) -> Result<json::Parsed, String> {
    if let Ok(parsed) = json::parse(text) {
        return Ok(parsed);
    }
    let words = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    serde_saphyr::from_str(words)
        .map(|value| json::Parsed { value, duplicates: Vec::new() })
        .map_err(|error| format!("error converting YAML to JSON: yaml: {error}"))
}

/// The beginning of a body, as refusals quote it.
fn summary(body: &[u8]) -> String {
    const QUOTED_MAX: usize = 30;
    let cut = &body[..body.len().min(QUOTED_MAX)];
    let more = if body.len() > QUOTED_MAX { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(cut)),
        Some(_) => {
            let hex: String = cut.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

fn not_an_object(value: &Value) -> String {
    let what = match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        _ => "number",
    };
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value \
         of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// Containers of the laboratory run nothing that could say something.
fn no_containers(pod: &str) -> Status {
    Status::bad_request(format!(
        "containers of the laboratory run nothing: there is no log, shell or port of pod {pod:?}"
    ))
}

/// An answer in the usual form.
pub(crate) fn respond(
    code: StatusCode,
    encoding: Encoding,
    body: Body,
    warnings: &[String],
) -> Response<Body> {
    let (kind, body) = match encoding {
        Encoding::Json => ("application/json", body),
        Encoding::Yaml => ("application/yaml", body.into_yaml()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    warn(headers, warnings);
    response
}

/// Tells the caller what it should know.
fn warn(headers: &mut HeaderMap, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(header::WARNING, value);
        }
    }
}

/// A refusal.
pub fn refusal(status: &Status) -> Response<Body> {
    let body = Body::whole(status.to_json().to_string());
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(code, Encoding::Json, body, &[]);
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, retry.into());
    }
    response
}

fn page_not_found() -> Response<Body> {
    let mut response = Response::new(Body::whole("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
