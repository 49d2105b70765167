//! Which versions of a kind an API server has, where it does not have the one that is read.

use kube::Client;
use serde::Deserialize;

use super::{LiveError, get};
use crate::objects::Resource;

/// A group, or what a version of it has, in the words of discovery.
#[derive(Debug, Deserialize)]
struct Discovered {
    #[serde(default)]
    versions: Vec<Version>,
    #[serde(default)]
    resources: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    group_version: String,
}

#[derive(Debug, Deserialize)]
struct Kind {
    name: String,
}

/// The groups and versions in which the API server has a kind. Without one it has no such objects.
pub(super) async fn versions(
    client: &Client,
    resource: &Resource,
) -> Result<Vec<String>, LiveError> {
    // Kinds of the core group are there as long as there is an API server.
    let Some((plural, group)) = resource.name.split_once('.') else {
        return Ok(vec!["v1".to_owned()]);
    };
    let mut found = Vec::new();
    for Version { group_version } in discovered(client, resource, group).await?.versions {
        let kinds = discovered(client, resource, &group_version).await?.resources;
        if kinds.iter().any(|kind| kind.name == plural) {
            found.push(group_version);
        }
    }
    Ok(found)
}

/// What there is below a path of discovery. A path that is not served has nothing.
async fn discovered(
    client: &Client,
    resource: &Resource,
    path: &str,
) -> Result<Discovered, LiveError> {
    let request = http::Request::get(format!("/apis/{path}")).body(Vec::new());
    let text = match get(client, resource, request).await {
        Ok(text) => text,
        Err(LiveError::NotServed { .. }) => {
            return Ok(Discovered { versions: Vec::new(), resources: Vec::new() });
        }
        Err(error) => return Err(error),
    };
    serde_json::from_str(&text).map_err(|error| LiveError::NotAList {
        resource: resource.name.clone(),
        problem: error.to_string(),
    })
}
