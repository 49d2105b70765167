//! Creating and replacing objects.

use serde_json::json;

use super::{
    Generator, Target,
    kind::{bad_metadata, draw, good_metadata},
    spoil,
};
use crate::exchange::{Edit, Exchange, reference, reference_before, set};

impl Generator {
    /// Creates an object, mostly a good one with a name that is free.
    pub(super) fn create(&mut self) {
        let mut target = self.somewhere();
        for _ in 0..3 {
            if self.live.contains_key(&target.path()) && self.rng.chance(85) {
                target.name = self.name(&target.kind);
            }
        }
        if self.rng.chance(6) && target.kind.namespaced {
            self.create_with_generated_name(&target);
            return;
        }
        let kind = std::rc::Rc::clone(&target.kind);
        let fields = self.rng.below(if kind.resource == "pods" { 9 } else { 5 });
        let mut object = kind.make(&mut self.rng, &target.namespace, fields);
        set(&mut object, "/metadata/labels/run", json!(self.prefix));
        if self.rng.chance(40) {
            let (pointer, value) = draw(&mut self.rng, &good_metadata());
            set(&mut object, &pointer, value);
        }
        set(&mut object, "/metadata/name", json!(target.name));
        if self.rng.chance(15) && kind.namespaced {
            set(&mut object, "/metadata/namespace", json!(target.namespace));
        }
        if self.rng.chance(22) {
            let menu = if self.rng.chance(25) { &bad_metadata() } else { &kind.bad };
            let (pointer, value) = draw(&mut self.rng, menu);
            set(&mut object, &pointer, value);
        }
        let exchange = Exchange::new("create", target.label(""), "POST")
            .at(kind.collection(&target.namespace));
        let exchange = self.with_options(exchange);
        let exchange = spoil::send(&mut self.rng, exchange, object);
        let exchange = self.known(exchange, &target);
        self.push(exchange);
    }

    /// Creates an object whose name the server makes, looks at it and removes it.
    fn create_with_generated_name(&mut self, target: &Target) {
        let namespace = self.generated.clone();
        let mut object = target.kind.make(&mut self.rng, &namespace, 2);
        let bases = [
            "web-",
            "a",
            "Bad_Base",
            "a.b-",
            "",
            "a23456789012345678901234567890123456789012345678901234567890123-",
        ];
        set(&mut object, "/metadata/generateName", json!(self.rng.pick(&bases)));
        let key = format!("generated {}", self.count());
        let collection = target.kind.collection(&namespace);
        let path = format!("{collection}/{}", reference(&key, "/metadata/name"));
        let what = |verb, method| Exchange::new(verb, target.label(""), method);
        self.push(what("create", "POST").at(collection).json(&object).remember(&key));
        self.push(what("get", "GET").at(&path));
        if self.rng.chance(50) {
            self.push(what("delete", "DELETE").at(&path));
        }
    }

    /// Replaces an object as a client does: what it got, edited.
    pub(super) fn update(&mut self) {
        let target = self.target(|_| true);
        let path = target.path();
        let mut edits = self.edits(&target);
        let version = "/metadata/resourceVersion".to_owned();
        match self.rng.below(20) {
            0..=2 => edits.push(Edit::Remove(version)),
            3..=4 => {
                let stale = reference_before(&path, &version);
                edits.push(Edit::Set(version, json!(stale)));
            }
            5 => edits.push(Edit::Set(version, json!("1"))),
            6 => edits.push(Edit::Set(version, json!("abc"))),
            7 => {
                let other = "11111111-2222-3333-4444-555555555555";
                edits.push(Edit::Set("/metadata/uid".into(), json!(other)));
            }
            8 => edits.push(Edit::Remove("/metadata/managedFields".into())),
            9 => edits.push(Edit::Remove("/metadata/name".into())),
            10 => edits.push(Edit::Set("/metadata/name".into(), json!("other"))),
            _ => {}
        }
        let exchange = Exchange::new("update", target.label(""), "PUT").at(&path);
        let exchange = self.with_options(exchange).edited(&path, edits);
        let exchange = self.known(exchange, &target);
        self.push(exchange);
    }

    /// A few edits to an object; sometimes none, which must not write anything.
    fn edits(&mut self, target: &Target) -> Vec<Edit> {
        let mut edits = Vec::new();
        for _ in 0..self.rng.below(4) {
            let (pointer, value) = self.change(target);
            let removal = self.rng.chance(10);
            edits.push(if removal { Edit::Remove(pointer) } else { Edit::Set(pointer, value) });
        }
        edits
    }

    /// A place in an object and a new value for it, mostly a good one.
    pub(super) fn change(&mut self, target: &Target) -> (String, serde_json::Value) {
        let kind = &target.kind;
        match self.rng.below(20) {
            0..=5 => draw(&mut self.rng, &good_metadata()),
            6 => draw(&mut self.rng, &bad_metadata()),
            7..=9 => draw(&mut self.rng, &kind.bad),
            10 => draw(&mut self.rng, &kind.status),
            _ => draw(&mut self.rng, &kind.good),
        }
    }

    /// Adds options of writes to some questions.
    pub(super) fn with_options(&mut self, mut exchange: Exchange) -> Exchange {
        if self.rng.chance(8) {
            let value = *self.rng.pick(&["All", "All", "All", "Some", ""]);
            exchange = exchange.query("dryRun", value);
        }
        if self.rng.chance(15) {
            let value = *self.rng.pick(&["Ignore", "Warn", "Strict", "Strict", "Bogus"]);
            exchange = exchange.query("fieldValidation", value);
        }
        if self.rng.chance(8) {
            let long = "m".repeat(129);
            let value = *self.rng.pick(&["manager-one", "manager-two", "bad\u{7}manager", &long]);
            exchange = exchange.query("fieldManager", value);
        }
        if self.rng.chance(1) {
            exchange = exchange.query("bogusOption", "1");
        }
        exchange
    }

    /// Remembers what a question is about, unless its answer shows something that is not stored.
    pub(super) fn known(&mut self, exchange: Exchange, target: &Target) -> Exchange {
        if exchange.path.contains("dryRun") {
            return exchange;
        }
        let path = target.path();
        self.targets.insert(path.clone(), target.clone());
        exchange.remember(&path)
    }
}
