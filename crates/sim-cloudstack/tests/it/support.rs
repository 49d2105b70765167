//! A client of a few lines: it signs, sends, and takes answers apart.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, Response};
use joiner_clock::Clock;
use joiner_sim_cloudstack::{CloudStack, Inventory, NoAnswer};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;
use serde_json::{Value, json};

const LITERAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'*').remove(b'_');

pub(crate) type Parameters<'p> = &'p [(&'p str, &'p str)];

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) cloud: CloudStack,
    pub(crate) clock: Clock,
    pub(crate) key: String,
    pub(crate) secret: String,
}

/// An answer, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) envelope: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn read(answer: &Response<Bytes>) -> Self {
        let whole: Value = serde_json::from_slice(answer.body()).unwrap();
        let (envelope, body) = whole.as_object().unwrap().iter().next().unwrap();
        assert_eq!(whole.as_object().unwrap().len(), 1, "{whole}");
        let status = answer.status().as_u16();
        Self { status, envelope: envelope.clone(), body: body.clone() }
    }

    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.body
    }

    /// The code and the text of a refusal.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        assert_ne!(self.status, 200, "{self:?}");
        assert_eq!(self.body["errorcode"], self.status, "{self:?}");
        (self.status, self.body["errortext"].as_str().unwrap())
    }
}

impl Client {
    /// The account `user` of the small cloud.
    pub(crate) fn small() -> Self {
        Self::of(Inventory::small())
    }

    pub(crate) fn of(inventory: Inventory) -> Self {
        let clock = Clock::following_runtime("2030-01-02T03:04:05Z".parse().unwrap());
        let cloud = CloudStack::new(inventory, clock.clone()).unwrap();
        Self { cloud, clock, key: String::new(), secret: String::new() }.as_account("user")
    }

    pub(crate) fn as_account(&self, name: &str) -> Self {
        Self { key: format!("{name}-key"), secret: format!("{name}-secret"), ..self.clone() }
    }

    pub(crate) fn id(&self, kind: &'static str, name: &str) -> String {
        self.cloud.id(kind, name).unwrap()
    }

    /// The query or the form of a call.
    pub(crate) fn signed(&self, command: &str, parameters: Parameters<'_>) -> String {
        let common = [("command", command), ("apiKey", &self.key), ("response", "json")];
        self.sign(&[&common, parameters].concat())
    }

    /// Parameters with their signature.
    pub(crate) fn sign(&self, parameters: Parameters<'_>) -> String {
        let mut sorted = parameters.to_vec();
        sorted.sort_by_key(|(name, _)| *name);
        let encoded = |value| utf8_percent_encode(value, LITERAL).to_string();
        let pairs: Vec<String> =
            sorted.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, self.secret.as_bytes());
        let signature = hmac::sign(&key, pairs.join("&").to_lowercase().as_bytes());
        let signature = BASE64_STANDARD.encode(signature);
        let pairs: Vec<String> = sorted
            .iter()
            .chain([("signature", signature.as_str())].iter())
            .map(|(name, value)| {
                let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
                format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
            })
            .collect();
        pairs.join("&")
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        text: &str,
    ) -> Result<Response<Bytes>, NoAnswer> {
        let (uri, body) = match method {
            Method::GET => (format!("/client/api?{text}"), Bytes::new()),
            _ => ("/client/api".to_owned(), Bytes::from(text.to_owned())),
        };
        let request = Request::builder().method(method).uri(uri).body(body).unwrap();
        self.cloud.answer(request).await
    }

    pub(crate) async fn try_call(
        &self,
        command: &str,
        parameters: Parameters<'_>,
    ) -> Result<Reply, NoAnswer> {
        let reads = command.starts_with("list") || command.starts_with("query");
        let method = if reads { Method::GET } else { Method::POST };
        let answer = self.send(method, &self.signed(command, parameters)).await?;
        Ok(Reply::read(&answer))
    }

    pub(crate) async fn call(&self, command: &str, parameters: Parameters<'_>) -> Reply {
        self.try_call(command, parameters).await.unwrap()
    }

    /// The objects that a list shows.
    pub(crate) async fn list(&self, command: &str, parameters: Parameters<'_>) -> Vec<Value> {
        let body = self.call(command, parameters).await.ok();
        let rows = body.as_object().unwrap().values().find_map(Value::as_array);
        rows.cloned().unwrap_or_default()
    }

    /// One field of all objects that a list shows.
    pub(crate) async fn fields(
        &self,
        command: &str,
        field: &str,
        parameters: Parameters<'_>,
    ) -> Vec<String> {
        let rows = self.list(command, parameters).await;
        rows.iter().map(|row| row[field].as_str().unwrap_or("none").to_owned()).collect()
    }

    /// Waits for a job, and returns it.
    pub(crate) async fn wait(&self, job: &str) -> Value {
        loop {
            let job = self.call("queryAsyncJobResult", &[("jobid", job)]).await.ok();
            if job["jobstatus"] != 0 {
                return job;
            }
            self.clock.sleep(Duration::from_millis(500)).await;
        }
    }

    /// Sends a command that begins a job, and waits for the job.
    pub(crate) async fn job(&self, command: &str, parameters: Parameters<'_>) -> Value {
        let begun = self.call(command, parameters).await.ok();
        self.wait(begun["jobid"].as_str().unwrap()).await
    }

    /// The same, for jobs that succeed.
    pub(crate) async fn done(&self, command: &str, parameters: Parameters<'_>) -> Value {
        let job = self.job(command, parameters).await;
        assert_eq!(job["jobstatus"], 1, "{job}");
        job["jobresult"].clone()
    }

    /// The same, for jobs that fail: code and text.
    pub(crate) async fn failed(&self, command: &str, parameters: Parameters<'_>) -> (u64, String) {
        let job = self.job(command, parameters).await;
        assert_eq!(job["jobstatus"], 2, "{job}");
        assert_eq!(job["jobresultcode"], job["jobresult"]["errorcode"], "{job}");
        let text = job["jobresult"]["errortext"].as_str().unwrap().to_owned();
        (job["jobresultcode"].as_u64().unwrap(), text)
    }

    /// The parameters of a deployment that works, with others in their places.
    pub(crate) fn deployment(&self, name: &str, changed: Parameters<'_>) -> Vec<(String, String)> {
        let mut parameters = vec![
            ("zoneid".to_owned(), self.id("zone", "zone-1")),
            ("serviceofferingid".to_owned(), self.id("serviceoffering", "small")),
            ("templateid".to_owned(), self.id("template", "ubuntu-2404")),
            ("networkids".to_owned(), self.id("network", "nodes")),
            ("name".to_owned(), name.to_owned()),
        ];
        for (name, value) in changed {
            parameters.retain(|(known, _)| known != name);
            if !value.is_empty() {
                parameters.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        parameters
    }

    /// Answers a deployment.
    pub(crate) async fn deploy(&self, name: &str, changed: Parameters<'_>) -> Reply {
        let parameters = self.deployment(name, changed);
        self.call("deployVirtualMachine", &borrowed(&parameters)).await
    }

    /// Deploys a VM that runs in the end, and returns its id.
    pub(crate) async fn deployed(&self, name: &str, changed: Parameters<'_>) -> String {
        let begun = self.deploy(name, changed).await.ok();
        let job = self.wait(begun["jobid"].as_str().unwrap()).await;
        assert_eq!(job["jobstatus"], 1, "{job}");
        begun["id"].as_str().unwrap().to_owned()
    }

    /// The states of VMs by their names, as an administrator sees them.
    pub(crate) fn states(&self) -> Value {
        let vms = self.cloud.vms();
        vms.iter().map(|vm| (vm.name.clone(), json!(vm.state.name()))).collect()
    }
}

pub(crate) fn borrowed(parameters: &[(String, String)]) -> Vec<(&str, &str)> {
    parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
