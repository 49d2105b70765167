//! Status, scale and what only some kinds have: eviction, binding, tokens, debugging containers.

use serde_json::{Value, json};

use super::{Generator, Target, kind::draw};
use crate::exchange::{Edit, Exchange, set};

impl Generator {
    /// Writes the status of an object, in every way there is.
    pub(super) fn status(&mut self) {
        let target = self.target(|kind| !kind.subresources.is_empty());
        if target.kind.subresources.is_empty() {
            return;
        }
        let subresource = self.rng.pick(&target.kind.subresources).clone();
        let path = format!("{}/{subresource}", target.path());
        let mut edits = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            // Changes to the rest of the object must be passed over.
            let (pointer, value) = if self.rng.chance(85) {
                draw(&mut self.rng, &target.kind.status)
            } else {
                self.change(&target)
            };
            edits.push((pointer, value));
        }
        let mut overlay = json!({});
        for (pointer, value) in &edits {
            set(&mut overlay, pointer, value.clone());
        }
        match self.rng.below(12) {
            0..=4 => {
                let edits = edits.into_iter().map(|(at, value)| Edit::Set(at, value)).collect();
                let exchange = Exchange::new("update", target.label(&subresource), "PUT").at(path);
                let exchange = self.with_options(exchange).edited(&target.path(), edits);
                let exchange = self.known(exchange, &target);
                self.push(exchange);
            }
            5..=6 => {
                let text = overlay.to_string();
                self.patch(
                    "merge-patch",
                    &target,
                    &subresource,
                    "application/merge-patch+json",
                    text,
                );
            }
            7..=8 => {
                let text = overlay.to_string();
                let form = "application/strategic-merge-patch+json";
                self.patch("strategic-patch", &target, &subresource, form, text);
            }
            9..=10 => {
                set(&mut overlay, "/apiVersion", json!(target.kind.api_version));
                set(&mut overlay, "/kind", json!(target.kind.kind));
                let text = overlay.to_string();
                self.patch("apply", &target, &subresource, "application/apply-patch+yaml", text);
            }
            _ => self.push(Exchange::new("get", target.label(&subresource), "GET").at(path)),
        }
    }

    /// Uses a subresource that has objects of its own.
    pub(super) fn other_subresource(&mut self) {
        match self.rng.below(10) {
            0..=2 => self.scale(),
            3..=5 => self.evict(),
            6..=7 => self.bind(),
            8 => self.token(),
            _ => self.change_running_pod(),
        }
    }

    fn scale(&mut self) {
        let target = self.target(|kind| kind.scale);
        if !target.kind.scale {
            return;
        }
        let path = format!("{}/scale", target.path());
        let label = target.label("scale");
        self.push(Exchange::new("get", &label, "GET").at(&path).remember(&path));
        let replicas = self.rng.pick(&[json!(0), json!(4), json!(-1), json!("x")]).clone();
        let exchange = if self.rng.chance(50) {
            let mut edits = vec![Edit::Set("/spec/replicas".into(), replicas)];
            match self.rng.below(5) {
                0 => edits.push(Edit::Set("/metadata/resourceVersion".into(), json!("1"))),
                1 => edits.push(Edit::Remove("/metadata/resourceVersion".into())),
                _ => {}
            }
            let exchange = Exchange::new("update", &label, "PUT").at(&path);
            self.with_options(exchange).edited(&path, edits)
        } else {
            let patch = json!({"spec": {"replicas": replicas}}).to_string();
            let exchange = Exchange::new("merge-patch", &label, "PATCH").at(&path);
            self.with_options(exchange).text("application/merge-patch+json", patch)
        };
        self.push(exchange);
        self.look(&target);
    }

    /// Gets an object, to see what something else did to it.
    fn look(&mut self, target: &Target) {
        let path = target.path();
        self.push(Exchange::new("get", target.label(""), "GET").at(&path).remember(&path));
    }

    fn pod(&mut self) -> Option<Target> {
        let target = self.target(|kind| kind.resource == "pods");
        (target.kind.resource == "pods").then_some(target)
    }

    /// Makes a pod run under a budget that allows some evictions or none.
    fn guard(&mut self, target: &Target) {
        let merge = "application/merge-patch+json";
        let label = json!({"metadata": {"labels": {"app": "web"}}}).to_string();
        self.patch("merge-patch", target, "", merge, label);
        let running = json!({"status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": self.rng.pick(&["True", "True", "False"])}],
        }});
        self.patch("merge-patch", target, "status", merge, running.to_string());
        let budgets =
            format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", target.namespace);
        let path = format!("{budgets}/guard");
        let budget = json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "guard"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        });
        let resource = "poddisruptionbudgets.policy";
        self.push(
            Exchange::new("apply", resource, "PATCH")
                .at(&path)
                .query("fieldManager", "guard")
                .text("application/apply-patch+yaml", budget.to_string()),
        );
        let allowed = *self.rng.pick(&[0, 1, 2]);
        let healthy = *self.rng.pick(&[0, 1, 3]);
        let status = json!({"status": {
            "observedGeneration": self.rng.pick(&[1, 1, 1, 0]),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": 1,
            "expectedPods": 3,
        }});
        self.push(
            Exchange::new("merge-patch", format!("{resource}/status"), "PATCH")
                .at(format!("{path}/status"))
                .text(merge, status.to_string()),
        );
    }

    fn evict(&mut self) {
        let Some(target) = self.pod() else { return };
        if self.rng.chance(60) {
            self.guard(&target);
        }
        let mut eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": target.name, "namespace": target.namespace},
        });
        match self.rng.below(10) {
            0 => set(&mut eviction, "/deleteOptions", json!({"dryRun": ["All"]})),
            1 => set(&mut eviction, "/deleteOptions", json!({"gracePeriodSeconds": 0})),
            2 => set(
                &mut eviction,
                "/deleteOptions",
                json!({"preconditions": {"resourceVersion": "1"}}),
            ),
            3 => set(&mut eviction, "/metadata/name", json!("other")),
            4 => set(&mut eviction, "/apiVersion", json!("policy/v1beta1")),
            5 => set(&mut eviction, "/kind", json!("Bogus")),
            _ => {}
        }
        self.push(
            Exchange::new("create", "pods/eviction", "POST")
                .at(format!("{}/eviction", target.path()))
                .json(&eviction),
        );
        self.look(&target);
        let budgets =
            format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", target.namespace);
        self.push(Exchange::new("list", "poddisruptionbudgets.policy", "GET").at(budgets));
    }

    fn bind(&mut self) {
        let Some(target) = self.pod() else { return };
        let nodes = ["node-a", "node-a", "node-b", "", "Bad Node"];
        let node = *self.rng.pick(&nodes);
        let mut binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": target.name, "annotations": {"bound": "yes"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        match self.rng.below(8) {
            0 => set(&mut binding, "/target/kind", json!("Pod")),
            1 => set(&mut binding, "/metadata/uid", json!("11111111-2222-3333-4444-555555555555")),
            2 => set(&mut binding, "/metadata/name", json!("other")),
            3 => set(&mut binding, "/target", Value::Null),
            _ => {}
        }
        let mut exchange = Exchange::new("create", "pods/binding", "POST")
            .at(format!("{}/binding", target.path()));
        if self.rng.chance(10) {
            exchange = exchange.query("dryRun", "All");
        }
        self.push(exchange.json(&binding));
        self.look(&target);
    }

    fn token(&mut self) {
        let target = self.target(|kind| kind.resource == "serviceaccounts");
        if target.kind.resource != "serviceaccounts" {
            return;
        }
        let specs = [
            json!({}),
            json!({"audiences": ["a"], "expirationSeconds": 3600}),
            json!({"expirationSeconds": 5}),
            json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "missing"}}),
            json!({"boundObjectRef": {"kind": "Bogus", "apiVersion": "v1", "name": "a"}}),
        ];
        let spec = self.rng.pick(&specs).clone();
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": spec,
        });
        self.push(
            Exchange::new("create", "serviceaccounts/token", "POST")
                .at(format!("{}/token", target.path()))
                .json(&request),
        );
    }

    /// Adds a debugging container to a pod, or changes its resources.
    fn change_running_pod(&mut self) {
        let Some(target) = self.pod() else { return };
        let (subresource, patches) = if self.rng.chance(50) {
            let patches = [
                json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "debug"}]}}),
                json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "other"}]}}),
                json!({"spec": {"ephemeralContainers": [{"name": "main", "image": "debug"}]}}),
                json!({"spec": {"ephemeralContainers": [{"name": "more", "image": "debug", "ports": [{"containerPort": 1}]}]}}),
                json!({"spec": {"containers": [{"name": "main", "image": "changed"}]}}),
            ];
            ("ephemeralcontainers", patches)
        } else {
            let patches = [
                json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "200m"}}}]}}),
                json!({"spec": {"containers": [{"name": "main", "resources": {"limits": {"memory": "1Gi"}}}]}}),
                json!({"spec": {"containers": [{"name": "main", "image": "changed"}]}}),
                json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "-1"}}}]}}),
                json!({"spec": {"nodeName": "node-b"}}),
            ];
            ("resize", patches)
        };
        let patch = self.rng.pick(&patches).to_string();
        let form = "application/strategic-merge-patch+json";
        self.patch("strategic-patch", &target, subresource, form, patch);
    }
}
