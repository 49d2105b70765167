//! A scene on a web page: one page, its style and its script, and scenes as they come.
//!
//! The page needs nothing from elsewhere. It is made for listeners on loopback and answers only
//! requests that name the computer itself, so that no other site's script can reach it through a
//! name of its own that points here.

use std::{convert::Infallible, io, sync::Arc};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::{get, post},
};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};

use crate::{
    scene::Scene,
    stage::{Stage, Wish},
};

/// The page's content may only come from its own server, and frames of other pages may not contain
/// it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// How many commands may wait. More of them come from a held key.
const WISHES_MAX: usize = 16;

/// The published scenes; viewers see the latest.
#[derive(Debug)]
pub struct Publisher(watch::Sender<Arc<str>>);

/// What the page is served from.
#[derive(Clone, Debug)]
struct Source {
    latest: watch::Receiver<Arc<str>>,
    wishes: mpsc::Sender<Wish>,
}

/// What is published.
#[derive(Serialize)]
struct Published<'p> {
    stage: &'p Stage,
    scene: &'p Scene,
}

/// What the page's buttons send.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Button {
    Hold,
    Faster,
    Slower,
}

impl Publisher {
    /// Publishes a scene to all viewers.
    pub fn publish(&self, scene: &Scene, stage: &Stage) {
        let text = serde_json::to_string(&Published { stage, scene }).expect("scenes are data");
        self.0.send_if_modified(|latest| {
            let is_new = **latest != *text;
            if is_new {
                *latest = text.into();
            }
            is_new
        });
    }
}

/// The page, the place to publish scenes on it, and what its visitors wish.
pub fn page() -> (Router, Publisher, mpsc::Receiver<Wish>) {
    let (publisher, latest) = watch::channel(Arc::default());
    let (wishes, wished) = mpsc::channel(WISHES_MAX);
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    let router = Router::new()
        .route("/", file("text/html; charset=utf-8", include_str!("page/page.html")))
        .route("/page.css", file("text/css; charset=utf-8", include_str!("page/page.css")))
        .route("/page.js", file("text/javascript; charset=utf-8", include_str!("page/page.js")))
        .route("/icon.svg", file("image/svg+xml", include_str!("page/icon.svg")))
        .route("/scene", get(scene))
        .route("/scenes", get(scenes))
        .route("/wish", post(wish))
        .with_state(Source { latest, wishes })
        .layer(middleware::from_fn(guard));
    (router, Publisher(publisher), wished)
}

/// Serves the page for ever.
pub async fn serve(listener: TcpListener, router: Router) -> io::Result<()> {
    axum::serve(listener, router).await
}

/// The latest scene, or the first once there is one.
async fn scene(State(mut source): State<Source>) -> Response {
    match source.latest.wait_for(|scene| !scene.is_empty()).await {
        Ok(scene) => {
            ([(header::CONTENT_TYPE, "application/json")], scene.to_string()).into_response()
        }
        // No scene will ever be published.
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// The latest scene, and each one after it.
async fn scenes(
    State(source): State<Source>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut latest = source.latest;
    latest.mark_changed();
    let events = stream::unfold(latest, |mut latest| async {
        // The page ends when its publisher is gone.
        latest.changed().await.ok()?;
        let event = Event::default().data(&**latest.borrow_and_update());
        Some((Ok(event), latest))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Takes a wish. Only JSON is taken, which a browser lets no other site send unasked.
async fn wish(State(source): State<Source>, Json(button): Json<Button>) -> StatusCode {
    let wish = match button {
        Button::Hold => Wish::HoldOrGoOn,
        Button::Faster => Wish::Faster,
        Button::Slower => Wish::Slower,
    };
    match source.wishes.try_send(wish) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Refuses requests that are addressed to another host.
async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_this_computer) {
        let text = "this page is only served as 127.0.0.1 or localhost\n";
        return (StatusCode::MISDIRECTED_REQUEST, text).into_response();
    }
    let mut response = next.run(request).await;
    let policy = axum::http::HeaderValue::from_static(POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Whether a host, with or without a port, is the computer itself.
fn is_this_computer(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Kind;

    #[test]
    fn only_names_of_the_computer_itself_are_answered() {
        for own in ["localhost", "localhost:4646", "127.0.0.1:4646", "[::1]:4646"] {
            assert!(is_this_computer(own), "{own}");
        }
        for other in ["example.com", "localhost.example.com", "127.0.0.1.example.com:80", ""] {
            assert!(!is_this_computer(other), "{other}");
        }
    }

    /// Text that follows a mark in one of the page's files, up to the end of its block.
    fn block<'t>(text: &'t str, mark: &str) -> &'t str {
        let (_, rest) = text.split_once(mark).unwrap_or_else(|| panic!("no {mark}"));
        rest.split_once("\n}").map_or(rest, |(block, _)| block)
    }

    /// A hidden page draws no frames, so nothing may wait for one.
    #[test]
    fn what_comes_in_is_readable_from_its_first_frame() {
        let (style, script) = (include_str!("page/page.css"), include_str!("page/page.js"));
        assert!(!script.contains("requestAnimationFrame"));
        let entering =
            style.lines().filter(|line| line.contains(".enter") || line.contains("from {"));
        for rule in entering {
            assert!(!rule.contains("opacity"), "{rule}");
        }
        assert!(block(script, "function keep(").contains("if (shown) element.classList"));
        // Until there is a scene, no empty cards are shown either.
        assert!(include_str!("page/page.html").contains("<main id=\"scene\" hidden>"));
        assert!(block(script, "function show({").contains("find(\"scene\").hidden = false"));
        for unknown in ["type not chosen yet", "place not chosen yet"] {
            assert!(block(script, "function showTile(").contains(unknown));
        }
    }

    #[test]
    fn the_button_that_holds_time_says_what_it_does_next() {
        let script = include_str!("page/page.js");
        assert!(script.contains(r#"stage.held ? "Resume" : "Pause""#));
    }

    /// Signs are kept by the page; every kind of happening has one.
    #[test]
    fn the_page_knows_every_kind_of_happening() {
        let signs = block(include_str!("page/page.js"), "const SIGNS = {");
        for kind in Kind::ALL {
            let name = serde_json::to_value(kind).unwrap();
            assert!(signs.contains(&format!("{}: ", name.as_str().unwrap())), "{kind:?}");
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let parts = [
            include_str!("page/page.html"),
            include_str!("page/page.css"),
            include_str!("page/page.js"),
            include_str!("page/icon.svg"),
        ];
        for part in parts {
            // The XML namespace of SVG looks like an address, but is never requested.
            let part = part.replace("http://www.w3.org/2000/svg", "");
            for elsewhere in ["http:", "https:", "//cdn", "@import"] {
                assert!(!part.contains(elsewhere), "{elsewhere} in {}…", &part[..40]);
            }
        }
    }
}
