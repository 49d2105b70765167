//! The four kinds of patches.

use serde_json::{Value, json};

use super::{Generator, Target, spoil};
use crate::exchange::{Exchange, set, tokens};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

impl Generator {
    /// Patches an object with a list of operations.
    pub(super) fn json_patch(&mut self) {
        let target = self.target(|_| true);
        let shown = self.shown(&target);
        let mut operations = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            operations.push(self.operation(&target, &shown));
        }
        let text = match self.rng.below(30) {
            0 => json!({"op": "add"}).to_string(),
            1 => "[{".to_owned(),
            2 => "[]".to_owned(),
            _ => Value::from(operations).to_string(),
        };
        self.patch("json-patch", &target, "", JSON_PATCH, text);
    }

    fn operation(&mut self, target: &Target, shown: &Value) -> Value {
        let (pointer, value) = self.change(target);
        let mut places = spoil::pointers(shown);
        if self.rng.chance(75) {
            // What clients own; the rest is the server's, and removing it is odd.
            let owned = ["/metadata/labels/", "/metadata/annotations/", "/spec", "/data/"];
            places.retain(|place| owned.iter().any(|part| place.starts_with(part)));
            places.push("/metadata/labels".to_owned());
        }
        let place = self.rng.pick(&places).clone();
        let other = self.rng.pick(&places).clone();
        match self.rng.below(16) {
            0..=4 => json!({"op": "add", "path": pointer, "value": value}),
            5..=6 => json!({"op": "replace", "path": pointer, "value": value}),
            7..=8 => json!({"op": "remove", "path": place}),
            9 => {
                // What a server made differs between servers; the test of it is not worth asking.
                let known = ["/metadata/name", "/kind", "/metadata/labels/app"];
                let place = *self.rng.pick(&known);
                json!({"op": "test", "path": place, "value": shown.pointer(place)})
            }
            10 => json!({"op": "test", "path": "/kind", "value": "Wrong"}),
            11 => {
                json!({"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"})
            }
            12 => {
                json!({"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"})
            }
            13 => json!({"op": "move", "from": "/no/such/place", "path": other}),
            14 => json!({"op": "bogus", "path": "/metadata/labels/x", "value": 1}),
            _ => {
                let paths = [
                    "",
                    "nopointer",
                    "/spec/containers/99",
                    "/spec/containers/-",
                    "/spec/containers/abc",
                ];
                json!({"op": "add", "path": self.rng.pick(&paths), "value": {"name": "more", "image": "more"}})
            }
        }
    }

    /// Patches an object by overlaying another.
    pub(super) fn merge_patch(&mut self) {
        let target = self.target(|_| true);
        let mut patch = self.overlay(&target);
        match self.rng.below(30) {
            0 => patch = json!([]),
            1 => patch = json!({}),
            2 => set(&mut patch, "/metadata/resourceVersion", json!("1")),
            3 => set(&mut patch, "/metadata/labels", Value::Null),
            4 => set(&mut patch, "/spec", Value::Null),
            5 => set(&mut patch, "/metadata/bogus", json!(1)),
            6 => set(&mut patch, "/metadata/name", json!("other")),
            7 => set(&mut patch, "/metadata/finalizers", Value::Null),
            8 => set(&mut patch, "/kind", json!("Other")),
            _ => {}
        }
        self.patch("merge-patch", &target, "", MERGE_PATCH, patch.to_string());
    }

    /// Patches an object by overlaying another in Kubernetes' own way.
    pub(super) fn strategic_patch(&mut self) {
        let target = self.target(|kind| !kind.custom);
        let directives = [
            json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}}),
            json!({"metadata": {"labels": {"$patch": "delete"}}}),
            json!({"metadata": {"annotations": {"$patch": "bogus"}}}),
            json!({"metadata": {"finalizers": ["example.com/more"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": "text"}}),
            json!({"metadata": {"$retainKeys": ["name"], "labels": {"kept": "no"}}}),
            json!({"metadata": {"ownerReferences": [{"uid": "11111111-2222-3333-4444-555555555555", "$patch": "delete"}]}}),
            json!({"metadata": {"ownerReferences": [{"uid": "22222222-2222-3333-4444-555555555555", "apiVersion": "v1", "kind": "Secret", "name": "s"}]}}),
            json!({"spec": {"containers": [{"name": "side", "image": "side:9"}], "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}]}}),
            json!({"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}),
            json!({"spec": {"containers": [{"image": "nameless"}]}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "b"}]}]}}}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}}}}),
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            json!({"spec": {"tolerations": [{"key": "more", "operator": "Exists"}]}}),
            json!({"spec": {"taints": [{"key": "more", "effect": "NoSchedule"}]}}),
            json!({"spec": {"ports": [{"port": 81, "name": "more"}]}}),
            json!({"spec": {"$patch": "replace"}}),
            json!({"subjects": [{"kind": "Group", "name": "g"}]}),
            json!({"secrets": [{"name": "b", "$patch": "delete"}]}),
            json!({"$patch": "delete"}),
            json!({"$patch": "replace", "data": {"z": "eg=="}}),
            json!({"data": {"a": null, "y": "eQ=="}}),
            json!({"rules": null}),
        ];
        let patch = if self.rng.chance(45) {
            self.rng.pick(&directives).clone()
        } else {
            self.overlay(&target)
        };
        self.patch("strategic-patch", &target, "", STRATEGIC_PATCH, patch.to_string());
    }

    /// An object with nothing but a few changes. An item of a list is named as the one it changes.
    fn overlay(&mut self, target: &Target) -> Value {
        let shown = self.shown(target);
        let mut overlay = json!({});
        for _ in 0..self.rng.between(1, 3) {
            let (pointer, value) = self.change(target);
            put(&mut overlay, &shown, &pointer, value);
        }
        overlay
    }

    /// Says what a manager wants an object to be.
    pub(super) fn apply(&mut self) {
        let target = self.target(|_| true);
        let shown = self.shown(&target);
        let fresh = shown.is_null() || self.rng.chance(35);
        let mut object = if fresh {
            target.kind.make(&mut self.rng, &target.namespace, 1)
        } else {
            json!({"apiVersion": target.kind.api_version, "kind": target.kind.kind})
        };
        for _ in 0..self.rng.below(4) {
            let (pointer, value) = self.change(&target);
            if pointer != "/metadata/managedFields" {
                put(&mut object, &shown, &pointer, value);
            }
        }
        set(&mut object, "/metadata/name", json!(target.name));
        match self.rng.below(25) {
            0 => set(&mut object, "/metadata/managedFields", json!([{"manager": "x"}])),
            1 => set(&mut object, "/apiVersion", Value::Null),
            2 => set(&mut object, "/kind", json!("Other")),
            3 => set(&mut object, "/metadata/name", json!("other")),
            4 => set(&mut object, "/metadata/resourceVersion", json!("1")),
            5 => set(&mut object, "/spec/bogus", json!(1)),
            6 => set(&mut object, "/metadata/uid", json!("11111111-2222-3333-4444-555555555555")),
            _ => {}
        }
        let text = if self.rng.chance(30) { spoil::yaml(&object) } else { object.to_string() };
        self.patch("apply", &target, "", APPLY_PATCH, text);
    }

    /// Sends a patch to an object or a subresource of it.
    pub(super) fn patch(
        &mut self,
        verb: &'static str,
        target: &Target,
        subresource: &str,
        content_type: &str,
        text: String,
    ) {
        let mut path = target.path();
        if !subresource.is_empty() {
            path = format!("{path}/{subresource}");
        }
        let mut exchange = Exchange::new(verb, target.label(subresource), "PATCH").at(path);
        if verb == "apply" && self.rng.chance(96) {
            let manager = *self.rng.pick(&["one", "one", "two", "three"]);
            exchange = exchange.query("fieldManager", manager);
            if self.rng.chance(35) {
                exchange = exchange.query("force", self.rng.pick(&["true", "true", "false"]));
            }
            if self.rng.chance(6) {
                exchange = exchange.query("dryRun", "All");
            }
            if self.rng.chance(10) {
                exchange = exchange.query("fieldValidation", self.rng.pick(&["Strict", "Ignore"]));
            }
        } else {
            exchange = self.with_options(exchange);
            if self.rng.chance(1) {
                exchange = exchange.query("force", "true");
            }
        }
        let exchange = exchange.text(content_type, text);
        let exchange = self.known(exchange, target);
        self.push(exchange);
    }
}

/// Puts a value into an overlay. Where the way leads through a list of an object that is there, the
/// overlay has the one item with the name that the item there has.
fn put(overlay: &mut Value, shown: &Value, pointer: &str, value: Value) {
    let steps: Vec<String> = tokens(pointer).collect();
    let Some(at) = steps.iter().position(|step| step.parse::<usize>().is_ok()) else {
        set(overlay, pointer, value);
        return;
    };
    let escaped = |steps: &[String]| -> String {
        let escape = |step: &String| format!("/{}", step.replace('~', "~0").replace('/', "~1"));
        steps.iter().map(escape).collect()
    };
    let name = shown.pointer(&escaped(&steps[..=at])).map_or(json!("main"), |i| i["name"].clone());
    let rest = escaped(&steps[at + 1..]);
    let mut item = json!({});
    set(&mut item, &rest, value);
    if item.is_object() && item.get("name").is_none() {
        set(&mut item, "/name", name);
    }
    set(overlay, &escaped(&steps[..at]), json!([item]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_names_the_item_it_changes() {
        let shown = json!({"spec": {"containers": [{"name": "main"}]}});
        let mut overlay = json!({});
        put(&mut overlay, &shown, "/spec/containers/0/image", json!("x"));
        put(&mut overlay, &shown, "/spec/paused", json!(true));
        let expected =
            json!({"spec": {"containers": [{"name": "main", "image": "x"}], "paused": true}});
        assert_eq!(overlay, expected);
    }
}
