//! Deleting.

use serde_json::{Value, json};

use super::Generator;
use crate::exchange::{Exchange, reference, reference_before};

impl Generator {
    /// Deletes an object.
    pub(super) fn delete(&mut self) {
        let target = self.target(|_| true);
        let path = target.path();
        let mut exchange = Exchange::new("delete", target.label(""), "DELETE").at(&path);
        exchange = match self.rng.below(12) {
            0..=2 => exchange,
            3 => exchange.query("gracePeriodSeconds", self.rng.pick(&["0", "7", "-1", "abc"])),
            4 => {
                let policies = ["Foreground", "Background", "Orphan", "Bogus"];
                exchange.query("propagationPolicy", self.rng.pick(&policies))
            }
            5 => exchange.query("dryRun", self.rng.pick(&["All", "Some"])),
            6 => exchange.query("orphanDependents", self.rng.pick(&["true", "false"])),
            _ => {
                let options = self.delete_options(&path);
                exchange.json(&options)
            }
        };
        let dry =
            matches!(&exchange.body, crate::exchange::Body::Text(text) if text.contains("dryRun"));
        if !dry {
            exchange = self.known(exchange, &target);
        }
        self.push(exchange);
    }

    fn delete_options(&mut self, path: &str) -> Value {
        let version = "/metadata/resourceVersion";
        match self.rng.below(14) {
            0 => json!({}),
            1 => json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}),
            2 => json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 5}),
            3 => json!({"gracePeriodSeconds": -3}),
            4 => json!({"propagationPolicy": "Foreground"}),
            5 => json!({"propagationPolicy": "Orphan"}),
            6 => json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0}),
            7 => json!({"propagationPolicy": "Sideways"}),
            8 => json!({"preconditions": {"uid": reference(path, "/metadata/uid")}}),
            9 => json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}),
            10 => json!({"preconditions": {"resourceVersion": reference(path, version)}}),
            11 => json!({"preconditions": {"resourceVersion": reference_before(path, version)}}),
            12 => json!({"dryRun": ["All"], "gracePeriodSeconds": 0}),
            _ => {
                let bad = [
                    json!({"apiVersion": "v1", "kind": "Pod"}),
                    json!({"orphanDependents": true, "propagationPolicy": "Orphan"}),
                    json!({"bogus": 1}),
                    json!({"gracePeriodSeconds": "soon"}),
                    json!([]),
                ];
                self.rng.pick(&bad).clone()
            }
        }
    }

    /// Deletes what a selector finds in the emptiest namespace.
    pub(super) fn delete_collection(&mut self) {
        let target = self.target(|kind| kind.namespaced);
        if !target.kind.namespaced {
            return;
        }
        let namespace = self.namespaces[2].clone();
        let mut exchange = Exchange::new("deletecollection", target.label(""), "DELETE")
            .at(target.kind.collection(&namespace));
        if self.rng.chance(60) {
            let selectors = ["app=web", "app", "tier=a", "app in ("];
            exchange = exchange.query("labelSelector", self.rng.pick(&selectors));
        }
        exchange = match self.rng.below(6) {
            0 => exchange.query("dryRun", "All"),
            1 => exchange.query("propagationPolicy", "Foreground"),
            2 => exchange.json(&json!({"gracePeriodSeconds": 0})),
            3 => exchange.query("fieldSelector", "metadata.name=alpha"),
            _ => exchange,
        };
        self.push(exchange);
        let list = self.list_after(&target.kind.collection(&namespace), &target.label(""));
        self.push(list);
    }

    fn list_after(&mut self, path: &str, label: &str) -> Exchange {
        let key = format!("list {}", self.count());
        Exchange::new("list", label, "GET").at(path).remember(&key)
    }
}
