//! Several servers of one cloud: which of them is asked, and when the next one is.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response};
use joiner_clock::Clock;
use joiner_line::{Departure, Failover, Line, LineSettings, Repeat, Transport, TransportError};

/// What a server does now.
#[derive(Debug, Clone, Copy)]
enum State {
    Answers,
    /// Nothing listens there.
    Away,
    /// It takes the request and breaks the connection.
    Breaks,
    /// It takes the request and never answers.
    Silent,
    /// Its certificate is not accepted.
    NotTrusted,
}

struct Server {
    name: &'static str,
    state: Mutex<State>,
}

#[async_trait]
impl Transport for Server {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let state = *self.state.lock().unwrap();
        let departure = request.extensions().get::<Departure>();
        departure.inspect(|own| own.holds());
        let text = format!("{} {state:?}", self.name);
        match state {
            State::Answers => Ok(Response::new(self.name.into())),
            State::Away => Err(TransportError::NotSent(text)),
            State::NotTrusted => Err(TransportError::NotTrusted(text)),
            State::Breaks => {
                departure.inspect(|own| own.leaves());
                Err(TransportError::NoAnswer(text))
            }
            State::Silent => std::future::pending().await,
        }
    }
}

/// Three servers, and a client of them.
struct Site {
    servers: [Arc<Server>; 3],
    line: Line,
}

impl Site {
    fn new(states: [State; 3]) -> Self {
        let mut names = ["a", "b", "c"].into_iter();
        let servers = states.map(|state| {
            let name = names.next().unwrap();
            Arc::new(Server { name, state: Mutex::new(state) })
        });
        let [first, others @ ..] = servers.clone().map(|server| server as Arc<dyn Transport>);
        let failover = Arc::new(Failover::new(first, others));
        let clock = Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap());
        Self { servers, line: Line::new(LineSettings::default(), failover, clock) }
    }

    fn set(&self, server: usize, state: State) {
        *self.servers[server].state.lock().unwrap() = state;
    }

    /// Which server answers, or the error.
    async fn ask(&self, method: Method) -> Result<String, TransportError> {
        self.ask_with(method, None).await
    }

    async fn ask_with(
        &self,
        method: Method,
        repeat: Option<Repeat>,
    ) -> Result<String, TransportError> {
        let request = Request::builder().method(method).uri("/").body(Bytes::new());
        let mut request = request.unwrap();
        if let Some(repeat) = repeat {
            request.extensions_mut().insert(repeat);
        }
        let response = self.line.send(request, Duration::from_secs(30)).await?;
        Ok(String::from_utf8_lossy(response.body()).into_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_that_answered_last_is_asked_first() {
    let site = Site::new([State::Away, State::Answers, State::Answers]);
    assert_eq!(site.ask(Method::POST).await.as_deref(), Ok("b"));
    site.set(0, State::Answers);
    assert_eq!(site.ask(Method::POST).await.as_deref(), Ok("b"));
    site.set(1, State::Away);
    assert_eq!(site.ask(Method::POST).await.as_deref(), Ok("c"));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_may_have_been_made_is_not_sent_to_another_server() {
    let site = Site::new([State::Breaks, State::Answers, State::Answers]);
    let error = site.ask(Method::POST).await.unwrap_err();
    assert_eq!(error, TransportError::NoAnswer("a Breaks".to_owned()));
    assert_eq!(site.ask(Method::POST).await.as_deref(), Ok("b"), "the next request goes elsewhere");
}

#[tokio::test(start_paused = true)]
async fn what_a_request_says_of_itself_counts_more_than_its_method() {
    let changing = Site::new([State::Breaks, State::Answers, State::Answers]);
    changing.ask_with(Method::GET, Some(Repeat::WhereUnsent)).await.unwrap_err();
    let harmless = Site::new([State::Breaks, State::Answers, State::Answers]);
    assert_eq!(harmless.ask(Method::GET).await.as_deref(), Ok("b"));
    let harmless = Site::new([State::Breaks, State::Answers, State::Answers]);
    assert_eq!(harmless.ask_with(Method::POST, Some(Repeat::Always)).await.as_deref(), Ok("b"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_until_the_deadline_is_not_asked_first_again() {
    let site = Site::new([State::Silent, State::Answers, State::Answers]);
    let error = site.ask(Method::GET).await.unwrap_err();
    assert!(error.to_string().contains("within 30 s"), "{error}");
    assert_eq!(site.ask(Method::GET).await.as_deref(), Ok("b"));
}

#[tokio::test(start_paused = true)]
async fn where_no_server_answers_all_are_named() {
    for (states, text, unsent) in [
        ([State::Away, State::NotTrusted, State::Away], "a Away; b NotTrusted; c Away", true),
        ([State::NotTrusted; 3], "a NotTrusted; b NotTrusted; c NotTrusted", true),
        ([State::Away, State::Breaks, State::Away], "a Away; b Breaks; c Away", false),
    ] {
        let error = Site::new(states).ask(Method::GET).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.is_unsent()), (text, unsent));
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_that_left_to_one_server_have_left_whatever_the_next_one_says() {
    let site = Site::new([State::Breaks, State::Silent, State::Silent]);
    let error = site.ask(Method::GET).await.unwrap_err();
    assert!(matches!(error, TransportError::NoAnswer(_)), "{error:?}");
    let site = Site::new([State::Away, State::Silent, State::Silent]);
    let error = site.ask(Method::GET).await.unwrap_err();
    assert!(matches!(error, TransportError::NotSent(_)), "{error:?}");
}
