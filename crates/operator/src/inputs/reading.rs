//! Reads about the cluster itself.

use std::{fmt, net::SocketAddr, time::Duration};

use http::Request;
use joiner_cloud::{
    bootstrap::{token, trust::CaBundle},
    inputs::SecretData,
    needs::SecretName,
};
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::{ConfigMap, PodTemplateSpec},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Resource,
    api::{ListParams, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    decide::ClusterInfo,
    memory::{Memory, Read, Unread},
};
use crate::{cluster::Scoped, context::Context};

/// How long an address may take to answer. The value was chosen and not measured separately.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// The cached reads.
#[derive(Debug, Default)]
pub(super) struct Lately {
    version: Memory<(), String>,
    cluster_info: Memory<(), Option<ClusterInfo>>,
    root_ca: Memory<(), Option<String>>,
    addresses: Memory<(), Vec<SocketAddr>>,
    answering: Memory<Vec<SocketAddr>, SocketAddr>,
    shown: Memory<String, CaBundle>,
    may_mint: Memory<(), bool>,
    images: Memory<(), Vec<String>>,
    pub(super) secrets: Memory<SecretName, Option<SecretData>>,
    pub(super) ipam: Memory<(), Option<String>>,
}

/// The API server's full version.
pub(super) async fn version(context: &Context) -> Read<String> {
    let read = async {
        let call = context.cluster.client().apiserver_version();
        let info = context.cluster.call(|| "get the API server's version".to_owned(), call).await?;
        Ok(info.git_version)
    };
    context.inputs.0.lately.version.get(&context.clock, (), read).await
}

/// kubeadm's `cluster-info`; none if it does not exist.
pub(super) async fn cluster_info(context: &Context) -> Read<Option<ClusterInfo>> {
    let read = async {
        let Some(text) = config_map(context, "kube-public", "cluster-info", "kubeconfig").await?
        else {
            return Ok(None);
        };
        ClusterInfo::read(&text).map(Some).map_err(Unread::Away)
    };
    context.inputs.0.lately.cluster_info.get(&context.clock, (), read).await
}

/// The certificate authority that pods trust the API server by.
pub(super) async fn root_ca(context: &Context) -> Read<Option<String>> {
    let read = config_map(context, &context.namespace, "kube-root-ca.crt", "ca.crt");
    context.inputs.0.lately.root_ca.get(&context.clock, (), read).await
}

async fn config_map(
    context: &Context,
    namespace: &str,
    name: &str,
    key: &str,
) -> Read<Option<String>> {
    let found: Option<ConfigMap> = get(context, namespace, name).await?;
    Ok(found.and_then(|map| map.data?.remove(key)))
}

/// The current object; none if the API server reports that it does not exist.
pub(super) async fn get<T>(context: &Context, namespace: &str, name: &str) -> Read<Option<T>>
where
    T: Resource<DynamicType = (), Scope: Scoped> + Clone + fmt::Debug + DeserializeOwned,
{
    let kind = T::kind(&());
    let api: Api<T> = <T::Scope as Scoped>::api(context.cluster.client().clone(), Some(namespace));
    let what = || format!("get {kind} {namespace}/{name}");
    Ok(context.cluster.call_if_allowed(what, api.get_opt(name)).await?)
}

/// The addresses of the API servers: the endpoints of the Service `default/kubernetes`.
pub(super) async fn api_addresses(context: &Context) -> Read<Vec<SocketAddr>> {
    let read = async {
        let of_kubernetes = "kubernetes.io/service-name=kubernetes";
        let slices: Vec<EndpointSlice> = list(context, "default", of_kubernetes).await?;
        Ok(slices.iter().flat_map(addresses_in).collect())
    };
    context.inputs.0.lately.addresses.get(&context.clock, (), read).await
}

/// The ready addresses of a slice, with its only port.
fn addresses_in(slice: &EndpointSlice) -> Vec<SocketAddr> {
    let port = slice.ports.iter().flatten().find_map(|port| port.port);
    let Some(port) = port.and_then(|port| u16::try_from(port).ok()) else { return Vec::new() };
    let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
        endpoint.conditions.as_ref().is_none_or(|conditions| conditions.ready != Some(false))
    });
    let addresses = ready.flat_map(|endpoint| &endpoint.addresses);
    addresses.filter_map(|text| Some(SocketAddr::new(text.parse().ok()?, port))).collect()
}

/// The first address that answers.
pub(super) async fn first_answering(
    context: &Context,
    addresses: Vec<SocketAddr>,
) -> Read<SocketAddr> {
    let (lately, reach) = (&context.inputs.0.lately, &context.inputs.0.reach);
    let tried = addresses.clone();
    let read = async {
        for address in tried {
            let deadline = context.clock.instant_after(ANSWERS_WITHIN);
            if tokio::time::timeout_at(deadline, reach.answers(address)).await == Ok(true) {
                return Ok(address);
            }
        }
        Err(Unread::Away("none of them answers".to_owned()))
    };
    lately.answering.get(&context.clock, addresses, read).await
}

/// The certificates that an endpoint shows without authentication.
pub(super) async fn shown_authority(context: &Context, url: &str) -> Read<CaBundle> {
    let (lately, reach) = (&context.inputs.0.lately, &context.inputs.0.reach);
    let read = async {
        let deadline = context.clock.instant_after(ANSWERS_WITHIN);
        let shown = tokio::time::timeout_at(deadline, reach.shown(url)).await;
        let shown = shown.map_err(|_| Unread::Away("no answer".to_owned()))?;
        // Any other answer says nothing about the cluster's authority.
        CaBundle::read(&shown.map_err(Unread::Away)?).map_err(|error| Unread::Away(error.problem))
    };
    lately.shown.get(&context.clock, url.to_owned(), read).await
}

/// Whether this process may create Secrets in the tokens' namespace.
pub(super) async fn may_mint(context: &Context) -> Read<bool> {
    let read = async {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(context.cluster.client().clone());
        let attributes = ResourceAttributes {
            namespace: Some(token::NAMESPACE.to_owned()),
            verb: Some("create".to_owned()),
            resource: Some("secrets".to_owned()),
            ..ResourceAttributes::default()
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(attributes),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let what = || "ask whether Secrets may be created in kube-system".to_owned();
        let params = PostParams::default();
        let answer =
            context.cluster.call_if_allowed(what, reviews.create(&params, &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    };
    context.inputs.0.lately.may_mint.get(&context.clock, (), read).await
}

/// Images of the cluster-wide workloads in `kube-system`.
pub(super) async fn images(context: &Context) -> Read<Vec<String>> {
    let read = async {
        let daemons: Vec<DaemonSet> = list(context, "kube-system", "").await?;
        let deployments: Vec<Deployment> = list(context, "kube-system", "").await?;
        // A workload without pods at this moment, such as during an update, still counts.
        let daemons = daemons.iter().filter_map(|daemon| {
            let wanted = daemon.status.as_ref()?.desired_number_scheduled;
            (wanted > 0).then_some(&daemon.spec.template)
        });
        let deployments = deployments.iter().filter_map(|deployment| {
            let spec = &deployment.spec;
            (spec.replicas != Some(0)).then_some(&spec.template)
        });
        Ok(daemons.chain(deployments).flat_map(images_in).collect())
    };
    context.inputs.0.lately.images.get(&context.clock, (), read).await
}

fn images_in(template: &PodTemplateSpec) -> Vec<String> {
    let containers = template.spec.iter().flat_map(|spec| &spec.containers);
    containers.filter_map(|container| container.image.clone()).collect()
}

async fn list<T>(context: &Context, namespace: &str, labels: &str) -> Read<Vec<T>>
where
    T: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + fmt::Debug
        + DeserializeOwned,
{
    let api: Api<T> = Scoped::api(context.cluster.client().clone(), Some(namespace));
    let what = || format!("list {}s in {namespace}", T::kind(&()));
    let params = ListParams::default().labels(labels);
    Ok(context.cluster.call_if_allowed(what, api.list(&params)).await?.items)
}

/// The preferred served version of an optional API group; none if it is not served.
pub(super) async fn served_version(context: &Context, group: &str) -> Read<Option<String>> {
    let what = || format!("ask whether {group} is served");
    let request = Request::get(format!("/apis/{group}")).body(Vec::new());
    let request = request.map_err(|error| Unread::Away(error.to_string()))?;
    let call = context.cluster.client().request::<Value>(request);
    match context.cluster.call_if_allowed(what, call).await {
        Ok(answer) => Ok(answer["preferredVersion"]["version"].as_str().map(str::to_owned)),
        Err(trouble) if trouble.is_not_found() => Ok(None),
        Err(trouble) => Err(trouble.into()),
    }
}
