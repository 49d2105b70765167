//! Connections on a loopback socket: how long they are kept, and what is known of a request when
//! they break.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response};
use joiner_line::{Departure, Https, HttpsSettings, Transport as _, TransportError, answer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::names;

/// Longer than any of these tests takes.
const PATIENCE: Duration = Duration::from_hours(1);

/// What a server does on a connection, request by request.
#[derive(Debug, Clone)]
enum Deed {
    /// Answers in these words, which hold status line, headers and body.
    Answer(String),
    /// Answers so, and closes the connection before anything else comes.
    AnswerAndClose(String),
    /// Reads the request and closes the connection.
    Close,
    /// Reads the request and says nothing.
    Silence,
}

/// A server in plain text. Each connection follows a script of its own.
struct Server {
    address: std::net::SocketAddr,
    /// Each request, with the number of its connection.
    seen: Arc<Mutex<Vec<(usize, String)>>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(connections: Vec<Vec<Deed>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
        let kept = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            for (number, script) in connections.into_iter().enumerate() {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(act(stream, script, number, Arc::clone(&kept)));
            }
        });
        Self { address, seen, task }
    }

    fn reached(&self, change: impl FnOnce(&mut HttpsSettings)) -> Https {
        let mut settings = HttpsSettings { plain_allowed: true, ..HttpsSettings::new(names()) };
        change(&mut settings);
        Https::new(format!("http://{}", self.address).parse().unwrap(), settings).unwrap()
    }

    /// Which connection each request came on.
    fn connections(&self) -> Vec<usize> {
        self.seen.lock().unwrap().iter().map(|(number, _)| *number).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn act(
    mut stream: TcpStream,
    script: Vec<Deed>,
    number: usize,
    seen: Arc<Mutex<Vec<(usize, String)>>>,
) {
    for deed in script {
        let mut request = vec![0; 4096];
        let Ok(read @ 1..) = stream.read(&mut request).await else { return };
        let request = String::from_utf8_lossy(&request[..read]).into_owned();
        seen.lock().unwrap().push((number, request));
        match deed {
            Deed::Answer(text) => stream.write_all(text.as_bytes()).await.unwrap(),
            Deed::AnswerAndClose(text) => {
                stream.write_all(text.as_bytes()).await.unwrap();
                return;
            }
            Deed::Close => return,
            Deed::Silence => std::future::pending().await,
        }
    }
    // The connection stays open until the client closes it.
    let _ = stream.read(&mut [0]).await;
}

fn ok(body: &str) -> Deed {
    Deed::Answer(text("200 OK", body))
}

fn text(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

async fn ask(way: &Https, method: Method) -> Result<Response<Bytes>, TransportError> {
    let body = if method == Method::GET { "" } else { "a=1" };
    let request = Request::builder().method(method).uri("/api?x=1").body(Bytes::from(body));
    way.send(request.unwrap()).await
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let server = Server::start(vec![vec![ok("one"), ok("two")]]).await;
    let way = server.reached(|_| {});
    for body in ["one", "two"] {
        assert_eq!(ask(&way, Method::GET).await.unwrap().body(), body);
    }
    assert_eq!(server.connections(), [0, 0]);
    let (_, request) = server.seen.lock().unwrap()[0].clone();
    assert!(request.starts_with("GET /api?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", server.address)), "{request}");
}

#[tokio::test]
async fn no_connection_is_kept_where_none_may_be_idle() {
    let server = Server::start(vec![vec![ok("one")], vec![ok("two")]]).await;
    let way = server.reached(|settings| settings.idle_time = Duration::ZERO);
    for body in ["one", "two"] {
        assert_eq!(ask(&way, Method::GET).await.unwrap().body(), body);
    }
    assert_eq!(server.connections(), [0, 1]);
}

#[tokio::test]
async fn a_connection_is_kept_for_its_time_and_no_longer() {
    let server = Server::start(vec![vec![ok("one"), ok("two")], vec![ok("three")]]).await;
    let way = server.reached(|settings| settings.idle_time = Duration::from_secs(4));
    for (idle_ms, body) in [(0, "one"), (3_900, "two"), (4_000, "three")] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(idle_ms)).await;
        tokio::time::resume();
        assert_eq!(ask(&way, Method::GET).await.unwrap().body(), body);
    }
    assert_eq!(server.connections(), [0, 0, 1]);
}

#[tokio::test]
async fn a_request_on_a_connection_that_is_closed_goes_on_another_one() {
    for method in [Method::GET, Method::POST] {
        let closing = Deed::AnswerAndClose(text("200 OK", "one"));
        let server = Server::start(vec![vec![closing], vec![ok("two")]]).await;
        let way = server.reached(|_| {});
        assert_eq!(ask(&way, method.clone()).await.unwrap().body(), "one");
        // The task that reads the connection learns here that it was closed.
        while Arc::strong_count(&server.seen) > 2 {
            tokio::task::yield_now().await;
        }
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&way, method).await.unwrap().body(), "two");
        assert_eq!(server.connections(), [0, 1]);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_open_what_was_done() {
    let server = Server::start(vec![vec![Deed::Close]]).await;
    let error = ask(&server.reached(|_| {}), Method::POST).await.unwrap_err();
    assert!(matches!(error, TransportError::NoAnswer(_)), "{error:?}");
    assert!(error.to_string().starts_with(&format!("http://{}: ", server.address)), "{error}");
    assert_eq!(server.connections(), [0], "it is sent once");
}

#[tokio::test]
async fn an_answer_that_breaks_off_leaves_open_what_was_done() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
    let server = Server::start(vec![vec![Deed::AnswerAndClose(half)]]).await;
    let error = ask(&server.reached(|_| {}), Method::GET).await.unwrap_err();
    assert!(matches!(error, TransportError::NoAnswer(_)), "{error:?}");
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_size() {
    let server = Server::start(vec![vec![ok("0123456789")], vec![ok("0123456789!")]]).await;
    let way = server.reached(|settings| {
        settings.answer_bytes_max = 10;
        settings.idle_time = Duration::ZERO;
    });
    assert_eq!(ask(&way, Method::GET).await.unwrap().body(), "0123456789");
    let error = ask(&way, Method::GET).await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge(_)), "{error:?}");
    assert!(error.to_string().ends_with("the answer is larger than 10 bytes"), "{error}");
}

#[tokio::test]
async fn a_server_may_put_its_message_behind_the_status() {
    let answers = [
        text("500 VM 100 not running", "{}"),
        text("401 Unauthorized", ""),
        text("596 Connection timed out", ""),
    ];
    let server = Server::start(vec![answers.map(Deed::Answer).to_vec()]).await;
    let way = server.reached(|_| {});
    for (status, reason) in
        [(500, "VM 100 not running"), (401, "Unauthorized"), (596, "Connection timed out")]
    {
        let response = ask(&way, Method::GET).await.unwrap();
        assert_eq!((response.status().as_u16(), &*answer::reason(&response)), (status, reason));
    }
}

/// Whether a request is known to be held back when its sender gives up: at the moment when the
/// server has read something.
async fn is_held_at(server: &Server, way: &Https) -> bool {
    let departure = Departure::default();
    let mut request = Request::post("/").body(Bytes::new()).unwrap();
    request.extensions_mut().insert(departure.clone());
    let has_read = async {
        while server.connections().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = way.send(request) => panic!("a silent server answered: {answer:?}"),
        () = has_read => departure.is_held(),
    }
}

#[tokio::test]
async fn a_sender_that_gives_up_learns_whether_the_request_may_have_left() {
    let server = Server::start(vec![vec![Deed::Silence]]).await;
    assert!(!is_held_at(&server, &server.reached(|_| {})).await);
    // What such a server reads is the first message of TLS, and nothing of the request.
    let server = Server::start(vec![vec![Deed::Silence]]).await;
    let endpoint = format!("https://{}", server.address).parse().unwrap();
    let patient = HttpsSettings { connect_timeout: PATIENCE, ..HttpsSettings::new(names()) };
    assert!(is_held_at(&server, &Https::new(endpoint, patient).unwrap()).await);
}
