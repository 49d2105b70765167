//! Deleting objects: grace periods, finalizers, what happens to what they own.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::{
    Status, custom,
    operation::{DeleteOptions, Outcome, Propagation},
    server::State,
    write::{Request, is_finally_gone, metadata_of, request_value, seconds, text},
};

/// The finalizer that holds an object until what it owns is gone.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that holds an object until what it owned is on its own.
const ORPHAN: &str = "orphan";

impl State {
    pub(crate) fn delete(
        &mut self,
        request: &Request<'_>,
        options: &DeleteOptions,
    ) -> Result<Outcome, Status> {
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let mut object = request_value(request, &live);
        check_preconditions(request, &object, options)?;
        let was_deleting = live.deleting;
        let grace = grace_period(request, &object, options);
        set_finalizers(request, &mut object, options);
        if request.kind.is("apiextensions.k8s.io", "CustomResourceDefinition") && !was_deleting {
            add_finalizer(&mut object, custom::CLEANUP_FINALIZER);
            custom::mark_terminating(&mut object, &request.time());
        }
        let changed = mark_deleting(request, &mut object, grace, was_deleting);
        let uid = live.uid.to_string();
        if is_finally_gone(request.kind, &object) {
            let gone = if request.dry_run {
                live
            } else {
                // What goes at once goes as it was: nobody sees it marked.
                let mut last = request_value(request, &live);
                if was_deleting {
                    last = object;
                }
                self.remove(request, last)
            };
            let answer = returns_object(request)
                .then_some(())
                .map_or_else(|| Some(success(request, &uid)), |()| None);
            return Ok(Outcome { object: Some(gone), answer, deleted: true, ..Outcome::default() });
        }
        if request.dry_run || !changed {
            let version = live.version;
            let object = crate::write::build(request, object, Some(version));
            return Ok(Outcome { object: Some(object.into()), ..Outcome::default() });
        }
        let stored = self.put(request, object)?;
        self.after_write(request, stored.clone());
        Ok(Outcome { object: Some(stored), ..Outcome::default() })
    }
}

fn check_preconditions(
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
        let resource = &request.kind.resource;
        Err(Status::conflict(&resource.group, &request.kind.kind, &request.key.name, &why))
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

/// How long the object may take to stop; only pods take time.
fn grace_period(request: &Request<'_>, object: &Value, options: &DeleteOptions) -> i64 {
    if !request.kind.is("", "Pod") {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    let mut grace = options.grace_period_seconds.or(own).unwrap_or(30);
    // A period below zero asks for the shortest that still tells the containers.
    if grace < 0 {
        grace = 1;
    }
    let unplaced = text(object, "/spec/nodeName").is_empty();
    let finished = matches!(text(object, "/status/phase"), "Succeeded" | "Failed");
    if unplaced || finished { 0 } else { grace }
}

fn set_finalizers(request: &Request<'_>, object: &mut Value, options: &DeleteOptions) {
    let has = |object: &Value, finalizer: &str| {
        let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        list.into_iter().any(|entry| entry == finalizer)
    };
    // Jobs and replication controllers orphaned their pods by default in their first versions;
    // in the versions served today nothing does.
    let wanted = match options.propagation {
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Background) => None,
        None if request.kind.is("", "ReplicationController") => Some(ORPHAN),
        None => return,
    };
    for finalizer in [FOREGROUND, ORPHAN] {
        if wanted == Some(finalizer) && !has(object, finalizer) {
            add_finalizer(object, finalizer);
        } else if wanted != Some(finalizer) && has(object, finalizer) {
            remove_finalizer(object, finalizer);
        }
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

fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let metadata = metadata_of(object);
    let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) else { return };
    list.retain(|entry| entry != finalizer);
    if list.is_empty() {
        metadata.remove("finalizers");
    }
}

/// Writes into the metadata that the object goes, and when. Says whether that is news.
fn mark_deleting(
    request: &Request<'_>,
    object: &mut Value,
    grace: i64,
    was_deleting: bool,
) -> bool {
    let before = object.clone();
    let takes_time = request.kind.is("", "Pod");
    let generation = object["metadata"]["generation"].as_i64();
    let metadata = metadata_of(object);
    let earlier = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    if !was_deleting || (takes_time && earlier.is_some_and(|earlier| grace < earlier)) {
        let ends = seconds(request.now)
            .saturating_add(SignedDuration::from_secs(grace))
            .unwrap_or(request.now);
        metadata.insert("deletionTimestamp".into(), ends.to_string().into());
        metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
        if !was_deleting && let Some(generation) = generation.filter(|generation| *generation > 0) {
            metadata.insert("generation".into(), (generation + 1).into());
        }
    }
    if request.kind.is("", "Namespace") {
        object["status"]["phase"] = "Terminating".into();
    }
    *object != before
}

/// Kinds whose deletion is answered with the object rather than with a plain success.
fn returns_object(request: &Request<'_>) -> bool {
    request.kind.is("", "Pod")
        || request.kind.is("", "Service")
        || request.kind.is("", "ServiceAccount")
        || request.kind.is("", "PersistentVolume")
        || request.kind.is("", "PersistentVolumeClaim")
        || request.kind.is("", "PodTemplate")
        || request.kind.is("", "ResourceQuota")
        || (&*request.kind.resource.group == "storage.k8s.io"
            && &*request.kind.kind != "CSIStorageCapacity")
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
