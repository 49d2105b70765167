//! Parts of objects with endpoints of their own: scale, eviction, binding, tokens.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::SignedDuration;
use joiner_kinds as kinds;
use joiner_schema::selector::LabelSelector;
use serde_json::{Value, json};

use crate::{
    Resource, Status,
    custom::{at, set_at},
    decode,
    input::Text,
    object::{Key, Object},
    operation::{DeleteOptions, Outcome, PatchKind, Propagation},
    registry::{Kind, Rules, Version},
    rules,
    scaling::Scaling,
    server::State,
    status::Cause,
    stored::in_version,
    write::{Request, metadata_of, request_value, seconds, text},
};

/// How long a caller should wait before it tries an eviction again that a budget refused.
const EVICTION_RETRY_SECONDS: u32 = 0;

/// How many pods a budget remembers as evicted but not gone yet.
const DISRUPTED_PODS_MAX: usize = 2000;

/// Whether the budget of a pod counts its eviction.
#[derive(PartialEq, Eq)]
enum Counted {
    /// It does, or there is no budget.
    Yes,
    /// The pod is not healthy anyway.
    No,
}

impl State {
    /// Sets the scale of an object.
    pub(crate) fn set_scale(
        &mut self,
        request: &Request<'_>,
        scale: Value,
    ) -> Result<Outcome, Status> {
        let scale = read_scale(request, scale)?;
        rules::match_name(request, &scale)?;
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        rules::check_identity(request, &live.uid, &scale)?;
        self.rescale(request, &live, &scale)
    }

    /// Patches the scale of an object.
    pub(crate) fn patch_scale(
        &mut self,
        request: &Request<'_>,
        kind: PatchKind,
        patch: &Value,
    ) -> Result<Outcome, Status> {
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let (scale, _) = view_scale(request.kind, request.version, &live)?;
        let patched = match kind {
            PatchKind::Json => {
                joiner_patch::json_patch(&scale, patch).map(|patched| patched.document)
            }
            _ => joiner_patch::merge_patch(&scale, patch),
        };
        let mut scale = patched.map_err(crate::patching::refused)?;
        let shown = scale.to_string();
        kinds::normalize_kind("autoscaling", "v1", "Scale", &mut scale)
            .map_err(|error| decode::unfit_patch(&shown, error.to_string()))?;
        rules::match_name(request, &scale)?;
        self.rescale(request, &live, &scale)
    }

    /// Gives an object the number of replicas that a scale asks for.
    fn rescale(
        &mut self,
        request: &Request<'_>,
        live: &Arc<Object>,
        scale: &Value,
    ) -> Result<Outcome, Status> {
        let old = request_value(request, live);
        let mut new = old.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        let mut path = ".spec.replicas".to_owned();
        match &request.version.rules {
            Rules::BuiltIn(_) => kinds::set_scale(&mut new, scale).map_err(|error| {
                Status::invalid("autoscaling", "Scale", &request.key.name, &[error])
            })?,
            Rules::Custom(custom) => {
                let paths = custom.scale.as_ref().ok_or_else(Status::no_such_resource)?;
                set_at(&mut new, &paths.spec_replicas, replicas.into());
                path.clone_from(&paths.spec_replicas);
            }
        }
        let version = text(scale, "/metadata/resourceVersion").to_owned();
        if let Some(entries) = old.pointer("/metadata/managedFields").and_then(Value::as_array) {
            let scaling = Scaling {
                paths: scale_paths(request),
                version: &request.version.api_version,
                manager: request.manager,
                before: at(&old, &path).and_then(Value::as_i64).unwrap_or(0),
                after: replicas,
            };
            let managed = scaling.managed_fields(entries);
            metadata_of(&mut new).insert("managedFields".into(), managed.into());
        }
        if !version.is_empty() || !request.custom() {
            metadata_of(&mut new).insert("resourceVersion".into(), version.into());
        }
        let main = Request { subresource: None, ..*request };
        let outcome = self.replace(&main, live, &old, new)?;
        let scaled = outcome.object.as_ref();
        let answer =
            scaled.map(|object| view_scale(request.kind, request.version, object)).transpose()?;
        Ok(Outcome { answer: answer.map(|(scale, _)| scale), ..outcome })
    }

    /// Evicts a pod if its budgets allow it.
    pub(crate) fn evict(
        &mut self,
        request: &Request<'_>,
        eviction: &Value,
    ) -> Result<Outcome, Status> {
        check_part_type(eviction, ("policy", &["v1", "v1beta1"]), "Eviction")?;
        let given = text(eviction, "/metadata/name");
        if !given.is_empty() && given != &*request.key.name {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let mut pod = request_value(request, &live);
        let options = &eviction["deleteOptions"];
        let dry_run =
            request.dry_run || options["dryRun"].as_array().is_some_and(|d| !d.is_empty());
        let request = Request { subresource: None, dry_run, ..*request };
        let delete = DeleteOptions {
            grace_period_seconds: options["gracePeriodSeconds"].as_i64(),
            uid: options["preconditions"]["uid"].as_str().map(Into::into),
            resource_version: options["preconditions"]["resourceVersion"].as_str().map(Into::into),
            propagation: match options["propagationPolicy"].as_str() {
                Some("Foreground") => Some(Propagation::Foreground),
                Some("Orphan") => Some(Propagation::Orphan),
                Some("Background") => Some(Propagation::Background),
                _ => None,
            },
        };
        let ignores_budgets = live.deleting
            || matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed" | "Pending");
        let mut delete = delete;
        if !ignores_budgets && self.take_from_budget(&request, &pod)? == Counted::No {
            // The real server overwrites the version that the caller saw with the newest.
            delete.resource_version = None;
        }
        crate::delete::check_preconditions(&request, &pod, &delete)?;
        if !request.dry_run && mark_disrupted(&mut pod, &request.time()) {
            self.put(&request, pod)?;
        }
        let delete = DeleteOptions { resource_version: None, ..delete };
        let outcome = self.delete(&request, &delete)?;
        let answer = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        });
        Ok(Outcome { answer: Some(answer), created: true, ..outcome })
    }

    /// Counts an eviction against the pod's budget, or refuses it.
    fn take_from_budget(&mut self, request: &Request<'_>, pod: &Value) -> Result<Counted, Status> {
        let budgets = Resource::new("policy", "poddisruptionbudgets");
        let namespace = &request.key.namespace;
        let mut matching: Vec<Value> = Vec::new();
        if let Some(table) = self.store.table(&budgets) {
            for budget in table.range(Some(namespace), None) {
                let value = budget.value();
                let selector = LabelSelector::from_json(value.pointer("/spec/selector"));
                let labels = pod.pointer("/metadata/labels");
                if selector.is_ok_and(|selector| selector.matches_json(labels)) {
                    matching.push(value);
                }
            }
        }
        let mut budget = match matching.len() {
            0 => return Ok(Counted::Yes),
            1 => matching.remove(0),
            _ => {
                return Err(Status::plain(
                    500,
                    "",
                    "This pod has more than one PodDisruptionBudget, which the eviction \
                     subresource does not support.",
                ));
            }
        };
        if unhealthy_pod_may_go(&budget, pod) {
            return Ok(Counted::No);
        }
        spend(&mut budget, request)?;
        if request.dry_run {
            return Ok(Counted::Yes);
        }
        let name = text(&budget, "/metadata/name").to_owned();
        let kind = self
            .registry
            .get(&budgets)
            .cloned()
            .ok_or_else(|| Status::internal("budgets are not served"))?;
        let key = Key::new(namespace, &name);
        let write = Request {
            kind: &kind,
            version: kind.stored(),
            key: &key,
            subresource: Some("status"),
            manager: "kube-apiserver",
            ..*request
        };
        self.update(&write, budget, &Text::default())?;
        Ok(Counted::Yes)
    }

    /// Binds a pod to a node.
    pub(crate) fn bind(
        &mut self,
        request: &Request<'_>,
        binding: &Value,
    ) -> Result<Outcome, Status> {
        check_part_type(binding, ("", &["v1"]), "Binding")?;
        let given = text(binding, "/metadata/name");
        if !given.is_empty() && given != &*request.key.name {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        let (target, kind) = (text(binding, "/target/name"), text(binding, "/target/kind"));
        let mut errors = Vec::new();
        if !matches!(kind, "" | "Node") {
            let known = ["Node", "<empty>"];
            errors.push(joiner_schema::FieldError::not_supported("target.kind", kind, &known));
        }
        if target.is_empty() {
            errors.push(joiner_schema::FieldError::required("target.name", ""));
        }
        match errors.as_slice() {
            [] => {}
            [only] => return Err(Status::plain(500, "", only.to_string())),
            all => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                return Err(Status::plain(500, "", format!("[{}]", all.join(", "))));
            }
        }
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let mut pod = request_value(request, &live);
        rules::check_identity(request, &live.uid, binding)?;
        let node = self.store.get(&Resource::new("", "nodes"), &Key::new("", target));
        let labels = node.map(|node| node.shared()["metadata"]["labels"].clone());
        let world = self.world(request.now);
        kinds::bind(&mut pod, binding, &labels.unwrap_or_default(), &world)
            .map_err(|why| Status::conflict("", "pods/binding", &request.key.name, &why))?;
        let stored = if request.dry_run { live } else { self.put(request, pod)? };
        let answer = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        });
        Ok(Outcome {
            object: Some(stored),
            answer: Some(answer),
            created: true,
            ..Outcome::default()
        })
    }

    /// Makes a token for a service account. It grants no access, because the laboratory never checks
    /// such tokens.
    pub(crate) fn token(
        &mut self,
        request: &Request<'_>,
        mut review: Value,
    ) -> Result<Outcome, Status> {
        let account = self.live(request)?.ok_or_else(|| request.not_found())?;
        let lives = review["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        if lives < 600 {
            let error = joiner_schema::FieldError::invalid(
                "spec.expirationSeconds",
                lives,
                "may not specify a duration less than 10 minutes",
            );
            return Err(Status::invalid("authentication.k8s.io", "TokenRequest", "", &[error]));
        }
        let bound = &review["spec"]["boundObjectRef"];
        let (version, kind) = (text(bound, "/apiVersion"), text(bound, "/kind"));
        if bound.is_object() && !(version == "v1" && ["Pod", "Secret", "Node"].contains(&kind)) {
            let slash = if version.contains('/') { "" } else { "/" };
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {slash}{version}, Kind={kind}"
            )));
        }
        if bound.is_object() {
            let plural = format!("{}s", kind.to_lowercase());
            let namespace = if kind == "Node" { "" } else { &*request.key.namespace };
            let name = text(bound, "/name");
            let there = Resource::new("", &plural);
            if self.store.get(&there, &Key::new(namespace, name)).is_none() {
                return Err(Status::not_found("", &plural, name));
            }
        }
        if review["spec"]["audiences"].as_array().is_none_or(Vec::is_empty) {
            review["spec"]["audiences"] = json!(["https://kubernetes.default.svc"]);
        }
        let ends = seconds(request.now)
            .saturating_add(SignedDuration::from_secs(lives))
            .unwrap_or(request.now);
        let subject =
            format!("system:serviceaccount:{}:{}", request.key.namespace, request.key.name);
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token = format!(
            "{}.{}.{}",
            part(json!({"alg": "none", "typ": "JWT"})),
            part(json!({
                "sub": subject,
                "iat": request.now.as_second(),
                "exp": ends.as_second(),
                "aud": review["spec"]["audiences"],
                "jti": self.ids.uid(),
            })),
            URL_SAFE_NO_PAD.encode("laboratory"),
        );
        review["apiVersion"] = "authentication.k8s.io/v1".into();
        review["kind"] = "TokenRequest".into();
        review["spec"]["expirationSeconds"] = lives.into();
        metadata_of(&mut review).insert("name".into(), Value::from(&*request.key.name));
        metadata_of(&mut review).insert("namespace".into(), Value::from(&*request.key.namespace));
        metadata_of(&mut review).insert("uid".into(), Value::from(&*account.uid));
        if review["spec"].get("boundObjectRef").is_none() {
            review["spec"]["boundObjectRef"] = Value::Null;
        }
        metadata_of(&mut review).insert("creationTimestamp".into(), request.time().into());
        review["status"] = json!({"token": token, "expirationTimestamp": ends.to_string()});
        Ok(Outcome { answer: Some(review), created: true, ..Outcome::default() })
    }
}

/// What is sent to a subresource must be of its type, if it says of which type it is.
fn check_part_type(
    object: &Value,
    (group, versions): (&str, &[&str]),
    kind: &str,
) -> Result<(), Status> {
    let given_kind = match text(object, "/kind") {
        "" => kind,
        given => given,
    };
    let known = |version: &&str| {
        if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") }
    };
    let known: Vec<String> = versions.iter().map(known).collect();
    let given_version = match text(object, "/apiVersion") {
        "" => &known[0],
        given => given,
    };
    if given_kind == kind && known.iter().any(|version| version == given_version) {
        return Ok(());
    }
    let name = given_version.split_once('/').map_or(given_version, |(_, name)| name);
    Err(Status::bad_request(format!(
        "{given_kind} in version {name:?} cannot be handled as a {kind}: no kind {given_kind:?} is \
         registered for version {given_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )))
}

/// The scale of an object.
pub(crate) fn scale_of(kind: &Kind, version: &Version, object: &Object) -> Result<Value, Status> {
    let (scale, missing) = view_scale(kind, version, object)?;
    match missing {
        None => Ok(scale),
        Some(path) => {
            let message = format!("the spec replicas field {path:?} does not exist");
            Err(Status::internal(message))
        }
    }
}

/// The scale of an object, and the path of its replicas if there are none.
fn view_scale(
    kind: &Kind,
    version: &Version,
    object: &Object,
) -> Result<(Value, Option<String>), Status> {
    let object = &in_version(kind, version, object);
    let custom = match &version.rules {
        Rules::BuiltIn(resource) => {
            let scale = kinds::scale(resource, object).ok_or_else(Status::no_such_resource)?;
            return Ok((scale, None));
        }
        Rules::Custom(custom) => custom,
    };
    let paths = custom.scale.as_ref().ok_or_else(Status::no_such_resource)?;
    let found = at(object, &paths.spec_replicas).and_then(Value::as_i64);
    let missing = found.is_none().then(|| paths.spec_replicas.clone());
    let replicas = found.unwrap_or(0);
    let mut status = json!({
        "replicas": at(object, &paths.status_replicas).and_then(Value::as_i64).unwrap_or(0),
    });
    let selector = paths.label_selector.as_ref().and_then(|path| at(object, path)?.as_str());
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = selector.into();
    }
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    });
    Ok((scale, missing))
}

/// Where each version of a kind has its number of replicas.
fn scale_paths<'a>(request: &Request<'a>) -> BTreeMap<&'a str, Option<&'a str>> {
    let versions = request.kind.versions.iter();
    let path = |version: &'a Version| match &version.rules {
        Rules::BuiltIn(_) => Some(".spec.replicas"),
        Rules::Custom(custom) => custom.scale.as_ref().map(|paths| &*paths.spec_replicas),
    };
    versions.map(|version| (&*version.api_version, path(version))).collect()
}

/// Reads a scale that was sent.
fn read_scale(request: &Request<'_>, mut scale: Value) -> Result<Value, Status> {
    kinds::normalize_kind("autoscaling", "v1", "Scale", &mut scale).map_err(|error| {
        // Where definitions make the API, the server does not find words for this.
        Status::bad_request(if request.custom() {
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\""
                .to_owned()
        } else {
            format!("Scale in version \"v1\" cannot be handled as a Scale: {error}")
        })
    })?;
    Ok(scale)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

/// A pod that is not ready anyway may go if the others are enough, or if the budget says so.
fn unhealthy_pod_may_go(budget: &Value, pod: &Value) -> bool {
    if is_ready(pod) {
        return false;
    }
    if text(budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow" {
        return true;
    }
    let number = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
    desired > 0 && healthy >= desired
}

/// Takes one disruption from a budget.
fn spend(budget: &mut Value, request: &Request<'_>) -> Result<(), Status> {
    let name = text(budget, "/metadata/name").to_owned();
    let number =
        |budget: &Value, path: &str| budget.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let refuse = |cause: String, retry: u32| {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        let mut status = Status::too_many_requests(message, retry);
        if let Some(details) = &mut status.details {
            details.causes = vec![Cause {
                reason: "DisruptionBudget".into(),
                message: cause,
                field: String::new(),
            }];
        }
        Err(status)
    };
    if number(budget, "/status/observedGeneration") < number(budget, "/metadata/generation") {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        return refuse(cause, 10);
    }
    let allowed = number(budget, "/status/disruptionsAllowed");
    let forbidden = |why: &str| Err(Status::forbidden("policy", "poddisruptionbudget", &name, why));
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    let disrupted = budget["status"]["disruptedPods"].as_object().map_or(0, serde_json::Map::len);
    if disrupted > DISRUPTED_PODS_MAX {
        return forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        );
    }
    if allowed == 0 {
        let desired = number(budget, "/status/desiredHealthy");
        let healthy = number(budget, "/status/currentHealthy");
        let cause = if healthy <= desired {
            format!(
                "The disruption budget {name} needs {desired} healthy pods and has {healthy} \
                 currently"
            )
        } else {
            format!("The disruption budget {name} does not allow evicting pods currently")
        };
        return refuse(cause, EVICTION_RETRY_SECONDS);
    }
    budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
    budget["status"]["disruptedPods"][&*request.key.name] = request.time().into();
    if allowed == 1 {
        tell_exhausted(budget, &request.time());
    }
    Ok(())
}

/// Tells in the status of a budget that it allows no more disruptions.
fn tell_exhausted(budget: &mut Value, moment: &str) {
    let generation = budget["metadata"]["generation"].clone();
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
        "message": "", "lastTransitionTime": moment, "observedGeneration": generation,
    });
    if !budget["status"]["conditions"].is_array() {
        budget["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = budget["status"]["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|known| known["type"] == "DisruptionAllowed") {
        Some(known) => {
            if known["status"] == "False" {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

/// Tells in the pod's status that it was evicted. Returns whether that is news.
fn mark_disrupted(pod: &mut Value, moment: &str) -> bool {
    let mut condition = json!({
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": moment,
        "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
    });
    if !pod["status"]["conditions"].is_array() {
        pod["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = pod["status"]["conditions"].as_array_mut() else { return false };
    let Some(known) = conditions.iter_mut().find(|known| known["type"] == "DisruptionTarget")
    else {
        conditions.push(condition);
        return true;
    };
    if known["status"] == "True" {
        condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
    }
    if let Some(generation) = known.get("observedGeneration") {
        condition["observedGeneration"] = generation.clone();
    }
    let news = *known != condition;
    *known = condition;
    news
}
