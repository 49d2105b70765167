//! The same against govmomi's vCenter simulator, as far as it can show it.

use std::{collections::BTreeMap, time::Duration};

use joiner_cloud::doctor::{Patient, Severity};
use joiner_realparts::vcsim::{PASSWORD, Refusal, USER, Vcsim};
use joiner_vim::spec::ExtraConfig;

use super::*;
use crate::bench::{CLUSTER_UID, SIMULATED, at, clone_as_somebody, template_as_somebody};

const TEMPLATE: &str = "ubuntu-2404";

/// A simulator with a template, and everybody who uses it.
struct Site {
    vcsim: Vcsim,
    admin: Vim,
}

impl Site {
    /// None where the simulator is not installed.
    async fn with_template(settings: &[(&str, &str)]) -> Option<Self> {
        let vcsim = Vcsim::start(&Vcsim::installed()?, &[]).await.expect("it starts");
        let admin = vim(&vcsim, PASSWORD, TlsSettings { insecure: true, ..TlsSettings::default() });
        let site = Self { vcsim, admin };
        // The simulator takes settings of some form for properties of the instance.
        let settings = settings.iter().map(|&(key, value)| ExtraConfig::new(key, value));
        let config = ConfigSpec { extra_config: settings.collect(), ..ConfigSpec::default() };
        template_as_somebody(&site.admin, &SIMULATED, TEMPLATE, config).await;
        Some(site)
    }

    fn provider(&self) -> Vsphere {
        self.provider_with(PASSWORD, TlsSettings { insecure: true, ..TlsSettings::default() })
    }

    fn provider_with(&self, password: &str, tls: TlsSettings) -> Vsphere {
        let settings = ProviderSettings::new(CLUSTER, "");
        let provider = Vsphere::new(vim(&self.vcsim, password, tls), Clock::wall(), settings);
        provider.acts_for(CLUSTER_UID);
        provider
    }

    /// Names of our instances.
    async fn ours(&self) -> Vec<String> {
        let folder = at(&self.admin, SIMULATED.folder).await;
        let all = self.admin.list(&folder, "VirtualMachine", &["name"]).await.expect("it answers");
        let names = all.iter().filter_map(|own| own.text("name").map(str::to_owned));
        names.filter(|name| name.starts_with(&format!("{CLUSTER}-karp-"))).collect()
    }

    /// What is answered to an order whose calls are refused in this way.
    async fn answer_when(&self, method: &str, fault: &str) -> CloudError {
        let (method, fault) = (method.to_owned(), fault.to_owned());
        let refusal = Refusal { method, fault, ..Refusal::default() };
        self.vcsim.refuse(&refusal).await.expect("it is understood");
        let answer = self.provider().create(&order(&of_simulator(json!({})), 1)).await;
        self.vcsim.accept_all().await.expect("it is understood");
        answer.expect_err("it is refused")
    }
}

fn vim(vcsim: &Vcsim, password: &str, tls: TlsSettings) -> Vim {
    let endpoint: Endpoint = vcsim.url().parse().expect("it is an address");
    let line = Https::new(endpoint, &tls).expect("it is a way there");
    let mut settings = VimSettings::new(Credentials::new(USER, password));
    settings.long_poll = Duration::from_secs(5);
    Vim::new(settings, Arc::new(line), Clock::wall())
}

/// A class whose selectors lead somewhere in the simulator.
fn of_simulator(more: serde_json::Value) -> Arc<NodeClass> {
    let mut spec = json!({
        "computeSelector": {"name": "DC0_C0"},
        "datastoreSelector": {"name": "LocalDS_0"},
        "networkSelector": {"name": "DC0_DVPG0"},
        "imageSelector": {"name": TEMPLATE},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    class(spec)
}

#[tokio::test]
async fn a_wrong_thumbprint_and_a_wrong_password() {
    let Some(site) = Site::with_template(&[]).await else { return };
    let wrong = "AB:".repeat(32).trim_end_matches(':').parse();
    let pinned = TlsSettings { thumbprints: Vec::from_iter(wrong), ..TlsSettings::default() };
    let class = of_simulator(json!({}));
    let said = condition(&site.provider_with(PASSWORD, pinned), &class, "VCenterReady").await;
    assert_eq!((said.0, said.1.as_str()), (Some(false), "NotTrusted"), "{}", said.2);
    let open = TlsSettings { insecure: true, ..TlsSettings::default() };
    let said = condition(&site.provider_with("wrong", open), &class, "VCenterReady").await;
    assert_eq!((said.0, said.1.as_str()), (Some(false), "InvalidLogin"), "{}", said.2);
    assert_eq!(site.ours().await, Vec::<String>::new());
}

#[tokio::test]
async fn refusals_of_every_kind_leave_nothing_behind() {
    let Some(site) = Site::with_template(&[]).await else { return };
    for (method, fault) in [
        ("CloneVM_Task", "NoDiskSpace"),
        ("CloneVM_Task", "InsufficientHostCapacityFault"),
        ("PowerOnVM_Task", "InsufficientFailoverResourcesFault"),
    ] {
        let error = site.answer_when(method, fault).await;
        assert!(matches!(error, CloudError::InsufficientCapacity(_)), "{fault}: {error:?}");
        assert!(error.to_string().contains(fault), "{error}");
        assert_eq!(site.ours().await, Vec::<String>::new(), "{fault}");
    }
    let error = site.answer_when("CloneVM_Task", "NoPermission").await;
    assert!(matches!(error, CloudError::NodeClassNotReady(_)), "{error:?}");
    assert_eq!(site.ours().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_foreign_instance_has_the_name() {
    let Some(site) = Site::with_template(&[]).await else { return };
    clone_as_somebody(&site.admin, &SIMULATED, NAME, ConfigSpec::default()).await;
    let answer = site.provider().create(&order(&of_simulator(json!({})), 1)).await;
    let Err(CloudError::Create { reason: "NameConflict", message }) = answer else {
        panic!("{answer:?}")
    };
    assert!(message.contains(NAME), "{message}");
    assert_eq!(site.ours().await, [NAME], "it is left alone");
}

#[tokio::test]
async fn a_firmware_that_cannot_start_it() {
    let settings = [
        ("SET.config.firmware", "bios"),
        ("SET.config.hardware.motherboardLayout", "acpiHostBridges"),
    ];
    let Some(site) = Site::with_template(&settings).await else { return };
    let said = condition(&site.provider(), &of_simulator(json!({})), "ImageReady").await;
    assert_eq!((said.0, said.1.as_str()), (Some(false), "FirmwareCannotBoot"), "{}", said.2);
}

#[tokio::test]
async fn the_doctor_reads_what_the_simulator_says() {
    let Some(site) = Site::with_template(&[]).await else { return };
    let patient = Patient {
        address: site.vcsim.url().to_owned(),
        classes: Ok(vec![NodeClass::clone(&of_simulator(json!({})))]),
        claims: Ok(Vec::new()),
        secrets: BTreeMap::new(),
    };
    let found = site.provider().examine(&patient).await;
    let told: Vec<String> = found
        .iter()
        .filter(|own| own.severity != Severity::Ok)
        .map(|own| format!("{:?} {} {}", own.severity, own.check, own.code))
        .collect();
    expect_test::expect![[r#"
        Warning version VersionTooOld
        NotChecked join NotChecked
        Warning snapshot NoSnapshot
        Warning template ToolsNeverSeen
        Warning template HardwareTooOld
        Problem pool PoolWithoutRoom"#]]
    .assert_eq(&told.join("\n"));
}
