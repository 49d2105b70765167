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
    granted: Option<Vec<Grant>>,
    refused: BTreeSet<String>,
}

/// A rule of a role, where it holds.
struct Grant {
    /// The namespace of the role; everywhere if it is one of the cluster.
    namespace: Option<String>,
    rule: Value,
    /// What was asked for and allowed by it.
    used: BTreeSet<(&'static str, String)>,
}

/// A request in the words of roles.
struct Asked {
    verb: &'static str,
    group: String,
    plural: String,
    /// The plural, with the part of the object.
    resource: String,
    namespace: Option<String>,
    /// None for a list, and for a creation, which says its name in the body.
    name: Option<String>,
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

    /// Allows nothing but what these Roles and `ClusterRoles` say; other objects say nothing.
    pub(crate) fn grant_only(&self, objects: &[Value]) {
        let grants = objects.iter().flat_map(|object| {
            let namespace = object["metadata"]["namespace"].as_str();
            let rules = object["rules"].as_array().cloned().unwrap_or_default();
            rules.into_iter().map(move |rule| Grant {
                namespace: namespace.map(str::to_owned),
                rule,
                used: BTreeSet::new(),
            })
        });
        self.state().granted = Some(grants.collect());
    }

    /// What is granted and was never asked for, such as `patch pods in default`. Reading counts as
    /// asked for where everything may be listed: another way of reading tells nothing more.
    pub(crate) fn unused(&self) -> BTreeSet<String> {
        let state = self.state();
        state.granted.iter().flatten().flat_map(Grant::unused).collect()
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
        let granted = state.granted.as_mut().is_none_or(|grants| {
            let mut allowing = grants.iter_mut().filter(|grant| grant.allows(&asked)).peekable();
            let is_allowed = allowing.peek().is_some();
            for grant in allowing {
                grant.used.insert((asked.verb, asked.resource.clone()));
            }
            is_allowed
        });
        if granted && !taken {
            return None;
        }
        let Asked { verb, group, plural, resource, .. } = asked;
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
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
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
        Some(Self {
            verb,
            group: group.to_owned(),
            plural,
            resource,
            namespace: namespace.map(str::to_owned),
            name: rest.get(1).map(|name| (*name).to_owned()),
        })
    }
}

impl Grant {
    /// Whether the rule holds for a request.
    fn allows(&self, asked: &Asked) -> bool {
        let has = |field: &str, word: &str| words(&self.rule, field).any(|one| one == word);
        let mut names = words(&self.rule, "resourceNames").peekable();
        let is_named =
            names.peek().is_none() || names.any(|one| asked.name.as_deref() == Some(one));
        (self.namespace.is_none() || self.namespace == asked.namespace)
            && has("apiGroups", &asked.group)
            && has("resources", &asked.resource)
            && has("verbs", asked.verb)
            && is_named
    }

    fn unused(&self) -> Vec<String> {
        let place = self.namespace.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        let names: Vec<&str> = words(&self.rule, "resourceNames").collect();
        let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
        let reads = |verb: &str| matches!(verb, "get" | "list" | "watch");
        let lists = words(&self.rule, "verbs").any(|verb| verb == "list");
        let mut unused = Vec::new();
        for resource in words(&self.rule, "resources") {
            let asked =
                |verb: &str| self.used.iter().any(|(used, what)| *used == verb && what == resource);
            let is_read = lists && ["get", "list", "watch"].into_iter().any(asked);
            for verb in words(&self.rule, "verbs") {
                let is_used = asked(verb) || (reads(verb) && is_read);
                if !is_used {
                    unused.push(format!("{verb} {resource}{names}{place}"));
                }
            }
        }
        unused
    }
}

/// The words in a list of a rule.
fn words<'r>(rule: &'r Value, field: &str) -> impl Iterator<Item = &'r str> {
    rule[field].as_array().into_iter().flatten().filter_map(Value::as_str)
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
