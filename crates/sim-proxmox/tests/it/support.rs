//! A client of a few lines: it writes a request by hand, and takes the answer apart.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::ext::ReasonPhrase;
use joiner_clock::Clock;
use joiner_sim_proxmox::{Inventory, NoAnswer, Proxmox};
use serde_json::{Value, json};

/// The token of a provider.
pub(crate) const PROVIDER: &str = "kubernetes@pve!karpenter=karpenter-secret";

/// A token that may only look.
pub(crate) const READER: &str = "audit@pve!reader=reader-secret";

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) cluster: Proxmox,
    pub(crate) clock: Clock,
    pub(crate) token: String,
}

/// An answer, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn read(answer: &Response<Bytes>) -> Self {
        let reason = answer.extensions().get::<ReasonPhrase>();
        let reason = reason.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        Self {
            status: answer.status().as_u16(),
            reason: reason.unwrap_or_default(),
            body: serde_json::from_slice(answer.body()).unwrap_or_default(),
        }
    }

    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.body["data"].clone()
    }

    /// The status and the text of a refusal.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        assert_ne!(self.status, 200, "{self:?}");
        (self.status, &self.reason)
    }
}

impl Client {
    /// The provider's token at the small cluster.
    pub(crate) fn small() -> Self {
        Self::of(Inventory::small())
    }

    pub(crate) fn of(inventory: Inventory) -> Self {
        let clock = Clock::following_runtime("2030-01-02T03:04:05Z".parse().unwrap());
        let cluster = Proxmox::new(inventory, clock.clone()).unwrap();
        Self { cluster, clock, token: PROVIDER.to_owned() }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Reply, NoAnswer> {
        Ok(Reply::read(&self.cluster.answer(request).await?))
    }

    /// Sends a line such as `POST /nodes/pve-1/qemu/9001/clone newid=200&full=1`.
    pub(crate) async fn try_call(&self, line: &str) -> Result<Reply, NoAnswer> {
        let mut words = line.splitn(3, ' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let parameters = words.next().unwrap_or_default().to_owned();
        let in_body = ["POST", "PUT"].contains(&method);
        let query =
            if in_body || parameters.is_empty() { String::new() } else { format!("?{parameters}") };
        let request = Request::builder()
            .method(method)
            .uri(format!("/api2/json{path}{query}"))
            .header("authorization", format!("PVEAPIToken={}", self.token))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Bytes::from(if in_body { parameters } else { String::new() }))
            .unwrap();
        self.send(request).await
    }

    pub(crate) async fn call(&self, line: &str) -> Reply {
        self.try_call(line).await.unwrap()
    }

    pub(crate) async fn sleep(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// How a task ended.
    pub(crate) async fn wait(&self, upid: &str) -> String {
        let node = upid.split(':').nth(1).unwrap();
        loop {
            let status = self.call(&format!("GET /nodes/{node}/tasks/{upid}/status")).await.ok();
            if let Some(status) = status["exitstatus"].as_str() {
                return status.to_owned();
            }
            self.clock.sleep(Duration::from_millis(500)).await;
        }
    }

    /// Sends a call that begins a task; how the task ended.
    pub(crate) async fn task(&self, line: &str) -> String {
        let upid = self.call(line).await.ok();
        self.wait(upid.as_str().unwrap()).await
    }

    /// Sends a call whose task succeeds.
    pub(crate) async fn done(&self, line: &str) {
        assert_eq!(self.task(line).await, "OK", "{line}");
    }

    /// The configuration of a VM on `pve-1`.
    pub(crate) async fn config(&self, vmid: u32) -> Value {
        self.call(&format!("GET /nodes/pve-1/qemu/{vmid}/config")).await.ok()
    }

    /// The row of a VM; null if there is none.
    pub(crate) async fn row(&self, vmid: u32) -> Value {
        let rows = self.call("GET /cluster/resources type=vm").await.ok();
        let rows = rows.as_array().unwrap().iter();
        rows.clone().find(|row| row["vmid"] == vmid).cloned().unwrap_or_default()
    }

    /// A full clone of the template of `pve-1`, which is done.
    pub(crate) async fn cloned(&self, vmid: u32) {
        let line = format!("POST /nodes/pve-1/qemu/9001/clone newid={vmid}&name=web-{vmid}&full=1");
        self.done(&line).await;
    }

    /// A refusal, and what is wrong with a parameter.
    pub(crate) async fn refused(&self, line: &str, parameter: &str) -> String {
        let reply = self.call(line).await;
        assert_eq!(reply.refusal(), (400, "Parameter verification failed."), "{line}");
        let problem = &reply.body["errors"][parameter];
        assert_ne!(problem, &json!(null), "{reply:?}");
        problem.as_str().unwrap().to_owned()
    }
}
