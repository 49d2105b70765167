//! Reading: single objects, lists, pages and watches.

use std::rc::Rc;

use super::{Generator, Listed, Target, kind::Kind};
use crate::exchange::{Exchange, reference};

/// What a client may ask for instead of plain JSON.
const FORMS: [&str; 11] = [
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/yaml",
    "application/json;as=Bogus;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v9;g=meta.k8s.io",
    "text/html",
    "*/*",
    "application/xml, application/json;q=0.5",
    "application/xml",
];

const LABEL_SELECTORS: [&str; 16] = [
    "app=web",
    "app==web",
    "app!=web",
    "app in (web,other)",
    "app notin (web)",
    "app",
    "!app",
    "app=web,tier=a",
    "app=,tier",
    "run",
    "app in ()",
    "app=web,",
    "=web",
    "bad key=x",
    "app=bad value!",
    "app>5",
];

const FIELD_SELECTORS: [&str; 7] = [
    "metadata.name=alpha",
    "metadata.name!=alpha",
    "metadata.namespace=nowhere",
    "spec.bogus=1",
    "metadata.name",
    "=x",
    "metadata.name=alpha,metadata.name=beta",
];

impl Generator {
    /// Gets an object.
    pub(super) fn get(&mut self) {
        let target = self.target(|_| true);
        let path = target.path();
        let mut exchange = Exchange::new("get", target.label(""), "GET").at(&path);
        if self.rng.chance(40) {
            let form = *self.rng.pick(&FORMS);
            exchange = exchange.header("accept", form);
            if form.contains("Table") && self.rng.chance(40) {
                let include = *self.rng.pick(&["Object", "None", "Metadata", "Bogus"]);
                exchange = exchange.query("includeObject", include);
            }
        } else {
            exchange = exchange.remember(&path);
        }
        if self.rng.chance(4) {
            let version = *self.rng.pick(&["abc", "1", "-1"]);
            exchange = exchange.query("resourceVersion", version);
        }
        if self.rng.chance(3) {
            exchange = exchange.query("pretty", "true");
        }
        self.push(exchange);
    }

    /// A kind and where to list its objects: in a namespace, or everywhere.
    fn listed(&mut self) -> (Rc<Kind>, String) {
        let Target { kind, namespace, .. } = self.target(|_| true);
        let everywhere = self.rng.chance(15) && !kind.has_objects_of_the_server();
        (kind, if everywhere { String::new() } else { namespace })
    }

    /// A list of objects, without those that the server made for itself.
    fn listing(&mut self, verb: &'static str, kind: &Kind, namespace: &str) -> Exchange {
        let exchange = Exchange::new(verb, kind.label(), "GET").at(kind.collection(namespace));
        if namespace.is_empty() && kind.has_objects_of_the_server() {
            exchange.query("labelSelector", format!("run={}", self.prefix))
        } else {
            exchange
        }
    }

    /// Lists objects.
    pub(super) fn list(&mut self) {
        let (kind, namespace) = self.listed();
        let mut exchange = self.listing("list", &kind, &namespace);
        if self.rng.chance(25) && !exchange.path.contains('?') {
            exchange = exchange.query("labelSelector", self.rng.pick(&LABEL_SELECTORS));
        }
        if self.rng.chance(20) {
            exchange = exchange.query("fieldSelector", self.rng.pick(&FIELD_SELECTORS));
        } else if self.rng.chance(50) && !kind.selectors.is_empty() {
            exchange = exchange.query("fieldSelector", self.rng.pick(&kind.selectors));
        }
        if self.rng.chance(35) {
            exchange = exchange.header("accept", self.rng.pick(&FORMS));
        }
        match self.rng.below(40) {
            0 => exchange = exchange.query("limit", "abc"),
            1 => exchange = exchange.query("limit", "-1"),
            2 => exchange = exchange.query("continue", "bm90IGEgdG9rZW4"),
            3 => exchange = exchange.query("continue", "%%%"),
            4 => exchange = exchange.query("resourceVersion", "abc"),
            5 => exchange = exchange.query("resourceVersionMatch", "Exact"),
            6 => {
                exchange = exchange
                    .query("resourceVersion", "1")
                    .query("resourceVersionMatch", self.rng.pick(&["NotOlderThan", "Bogus"]));
            }
            7 => exchange = exchange.query("timeoutSeconds", "30"),
            8 => {
                exchange =
                    exchange.query("resourceVersion", "0").query("resourceVersionMatch", "Exact");
            }
            _ => {}
        }
        let key = format!("list {}", self.count());
        self.listing = Some(Listed { kind, namespace, key: key.clone() });
        self.push(exchange.remember(&key));
    }

    /// Reads a list page by page, now and then with something changed in between.
    pub(super) fn pages(&mut self) {
        let (kind, namespace) = self.listed();
        let namespace = if kind.namespaced && namespace.is_empty() {
            // Names that servers made would be on different pages.
            self.namespaces[0].clone()
        } else {
            namespace
        };
        let limit = self.rng.between(1, 3).to_string();
        let table = self.rng.chance(20);
        let mut token = None;
        for _ in 0..3 {
            let key = format!("page {}", self.count());
            let mut page = self.listing("page", &kind, &namespace).query("limit", &limit);
            if let Some(token) = &token {
                page = page.query("continue", token);
                if self.rng.chance(5) {
                    page = page.query("resourceVersion", "1");
                }
            }
            if table {
                page = page.header("accept", FORMS[0]);
            }
            self.push(page.remember(&key));
            token = Some(reference(&key, "/metadata/continue"));
            if self.rng.chance(15) {
                self.create();
            }
        }
    }

    /// Watches from a list that was read lately, or from somewhere that does not work.
    pub(super) fn watch(&mut self) {
        if self.lists.is_empty() {
            self.list();
            return;
        }
        let lists: Vec<_> = self.lists.iter().cloned().collect();
        let Listed { kind, namespace, key } = self.rng.pick(&lists).clone();
        let mut exchange = self
            .listing("watch", &kind, &namespace)
            .query("watch", self.rng.pick(&["true", "1"]))
            .query("timeoutSeconds", "1");
        let version = reference(&key, "/metadata/resourceVersion");
        match self.rng.below(12) {
            0 => exchange = exchange.query("resourceVersion", "abc"),
            1 => exchange = exchange.query("resourceVersion", "1"),
            2 => {
                exchange = exchange
                    .query("sendInitialEvents", "true")
                    .query("resourceVersionMatch", "NotOlderThan")
                    .query("allowWatchBookmarks", "true");
            }
            3 => exchange = exchange.query("sendInitialEvents", "true"),
            4 => exchange = exchange.query("resourceVersionMatch", "Exact"),
            5 => {
                exchange = exchange
                    .query("resourceVersion", &version)
                    .header("accept", FORMS[self.rng.below(4)]);
            }
            6 if !exchange.path.contains("labelSelector") => {
                exchange = exchange
                    .query("resourceVersion", &version)
                    .query("labelSelector", self.rng.pick(&LABEL_SELECTORS));
            }
            7 if !kind.selectors.is_empty() => {
                exchange = exchange
                    .query("resourceVersion", &version)
                    .query("fieldSelector", self.rng.pick(&kind.selectors));
            }
            8 => {
                let target = self.target(|_| true);
                exchange = exchange
                    .query("resourceVersion", &version)
                    .query("fieldSelector", format!("metadata.name={}", target.name));
            }
            _ => exchange = exchange.query("resourceVersion", &version),
        }
        self.push(exchange);
    }
}
