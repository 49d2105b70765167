//! Paths: which resource, object and part of it a request is about.

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `/api`: versions of the core group.
    CoreVersions,
    /// `/apis`: all groups.
    Groups,
    /// `/apis/apps`: versions of one group.
    Group(&'a str),
    /// `/api/v1`, `/apis/apps/v1`: resources of one version.
    Version { group: &'a str, version: &'a str },
    /// Objects.
    Resource(ResourceRoute<'a>),
    /// Anything else: probes, version, OpenAPI.
    Other(&'a str),
}

/// A path to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceRoute<'a> {
    /// The API group; empty for the core group.
    pub(crate) group: &'a str,
    /// The version of the API.
    pub(crate) version: &'a str,
    /// The namespace, where the path names one.
    pub(crate) namespace: Option<&'a str>,
    /// The plural name of the resource.
    pub(crate) plural: &'a str,
    /// The object, where the path names one.
    pub(crate) name: Option<&'a str>,
    /// The part of the object, where the path names one.
    pub(crate) subresource: Option<&'a str>,
    /// The path has the old `/watch/` in it.
    pub(crate) watch: bool,
    /// There is more behind the subresource.
    pub(crate) too_deep: bool,
    /// The path has a place for a namespace and nothing there, which means all of them.
    pub(crate) empty_namespace: bool,
}

/// Reads a path. Nothing is decoded: names of objects need no escapes.
pub(crate) fn parse(path: &str) -> Route<'_> {
    let trimmed = path.trim_start_matches('/').trim_end_matches('/');
    let mut parts = trimmed.split('/');
    let (group, version) = match (parts.next(), parts.next(), parts.next()) {
        (Some("api"), None, None) => return Route::CoreVersions,
        (Some("api"), Some(version), None) => return Route::Version { group: "", version },
        (Some("api"), Some(version), Some(_)) => ("", version),
        (Some("apis"), None, None) => return Route::Groups,
        (Some("apis"), Some(group), None) => return Route::Group(group),
        (Some("apis"), Some(group), Some(version)) => (group, version),
        _ => return Route::Other(path),
    };
    // The core group's third part belongs to the resource.
    let skip = if group.is_empty() { 2 } else { 3 };
    let rest: Vec<&str> = trimmed.split('/').skip(skip).collect();
    if rest.is_empty() {
        return Route::Version { group, version };
    }
    Route::Resource(resource(group, version, &rest))
}

fn resource<'a>(group: &'a str, version: &'a str, parts: &[&'a str]) -> ResourceRoute<'a> {
    let (watch, parts) = match parts {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        all => (false, all),
    };
    let route = ResourceRoute { group, version, watch, ..ResourceRoute::default() };
    let (namespace, parts) = match parts {
        // A namespace's own parts, unlike a resource within it.
        ["namespaces", _, "status" | "finalize", ..] | ["namespaces"] | ["namespaces", _] => {
            (None, parts)
        }
        ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
        all => (None, all),
    };
    let empty_namespace = namespace == Some("");
    ResourceRoute {
        namespace: namespace.filter(|_| !empty_namespace),
        empty_namespace,
        plural: parts.first().copied().unwrap_or_default(),
        name: parts.get(1).copied(),
        subresource: parts.get(2).copied(),
        too_deep: parts.len() > 3,
        ..route
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> String {
        match parse(path) {
            Route::Resource(r) => format!(
                "{}/{} ns={:?} {} {:?} {:?}{}{}",
                r.group,
                r.version,
                r.namespace,
                r.plural,
                r.name,
                r.subresource,
                if r.watch { " watch" } else { "" },
                if r.too_deep { " too deep" } else { "" },
            ),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn paths() {
        let cases = [
            ("/api", "CoreVersions"),
            ("/apis/", "Groups"),
            ("/apis/apps", "Group(\"apps\")"),
            ("/api/v1", "Version { group: \"\", version: \"v1\" }"),
            ("/apis/apps/v1", "Version { group: \"apps\", version: \"v1\" }"),
            ("/healthz", "Other(\"/healthz\")"),
            ("/api/v1/nodes", "/v1 ns=None nodes None None"),
            ("/api/v1/watch/nodes", "/v1 ns=None nodes None None watch"),
            ("/api/v1/namespaces", "/v1 ns=None namespaces None None"),
            ("/api/v1/namespaces/a", "/v1 ns=None namespaces Some(\"a\") None"),
            (
                "/api/v1/namespaces/a/finalize",
                "/v1 ns=None namespaces Some(\"a\") Some(\"finalize\")",
            ),
            ("/api/v1/namespaces/a/pods", "/v1 ns=Some(\"a\") pods None None"),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                "apps/v1 ns=Some(\"a\") deployments Some(\"b\") Some(\"scale\")",
            ),
            ("/api/v1/nodes/n/proxy/x", "/v1 ns=None nodes Some(\"n\") Some(\"proxy\") too deep"),
        ];
        for (path, expected) in cases {
            assert_eq!(text(path), expected, "{path}");
        }
    }
}
