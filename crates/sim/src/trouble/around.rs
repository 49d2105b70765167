//! What goes wrong between a client and the server, laid around an answer.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use joiner_clock::Clock;

use super::Effect;
use crate::server::{Answered, NoAnswer};

/// How a call ends for the client.
#[derive(Debug)]
pub enum Ending {
    /// With an answer.
    Answer(Answered),
    /// The connection breaks.
    Lost {
        /// Whether the call took effect.
        after: bool,
    },
    /// No answer ever comes.
    Silence {
        /// Whether the call took effect.
        after: bool,
    },
}

impl Ending {
    /// What the log says of the call.
    pub fn outcome(&self) -> &str {
        match self {
            Self::Answer(answered) => &answered.outcome,
            Self::Lost { after: false } => "lost, no effect",
            Self::Lost { after: true } => "lost, took effect",
            Self::Silence { after: false } => "silence, no effect",
            Self::Silence { after: true } => "silence, took effect",
        }
    }

    /// What the client gets of it. Silence never ends.
    pub async fn arrive(self) -> Result<Response<Bytes>, NoAnswer> {
        match self {
            Self::Answer(answered) => Ok(answered.response),
            Self::Lost { .. } => Err(NoAnswer),
            Self::Silence { .. } => std::future::pending().await,
        }
    }
}

/// Lets happen what goes wrong between client and server. The answer is worked out only if the
/// call takes effect.
pub async fn around<C, F: Future<Output = Answered>>(
    effect: Option<&Effect<C>>,
    clock: &Clock,
    answer: impl FnOnce() -> F,
) -> Ending {
    match effect {
        Some(Effect::Http(status)) => return Ending::Answer(of_a_proxy(*status)),
        Some(Effect::Lost { after: false }) => return Ending::Lost { after: false },
        Some(Effect::Silence { after: false }) => return Ending::Silence { after: false },
        Some(Effect::Slow(delay)) => clock.sleep(*delay).await,
        _ => {}
    }
    let answered = answer().await;
    match effect {
        Some(Effect::Lost { .. }) => Ending::Lost { after: true },
        Some(Effect::Silence { .. }) => Ending::Silence { after: true },
        Some(Effect::CutShort) => Ending::Answer(cut_short(answered)),
        _ => Ending::Answer(answered),
    }
}

/// What a proxy answers in place of a server that it does not reach.
fn of_a_proxy(status: u16) -> Answered {
    let page = "<html><head><title>Bad Gateway</title></head>\
                <body><h1>The service is not there.</h1></body></html>";
    let mut response = Response::new(Bytes::from_static(page.as_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    Answered { response, outcome: status.to_string() }
}

/// The first half of an answer.
fn cut_short(answered: Answered) -> Answered {
    let response = answered.response.map(|body| body.slice(..body.len() / 2));
    Answered { response, outcome: "cut short".to_owned() }
}
