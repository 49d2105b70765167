//! The way to a cluster, by the rules of `kubectl`.

use std::{error::Error, path::PathBuf, time::Duration};

use bytes::Bytes;
use clap::Args;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper_util::{client::legacy, rt::TokioExecutor};
use joiner_operator::throttle::Throttle;
use joiner_proxy::{Connector, Proxies, Proxy, Way};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::{BoxError, Service, ServiceBuilder};

use crate::errors::{Failure, chain};

/// How long a connection may take where the client's own configuration does not say it: what kube
/// gives its clients.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Which cluster is meant. The comments on fields are the help that `--help` prints.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ClusterArgs {
    /// The kubeconfig file; without it $KUBECONFIG, the usual file, or the pod's own account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Which context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// A cluster, and the way to it.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) config: Config,
    pub(crate) way: Way,
}

impl Found {
    /// Where the API server is.
    pub(crate) fn url(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_owned()
    }
}

/// How a server is reached, where that is not directly.
pub(crate) fn way_told(what: &str, address: &str, way: &Way) -> Option<String> {
    (*way != Way::Direct).then(|| format!("{what} at {address} is reached {way}"))
}

/// The proxies that variables name.
pub(crate) fn proxies() -> Result<Proxies, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    Proxies::read(variable)
        .map_err(|wrong| Failure::BadInput(wrong.iter().map(ToString::to_string).collect()))
}

/// The cluster that the flags, the variables or the pod's own account lead to.
pub(crate) async fn find(args: &ClusterArgs) -> Result<Found, Failure> {
    let proxies = proxies()?;
    let (mut config, proxy) = configured(args).await?;
    // kube looks at HTTPS_PROXY too, but at no exceptions from it, and not in a pod.
    config.proxy_url = None;
    let way = match proxy {
        Some(proxy) => Way::Through(proxy),
        None => proxies.way_to(&config.cluster_url),
    };
    Ok(Found { config, way })
}

/// What leads to the cluster, and the proxy that its kubeconfig names.
async fn configured(args: &ClusterArgs) -> Result<(Config, Option<Proxy>), Failure> {
    let is_named = args.kubeconfig.is_some() || args.context.is_some();
    let file = match &args.kubeconfig {
        Some(path) => Kubeconfig::read_from(path).map_err(|error| {
            let path = path.display();
            let problem = format!("--kubeconfig {path} cannot be read: {}", chain(&error));
            Failure::bad_input(problem)
        })?,
        None => match Kubeconfig::read() {
            Ok(file) => file,
            Err(error) if is_named => return Err(no_cluster(&error)),
            Err(_) => return inferred().await,
        },
    };
    if is_named {
        check_context(&file, args)?;
    }
    let proxy = proxy_of(&file, args.context.as_deref());
    let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
    match Config::from_custom_kubeconfig(file, &options).await {
        Ok(config) => Ok((config, proxy.transpose()?)),
        Err(error) if is_named => Err(no_cluster(&error)),
        // The usual file leads nowhere, and a pod has an account of its own.
        Err(_) => inferred().await,
    }
}

async fn inferred() -> Result<(Config, Option<Proxy>), Failure> {
    let config = Config::infer().await.map_err(|error| no_cluster(&error))?;
    Ok((config, None))
}

/// Refuses a context that is not there, with those that are.
fn check_context(file: &Kubeconfig, args: &ClusterArgs) -> Result<(), Failure> {
    let (said_by, name) = match (&args.context, &file.current_context) {
        (Some(name), _) => ("--context", name),
        (None, Some(name)) => ("current-context", name),
        (None, None) => return Ok(()),
    };
    let mut contexts: Vec<&str> = file.contexts.iter().map(|context| &*context.name).collect();
    if contexts.contains(&&**name) {
        return Ok(());
    }
    contexts.sort_unstable();
    let remedy = if contexts.is_empty() {
        "it has no contexts: give another file with --kubeconfig".to_owned()
    } else {
        format!("use one of {}", contexts.join(", "))
    };
    let file = match &args.kubeconfig {
        Some(path) => format!("the kubeconfig {}", path.display()),
        None => "the kubeconfig".to_owned(),
    };
    Err(Failure::bad_input(format!("{said_by} {name:?} is not in {file}: {remedy}")))
}

/// The proxy that a kubeconfig names for a context's cluster. It takes precedence over environment
/// variables.
fn proxy_of(file: &Kubeconfig, context: Option<&str>) -> Option<Result<Proxy, Failure>> {
    let name = context.or(file.current_context.as_deref())?;
    let context = file.contexts.iter().find(|context| context.name == name)?.context.as_ref()?;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == context.cluster)?;
    let url = cluster.cluster.as_ref()?.proxy_url.as_deref().filter(|url| !url.is_empty())?;
    let found_in = "proxy-url in the kubeconfig";
    Some(Proxy::parse(url, found_in).map_err(|error| Failure::bad_input(error.to_string())))
}

/// A client of that cluster.
pub(crate) fn client(found: &Found, throttle: Option<&Throttle>) -> Result<Client, Failure> {
    let Found { mut config, way } = found.clone();
    // Every call has a deadline of its own; a watch may be quiet for longer than any.
    config.read_timeout = None;
    // What the API server refuses for now is an answer: a budget that allows no eviction says so with the code by which a
    // busy server asks for patience, and who called decides what comes next. A client that asks again by itself, fifteen
    // times, would let every such call end at its deadline instead.
    config.default_retry = false;
    if let Way::Through(_) = way {
        return through_proxy(&config, &way, throttle);
    }
    let builder = ClientBuilder::try_from(config).map_err(|error| no_cluster(&error))?;
    Ok(throttled(builder, throttle))
}

/// What kube makes of a configuration, on a connection of ours: its own knows no exceptions, and
/// has a proxy's certificate signed by the cluster's authority.
fn through_proxy(
    config: &Config,
    way: &Way,
    throttle: Option<&Throttle>,
) -> Result<Client, Failure> {
    let unusable = |error: kube::Error| no_cluster(&error);
    let patience = config.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    let connector =
        Connector::new(way, patience).map_err(|error| Failure::bad_input(error.to_string()))?;
    let connector = config.rustls_https_connector_with_connector(connector).map_err(unusable)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(unusable)?)
        .layer(config.extra_headers_layer().map_err(unusable)?)
        .map_err(BoxError::from)
        .service(legacy::Client::builder(TokioExecutor::new()).build(connector));
    Ok(throttled(ClientBuilder::new(service, &*config.default_namespace), throttle))
}

fn throttled<S, B>(builder: ClientBuilder<S>, throttle: Option<&Throttle>) -> Client
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>> + Send + 'static,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    match throttle {
        Some(throttle) => builder.with_layer(throttle).build(),
        None => builder.build(),
    }
}

fn no_cluster(error: &(dyn Error + 'static)) -> Failure {
    Failure::bad_input(format!(
        "no cluster is known: {}. Give --kubeconfig, set KUBECONFIG, or run in a pod with a \
         service account",
        chain(error)
    ))
}
