//! What the benchmark asks of an API server.

use std::{collections::BTreeSet, time::Duration};

use joiner_realparts::http::{Request, Server};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{bench::scenarios::objects, errors::Failure};

/// How often something that takes time is asked about. What is asked is small.
pub(super) const ASK_EVERY: Duration = Duration::from_secs(1);

/// How often a question is asked that gets no answer: a computer that runs a whole cluster besides
/// this benchmark may be slow, but not for ever.
const ASK_TIMES: usize = 10;

/// How many objects a page of a list has.
const PAGE: usize = 500;

/// A page of a list of which only some of each object is read.
#[derive(Debug, Deserialize)]
struct Page<T> {
    metadata: PageMetadata,
    items: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct PageMetadata {
    /// Where the list goes on.
    #[serde(default, rename = "continue")]
    next: String,
}

/// An object of which nothing is read.
#[derive(Debug, Deserialize)]
struct Anything {}

/// The API server of a control plane.
#[derive(Debug)]
pub(super) struct Cluster(Server);

impl Cluster {
    /// The API server at an address, asked with a bearer token.
    pub(super) fn new(url: &str, token: &str) -> Self {
        Self(Server::new(url, token))
    }

    /// Makes an object.
    pub(super) async fn create(&self, path: &str, object: &Value) -> Result<(), Failure> {
        self.send("POST", path, "application/json", Some(object)).await.map(drop)
    }

    /// Adds CRDs and waits until their kinds are served.
    pub(super) async fn define(&self, crds: &[Value]) -> Result<(), Failure> {
        for crd in crds {
            self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await?;
        }
        for crd in crds {
            let spec = &crd["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let version = text(&spec["versions"][0]["name"]);
            let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
            let path = format!("/apis/{group}/{version}/{plural}?limit=1");
            while self.send("GET", &path, "application/json", None).await.is_err() {
                tokio::time::sleep(ASK_EVERY).await;
            }
        }
        Ok(())
    }

    /// Removes an object.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.send("DELETE", path, "application/json", None).await.map(drop)
    }

    /// How many pods the deployments have made so far.
    pub(super) async fn pods_made(&self) -> Result<usize, Failure> {
        #[derive(Deserialize)]
        struct Deployment {
            status: Status,
        }
        #[derive(Deserialize)]
        struct Status {
            #[serde(default)]
            replicas: usize,
        }
        let deployments: Vec<Deployment> = self.list(objects::DEPLOYMENTS).await?;
        Ok(deployments.iter().map(|deployment| deployment.status.replicas).sum())
    }

    /// Has a deployment run so many pods.
    pub(super) async fn scale(&self, deployment: &str, replicas: usize) -> Result<(), Failure> {
        let path = format!("{}/{deployment}/scale", objects::DEPLOYMENTS);
        self.merge(&path, &serde_json::json!({"spec": {"replicas": replicas}})).await
    }

    /// Changes an object by a merge patch.
    pub(super) async fn merge(&self, path: &str, patch: &Value) -> Result<(), Failure> {
        self.send("PATCH", path, "application/merge-patch+json", Some(patch)).await.map(drop)
    }

    /// Whether there is anything at a path, which may select by field or label.
    pub(super) async fn any(&self, path: &str) -> Result<bool, Failure> {
        let page: Page<Anything> = self.page(path, 1, "").await?;
        Ok(!page.items.is_empty())
    }

    /// Names of all objects at a path.
    pub(super) async fn names(&self, path: &str) -> Result<BTreeSet<String>, Failure> {
        #[derive(Deserialize)]
        struct Named {
            metadata: Name,
        }
        #[derive(Deserialize)]
        struct Name {
            name: String,
        }
        let objects: Vec<Named> = self.list(path).await?;
        Ok(objects.into_iter().map(|object| object.metadata.name).collect())
    }

    /// All objects at a path, which may select by field or label.
    pub(super) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let mut page: Page<T> = self.page(path, PAGE, "").await?;
        let mut items = page.items;
        while !page.metadata.next.is_empty() {
            page = self.page(path, PAGE, &page.metadata.next).await?;
            items.append(&mut page.items);
        }
        Ok(items)
    }

    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: usize,
        next: &str,
    ) -> Result<Page<T>, Failure> {
        let separator = if path.contains('?') { '&' } else { '?' };
        // What the server gives as a place to go on is fit for an address as it is.
        let path = format!("{path}{separator}limit={limit}&continue={next}");
        let body = self.send("GET", &path, "application/json", None).await?;
        serde_json::from_str(&body)
            .map_err(|error| Failure::bad_input(format!("{path} cannot be read: {error}")))
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Result<String, Failure> {
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("content-type".to_owned(), content.to_owned())],
            body: body.map(Value::to_string),
        };
        // Only what changes nothing may be asked twice.
        let mut left = if method == "GET" { ASK_TIMES } else { 1 };
        let answer = loop {
            left -= 1;
            match self.0.send(&request).await {
                Ok(answer) => break answer,
                Err(error) if left == 0 => return Err(Failure::bad_input(error.to_string())),
                Err(_) => tokio::time::sleep(ASK_EVERY).await,
            }
        };
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        let (status, body) = (answer.status, answer.body);
        Err(Failure::bad_input(format!("{method} {path} is answered with {status}: {body}")))
    }
}
