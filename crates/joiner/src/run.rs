//! `joiner run`: the controller.

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Providers};
use joiner_operator::{
    engine::{self, Engine},
    introduction::Introduction,
    log,
    metrics::Registry,
    probes::{self, Liveness, Readiness},
    random::Random,
    settings::{Settings, declared, published},
    stop::{Stop, Stopper},
    throttle::Throttle,
};
use joiner_settings::{Accepted, Reader, Setting, Values};
use kube::Client;

use crate::{
    build::{BUILD, metrics_page},
    cli::RunArgs,
    clouds::{self, Access, CloudKind, Clouds, Opened, Opening},
    connection::{self, way_told},
    crds,
    errors::{Exit, Failure, chain},
    lab,
    settings::Declares,
};

/// What a controller goes by.
#[derive(Debug)]
pub(crate) struct Controller;

impl Declares for Controller {
    fn settings() -> Vec<&'static Setting> {
        clouds::ALL.controller_settings()
    }
}

/// Settings of the controller and of its clouds.
#[derive(Debug)]
pub(crate) struct RunSettings {
    /// The controller's.
    pub(crate) operator: Settings,
    /// The clouds that are on.
    pub(crate) on: Vec<On>,
}

/// A cloud that is on.
#[derive(Debug)]
pub(crate) struct On {
    pub(crate) kind: &'static CloudKind,
    pub(crate) access: Box<dyn Access>,
}

impl RunSettings {
    /// Reads everything before it gives up. `is_set` says whether a variable holds something.
    pub(crate) fn accept(
        clouds: Clouds,
        values: &Values,
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(values);
        let mut operator = Settings::read_from(&mut reader);
        operator.published = published::given(values, clouds.published_settings());
        let is_given =
            |setting: &Setting| is_set(setting.variable) || !values.get(setting).is_empty();
        let chosen = clouds.chosen(&mut reader, is_given);
        let configured = clouds.read(&mut reader, &operator.planner);
        let is_on = |kind: &CloudKind| chosen.iter().any(|chosen| chosen.name == kind.name);
        let mut on = Vec::new();
        for configured in configured.iter().filter(|configured| is_on(configured.kind)) {
            let kind = configured.kind;
            let why = format!("the provider {} is on and needs it", kind.name);
            let cluster_name = kind.cluster_name(&mut reader, &why);
            let access = configured.cloud.access(&mut reader, cluster_name, &why);
            on.push(On { kind, access });
        }
        reader.accept(Self { operator, on })
    }
}

/// Runs the controller until it is told to stop.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|text| !text.is_empty());
    let Accepted { settings, warnings } =
        RunSettings::accept(clouds::ALL, args.settings.values(), is_set)
            .map_err(Failure::BadInput)?;
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
    let providers = open(&settings.on, &client, &registry, &mut ways).await?;
    let has_name = settings.on.iter().any(|on| on.kind.settings.needs_cluster_name);
    let name = operator.joining.cluster_name.as_deref().filter(|_| has_name);
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
        definitions: crds::all(clouds::ALL),
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
async fn open(
    on: &[On],
    client: &Client,
    registry: &Registry,
    ways: &mut Vec<String>,
) -> Result<Providers, Failure> {
    let (proxies, clock) = (connection::proxies()?, Clock::wall());
    let with = Opening { client, registry, proxies: &proxies, clock: &clock };
    let mut providers: Vec<Arc<dyn CloudProvider>> = Vec::new();
    for cloud in on {
        let Opened { provider, ways: own } = cloud.access.open(&with).await?;
        providers.push(provider);
        ways.extend(own);
    }
    let kinds: Vec<&CloudKind> = on.iter().map(|on| on.kind).collect();
    Ok(Providers::new(providers, clouds::ALL.off(&kinds)))
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
        RunSettings::accept(clouds::ALL, args.settings.values(), is_set)
            .map_err(|problems| problems.join("\n"))
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
        assert!(format!("{:?}", settings.on[0].access).contains("memory_overhead: 0.1"));
        let names: Vec<&str> = settings.on.iter().map(|on| on.kind.name).collect();
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
        for part in [
            "authority: \"vcenter.example.org\"",
            "folder: \"k8s/prod\"",
            "datacenter: Some(\"dc1\")",
            &format!("thumbprint: Some({:?})", [0xab; 20]),
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
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
    fn what_cloudstack_cannot_do_without_is_named_by_flag_and_variable() {
        let told = accept(&["--providers=cloudstack"], &[]).unwrap_err();
        for needed in [
            "--cluster-name (CLUSTER_NAME)",
            "--cloudstack-api-url (CLOUDSTACK_API_URL)",
            "--cloudstack-api-key (CLOUDSTACK_API_KEY)",
            "--cloudstack-secret-key (CLOUDSTACK_SECRET_KEY)",
        ] {
            let told_of =
                format!("{needed}: it is not given: the provider cloudstack is on and needs it");
            assert!(told.contains(&told_of), "{told}");
        }
        assert!(accept(&["--cloudstack-price-per-cpu=0.04"], &[]).is_ok(), "it is not on");
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
            --providers (PROVIDERS) cannot be "aws": use some of kwok, vsphere, cloudstack, separated by commas
            --vsphere-vm-memory-overhead-percent (VSPHERE_VM_MEMORY_OVERHEAD_PERCENT) cannot be "2": use a share from 0 to below 1, such as 0.075"#]].assert_eq(&accept(&flags, &[]).unwrap_err());
    }

    #[test]
    fn every_variable_is_the_flag_in_capitals() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let flags = run.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.get_env()?)));
        // The access of a cloud may have the variables of the cloud's predecessor.
        let access: Vec<&Setting> =
            clouds::ALL.iter().flat_map(|kind| kind.settings.access).copied().collect();
        let of_a_cloud = |long: &str| access.iter().any(|setting| setting.name == long);
        for (long, variable) in flags.filter(|(long, _)| !of_a_cloud(long)) {
            assert_eq!(*variable, *long.replace('-', "_").to_uppercase());
        }
    }
}
