//! Jobs: pods that are to end well a number of times.

mod decide;
mod failures;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{DeleteOptions, Key, Object, Propagation, Resource, Server, Status};
use joiner_core::{label::Labels, selector::LabelSelector};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::{
    decide::{Counts, End, FAILURES, Wanted},
    failures::Verdict,
};
use super::{
    Part,
    events::About,
    facts::{
        Condition, Meta, find_condition, later, merge_between, moment, read, selector,
        set_condition, stamp,
    },
    owned::{Owner, Owners, Owning, PodMaker, pod_from_template, unless_gone},
    pods::{COMPLETION_INDEX, JOB_TRACKING, Phase, Pod, sort_for_deletion},
    queue::Queue,
    replicasets::put_count,
    world::{News, World},
};

/// The label with the uid of the Job that a pod belongs to.
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";

/// The controller of Jobs.
pub(super) struct Jobs {
    resource: Resource,
    owners: Owners<Job>,
    backoffs: BTreeMap<Arc<str>, Backoff>,
    queue: Queue<Key>,
    maker: PodMaker,
}

/// The failures of a Job's pods since the last success.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
    last: Option<Timestamp>,
}

struct Job {
    owning: Owning,
}

#[derive(Deserialize)]
struct JobJson {
    metadata: Meta,
    spec: SpecJson,
}

#[derive(Deserialize)]
struct SpecJson {
    selector: Option<Value>,
}

impl Owner for Job {
    fn owning(&self) -> &Owning {
        &self.owning
    }
}

impl Job {
    fn of(object: &Object) -> Self {
        let JobJson { metadata, spec } = read(object);
        let own_pods = || {
            let label = (CONTROLLER_UID.to_owned(), object.uid.to_string());
            LabelSelector::labels(&Labels::from([label]))
        };
        Self {
            owning: Owning::new(
                object,
                ("batch/v1", "Job"),
                &metadata,
                spec.selector.as_ref().map_or_else(own_pods, selector),
            ),
        }
    }
}

/// A Job while it is looked at: its status is changed here and written at the end.
struct Run {
    about: About,
    object: Value,
    status: Value,
    wanted: Wanted,
    pods: Vec<Arc<Pod>>,
    counts: Counts,
    completed: BTreeSet<u32>,
    /// Pods that need no longer be kept for counting.
    counted: Vec<Arc<Pod>>,
    ended: Option<End>,
}

/// Whether a condition is true.
fn is_true(status: &Value, condition: &str) -> bool {
    find_condition(&status["conditions"], condition).is_some_and(|one| one["status"] == "True")
}

impl Run {
    fn new(about: About, object: Value, pods: Vec<Arc<Pod>>) -> Self {
        let status = object["status"].as_object().cloned().unwrap_or_default();
        Self {
            wanted: Wanted::of(&object["spec"]),
            about,
            status: Value::Object(status),
            object,
            pods,
            counts: Counts::default(),
            completed: BTreeSet::new(),
            counted: Vec::new(),
            ended: None,
        }
    }

    fn started(&self) -> Option<Timestamp> {
        moment(self.status["startTime"].as_str())
    }

    /// The decided outcome, if any. It stays, independently of pods that are still ending.
    fn decided(&self) -> Option<End> {
        if is_true(&self.status, "SuccessCriteriaMet") {
            return Some(End::Success);
        }
        let target = find_condition(&self.status["conditions"], "FailureTarget")?;
        let reason = FAILURES.into_iter().find(|reason| target["reason"] == *reason)?;
        let message = target["message"].as_str().unwrap_or_default().to_owned();
        Some(End::Failure { reason, message })
    }

    fn active(&self) -> Vec<Arc<Pod>> {
        self.pods.iter().filter(|pod| pod.is_active()).cloned().collect()
    }

    /// Whether a pod has come to its end, and whether it was a good one.
    fn outcome(&self, pod: &Pod) -> Option<bool> {
        match pod.phase {
            Phase::Succeeded => Some(true),
            Phase::Failed => Some(false),
            _ if pod.deleted.is_some() && !self.wanted.replaces_failed_only => Some(false),
            _ => None,
        }
    }

    /// Puts the books into the status.
    fn note(&mut self, noted: &[BTreeSet<String>; 2], totals: [i64; 2]) {
        let ready = self.pods.iter().filter(|pod| pod.is_active() && pod.ready).count();
        let (active, terminating) = (self.counts.active, self.counts.terminating);
        let completed = decide::format_indexes(&self.completed);
        let Some(status) = self.status.as_object_mut() else { return };
        let count = |count: i64| usize::try_from(count).unwrap_or(0);
        put_count(status, "succeeded", count(totals[0]));
        put_count(status, "failed", count(totals[1]));
        put_count(status, "active", count(active));
        status.insert("terminating".into(), terminating.into());
        status.insert("ready".into(), ready.into());
        let mut uncounted = Map::new();
        for (field, uids) in ["succeeded", "failed"].into_iter().zip(noted) {
            if !uids.is_empty() {
                uncounted.insert(field.into(), uids.iter().cloned().collect());
            }
        }
        status.insert("uncountedTerminatedPods".into(), uncounted.into());
        if self.wanted.indexed {
            status.insert("completedIndexes".into(), completed.into());
        }
    }

    /// The first indexes that are neither completed nor taken.
    fn free_indexes(&self, count: usize) -> Vec<u32> {
        if !self.wanted.indexed {
            return Vec::new();
        }
        let taken: BTreeSet<u32> = self
            .pods
            .iter()
            .filter(|pod| {
                let leaving = pod.deleted.is_some() && self.wanted.replaces_failed_only;
                pod.is_active() || (leaving && !pod.phase.is_final())
            })
            .filter_map(|pod| pod.index)
            .collect();
        let all = 0..u32::try_from(self.wanted.completions.unwrap_or(0)).unwrap_or(0);
        let free = |index: &u32| !self.completed.contains(index) && !taken.contains(index);
        all.filter(free).take(count).collect()
    }

    fn condition(&mut self, kind: &str, reason: &str, message: &str, now: Timestamp) -> bool {
        let condition = Condition { kind, status: "True", reason, message };
        set_condition(&mut self.status["conditions"], condition, now)
    }
}

impl Jobs {
    /// The controller of Jobs.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            resource: Resource::new("batch", "jobs"),
            owners: Owners::default(),
            backoffs: BTreeMap::new(),
            queue: Queue::default(),
            maker: PodMaker::new(server, "job-controller", "job-controller"),
        }
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(job) = self.owners.get(key) else { return Ok(None) };
        let object = self.maker.caller.get(&self.resource, key)?.value();
        let pods = self.maker.claim(world, &*job)?;
        if is_true(&object["status"], "Complete") || is_true(&object["status"], "Failed") {
            self.untrack(&pods)?;
            return self.expire(&job, &object, now);
        }
        let mut run = Run::new(job.owning.about.clone(), object, pods);
        self.count(&mut run, now);
        let decided = run.decided();
        run.ended = decided
            .or_else(|| run.ended.take())
            .or_else(|| decide::end(&run.wanted, run.counts, run.started(), now));
        let mut next = None;
        if job.owning.deleting {
            // The deletion of the Job also deletes its pods.
        } else if let Some(end) = run.ended.clone() {
            self.finish(&mut run, &end, now)?;
        } else if run.wanted.suspended {
            self.suspend(&mut run, now)?;
        } else {
            next = self.manage(&mut run, now)?;
        }
        self.write(&mut run)?;
        self.untrack(&run.counted)?;
        Ok(next)
    }

    /// Brings the books up to date: every finished pod counts once, even if it is deleted or this
    /// program restarts. A pod is first noted as not yet counted, then its finalizer goes, then it is
    /// counted.
    fn count(&mut self, run: &mut Run, now: Timestamp) {
        let policy = run.object["spec"]["podFailurePolicy"].clone();
        let mut noted = [true, false].map(|good| {
            let list = if good { "succeeded" } else { "failed" };
            let uids = run.status["uncountedTerminatedPods"][list].as_array().cloned();
            let texts = uids.unwrap_or_default();
            texts.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect::<BTreeSet<_>>()
        });
        let tracked: BTreeMap<String, Arc<Pod>> = run
            .pods
            .iter()
            .filter(|pod| pod.tracked)
            .map(|pod| (pod.uid.to_string(), Arc::clone(pod)))
            .collect();
        let mut totals =
            ["succeeded", "failed"].map(|field| run.status[field].as_i64().unwrap_or(0));
        for (noted, total) in noted.iter_mut().zip(&mut totals) {
            let before = noted.len();
            noted.retain(|uid| tracked.contains_key(uid));
            *total += (before - noted.len()) as i64;
        }
        run.completed =
            decide::parse_indexes(run.status["completedIndexes"].as_str().unwrap_or_default());
        let backoff = self.backoffs.entry(Arc::clone(&run.about.uid)).or_default();
        for (uid, pod) in &tracked {
            let Some(good) = run.outcome(pod) else { continue };
            run.counted.push(Arc::clone(pod));
            if noted.iter().any(|noted| noted.contains(uid)) {
                continue;
            }
            let verdict = if good || policy.is_null() {
                Verdict::Counts
            } else {
                let pod = self.maker.caller.get(&self.maker.pods, &pod.key);
                pod.map_or(Verdict::Counts, |pod| failures::verdict(&policy, &pod.value()))
            };
            match verdict {
                Verdict::Ignored => continue,
                Verdict::Counts => {}
                Verdict::FailsJob(message) => {
                    run.ended = Some(End::Failure { reason: "PodFailurePolicy", message });
                }
            }
            noted[usize::from(!good)].insert(uid.clone());
            if good {
                *backoff = Backoff::default();
                run.completed.extend(pod.index.filter(|_| run.wanted.indexed));
            } else {
                backoff.failures += 1;
                backoff.last = backoff.last.max(Some(pod.finished.unwrap_or(now)));
            }
        }
        let active = run.active();
        run.counts = Counts {
            active: active.len() as i64,
            terminating: run
                .pods
                .iter()
                .filter(|pod| pod.deleted.is_some() && !pod.phase.is_final())
                .count() as i64,
            succeeded: if run.wanted.indexed {
                run.completed.len() as i64
            } else {
                totals[0] + noted[0].len() as i64
            },
            failed: totals[1] + noted[1].len() as i64,
            restarts: active.iter().map(|pod| pod.restarts).sum(),
        };
        run.note(&noted, totals);
    }

    /// Ends a Job: its pods are stopped, and when the last one has gone it says so.
    fn finish(&mut self, run: &mut Run, end: &End, now: Timestamp) -> Result<(), Status> {
        let active = run.active();
        self.maker.delete(&run.about, &active, now)?;
        let (target, last, reason, message) = match end {
            End::Success => {
                let message = "Reached expected number of succeeded pods";
                ("SuccessCriteriaMet", "Complete", "CompletionsReached", message)
            }
            End::Failure { reason, message } => ("FailureTarget", "Failed", *reason, &**message),
        };
        run.condition(target, reason, message, now);
        let settled = run.status["uncountedTerminatedPods"].as_object().is_none_or(Map::is_empty);
        if !active.is_empty() || run.counts.terminating > 0 || !settled {
            return Ok(());
        }
        let about = run.about.clone();
        run.condition(last, reason, message, now);
        if last == "Complete" {
            run.status["completionTime"] = stamp(now).into();
            self.maker.recorder.normal(&about, "Completed", "Job completed", now);
        } else if let End::Failure { reason, message } = end {
            self.maker.recorder.warning(&about, reason, message, now);
        }
        self.backoffs.remove(&about.uid);
        Ok(())
    }

    fn suspend(&mut self, run: &mut Run, now: Timestamp) -> Result<(), Status> {
        let active = run.active();
        self.maker.delete(&run.about, &active, now)?;
        if let Some(status) = run.status.as_object_mut() {
            status.remove("startTime");
        }
        if run.condition("Suspended", "JobSuspended", "Job suspended", now) {
            let about = run.about.clone();
            self.maker.recorder.normal(&about, "Suspended", "Job suspended", now);
        }
        Ok(())
    }

    /// Makes the pods that are missing or deletes those that are too many, and says when to look
    /// again.
    fn manage(&mut self, run: &mut Run, now: Timestamp) -> Result<Option<Timestamp>, Status> {
        if run.started().is_none() {
            run.status["startTime"] = stamp(now).into();
        }
        if is_true(&run.status, "Suspended") {
            let condition = Condition {
                kind: "Suspended",
                status: "False",
                reason: "JobResumed",
                message: "Job resumed",
            };
            set_condition(&mut run.status["conditions"], condition, now);
            let about = run.about.clone();
            self.maker.recorder.normal(&about, "Resumed", "Job resumed", now);
        }
        let deadline = decide::deadline(&run.wanted, run.started());
        let missing = decide::missing(&run.wanted, run.counts);
        let mut active = run.active();
        if missing < 0 {
            sort_for_deletion(&mut active, now);
            let surplus = usize::try_from(-missing).unwrap_or(0);
            self.maker.delete(&run.about, &active[..surplus.min(active.len())], now)?;
        }
        if missing <= 0 {
            return Ok(deadline);
        }
        let backoff = self.backoffs.entry(Arc::clone(&run.about.uid)).or_default();
        let pause = decide::pause(backoff.failures);
        let resumes = backoff.last.and_then(|last| last.checked_add(pause).ok());
        if let Some(resumes) = resumes.filter(|resumes| *resumes > now) {
            return Ok(Some(deadline.map_or(resumes, |deadline| deadline.min(resumes))));
        }
        let missing = usize::try_from(missing).unwrap_or(0);
        let indexes = run.free_indexes(missing);
        let count = if run.wanted.indexed { indexes.len() } else { missing };
        let (about, object) = (&run.about, &run.object);
        self.maker.create(about, count, now, |number| pod(about, object, indexes.get(number)))?;
        Ok(deadline)
    }

    fn write(&self, run: &mut Run) -> Result<(), Status> {
        let Some(patch) = merge_between(&run.object["status"], &run.status) else { return Ok(()) };
        let patch = json!({"status": patch});
        self.maker.caller.merge(&self.resource, &run.about.key, Some("status"), patch)?;
        Ok(())
    }

    /// Lets go of pods that were kept for counting.
    fn untrack(&self, pods: &[Arc<Pod>]) -> Result<(), Status> {
        for pod in pods.iter().filter(|pod| pod.tracked) {
            let Ok(object) = self.maker.caller.get(&self.maker.pods, &pod.key) else { continue };
            let object = object.value();
            let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
            let kept: Vec<&Value> = finalizers.filter(|one| **one != JOB_TRACKING).collect();
            let patch = json!({"metadata": {"finalizers": kept}});
            unless_gone(self.maker.caller.merge(&self.maker.pods, &pod.key, None, patch))?;
        }
        Ok(())
    }

    /// Deletes a finished Job when its time has come.
    fn expire(
        &self,
        job: &Job,
        object: &Value,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(seconds) = object["spec"]["ttlSecondsAfterFinished"].as_i64() else {
            return Ok(None);
        };
        let end = ["Complete", "Failed"]
            .into_iter()
            .filter_map(|kind| find_condition(&object["status"]["conditions"], kind))
            .find_map(|condition| moment(condition["lastTransitionTime"].as_str()));
        let due = later(end.unwrap_or(now), seconds);
        if job.owning.deleting || due > now {
            return Ok(Some(due).filter(|_| !job.owning.deleting));
        }
        let options = DeleteOptions {
            uid: Some((*job.owning.about.uid).into()),
            propagation: Some(Propagation::Foreground),
            ..DeleteOptions::default()
        };
        unless_gone(self.maker.caller.delete(&self.resource, &job.owning.about.key, options))?;
        Ok(None)
    }
}

/// A pod of a Job; of an indexed one, the pod of an index.
fn pod(about: &About, object: &Value, index: Option<&u32>) -> Value {
    let mut pod = pod_from_template(&object["spec"]["template"], about);
    let metadata = &mut pod["metadata"];
    for (label, value) in [
        ("batch.kubernetes.io/job-name", &*about.key.name),
        ("job-name", &*about.key.name),
        (CONTROLLER_UID, &*about.uid),
        ("controller-uid", &*about.uid),
    ] {
        metadata["labels"][label] = value.into();
    }
    match metadata["finalizers"].as_array_mut() {
        Some(finalizers) => finalizers.push(JOB_TRACKING.into()),
        None => metadata["finalizers"] = json!([JOB_TRACKING]),
    }
    let Some(index) = index else { return pod };
    let text = index.to_string();
    metadata["generateName"] = format!("{}-{text}-", about.key.name).into();
    metadata["labels"][COMPLETION_INDEX] = text.as_str().into();
    metadata["annotations"][COMPLETION_INDEX] = text.as_str().into();
    pod["spec"]["hostname"] = format!("{}-{text}", about.key.name).into();
    let path = format!("metadata.annotations['{COMPLETION_INDEX}']");
    let variable =
        json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}});
    for list in ["containers", "initContainers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            match container["env"].as_array_mut() {
                Some(env) => env.push(variable.clone()),
                None => container["env"] = json!([variable]),
            }
        }
    }
    pod
}

impl Part for Jobs {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("batch", "jobs") {
            if gone {
                self.owners.remove(&object.key);
                self.backoffs.remove(&object.uid);
                self.queue.forget(&object.key);
            } else {
                self.owners.put(Job::of(object));
                self.queue.add(object.key.clone());
            }
        }
        if let Some(pod) = &news.pod {
            for key in self.owners.concerned(pod) {
                self.queue.add(key);
            }
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for key in self.queue.take(now) {
            let result = self.sync(world, &key, now);
            self.queue.settle(key, now, &result);
        }
        self.queue.next()
    }
}
