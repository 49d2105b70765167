//! Deleting objects: grace periods, finalizers, what happens to what they own.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    Status, custom,
    object::Object,
    operation::{DeleteOptions, Outcome, Propagation},
    registry::Kind,
    server::State,
    write::{Request, build, is_same, metadata_of, request_value, seconds, text},
};

/// The finalizer that holds an object until what it owns is gone.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that holds an object until what it owned is on its own.
const ORPHAN: &str = "orphan";

/// Whether an object is given time to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    /// It is not: only pods are.
    None,
    /// It is being given time, and this request does not change that.
    Pending,
    /// It is given this many seconds.
    Seconds(i64),
}

impl State {
    pub(crate) fn delete(
        &mut self,
        request: &Request<'_>,
        options: &DeleteOptions,
    ) -> Result<Outcome, Status> {
        request.warn(orphan_warning(request.kind, options));
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let mut object = request_value(request, &live);
        if request.kind.is("", "Namespace") {
            return self.delete_namespace(request, options, &live, object);
        }
        check_preconditions(request, &object, options)?;
        let grace = give_time(request, &mut object, options);
        if grace == Grace::Pending {
            return Ok(answered(request, live, false));
        }
        if request.kind.is("apiextensions.k8s.io", "CustomResourceDefinition") && !live.deleting {
            add_finalizer(&mut object, custom::CLEANUP_FINALIZER);
            custom::mark_terminating(&mut object, &request.time());
        }
        set_finalizers(request, &mut object, options);
        let held = !finalizers(&object).is_empty();
        match grace {
            Grace::Seconds(seconds) => {
                // The real server writes the mark even if the object goes at once.
                let marked = self.mark(request, &live, object)?;
                if held || seconds > 0 {
                    return Ok(outcome(marked));
                }
                if request.dry_run {
                    return Ok(Outcome { deleted: true, ..outcome(marked) });
                }
                let last = request_value(request, &marked);
                let gone = self.remove(request, last);
                Ok(answered(request, gone, true))
            }
            _ if held => {
                mark_deleting(&mut object, request.now);
                self.mark(request, &live, object).map(outcome)
            }
            _ if request.dry_run => Ok(answered(request, live, true)),
            _ => {
                let last = request_value(request, &live);
                let gone = self.remove(request, last);
                Ok(answered(request, gone, true))
            }
        }
    }

    /// Writes into the store that an object goes.
    fn mark(
        &mut self,
        request: &Request<'_>,
        live: &Arc<Object>,
        object: Value,
    ) -> Result<Arc<Object>, Status> {
        let before = request_value(request, live);
        if request.dry_run || is_same(request, live, &before, &object) {
            return Ok(build(request, object, Some(live.version)).0.into());
        }
        let stored = self.put(request, object)?;
        Ok(self.after_write(request, stored))
    }

    /// A namespace is removed when its finalizing controller allows it.
    fn delete_namespace(
        &mut self,
        request: &Request<'_>,
        options: &DeleteOptions,
        live: &Arc<Object>,
        mut object: Value,
    ) -> Result<Outcome, Status> {
        check_namespace_preconditions(request, live, options)?;
        if live.deleting {
            if object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
                return Ok(outcome(Arc::clone(live)));
            }
            if finalizers(&object).is_empty() {
                if request.dry_run {
                    return Ok(answered(request, Arc::clone(live), true));
                }
                let gone = self.remove(request, object);
                return Ok(answered(request, gone, true));
            }
            return Ok(outcome(Arc::clone(live)));
        }
        metadata_of(&mut object).insert("deletionTimestamp".into(), request.time().into());
        object["status"]["phase"] = "Terminating".into();
        set_finalizers(request, &mut object, options);
        self.mark(request, live, object).map(outcome)
    }
}

/// The object stays for now.
fn outcome(object: Arc<Object>) -> Outcome {
    Outcome { object: Some(object), ..Outcome::default() }
}

/// What callers are told about an object that is gone, or about to go anyway.
fn answered(request: &Request<'_>, object: Arc<Object>, deleted: bool) -> Outcome {
    let answer = (!returns_object(request)).then(|| success(request, &object.uid));
    Outcome { object: Some(object), answer, deleted, ..Outcome::default() }
}

/// Jobs leave their pods behind unless they are told not to.
pub(crate) fn orphan_warning(kind: &Kind, options: &DeleteOptions) -> Option<String> {
    let leaves = kind.is("batch", "Job") && options.propagation.is_none();
    leaves.then(|| {
        "child pods are preserved by default when jobs are deleted; set \
         propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress \
         this warning"
            .to_owned()
    })
}

pub(crate) fn check_preconditions(
    request: &Request<'_>,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let refuse = |what: &str, asked: &str, is: &str| {
        let why = format!(
            "the {what} in the precondition ({asked}) does not match the {what} in record ({is}). \
             The object might have been {}",
            if what == "UID" { "deleted and then recreated" } else { "modified" }
        );
        Err(Status::conflict(request.kind_group(), &request.kind.kind, &request.key.name, &why))
    };
    if let Some(uid) = &options.uid {
        let is = text(object, "/metadata/uid");
        if **uid != *is {
            return refuse("UID", uid, is);
        }
    }
    if let Some(version) = &options.resource_version {
        let is = text(object, "/metadata/resourceVersion");
        if **version != *is {
            return refuse("ResourceVersion", version, is);
        }
    }
    Ok(())
}

fn check_namespace_preconditions(
    request: &Request<'_>,
    live: &Object,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let version = live.version.to_string();
    for (what, asked, is) in [
        ("UID", &options.uid, &*live.uid),
        ("ResourceVersion", &options.resource_version, &*version),
    ] {
        if let Some(asked) = asked
            && **asked != *is
        {
            let why = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {is}"
            );
            return Err(Status::conflict("", "namespaces", &request.key.name, &why));
        }
    }
    Ok(())
}

/// Gives a pod time to stop, or less of it than it was given before.
fn give_time(request: &Request<'_>, object: &mut Value, options: &DeleteOptions) -> Grace {
    if !request.kind.is("", "Pod") {
        return Grace::None;
    }
    // A period below zero asks for the shortest that still tells the containers.
    let asked = options.grace_period_seconds.map(|asked| if asked < 0 { 1 } else { asked });
    let now = seconds(request.now);
    if let Some(ends) = object["metadata"].get("deletionTimestamp").and_then(Value::as_str) {
        let ends: Timestamp = ends.parse().unwrap_or(now);
        let given = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let Some(asked) = asked.filter(|asked| *asked < given) else {
            return if given == 0 { Grace::None } else { Grace::Pending };
        };
        let mut period = asked;
        let mut sooner =
            ends.saturating_add(SignedDuration::from_secs(period - given)).unwrap_or(now);
        if sooner < now {
            sooner = now;
            period = period.min(1);
        }
        set_times(object, sooner, period);
        return Grace::Seconds(asked);
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    let unplaced = text(object, "/spec/nodeName").is_empty();
    let finished = matches!(text(object, "/status/phase"), "Succeeded" | "Failed");
    let period = if unplaced || finished { 0 } else { asked.or(own).unwrap_or(0) };
    let ends = now.saturating_add(SignedDuration::from_secs(period)).unwrap_or(now);
    raise_generation(object);
    set_times(object, ends, period);
    Grace::Seconds(period)
}

/// Marks an object that finalizers hold.
fn mark_deleting(object: &mut Value, now: Timestamp) {
    let now = seconds(now);
    let marked = object["metadata"].get("deletionTimestamp").and_then(Value::as_str);
    let ends = match marked.and_then(|ends| ends.parse::<Timestamp>().ok()) {
        Some(ends) => ends.min(now),
        None => {
            raise_generation(object);
            now
        }
    };
    set_times(object, ends, 0);
}

fn set_times(object: &mut Value, ends: Timestamp, period: i64) {
    let metadata = metadata_of(object);
    metadata.insert("deletionTimestamp".into(), ends.to_string().into());
    metadata.insert("deletionGracePeriodSeconds".into(), period.into());
}

fn raise_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    if generation > 0 {
        metadata_of(object).insert("generation".into(), (generation + 1).into());
    }
}

fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// Sets the finalizers that decide over the fate of what an object owns.
fn set_finalizers(request: &Request<'_>, object: &mut Value, options: &DeleteOptions) {
    if &*request.kind.kind == "Event" && !request.custom() {
        return;
    }
    let before = finalizers(object);
    // Jobs and replication controllers left their pods behind in their first versions.
    let orphans_by_default =
        request.kind.is("", "ReplicationController") || request.kind.is("batch", "Job");
    let wanted = match options.propagation {
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Background) => None,
        None => before
            .iter()
            .copied()
            .find(|name| [FOREGROUND, ORPHAN].contains(name))
            .or((orphans_by_default && !request.kind.is("", "Namespace")).then_some(ORPHAN)),
    };
    let mut after: Vec<&str> =
        before.iter().copied().filter(|name| ![FOREGROUND, ORPHAN].contains(name)).collect();
    after.extend(wanted);
    let same = before.len() == after.len() && after.iter().all(|name| before.contains(name));
    if same {
        return;
    }
    let after: Vec<Value> = after.into_iter().map(Value::from).collect();
    let metadata = metadata_of(object);
    if after.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), after.into());
    }
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let finalizers = metadata_of(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|entry| entry == finalizer)
    {
        list.push(finalizer.into());
    }
}

/// Kinds whose deletion is answered with the object rather than with a plain success.
fn returns_object(request: &Request<'_>) -> bool {
    let kind = &*request.kind.kind;
    match &*request.kind.resource.group {
        "" => matches!(
            kind,
            "Namespace"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        ),
        "resource.k8s.io" => !request.custom(),
        "storage.k8s.io" => kind != "CSIStorageCapacity",
        _ => false,
    }
}

fn success(request: &Request<'_>, uid: &str) -> Value {
    let mut details = json!({
        "name": &*request.key.name,
        "kind": &*request.kind.resource.plural,
        "uid": uid,
    });
    if !request.kind.resource.group.is_empty() {
        details["group"] = Value::from(&*request.kind.resource.group);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    })
}
