//! `joiner run`: the controller.

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Off, Providers};
use joiner_kwok::Kwok;
use joiner_operator::{
    engine::{self, Engine},
    introduction::Introduction,
    log,
    metrics::Registry,
    probes::{self, Liveness, Readiness},
    random::Random,
    settings::{
        Accepted, Reader, Setting, Settings, declared,
        providers::{self, Known},
    },
    stop::{Stop, Stopper},
    throttle::Throttle,
};
use joiner_proxy::Way;
use joiner_vim::{
    Endpoint, Https, TlsSettings, Vim, VimSettings, settings::InvalidEndpoint,
    transport::InvalidThumbprint,
};
use joiner_vsphere::{Metrics, ProviderSettings, Vsphere};
use kube::Client;

use crate::{
    build::{BUILD, metrics_page},
    catalog,
    cli::RunArgs,
    connection,
    errors::{Exit, Failure, chain},
    lab,
    settings::{self, Declares, Given, VsphereAccess},
};

/// What a controller goes by.
#[derive(Debug)]
pub(crate) struct Controller;

impl Declares for Controller {
    const SETTINGS: &[&[&Setting]] =
        &[declared::CONTROLLER, declared::PLANNER, declared::VSPHERE, declared::CLOUDS];
}

/// The providers that this program has.
const PROVIDERS: [Known; 2] = [
    Known { name: "kwok", endpoint: None },
    Known { name: VSPHERE, endpoint: Some(declared::VSPHERE_ENDPOINT.variable) },
];

/// Why vSphere's settings are needed.
const NEEDED: &str = "the provider vsphere is on and needs it";

/// The name of vSphere's provider.
const VSPHERE: &str = "vsphere";

/// Settings of the controller and of its clouds.
#[derive(Debug)]
pub(crate) struct RunSettings {
    /// The controller's.
    pub(crate) operator: Settings,
    /// The providers that are on.
    pub(crate) providers: Vec<&'static Known>,
    /// What vSphere's instances cost and hide.
    pub(crate) vsphere: joiner_vsphere::Settings,
    /// How vSphere's provider reaches its vCenter, if it is on.
    pub(crate) vsphere_access: Option<VsphereAccess>,
}

impl RunSettings {
    /// Reads everything before it gives up. `is_set` says whether a variable holds something.
    fn accept(
        given: &Given<Controller>,
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(given.values());
        let operator = Settings::read_from(&mut reader);
        let endpoint = given.values().get(&declared::VSPHERE_ENDPOINT);
        let is_given = |variable: &str| {
            is_set(variable)
                || (variable == declared::VSPHERE_ENDPOINT.variable && !endpoint.is_empty())
        };
        let providers = providers::chosen(&mut reader, &PROVIDERS, is_given);
        let vsphere = settings::vsphere(&mut reader, &operator.planner);
        let vsphere_is_on = providers.iter().any(|provider| provider.name == VSPHERE);
        let vsphere_access = vsphere_is_on.then(|| VsphereAccess::read(&mut reader, NEEDED));
        reader.accept(Self { operator, providers, vsphere, vsphere_access })
    }
}

/// Runs the controller until it is told to stop.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|text| !text.is_empty());
    let Accepted { settings, warnings } =
        RunSettings::accept(&args.settings, is_set).map_err(Failure::BadInput)?;
    log::start(&settings.operator.log, &Clock::wall(), BUILD.commit)
        .map_err(|error| Failure::bad_input(chain(&error)))?;
    use_small_pages();
    // One thread works while the other plans; more would only take memory.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Ended(format!("cannot start: {error}")))?;
    runtime.block_on(control(args, settings, warnings)).map(|()| Exit::Success)
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

async fn control(
    args: &RunArgs,
    settings: RunSettings,
    warnings: Vec<String>,
) -> Result<(), Failure> {
    let found = connection::find(&args.cluster).await?;
    let operator = &settings.operator;
    let throttle = Throttle::new(operator.kube_client_qps, operator.kube_client_burst);
    let client = connection::client(&found, Some(&throttle))?;
    let registry = metrics_page()?;
    let mut ways: Vec<String> =
        way_told("the API server", &found.url(), &found.way).into_iter().collect();
    let providers = clouds(&settings, &client, &registry, &mut ways)?;
    let name = settings.vsphere_access.as_ref().map(|access| access.cluster_name.as_str());
    let namespace = found.config.default_namespace.clone();
    Introduction::of(operator, &providers, (name, &found.url()), &namespace).tell(BUILD.version);
    for way in ways {
        tracing::info!("{way}");
    }
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    for entry in connection::proxies()?.ignored() {
        tracing::warn!(
            "NO_PROXY has {entry:?}, which names nothing: write a name, an address, a network such \
             as 10.0.0.0/8, each with a port or without, or *"
        );
    }
    if found.config.accept_invalid_certs {
        tracing::warn!(
            "the API server's certificate is not checked (insecure-skip-tls-verify), so that \
             anybody on the way there can read the token and act in this program's name: put the \
             cluster's certificate-authority-data into the kubeconfig instead"
        );
    }
    let readiness = Arc::new(Readiness::new(engine::PARTS));
    let listen = |port, setting| {
        probes::listen(operator.bind_address, port, setting)
            .map_err(|error| Failure::bad_input(chain(&error)))
    };
    let health = listen(operator.health_probe_port, &declared::HEALTH_PROBE_PORT)?;
    let metrics = listen(operator.metrics_port, &declared::METRICS_PORT)?;
    let serve = |serving: std::io::Result<probes::Serving>| {
        serving.map_err(|error| Failure::Ended(format!("cannot serve probes: {error}")))
    };
    let liveness = Liveness::new(Clock::wall());
    tokio::spawn(liveness.clone().beat());
    let _health = serve(probes::serve_probes(health, liveness.clone(), Arc::clone(&readiness)))?;
    let _metrics = serve(probes::serve_metrics(metrics, registry.clone()))?;
    let random = Random::of_this_process();
    let setup = engine::Setup {
        lease_client: connection::client(&found, None)?,
        providers,
        client,
        clock: Clock::wall(),
        settings: settings.operator,
        registry,
        cluster: None,
        identity: format!("joiner_{:016x}", random.next()),
        namespace,
        random,
        readiness,
        liveness,
    };
    let engine = Engine::new(setup).map_err(|error| Failure::Ended(chain(&error)))?;
    let ended = engine.run(until_told()).await;
    ended.map_err(|ended| Failure::Ended(ended.to_string()))
}

/// The providers that are on, and those that are not. How their clouds are reached is added to `ways`.
fn clouds(
    settings: &RunSettings,
    client: &Client,
    registry: &Registry,
    ways: &mut Vec<String>,
) -> Result<Providers, Failure> {
    let mut on: Vec<Arc<dyn CloudProvider>> = Vec::new();
    for provider in &settings.providers {
        match provider.name {
            "kwok" => on.push(Arc::new(kwok(settings, client)?)),
            VSPHERE => on.push(vsphere(settings, registry, ways)?),
            name => unreachable!("{name} is no provider of this program"),
        }
    }
    Ok(Providers::new(
        on,
        vec![Off {
            name: VSPHERE,
            class: joiner_vsphere::NODE_CLASS,
            variable: declared::VSPHERE_ENDPOINT.variable,
        }],
    ))
}

/// vSphere's provider, made of `settings.vsphere_access` and `settings.vsphere`.
fn vsphere(
    settings: &RunSettings,
    registry: &Registry,
    ways: &mut Vec<String>,
) -> Result<Arc<dyn CloudProvider>, Failure> {
    let Some(access) = &settings.vsphere_access else {
        return Err(Failure::bad_input("vSphere is on and nobody says where it is"));
    };
    let (line, vim_settings) = way_to_vcenter(access)?;
    ways.extend(way_told("the vCenter", &access.authority, line.way()));
    let metrics = Metrics::default();
    registry.add(metrics.clone()).map_err(|error| Failure::Ended(chain(&error)))?;
    let clock = Clock::wall();
    let observed = VimSettings { observer: Arc::new(metrics.clone()), ..vim_settings };
    let vim = Vim::new(observed, line, clock.clone());
    let settings = ProviderSettings {
        datacenter: access.datacenter.clone(),
        instances: settings.vsphere,
        ..ProviderSettings::new(&access.cluster_name, &access.folder)
    };
    Ok(Arc::new(Vsphere::counted(vim, clock, settings, metrics)))
}

/// How a server is reached, where that is not as everybody expects.
fn way_told(what: &str, address: &str, way: &Way) -> Option<String> {
    (*way != Way::Direct).then(|| format!("{what} at {address} is reached {way}"))
}

/// The way to a vCenter, and who goes it.
pub(crate) fn way_to_vcenter(access: &VsphereAccess) -> Result<(Arc<Https>, VimSettings), Failure> {
    let refuse = |setting: &Setting, problem: String| {
        Failure::bad_input(format!("--{} ({}): {problem}", setting.name, setting.variable))
    };
    let endpoint: Endpoint = access.authority.parse().map_err(|error: InvalidEndpoint| {
        let error = error.of("a vCenter", "https://host:port/sdk");
        refuse(&declared::VSPHERE_ENDPOINT, error.to_string())
    })?;
    let thumbprint = access.thumbprint.as_ref().map(|bytes| {
        let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.join(":").parse()
    });
    let thumbprint = thumbprint.transpose().map_err(|error: InvalidThumbprint| {
        refuse(&declared::VSPHERE_THUMBPRINT, error.to_string())
    })?;
    let tls = TlsSettings {
        ca_files: access.ca_files.clone(),
        thumbprints: Vec::from_iter(thumbprint),
        insecure: access.insecure,
        ..TlsSettings::default()
    };
    let line = Https::behind(&connection::proxies()?, endpoint, &tls)
        .map_err(|error| refuse(&declared::VSPHERE_TLS_CA_CERTS, chain(&error)))?;
    let user_agent = format!("joiner/{} ({})", BUILD.version, access.cluster_name);
    let settings = VimSettings { user_agent, ..VimSettings::with_source(access.credentials()) };
    Ok((Arc::new(line), settings))
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

    /// What vSphere's provider needs at least.
    const VCENTER: [&str; 5] = [
        "--cluster-name=prod",
        "--vsphere-endpoint=https://vcenter.example.org/sdk",
        "--vsphere-username=joiner",
        "--vsphere-password=hunter2",
        "--vsphere-path=k8s/prod",
    ];

    #[test]
    fn flags_reach_the_controller_and_its_clouds() {
        let flags = [
            "--batch-idle-duration=2s",
            "--memory-limit",
            "-1",
            "--disable-leader-election",
            "--vm-memory-overhead-percent=0.1",
        ];
        let flags = [&flags[..], &VCENTER].concat();
        let Accepted { settings, warnings } = accept(&flags, &[]).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(settings.operator.batch.idle.as_secs(), 2);
        assert!(settings.operator.leader_election.disabled);
        assert_eq!(settings.operator.memory_limit, None);
        assert_eq!(settings.vsphere.memory_overhead.to_string(), "0.1");
        let names: Vec<&str> = settings.providers.iter().map(|provider| provider.name).collect();
        assert_eq!(names, ["vsphere"]);
    }

    #[test]
    fn a_vcenter_is_reached_as_its_settings_say_and_its_password_is_not_shown() {
        let pinned = format!("--vsphere-thumbprint={}", ["ab"; 20].join(":"));
        let more = ["--vsphere-insecure", "--vsphere-dc=dc1", &pinned];
        let Accepted { settings, warnings } = accept(&[&VCENTER[..], &more].concat(), &[]).unwrap();
        assert!(warnings[0].contains("GOVC_INSECURE"), "{warnings:?}");
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        let access = settings.vsphere_access.unwrap();
        assert_eq!(access.password.reveal(), "hunter2");
        assert_eq!(access.authority, "vcenter.example.org");
        assert_eq!((&*access.folder, access.datacenter.as_deref()), ("k8s/prod", Some("dc1")));
        assert_eq!(access.thumbprint, Some(vec![0xab; 20]));
    }

    #[test]
    fn what_vsphere_cannot_do_without_is_named_by_flag_and_variable() {
        let told = accept(&["--providers=vsphere", "--vsphere-thumbprint=ab:cd"], &[]).unwrap_err();
        expect![[r#"
            --cluster-name (CLUSTER_NAME): it is not given: the provider vsphere is on and needs it
            --vsphere-endpoint (GOVC_URL): it is not given: the provider vsphere is on and needs it
            --vsphere-username (GOVC_USERNAME): it is not given: the provider vsphere is on and needs it
            --vsphere-password (GOVC_PASSWORD): it is not given: the provider vsphere is on and needs it
            --vsphere-path (VSPHERE_FOLDER): it is not given: the provider vsphere is on and needs it
            --vsphere-thumbprint (VSPHERE_THUMBPRINT) cannot be "ab:cd": use 20 (SHA-1) or 32 (SHA-256) hex numbers separated by ':'"#]].assert_eq(&told);
        assert!(accept(&["--vsphere-thumbprint=ab:cd"], &[]).is_ok(), "nobody uses it");
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
        // Whoever comes from vSphere's Karpenter keeps their variables.
        let of_vsphere = |long: &str| declared::VSPHERE.iter().any(|setting| setting.name == long);
        for (long, variable) in flags.filter(|(long, _)| !of_vsphere(long)) {
            assert_eq!(*variable, *long.replace('-', "_").to_uppercase());
        }
    }
}
