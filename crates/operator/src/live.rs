//! Reads a live cluster with list calls only.
//!
//! The answers are decoded like files, so a cluster and its dump give the same objects and the same
//! error messages.

mod served;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use joiner_api::{crd::crds, node_pool::NodePool};
use joiner_cloud::class::ClassKind;
use kube::{Client, api::ListParams, core::Request};
use serde::Deserialize;

use crate::{
    files::{ReadError, TextReader},
    objects::{self, Objects, Resource},
    text::chain,
    world::{Wanted, watch::PAGE_SIZE},
};

/// How long the API server may take to answer one request.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often a list is begun anew because its pages became too old while they were read.
const BEGIN_AT_MOST: usize = 3;

/// A cluster, as far as it could and had to be read.
#[derive(Debug)]
pub struct Live {
    /// The objects.
    pub objects: Objects,
    /// The resource names of the kinds that were read.
    pub read: BTreeSet<String>,
    /// The resource names of the kinds that the cluster does not serve.
    pub absent: Vec<String>,
    /// Notes about optional kinds that could not be read.
    pub notes: Vec<String>,
}

/// Why a cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The API server is not there.
    #[error(
        "the API server does not answer: {0}. Check that it is up, that it can be reached from \
         here, and that the kubeconfig names the right one"
    )]
    Unreachable(String),
    /// The API server rejects the credentials.
    #[error(
        "the API server does not accept who you are ({0}): log in again, or check the user of \
             the kubeconfig's context"
    )]
    Unauthorized(String),
    /// A kind may not be listed.
    #[error(
        "{resource} may not be listed ({said}): ask for the verb list on {resource} in all \
             namespaces; the ClusterRole joiner-reader (examples/rbac/reader.yaml) has it"
    )]
    Forbidden {
        /// The resource name of the kind.
        resource: String,
        /// The API server's words.
        said: String,
    },
    /// A kind is not served.
    #[error(
        "the cluster does not have {resource}, or not in the version that is read ({path}): \
             {remedy}"
    )]
    NotServed {
        /// The resource name of the kind.
        resource: String,
        /// The path that was requested.
        path: String,
        /// The remedy.
        remedy: String,
    },
    /// A kind is served in other versions only.
    #[error(
        "the cluster has {resource} as {versions}, and not in the version that is read ({path}): \
             upgrade the definition, or plan from files with -f"
    )]
    OtherVersion {
        /// The resource name of the kind.
        resource: String,
        /// Groups and versions that are served.
        versions: String,
        /// The path that was requested.
        path: String,
    },
    /// The API server refused a list for another reason.
    #[error("{resource} could not be listed: the API server said {code} {said:?}; try again")]
    Refused {
        /// The resource name of the kind.
        resource: String,
        /// The HTTP status code.
        code: u16,
        /// The API server's words.
        said: String,
    },
    /// An answer is no list.
    #[error(
        "what the API server answered for {resource} is no list: {problem}. Check that the \
             kubeconfig's server is a Kubernetes API server"
    )]
    NotAList {
        /// The resource name of the kind.
        resource: String,
        /// The problem with it.
        problem: String,
    },
    /// An object cannot be used.
    #[error(transparent)]
    Object(#[from] ReadError),
}

/// Reads a cluster. Optional kinds are also read where possible, so that a dump serves other
/// settings too. Classes are required where a pool refers to one: a pool of the cluster, or one of
/// `pools`.
///
/// A cluster without a CRD has no such objects. All other problems are returned together.
pub async fn read(
    client: &Client,
    wanted: &Wanted,
    pools: &[Arc<NodePool>],
) -> Result<Live, Vec<LiveError>> {
    let mut reading = Reading::new(client);
    for resource in objects::resources() {
        let need = if wanted.needs(&resource.kind) { Need::Objects } else { Need::Nothing };
        reading.take(&resource, need).await?;
    }
    for class in &wanted.classes {
        let mut pools = reading.live.objects.node_pools.iter().chain(pools);
        let need =
            if pools.any(|pool| refers(pool, class)) { Need::Objects } else { Need::Nothing };
        reading.take(&Resource::of_class(class), need).await?;
    }
    reading.finish()
}

/// Reads some kinds of a cluster, by their names, and some kinds of classes: all of it or an error.
pub async fn read_only(
    client: &Client,
    kinds: &[&str],
    classes: &[ClassKind],
) -> Result<Live, Vec<LiveError>> {
    let mut reading = Reading::new(client);
    let resources = objects::resources().into_iter();
    let wanted = resources.filter(|resource| kinds.contains(&resource.kind.as_str()));
    for resource in wanted.chain(classes.iter().map(Resource::of_class)) {
        reading.take(&resource, Need::Kind).await?;
    }
    reading.finish()
}

fn refers(pool: &NodePool, class: &ClassKind) -> bool {
    let reference = pool.spec.template.spec.node_class_ref.as_ref();
    reference.is_some_and(|found| found.group == class.group && found.kind == class.kind)
}

/// How necessary a kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Its objects, if they can be had.
    Nothing,
    /// All of its objects; none, where the cluster does not have the kind.
    Objects,
    /// The kind itself.
    Kind,
}

struct Reading<'c> {
    client: &'c Client,
    live: Live,
    problems: Vec<LiveError>,
}

impl<'c> Reading<'c> {
    fn new(client: &'c Client) -> Self {
        let live = Live {
            objects: Objects::default(),
            read: BTreeSet::new(),
            absent: Vec::new(),
            notes: Vec::new(),
        };
        Self { client, live, problems: Vec::new() }
    }

    /// Reads a kind. Fails only where it makes no sense to go on.
    async fn take(&mut self, resource: &Resource, need: Need) -> Result<(), Vec<LiveError>> {
        let mut listed = list(self.client, resource).await;
        if let (Err(LiveError::NotServed { .. }), Need::Objects) = (&listed, need) {
            listed = match self.is_absent(resource).await {
                Ok(true) => {
                    self.live.absent.push(resource.name.clone());
                    return Ok(());
                }
                Ok(false) => listed,
                Err(error) => Err(error),
            };
        }
        match listed {
            Ok(objects) => {
                self.live.objects.absorb(objects);
                self.live.read.insert(resource.name.clone());
            }
            Err(LiveError::NotServed { .. }) if need == Need::Nothing => {}
            Err(LiveError::Forbidden { resource, .. }) if need == Need::Nothing => {
                let note = format!("{resource} may not be listed, and are not needed now");
                self.live.notes.push(note);
            }
            Err(error @ (LiveError::Unreachable(_) | LiveError::Unauthorized(_))) => {
                return Err(vec![error]);
            }
            Err(error) => self.problems.push(error),
        }
        Ok(())
    }

    /// Whether the API server has a kind in no version. Objects of another version than the one that is read would be
    /// taken for none.
    async fn is_absent(&self, resource: &Resource) -> Result<bool, LiveError> {
        let versions = served::versions(self.client, resource).await?;
        let Resource { name, path, .. } = resource.clone();
        let is_read = |version: &String| path.contains(&format!("/{version}/"));
        if versions.is_empty() || versions.iter().any(is_read) {
            return Ok(versions.is_empty());
        }
        Err(LiveError::OtherVersion { resource: name, versions: versions.join(", "), path })
    }

    fn finish(self) -> Result<Live, Vec<LiveError>> {
        if self.problems.is_empty() { Ok(self.live) } else { Err(self.problems) }
    }
}

/// All objects of a kind.
async fn list(client: &Client, resource: &Resource) -> Result<Objects, LiveError> {
    let mut begun = 1;
    loop {
        match pages(client, resource).await {
            // The pages so far are too old to be continued.
            Err(LiveError::Refused { code: 410, .. }) if begun < BEGIN_AT_MOST => begun += 1,
            done => return done,
        }
    }
}

async fn pages(client: &Client, resource: &Resource) -> Result<Objects, LiveError> {
    let mut reader = TextReader::default();
    let mut params = ListParams::default().limit(PAGE_SIZE);
    loop {
        let text = page(client, resource, &params).await?;
        let next = continuation(&text).map_err(|error| LiveError::NotAList {
            resource: resource.name.clone(),
            problem: error.to_string(),
        })?;
        reader.read(&format!("{} of the cluster", resource.name), text)?;
        match next {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(reader.finish()),
        }
    }
}

async fn page(
    client: &Client,
    resource: &Resource,
    params: &ListParams,
) -> Result<String, LiveError> {
    let request = Request::new(&resource.path).list(params);
    get(client, resource, request).await
}

/// The API server's answer to a request about a kind.
async fn get<E: std::error::Error + 'static>(
    client: &Client,
    resource: &Resource,
    request: Result<http::Request<Vec<u8>>, E>,
) -> Result<String, LiveError> {
    let request = request.map_err(|error| LiveError::Unreachable(chain(&error)))?;
    match tokio::time::timeout(PATIENCE, client.request_text(request)).await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(kube::Error::Api(status))) => Err(refusal(resource, status.code, status.message)),
        Ok(Err(error)) => Err(LiveError::Unreachable(chain(&error))),
        Err(_) => Err(LiveError::Unreachable(format!(
            "no answer about {} within {} seconds",
            resource.name,
            PATIENCE.as_secs()
        ))),
    }
}

fn refusal(resource: &Resource, code: u16, said: String) -> LiveError {
    let Resource { name, path, .. } = resource.clone();
    match code {
        401 => LiveError::Unauthorized(said),
        403 => LiveError::Forbidden { resource: name, said },
        404 => LiveError::NotServed { remedy: remedy(&name), resource: name, path },
        _ => LiveError::Refused { resource: name, code, said },
    }
}

/// The remedy for a missing kind.
fn remedy(resource: &str) -> String {
    let is_ours =
        crds().iter().any(|definition| definition.metadata.name.as_deref() == Some(resource));
    // Besides the kinds that have a type, only classes of our clouds are read.
    let is_class = !objects::resources().iter().any(|known| known.name == resource);
    if is_ours || is_class {
        "joiner crds | kubectl apply -f -, or plan from files with -f".to_owned()
    } else {
        "install its CustomResourceDefinition, or plan from files with -f".to_owned()
    }
}

/// Where a list goes on, if it does.
fn continuation(page: &str) -> Result<Option<String>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Page {
        metadata: Metadata,
    }

    #[derive(Deserialize)]
    struct Metadata {
        #[serde(rename = "continue")]
        token: Option<String>,
    }

    let page: Page = serde_json::from_str(page)?;
    Ok(page.metadata.token.filter(|token| !token.is_empty()))
}
