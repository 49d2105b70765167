//! Requests in virtual time: their turn, their deadline, and what is known when it has passed.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, header::USER_AGENT};
use joiner_clock::Clock;
use joiner_line::{Departure, Line, LineSettings, Observer, Transport, TransportError, in_process};

fn clock() -> Clock {
    Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap())
}

fn request() -> Request<Bytes> {
    Request::post("/").body(Bytes::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_under_way_than_there_may_be() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = (Arc::clone(&now), Arc::clone(&most));
    let server = in_process(move |_| {
        let (now, most) = counted.clone();
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, String>(Response::new(Bytes::new()))
        }
    });
    let settings = LineSettings { requests_in_flight: 8, ..LineSettings::default() };
    let line = Line::new(settings, server, clock());
    // The deadline is over before the last of them have their turn, and it starts with the turn.
    let answers = join_all((0..100).map(|_| line.send(request(), Duration::from_secs(2)))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(most.load(Ordering::Relaxed), 8);
}

/// A transport that never answers, and does with the departure of a request what it is told to.
struct Silent(fn(&Departure));

#[async_trait]
impl Transport for Silent {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        (self.0)(request.extensions().get().unwrap());
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_says_whether_a_byte_may_have_left() {
    let late = async |way: fn(&Departure)| {
        let line = Line::new(LineSettings::default(), Arc::new(Silent(way)), clock());
        let error = line.send(request(), Duration::from_secs(30)).await.unwrap_err();
        assert_eq!(line.clock().running(), Duration::from_secs(30));
        error
    };
    let text = || "no answer within 30 s".to_owned();
    assert_eq!(late(|_| {}).await, TransportError::NoAnswer(text()), "nothing is known");
    assert_eq!(late(Departure::holds).await, TransportError::NotSent(text()));
    let left = |departure: &Departure| {
        departure.holds();
        departure.leaves();
    };
    assert_eq!(late(left).await, TransportError::NoAnswer(text()));
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn request(&self, method: &str, code: &str, took: Duration) {
        self.0.lock().unwrap().push(format!("{method} {code} {} s", took.as_secs()));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_say_who_asks_and_are_counted() {
    let server = in_process(async |request: Request<Bytes>| {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let agent = request.headers()[USER_AGENT].as_bytes().to_vec();
        Ok::<_, String>(Response::new(agent.into()))
    });
    let notes = Arc::new(Notes::default());
    let settings = LineSettings {
        user_agent: "joiner/1.0 (production)".to_owned(),
        observer: Arc::clone(&notes) as Arc<dyn Observer>,
        ..LineSettings::default()
    };
    let line = Line::new(settings, server, clock());
    let began = line.clock().running();
    let response = line.send(request(), Duration::from_secs(30)).await.unwrap();
    assert_eq!(response.body(), "joiner/1.0 (production)");
    line.observe("listZones", began, "200");
    assert_eq!(*notes.0.lock().unwrap(), ["listZones 200 3 s"]);
}

#[tokio::test]
async fn an_answer_that_a_server_in_the_process_loses_leaves_open_what_was_done() {
    let server = in_process(async |_| Err("the connection broke"));
    let error = server.send(request()).await.unwrap_err();
    assert_eq!(error, TransportError::NoAnswer("the connection broke".to_owned()));
}
