//! An API server with roles, in front of the laboratory's, which lets everybody do everything.

use std::{
    collections::BTreeSet,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use http::{Request, Response};
use joiner_apiserver::{Body, Status, refusal};
use joiner_lab::Connection;
use serde_json::Value;

/// What a client may do. Clones are the same roles; at first, everything is allowed.
#[derive(Clone, Default)]
pub(crate) struct Roles(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Verbs on plurals that are taken away.
    denied: BTreeSet<(String, String)>,
    /// If given, nothing but this is allowed.
    granted: Option<Vec<Value>>,
    refused: BTreeSet<String>,
}

/// A request in the words of roles.
struct Asked {
    verb: &'static str,
    group: String,
    plural: String,
    /// The plural, with the part of the object.
    resource: String,
}

impl Roles {
    /// Takes a verb away.
    pub(crate) fn deny(&self, verb: &str, plural: &str) {
        self.state().denied.insert((verb.to_owned(), plural.to_owned()));
    }

    /// Gives every verb back that was taken away.
    pub(crate) fn allow_all(&self) {
        self.state().denied.clear();
    }

    /// Allows nothing but what these rules of a role say.
    pub(crate) fn grant_only(&self, rules: Vec<Value>) {
        self.state().granted = Some(rules);
    }

    /// What was asked for and refused.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.state().refused.iter().cloned().collect()
    }

    /// A connection on which the roles count.
    pub(crate) fn guard(&self, connection: Connection) -> Guarded {
        Guarded { connection, roles: self.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a real server answers, if a request is not allowed.
    fn refusal<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let asked = Asked::of(request)?;
        let mut state = self.state();
        let taken = state.denied.contains(&(asked.verb.to_owned(), asked.plural.clone()));
        let granted =
            state.granted.as_ref().is_none_or(|rules| rules.iter().any(|r| asked.in_rule(r)));
        if granted && !taken {
            return None;
        }
        let Asked { verb, group, plural, resource } = asked;
        state.refused.insert(format!("{verb} {resource}"));
        let message = format!(
            "{plural} is forbidden: User \"joiner\" cannot {verb} resource \"{resource}\" in API \
             group \"{group}\" at the cluster scope"
        );
        Some(refusal(&Status::plain(403, "Forbidden", message)))
    }
}

impl Asked {
    fn of<B>(request: &Request<B>) -> Option<Self> {
        let path: Vec<&str> = request.uri().path().trim_matches('/').split('/').collect();
        let (group, rest) = match path.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            rest => rest,
        };
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let verb = match (request.method().as_str(), rest.len()) {
            ("GET", _) if watches => "watch",
            ("GET", 1) => "list",
            ("GET", _) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            _ => "delete",
        };
        let plural = (*rest.first()?).to_owned();
        let resource = match rest.get(2) {
            Some(part) => format!("{plural}/{part}"),
            None => plural.clone(),
        };
        Some(Self { verb, group: group.to_owned(), plural, resource })
    }

    fn in_rule(&self, rule: &Value) -> bool {
        let has = |field: &str, word: &str| {
            rule[field].as_array().is_some_and(|words| words.iter().any(|one| one == word))
        };
        has("apiGroups", &self.group) && has("resources", &self.resource) && has("verbs", self.verb)
    }
}

/// A connection to a server with roles.
#[derive(Clone)]
pub(crate) struct Guarded {
    connection: Connection,
    roles: Roles,
}

type Answering = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

impl<B> tower_service::Service<Request<B>> for Guarded
where
    Connection: tower_service::Service<
            Request<B>,
            Response = Response<Body>,
            Error = io::Error,
            Future = Answering,
        >,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.roles.refusal(&request) {
            Some(refusal) => Box::pin(async move { Ok(refusal) }),
            None => self.connection.call(request),
        }
    }
}
