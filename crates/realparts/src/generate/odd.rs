//! Questions that are not about an object: discovery, wrong paths, wrong methods, wrong tokens.

use serde_json::json;

use super::Generator;
use crate::exchange::Exchange;

const PATHS: [&str; 26] = [
    "/",
    "/nowhere",
    "/api/v2",
    "/api/v1/bogus",
    "/api/v1/namespaces/default/bogus/x",
    "/api/v1/pods/x",
    "/api/v1/namespaces/default/nodes",
    "/api/v1/nodes/missing/status",
    "/api/v1/nodes/missing/bogus",
    "/api/v1/namespaces/missing",
    "/api/v1/namespaces/missing/pods",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/default/pods/",
    "/apis/bogus.example/v1",
    "/apis/bogus.example/v1/things",
    "/apis/apps/v9/deployments",
    "/apis/apps",
    "/apis/apps/v1/bogus",
    "/apis/apps/v1/namespaces/default/deployments/missing",
    "/apis/apps/v1/namespaces/default/deployments/missing/scale",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/missing.example.com",
    "/api/v1/namespaces/default/pods/Bad_Name",
    "/api/v1/namespaces/default/pods/a%20b",
    "/api/v1/namespaces/default/pods/%2e%2e",
    "/healthz",
    "/livez",
];

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

impl Generator {
    /// Asks what is served. Only groups whose every resource is simulated are worth comparing.
    pub(super) fn discovery(&mut self) {
        let paths = [
            "/version",
            "/api",
            "/api/v1",
            "/apis/apps",
            "/apis/apps/v1",
            "/apis/batch/v1",
            "/apis/policy/v1",
            "/apis/coordination.k8s.io/v1",
            "/apis/scheduling.k8s.io/v1",
            "/apis/storage.k8s.io/v1",
            "/apis/rbac.authorization.k8s.io/v1",
            "/apis/events.k8s.io/v1",
            "/apis/certificates.k8s.io/v1",
            "/apis/apiextensions.k8s.io/v1",
            "/readyz",
        ];
        for path in paths {
            self.push(Exchange::new("discover", path, "GET").at(path));
        }
    }

    /// Asks something odd.
    pub(super) fn odd(&mut self) {
        let exchange = match self.rng.below(8) {
            0..=2 => self.odd_path(),
            3 => self.odd_method(),
            4 => self.stranger(),
            5 => self.review(),
            6 => self.doubtful_namespace(),
            _ => self.wrong_patch(),
        };
        self.push(exchange);
    }

    fn odd_path(&mut self) -> Exchange {
        let path = *self.rng.pick(&PATHS);
        let method = if self.rng.chance(70) { "GET" } else { *self.rng.pick(&METHODS[..4]) };
        let exchange = Exchange::new("odd path", path, method).at(path);
        if method == "POST" || method == "PUT" { exchange.json(&json!({})) } else { exchange }
    }

    fn odd_method(&mut self) -> Exchange {
        let target = self.target(|_| true);
        let collection = target.kind.collection(&target.namespace);
        match self.rng.below(5) {
            0 => Exchange::new("odd method", target.label(""), "POST")
                .at(target.path())
                .json(&json!({})),
            1 => {
                Exchange::new("odd method", target.label(""), "PUT").at(collection).json(&json!({}))
            }
            2 => Exchange::new("odd method", target.label(""), "PATCH")
                .at(collection)
                .text("application/merge-patch+json", "{}"),
            3 => Exchange::new("odd method", target.label(""), "OPTIONS").at(collection),
            _ => Exchange::new("odd method", target.label(""), "HEAD").at(target.path()),
        }
    }

    /// Somebody the server does not know, or knows to have no rights.
    fn stranger(&mut self) -> Exchange {
        let target = self.target(|_| true);
        let token = *self.rng.pick(&["", "Bearer wrong", "Basic YTpi", "Bearer"]);
        let method: &'static str = self.rng.pick::<&str>(&["GET", "DELETE", "POST"]);
        Exchange::new("stranger", target.label(""), method)
            .at(target.path())
            .header("authorization", token)
    }

    /// Asks what one may do.
    fn review(&mut self) -> Exchange {
        let attributes = json!({"namespace": "default", "verb": "get", "resource": "pods"});
        let (resource, spec) = match self.rng.below(4) {
            0 => ("selfsubjectaccessreviews", json!({"resourceAttributes": attributes})),
            1 => (
                "subjectaccessreviews",
                json!({"resourceAttributes": attributes, "user": "stranger"}),
            ),
            2 => ("selfsubjectaccessreviews", json!({})),
            _ => (
                "subjectaccessreviews",
                json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}, "groups": ["system:masters"]}),
            ),
        };
        let kind = if resource.starts_with("self") {
            "SelfSubjectAccessReview"
        } else {
            "SubjectAccessReview"
        };
        Exchange::new("create", format!("{resource}.authorization.k8s.io"), "POST")
            .at(format!("/apis/authorization.k8s.io/v1/{resource}"))
            .json(&json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}))
    }

    /// Creates something in a namespace that is missing, or perhaps about to go.
    fn doubtful_namespace(&mut self) -> Exchange {
        let kind = self.kind();
        let mut namespace = String::new();
        if kind.namespaced {
            // One that never is, or one that this run makes and deletes like any other object.
            let names = [
                "missing".to_owned(),
                format!("{}-alpha", self.prefix),
                format!("{}-beta", self.prefix),
                format!("{}-gamma", self.prefix),
            ];
            namespace.clone_from(self.rng.pick(&names));
        }
        let mut object = kind.make(&mut self.rng, &namespace, 0);
        let name = format!("{}-nowhere", self.prefix);
        crate::exchange::set(&mut object, "/metadata/name", json!(name));
        Exchange::new("create in a doubtful namespace", kind.label(), "POST")
            .at(kind.collection(&namespace))
            .query("dryRun", "All")
            .json(&object)
    }

    /// A patch whose type the server does not know, or does not offer here.
    fn wrong_patch(&mut self) -> Exchange {
        let target = self.target(|_| true);
        let types = [
            "application/json",
            "application/strategic-merge-patch+json",
            "application/bogus-patch+json",
            "",
            "application/merge-patch+json; charset=utf-8",
            "application/apply-patch+yaml",
            "application/apply-patch+cbor",
        ];
        Exchange::new("wrong patch", target.label(""), "PATCH")
            .at(target.path())
            .query("dryRun", "All")
            .text(self.rng.pick(&types), "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}")
    }
}
