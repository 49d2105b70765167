//! The way to a cluster, by the rules of `kubectl`.

use std::path::PathBuf;

use clap::Args;
use joiner_operator::throttle::Throttle;
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::errors::{Failure, chain};

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

/// The cluster that the flags, the variables or the pod's own account lead to.
pub(crate) async fn config(args: &ClusterArgs) -> Result<Config, Failure> {
    let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
    let found = match &args.kubeconfig {
        Some(path) => match Kubeconfig::read_from(path) {
            Ok(file) => Config::from_custom_kubeconfig(file, &options).await,
            Err(error) => {
                let path = path.display();
                let problem = format!("--kubeconfig {path} cannot be read: {}", chain(&error));
                return Err(Failure::bad_input(problem));
            }
        },
        None if args.context.is_some() => Config::from_kubeconfig(&options).await,
        None => return Config::infer().await.map_err(|error| no_cluster(&error)),
    };
    found.map_err(|error| no_cluster(&error))
}

/// A client of that cluster.
pub(crate) fn client(mut config: Config, throttle: Option<&Throttle>) -> Result<Client, Failure> {
    // Every call has a deadline of its own; a watch may be quiet for longer than any.
    config.read_timeout = None;
    // What the API server refuses for now is an answer: a budget that allows no eviction says so with the code by which a
    // busy server asks for patience, and who called decides what comes next. A client that asks again by itself, fifteen
    // times, would let every such call end at its deadline instead.
    config.default_retry = false;
    let builder = ClientBuilder::try_from(config).map_err(|error| no_cluster(&error))?;
    Ok(match throttle {
        Some(throttle) => builder.with_layer(throttle).build(),
        None => builder.build(),
    })
}

fn no_cluster(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::bad_input(format!(
        "no cluster is known: {}. Give --kubeconfig, set KUBECONFIG, or run in a pod with a \
         service account",
        chain(error)
    ))
}
