//! Machines that nobody needs or that do not answer go away.

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{DeleteOptions, Key};
use serde_json::{Value, json};

use super::cluster::{Cluster, NODE_CLAIMS, NODES, condition_of, is, name};

/// How long a machine may be empty.
const EMPTY_MAX: SignedDuration = SignedDuration::from_secs(30);
/// How long a machine may be silent once that was noticed.
const SILENT_MAX: SignedDuration = SignedDuration::from_secs(60);

impl Cluster {
    /// Decides which machines go.
    pub(super) fn remove_unneeded(&mut self, now: Timestamp) {
        for claim in self.all(NODE_CLAIMS) {
            let leaving = !claim["metadata"]["deletionTimestamp"].is_null();
            if leaving || !is(&claim, "Initialized") {
                continue;
            }
            let Some(node) = self.node_of(&claim) else { continue };
            if is(&node, "Ready") {
                self.remove_if_empty(&claim, now);
            } else if silent_since(&node)
                .is_some_and(|since| now.duration_since(since) > SILENT_MAX)
            {
                self.remove(&claim, now, "Unhealthy", "its node has not answered for a minute");
            }
        }
    }

    fn remove_if_empty(&mut self, claim: &Value, now: Timestamp) {
        if self.pods_on(name(claim)).next().is_some() {
            self.empty_since.remove(name(claim));
            return;
        }
        let since = *self.empty_since.entry(name(claim).to_owned()).or_insert(now);
        if now.duration_since(since) > EMPTY_MAX {
            self.remove(claim, now, "Empty", "empty for 30 s");
        }
    }

    fn remove(&mut self, claim: &Value, now: Timestamp, reason: &str, message: &str) {
        self.set_conditions(claim, now, &[("DisruptionReason", reason, message)], json!({}));
        self.tell(claim, now, "DisruptionTerminating", &format!("Disrupting NodeClaim: {reason}"));
        let key = Key::new("", name(claim));
        let claims = NODE_CLAIMS.resource();
        // One that is gone already needs no deletion.
        let _ = self.caller.delete(&claims, &key, DeleteOptions::default());
    }

    /// Empties the node of a claim that is being deleted, then removes node, machine and claim.
    pub(super) fn take_down(&mut self, claim: &Value) {
        if let Some(node) = self.node_of(claim) {
            let taint = json!({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"});
            let patch = json!({"spec": {"unschedulable": true, "taints": [taint]}});
            let _ = self.patch(NODES, name(claim), None, patch);
            let pods: Vec<&Value> = self.pods_on(name(claim)).collect();
            let stays = |pod: &&&Value| pod["metadata"]["deletionTimestamp"].is_null();
            let staying: Vec<&&Value> = pods.iter().filter(stays).collect();
            for pod in &staying {
                let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
                // A budget may refuse it for now; the next turn asks again.
                let _ = self.caller.evict(&Key::new(namespace, name(pod)));
            }
            // Pods that stop are waited for, but nobody is there to stop those of a silent node.
            if !staying.is_empty() || (!pods.is_empty() && is(&node, "Ready")) {
                return;
            }
            let key = Key::new("", name(claim));
            let _ = self.caller.delete(&NODES.resource(), &key, DeleteOptions::default());
        }
        // One that is gone has destroyed itself.
        let _ = self.machines.destroy(name(claim));
        let patch = json!({"metadata": {"finalizers": null}});
        let _ = self.patch(NODE_CLAIMS, name(claim), None, patch);
        self.empty_since.remove(name(claim));
    }
}

fn silent_since(node: &Value) -> Option<Timestamp> {
    let ready = condition_of(node, "Ready")?;
    ready["lastTransitionTime"].as_str()?.parse().ok()
}
