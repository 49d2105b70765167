//! What every client of a cloud over HTTPS needs, in no cloud's words.
//!
//! | A client needs | It is here |
//! |---|---|
//! | the address in the spellings that people use | [`Endpoint`] |
//! | HTTPS with authorities, pinned certificates, proxies and kept connections | [`Https`] |
//! | a server in the process instead of the network | [`Transport`], [`in_process`] |
//! | several servers of one cloud | [`Failover`] |
//! | a limit on requests under way, a deadline for each | [`Line`] |
//! | whether a request may have reached the server | [`TransportError::is_unsent`], [`Repeat`] |
//! | asking again while the trouble may pass | [`retry::asked`] |
//! | credentials that rotate or are refused | [`CredentialFiles`], [`Account`] |
//! | one login for all tasks | [`session::Shared`] |
//! | the reason phrase and the time of an answer | [`answer`] |
//! | counting what happens | [`Observer`] |
//!
//! Messages name the settings that help. Their names are an argument ([`SettingNames`]), so that a
//! user of each cloud reads the names of that cloud.
//!
//! # A client
//!
//! A client has a [`Line`], an [`Account`] and its own error type. One attempt reads the
//! credentials, sends the request and judges the status. [`retry::asked`] makes the attempt again
//! while the error may pass and the request may be repeated.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use bytes::Bytes;
//! use http::{
//!     HeaderValue, Request, Response, StatusCode, header::AUTHORIZATION, request::Builder,
//! };
//! use joiner_clock::Clock;
//! use joiner_line::{
//!     Account, Credentials, Line, LineSettings, Patience, Refused, Repeat, Transport,
//!     TransportError, answer, in_process, retry,
//! };
//!
//! #[derive(Debug, thiserror::Error)]
//! enum CloudError {
//!     #[error("the cloud did not answer: {0}")]
//!     Transport(#[from] TransportError),
//!     #[error("the cloud refuses its account: {0}")]
//!     Refused(#[from] Refused),
//!     #[error("the cloud answered {0}: {1}")]
//!     Status(StatusCode, String),
//! }
//!
//! impl CloudError {
//!     /// Whether the same request is worth sending again soon.
//!     fn allows(&self, repeat: Repeat) -> bool {
//!         match self {
//!             Self::Transport(error) => error.allows(repeat),
//!             Self::Status(status, _) => *status == StatusCode::TOO_MANY_REQUESTS,
//!             Self::Refused(_) => false,
//!         }
//!     }
//! }
//!
//! struct Cloud {
//!     line: Line,
//!     account: Account,
//! }
//!
//! impl Cloud {
//!     fn new(transport: Arc<dyn Transport>, token: Credentials, clock: Clock) -> Self {
//!         let line = Line::new(LineSettings::default(), transport, clock.clone());
//!         Self { line, account: Account::new(token.into_source(), clock) }
//!     }
//!
//!     /// Changes nothing, so it is asked again whatever happened to the request.
//!     async fn version(&self) -> Result<Bytes, CloudError> {
//!         self.ask(Repeat::Always, || Request::get("/api2/json/version")).await
//!     }
//!
//!     /// Starts an instance, so it is asked again only where no byte of the request left.
//!     async fn start(&self) -> Result<Bytes, CloudError> {
//!         self.ask(Repeat::WhereUnsent, || Request::post("/api2/json/start")).await
//!     }
//!
//!     async fn ask(
//!         &self,
//!         repeat: Repeat,
//!         build: impl Fn() -> Builder,
//!     ) -> Result<Bytes, CloudError> {
//!         let allows = |error: &CloudError| error.allows(repeat);
//!         let patience = Patience::of(Duration::from_secs(60));
//!         let ask = || self.judged(&build);
//!         retry::asked(self.line.clock(), &patience, "the cloud", allows, ask).await
//!     }
//!
//!     /// The answer to a request. A token that is refused is read again, and tried again once if
//!     /// it has changed.
//!     async fn judged(&self, build: impl Fn() -> Builder) -> Result<Bytes, CloudError> {
//!         let mut attempt = self.account.attempt()?;
//!         loop {
//!             if let Some(answer) = self.once(build(), attempt.credentials()).await? {
//!                 attempt.accepted();
//!                 return Ok(answer);
//!             }
//!             attempt = attempt.refused_for_others()?;
//!         }
//!     }
//!
//!     /// The answer to a request that is sent once; none where the server refuses the token.
//!     async fn once(
//!         &self,
//!         request: Builder,
//!         token: &Credentials,
//!     ) -> Result<Option<Bytes>, CloudError> {
//!         let token = format!("Token {}={}", token.user, &*token.password);
//!         let mut token = HeaderValue::try_from(token).expect("it was judged when it was read");
//!         // Debug output of the request then leaves it out.
//!         token.set_sensitive(true);
//!         let request = request.header(AUTHORIZATION, token).body(Bytes::new());
//!         let request = request.expect("the path is valid");
//!         let response = self.line.send(request, Duration::from_secs(30)).await?;
//!         match response.status() {
//!             StatusCode::UNAUTHORIZED => Ok(None),
//!             status if status.is_success() => Ok(Some(response.into_body())),
//!             status => Err(CloudError::Status(status, answer::reason(&response).into_owned())),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // A server in the process, as tests and the laboratory have it.
//! let server = in_process(async |request: Request<Bytes>| {
//!     Ok::<_, String>(Response::new(request.uri().path().to_owned().into()))
//! });
//! let cloud = Cloud::new(server, Credentials::new("joiner", "secret"), Clock::wall());
//! # fn can_be_spawned(_: &impl Send) {}
//! # can_be_spawned(&cloud.version());
//! assert_eq!(cloud.version().await.unwrap(), "/api2/json/version");
//! assert_eq!(cloud.start().await.unwrap(), "/api2/json/start");
//! # }
//! ```
//!
//! # Servers on the network
//!
//! The transport is made of the cloud's settings. Several addresses of one cloud become one
//! transport. The path of an address is part of each request.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use joiner_line::{
//!     Endpoint, Failover, Https, HttpsSettings, SettingNames, TlsSettings, Transport,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let names = SettingNames {
//!     server: "the cluster".into(),
//!     ca_files: "clusters[0].ca_file".into(),
//!     ca_inline: Some("clusters[0].ca_data".into()),
//!     thumbprint: Some("clusters[0].fingerprint".into()),
//! };
//! let tls = TlsSettings { thumbprints: vec!["AB".repeat(32).parse()?], ..TlsSettings::default() };
//! // These servers close a connection that was idle for 5 s.
//! let idle_time = Duration::from_secs(4);
//! let settings = HttpsSettings { tls, idle_time, ..HttpsSettings::new(names) };
//! let reached = |url: &str| -> Result<Arc<dyn Transport>, Box<dyn std::error::Error>> {
//!     let (endpoint, path) = Endpoint::with_path(url)?;
//!     assert_eq!(path, "/api2/json");
//!     Ok(Arc::new(Https::new(endpoint, settings.clone())?))
//! };
//! let first = reached("https://pve1.example.org:8006/api2/json")?;
//! let others = [reached("https://pve2.example.org:8006/api2/json/")?];
//! let transport: Arc<dyn Transport> = Arc::new(Failover::new(first, others));
//! # Ok(())
//! # }
//! ```

mod account;
pub mod answer;
mod credentials;
mod endpoint;
mod line;
mod names;
mod observer;
pub mod retry;
pub mod session;
mod transport;

pub use account::{Account, Attempt, Refused};
pub use credentials::{CredentialFiles, Credentials, CredentialsSource, Origin};
pub use endpoint::{Endpoint, InvalidEndpoint};
pub use line::{Line, LineSettings};
pub use names::SettingNames;
pub use observer::{Observer, Unobserved};
pub use retry::Patience;
pub use transport::{
    Departure, Failover, Https, HttpsSettings, InvalidThumbprint, Repeat, Thumbprint, TlsProblem,
    TlsSettings, Transport, TransportError, in_process,
};
