//! Requests to the endpoints that instances join at. The endpoints may be unreachable from this
//! process.

use std::{error::Error, fmt, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use http::{Request, Uri, uri::PathAndQuery};
use http_body_util::{BodyExt as _, Limited};
use kube::{Client, Config, client::Body};

/// The size limit for a certificate bundle. The value was chosen and not measured separately.
const SHOWN_MAX: usize = 1 << 20;

/// A check whether an address answers.
type Answers = dyn Fn(SocketAddr) -> BoxFuture<'static, bool> + Send + Sync;
/// A download of a URL's text.
type Shown = dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// How endpoints are reached.
#[derive(Clone)]
pub struct Reach {
    answers: Arc<Answers>,
    shown: Arc<Shown>,
}

impl Reach {
    /// All endpoints are unreachable.
    pub fn nobody() -> Self {
        Self {
            answers: Arc::new(|_| Box::pin(async { false })),
            shown: Arc::new(|_| Box::pin(async { Err("out of reach".to_owned()) })),
        }
    }

    /// Replaces the check whether an address answers.
    pub fn answering(
        self,
        answers: impl Fn(SocketAddr) -> BoxFuture<'static, bool> + Send + Sync + 'static,
    ) -> Self {
        Self { answers: Arc::new(answers), ..self }
    }

    /// Replaces the download of a URL's text.
    pub fn showing(
        self,
        shown: impl Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync + 'static,
    ) -> Self {
        Self { shown: Arc::new(shown), ..self }
    }

    pub(super) async fn answers(&self, address: SocketAddr) -> bool {
        (self.answers)(address).await
    }

    pub(super) async fn shown(&self, url: &str) -> Result<String, String> {
        (self.shown)(url.to_owned()).await
    }
}

impl Default for Reach {
    /// Uses the network.
    fn default() -> Self {
        let answers = |address| -> BoxFuture<'static, bool> {
            Box::pin(async move { tokio::net::TcpStream::connect(address).await.is_ok() })
        };
        Self::nobody().answering(answers).showing(|url| Box::pin(fetch(url)))
    }
}

/// Downloads a text without verifying the server. The text is compared with known data, and no
/// secret is sent.
async fn fetch(url: String) -> Result<String, String> {
    fetched(&url).await.map_err(|error| error.to_string())
}

async fn fetched(url: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut parts = url.parse::<Uri>()?.into_parts();
    let root = PathAndQuery::from_static("/");
    let path = parts.path_and_query.replace(root.clone()).unwrap_or(root);
    let mut config = Config::new(Uri::from_parts(parts)?);
    config.accept_invalid_certs = true;
    let request = Request::get(path.as_str()).body(Body::empty())?;
    let answer = Client::try_from(config)?.send(request).await?;
    if !answer.status().is_success() {
        return Err(format!("status {}", answer.status()).into());
    }
    let body = Limited::new(answer.into_body(), SHOWN_MAX).collect().await?;
    Ok(String::from_utf8(body.to_bytes().to_vec())?)
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reach")
    }
}

#[cfg(test)]
mod tests {
    use joiner_clock::Clock;
    use joiner_sim_vcenter::{Inventory, VCenter};

    use super::*;

    /// Any server with a certificate of its own making does.
    #[tokio::test]
    async fn what_a_server_shows_is_read_although_nobody_vouches_for_it() {
        let server = VCenter::new(Inventory::small(), Clock::wall()).unwrap();
        let serving = server.serve(true).await.unwrap();
        let url = serving.url().trim_end_matches("/sdk").to_owned();
        let reach = Reach::default();
        let shown = reach.shown(&format!("{url}/sdk/vimServiceVersions.xml")).await.unwrap();
        assert!(shown.contains("<name>urn:vim25</name>"), "{shown}");
        let error = reach.shown(&format!("{url}/cacerts")).await.unwrap_err();
        assert_eq!(error, "status 404 Not Found");
        drop(serving);
        reach.shown(&format!("{url}/cacerts")).await.unwrap_err();
    }
}
