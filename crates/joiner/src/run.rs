//! `joiner run`: the controller.

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Off, Providers};
use joiner_kwok::Kwok;
use joiner_operator::{
    engine::{self, Engine},
    log,
    probes::{self, Readiness},
    random::Random,
    settings::{
        Accepted, Reader, Setting, Settings, declared,
        providers::{self, Known},
    },
    stop::{Stop, Stopper},
    throttle::Throttle,
};
use kube::Client;

use crate::{
    build::{BUILD, metrics_page},
    catalog,
    cli::RunArgs,
    connection,
    errors::{Exit, Failure, chain},
    lab,
    settings::{self, CLOUDS, Declares, Given},
};

/// What a controller goes by.
#[derive(Debug)]
pub(crate) struct Controller;

impl Declares for Controller {
    const SETTINGS: &[&[&Setting]] = &[declared::CONTROLLER, declared::PLANNER, CLOUDS];
}

/// The providers that this program has.
const PROVIDERS: [Known; 2] =
    [Known { name: "kwok", endpoint: None }, Known { name: "vsphere", endpoint: Some("GOVC_URL") }];

/// Settings of the controller and of its clouds.
#[derive(Debug)]
pub(crate) struct RunSettings {
    /// The controller's.
    pub(crate) operator: Settings,
    /// The providers that are on.
    pub(crate) providers: Vec<&'static Known>,
    /// What vSphere's machines cost and hide.
    #[cfg_attr(not(test), expect(dead_code, reason = "checked here, for a provider yet to come"))]
    pub(crate) vsphere: joiner_vsphere::Settings,
}

impl RunSettings {
    /// Reads everything before it gives up. `is_set` says whether a variable holds something.
    fn accept(
        given: &Given<Controller>,
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(given.values());
        let operator = Settings::read_from(&mut reader);
        let providers = providers::chosen(&mut reader, &PROVIDERS, is_set);
        let vsphere = settings::vsphere(&mut reader, &operator.planner);
        reader.accept(Self { operator, providers, vsphere })
    }
}

/// Runs the controller until it is told to stop.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|text| !text.is_empty());
    let Accepted { settings, warnings } =
        RunSettings::accept(&args.settings, is_set).map_err(Failure::BadInput)?;
    log::start(&settings.operator.log, &Clock::wall(), BUILD.commit)
        .map_err(|error| Failure::bad_input(chain(&error)))?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    use_small_pages();
    // One thread works while the other plans; more would only take memory.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Ended(format!("cannot start: {error}")))?;
    runtime.block_on(control(args, settings)).map(|()| Exit::Success)
}

/// A controller's memory is small objects that come and go. In huge pages, which the allocator asks
/// for where the system has them, it would hold a third more than it uses.
#[cfg(target_os = "linux")]
fn use_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!("huge pages stay on, so that more memory is held than is used: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn use_small_pages() {}

async fn control(args: &RunArgs, settings: RunSettings) -> Result<(), Failure> {
    let config = connection::config(&args.cluster).await?;
    if config.accept_invalid_certs {
        tracing::warn!(
            "the API server's certificate is not checked (insecure-skip-tls-verify), so that \
             anybody on the way there can read the token and act in this program's name: put the \
             cluster's certificate-authority-data into the kubeconfig instead"
        );
    }
    let namespace = config.default_namespace.clone();
    let operator = &settings.operator;
    let throttle = Throttle::new(operator.kube_client_qps, operator.kube_client_burst);
    let client = connection::client(config.clone(), Some(&throttle))?;
    let registry = metrics_page()?;
    let readiness = Arc::new(Readiness::new(engine::PARTS));
    let listen = |port, setting| {
        probes::listen(None, port, setting).map_err(|error| Failure::bad_input(chain(&error)))
    };
    let health = listen(operator.health_probe_port, &declared::HEALTH_PROBE_PORT)?;
    let metrics = listen(operator.metrics_port, &declared::METRICS_PORT)?;
    let serve = |serving: std::io::Result<probes::Serving>| {
        serving.map_err(|error| Failure::Ended(format!("cannot serve probes: {error}")))
    };
    let _health = serve(probes::serve_probes(health, Arc::clone(&readiness)))?;
    let _metrics = serve(probes::serve_metrics(metrics, registry.clone()))?;
    let random = Random::of_this_process();
    let setup = engine::Setup {
        lease_client: connection::client(config, None)?,
        providers: clouds(&settings, &client)?,
        client,
        clock: Clock::wall(),
        settings: settings.operator,
        registry,
        cluster: None,
        identity: format!("joiner_{:016x}", random.next()),
        namespace,
        random,
        readiness,
    };
    let engine = Engine::new(setup).map_err(|error| Failure::Ended(chain(&error)))?;
    tracing::info!(version = BUILD.version, "starting");
    let ended = engine.run(until_told()).await;
    ended.map_err(|ended| Failure::Ended(ended.to_string()))
}

/// The providers that are on, and those that are not.
fn clouds(settings: &RunSettings, client: &Client) -> Result<Providers, Failure> {
    let mut on: Vec<Arc<dyn CloudProvider>> = Vec::new();
    for provider in &settings.providers {
        match provider.name {
            "kwok" => on.push(Arc::new(kwok(settings, client)?)),
            name => {
                return Err(Failure::bad_input(format!(
                    "this version plans for {name} but cannot make its machines yet: unset {} or \
                     give --providers=kwok",
                    provider.endpoint.unwrap_or_default()
                )));
            }
        }
    }
    Ok(Providers::new(
        on,
        vec![Off { name: "vsphere", class: joiner_vsphere::NODE_CLASS, variable: "GOVC_URL" }],
    ))
}

fn kwok(settings: &RunSettings, client: &Client) -> Result<Kwok, Failure> {
    let clock = Clock::wall();
    let Some(path) = &settings.operator.planner.instance_types_file else {
        return Ok(Kwok::new(client.clone(), clock));
    };
    let flag = "--instance-types-file-path (INSTANCE_TYPES_FILE_PATH)";
    let types = catalog::catalog_file(flag, path)?;
    Ok(Kwok::with_types(client.clone(), clock, types))
}

/// Stops when the process is told to end.
fn until_told() -> Stop {
    let (stopper, stop) = Stopper::new();
    tokio::spawn(async move {
        match lab::stopped().await {
            Ok(()) => {
                tracing::info!(
                    "told to end: finishing what is under way and giving the leases back"
                );
            }
            Err(_) => tracing::error!("cannot listen to the signals that end a program: ending"),
        }
        stopper.stop();
    });
    stop
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use expect_test::expect;

    use super::*;
    use crate::cli::{Cli, Command};

    fn accept(flags: &[&str], set: &[&str]) -> Result<Accepted<RunSettings>, String> {
        let cli = Cli::parse_from([&["joiner", "run"], flags].concat());
        let Command::Run(args) = cli.command else { panic!("this is a run") };
        let is_set = |variable: &str| set.contains(&variable);
        RunSettings::accept(&args.settings, is_set).map_err(|problems| problems.join("\n"))
    }

    #[test]
    fn flags_reach_the_controller_and_its_clouds() {
        let flags = [
            "--batch-idle-duration=2s",
            "--memory-limit",
            "-1",
            "--disable-leader-election",
            "--vm-memory-overhead-percent=0.1",
        ];
        let Accepted { settings, warnings } = accept(&flags, &["GOVC_URL"]).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(settings.operator.batch.idle.as_secs(), 2);
        assert!(settings.operator.leader_election.disabled);
        assert_eq!(settings.operator.memory_limit, None);
        assert_eq!(settings.vsphere.memory_overhead.to_string(), "0.1");
        let names: Vec<&str> = settings.providers.iter().map(|provider| provider.name).collect();
        assert_eq!(names, ["vsphere"]);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let flags = [
            "--metrics-port=no",
            "--providers=aws",
            "--vsphere-vm-memory-overhead-percent=2",
            "--price-per-vm=-1",
        ];
        expect![[r#"
            --price-per-vm (PRICE_PER_VM) cannot be "-1": use a price, 0 or more
            --metrics-port (METRICS_PORT) cannot be "no": use a port from 1 to 65535, or 0 for any that is free
            --providers (PROVIDERS) cannot be "aws": use some of kwok, vsphere, separated by commas
            --vsphere-vm-memory-overhead-percent (VSPHERE_VM_MEMORY_OVERHEAD_PERCENT) cannot be "2": use a share from 0 to below 1, such as 0.075"#]].assert_eq(&accept(&flags, &[]).unwrap_err());
    }

    #[test]
    fn every_variable_is_the_flag_in_capitals() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let flags = run.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.get_env()?)));
        for (long, variable) in flags {
            assert_eq!(*variable, *long.replace('-', "_").to_uppercase());
        }
    }
}
