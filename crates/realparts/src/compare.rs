//! Asks two servers the same questions in lockstep and compares what they say.

use std::time::Duration;

use serde_json::Value;

use crate::{
    diff::{Difference, differences},
    disputed::Disputed,
    exchange::{Exchange, Handling},
    http::{Answer, HttpError, Request, Server},
    memory::Memory,
    normal::{Normal, Normaliser},
};

/// How often a server is asked again that has not taken notice yet, and how long it is left alone
/// in between.
const TRIES: usize = 400;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// One of the two servers, with what it answered so far.
#[derive(Debug)]
struct Side {
    server: Server,
    memory: Memory,
    normaliser: Normaliser,
}

/// What came of one question.
#[derive(Debug)]
pub struct Outcome {
    /// The request as the real server got it.
    pub request: Request,
    /// What the real server answered.
    pub real: Answer,
    /// Where the answers differ.
    pub differences: Vec<Difference>,
}

/// Two servers that are compared.
#[derive(Debug)]
pub struct Comparison {
    real: Side,
    lab: Side,
    /// Objects on which the servers disagreed once: what lists and watches say of them says nothing
    /// new.
    disputed: Disputed,
}

impl Comparison {
    /// Compares a server with a real one.
    pub fn new(real: Server, lab: Server) -> Self {
        let side =
            |server| Side { server, memory: Memory::default(), normaliser: Normaliser::default() };
        Self { real: side(real), lab: side(lab), disputed: Disputed::default() }
    }

    /// Asks both servers. It is an error if the real one does not answer, and a difference if the
    /// other one does not.
    pub async fn ask(&mut self, exchange: &Exchange) -> Result<Outcome, HttpError> {
        let (real, lab) = tokio::join!(self.real.ask(exchange), self.lab.ask(exchange));
        let (request, real) = real?;
        self.real.memory.remember(exchange, real.status, &real.body);
        if let Ok((_, lab)) = &lab {
            self.lab.memory.remember(exchange, lab.status, &lab.body);
        }
        let differences = match (exchange.handling, lab) {
            (Handling::Ignore, _) => Vec::new(),
            (_, Err(error)) => vec![difference("(no answer)", "an answer", error.to_string())],
            (Handling::Until(_), Ok((_, lab))) if real.status == lab.status => Vec::new(),
            (Handling::Until(_), Ok((_, lab))) => {
                vec![difference("(status)", real.status, lab.status)]
            }
            (Handling::Compare, Ok((lab_request, lab))) => {
                let mut real_normal = self.real.normaliser.answer(&request, &real);
                let mut lab_normal = self.lab.normaliser.answer(&lab_request, &lab);
                self.disputed.leave_out(&request, &mut real_normal.body, &mut lab_normal.body);
                let found = compare(&real_normal, &lab_normal);
                if !found.is_empty() {
                    self.disputed.note(&request, &real.body);
                    self.disputed.note(&request, &lab.body);
                }
                found
            }
        };
        Ok(Outcome { request, real, differences })
    }
}

impl Side {
    async fn ask(&self, exchange: &Exchange) -> Result<(Request, Answer), HttpError> {
        let request = self.memory.request(exchange);
        let mut answer = self.server.send(&request).await?;
        if let Handling::Until(text) = exchange.handling {
            for _ in 0..TRIES {
                if answer.status == 200 && answer.body.contains(text) {
                    break;
                }
                tokio::time::sleep(BETWEEN_TRIES).await;
                answer = self.server.send(&request).await?;
            }
        }
        Ok((request, answer))
    }
}

fn difference(path: &str, real: impl Into<Value>, lab: impl Into<Value>) -> Difference {
    Difference {
        path: path.to_owned(),
        pattern: path.to_owned(),
        real: Some(real.into()),
        lab: Some(lab.into()),
    }
}

/// Where two answers differ. Bodies of answers with different status codes have nothing in common
/// worth listing, so the code and what it was said with are shown as one.
fn compare(real: &Normal, lab: &Normal) -> Vec<Difference> {
    if real.status != lab.status {
        return vec![difference("(status)", said(real), said(lab))];
    }
    if is_expired(real) != is_expired(lab) {
        let told = |answer: &Normal| if is_expired(answer) { "expired" } else { "changes" };
        return vec![difference("(expired)", told(real), told(lab))];
    }
    let mut found = Vec::new();
    if real.content_type != lab.content_type {
        let (real, lab) = (real.content_type.clone(), lab.content_type.clone());
        found.push(difference("(content-type)", real, lab));
    }
    if real.warnings != lab.warnings {
        found.push(difference("(warning)", real.warnings.clone(), lab.warnings.clone()));
    }
    found.extend(differences(&real.body, &lab.body));
    found
}

/// Whether a watch was told that what it asks for is forgotten.
fn is_expired(answer: &Normal) -> bool {
    let first = &answer.body[0];
    first["type"] == "ERROR" && first["object"]["code"] == 410
}

/// The code of an answer and its message, or else its kind, or else all of it.
fn said(answer: &Normal) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words = match &answer.body {
        Value::Object(body) => {
            body.get("message").or_else(|| body.get("kind")).map(text).unwrap_or_default()
        }
        other => text(other),
    };
    format!("{} {words}", answer.status)
}
