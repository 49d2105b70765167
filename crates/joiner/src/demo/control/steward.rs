//! Gives up claims whose machines nobody needs or that do not answer.
//!
//! It stands where disruption and repair will be: it decides in the simplest way which claims go,
//! and the engine does the rest, as it does when an administrator deletes a claim.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Server};
use joiner_clock::Clock;
use serde_json::{Value, json};

/// How often it looks.
const TURN: Duration = Duration::from_secs(1);
/// How long a machine may be empty.
const EMPTY_MAX: SignedDuration = SignedDuration::from_secs(30);
/// How long a machine may be silent once that was noticed.
const SILENT_MAX: SignedDuration = SignedDuration::from_secs(60);

#[derive(Debug)]
pub(super) struct Steward {
    caller: Caller,
    clock: Clock,
    /// Since when claims have had no pods but daemons'.
    empty_since: BTreeMap<String, Timestamp>,
}

impl Steward {
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("steward"),
            clock: server.clock().clone(),
            empty_since: BTreeMap::new(),
        }
    }

    /// Looks again and again.
    pub(super) async fn run(mut self) -> Infallible {
        loop {
            self.turn(self.clock.now());
            self.clock.sleep(TURN).await;
        }
    }

    fn turn(&mut self, now: Timestamp) {
        let mut claims = self.all("karpenter.sh", "nodeclaims");
        claims.retain(|claim| {
            claim["metadata"]["deletionTimestamp"].is_null() && is(claim, "Initialized")
        });
        self.empty_since.retain(|known, _| claims.iter().any(|claim| name(claim) == known));
        if claims.is_empty() {
            return;
        }
        let pods = self.all("", "pods");
        for claim in &claims {
            let node = claim["status"]["nodeName"].as_str().unwrap_or_default();
            let found = self.caller.get(&Resource::new("", "nodes"), &Key::new("", node));
            let Ok(found) = found else { continue };
            let found = found.value();
            if !is(&found, "Ready") {
                let silent = since(&found, "Ready").map(|since| now.duration_since(since));
                if silent.is_some_and(|silent| silent > SILENT_MAX) {
                    self.give_up(claim, now, "Unhealthy", "its node has not answered for a minute");
                }
            } else if pods.iter().any(|pod| is_at_work_on(pod, node)) {
                self.empty_since.remove(name(claim));
            } else {
                let empty = *self.empty_since.entry(name(claim).to_owned()).or_insert(now);
                if now.duration_since(empty) > EMPTY_MAX {
                    self.give_up(claim, now, "Empty", "empty for 30 s");
                }
            }
        }
    }

    /// Says why a claim goes, and deletes it. What cannot be done now is done at the next turn.
    fn give_up(&self, claim: &Value, now: Timestamp, reason: &str, message: &str) {
        let (claims, key) =
            (Resource::new("karpenter.sh", "nodeclaims"), Key::new("", name(claim)));
        let mut conditions = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.push(json!({
            "type": "DisruptionReason", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }));
        let patch = json!({"status": {"conditions": conditions}});
        let _ = self.caller.merge(&claims, &key, Some("status"), patch);
        let _ = self.caller.delete(&claims, &key, DeleteOptions::default());
    }

    fn all(&self, group: &str, plural: &str) -> Vec<Value> {
        let found = self.caller.list(&Resource::new(group, plural), None);
        found.iter().map(|object| object.value()).collect()
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whether a pod runs on a node and is no daemon.
fn is_at_work_on(pod: &Value, node: &str) -> bool {
    let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let owner = &pod["metadata"]["ownerReferences"][0]["kind"];
    pod["spec"]["nodeName"] == node && !is_over && owner != "DaemonSet"
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|own| own["type"] == kind)
}

/// Whether a condition is true.
fn is(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|own| own["status"] == "True")
}

fn since(object: &Value, kind: &str) -> Option<Timestamp> {
    condition(object, kind)?["lastTransitionTime"].as_str()?.parse().ok()
}
