//! vSphere: virtual machines of a vCenter.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider,
    doctor::{Finding, Patient},
    types::TypeSource,
};
use joiner_line::{Endpoint, InvalidEndpoint, InvalidThumbprint, TlsSettings};
use joiner_operator::settings::PlannerSettings;
use joiner_proxy::Proxies;
use joiner_settings::{Reader, Setting};
use joiner_vim::{Https, Vim, VimSettings};
use joiner_vsphere::{
    ClassSizes, Metrics, NODE_CLASS, ProviderSettings, Settings, Vsphere,
    doctor::secret_of,
    settings::{
        VsphereAccess,
        declared::{ACCESS, COSTS, VSPHERE_ENDPOINT, VSPHERE_THUMBPRINT, VSPHERE_TLS_CA_CERTS},
    },
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    Access, Class, Cloud, CloudKind, CloudSettings, DoctorKind, Examined, Opened, Opening, Reached,
};
use crate::{
    build::BUILD,
    connection::way_told,
    errors::{Failure, chain},
};

/// vSphere.
pub(crate) const KIND: CloudKind = CloudKind {
    name: "vsphere",
    title: "vSphere",
    classes: &[Class { kind: NODE_CLASS, has_types: true, planned_by: &PLANNED_BY }],
    crds,
    settings: CloudSettings {
        turned_on_by: Some(&VSPHERE_ENDPOINT),
        needs_cluster_name: true,
        access: ACCESS,
        access_told: "An endpoint, a user with a password (or the folder that has both), a path, \
                      and `--cluster-name` are needed when the provider is on.",
        types: &[],
        costs: COSTS,
    },
    types_told: "those that VsphereNodeClasses list",
    read,
    doctor: Some(DoctorKind {
        about: "Look at a vCenter, and at the VsphereNodeClasses whose instances it would make",
        details: "Only reads, and ends its sessions. Exits with 1 when something has to be mended.",
        files: "VsphereNodeClasses: files, folders, or - for stdin; without it those of the \
                cluster, where one is reached",
        needed: "there is no vCenter to look at without it",
        secrets: |class| secret_of(class).into_iter().collect(),
        read: |from, cluster_name, why| Box::new(VsphereAccess::read(from, cluster_name, why)),
    }),
};

/// What a class says of its sizes, and nothing about how its instances are made or what they run.
const PLANNED_BY: [&str; 21] = [
    "spec.diskSize",
    "spec.instanceTypes.arch",
    "spec.instanceTypes.coresPerSocket",
    "spec.instanceTypes.cpu",
    "spec.instanceTypes.diskSize",
    "spec.instanceTypes.extendedResources",
    "spec.instanceTypes.labels",
    "spec.instanceTypes.maxPods",
    "spec.instanceTypes.memory",
    "spec.instanceTypes.name",
    "spec.instanceTypes.os",
    "spec.instanceTypes.pciDevices",
    "spec.instanceTypes.price",
    "spec.instanceTypes.region",
    "spec.instanceTypes.vgpu",
    "spec.instanceTypes.zone",
    "spec.kubelet",
    "spec.numCoresPerSocket",
    "spec.zones.name",
    "spec.zones.region",
    "status.image.diskGiB",
];

/// For how long a vCenter that does not answer the doctor is asked again: a person is waiting.
const PATIENCE: Duration = Duration::from_secs(10);

fn crds() -> Vec<CustomResourceDefinition> {
    vec![serde_json::from_value(joiner_vsphere::crd()).expect("it is a definition")]
}

fn read(from: &mut Reader<'_>, planner: &PlannerSettings) -> Arc<dyn Cloud> {
    Arc::new(Costs(Settings::read(from, planner.prices, planner.memory_overhead)))
}

/// What instances cost and hide.
#[derive(Debug)]
struct Costs(Settings);

impl Cloud for Costs {
    fn types(&self) -> Result<Box<dyn TypeSource>, Failure> {
        Ok(Box::new(ClassSizes::new(self.0)))
    }

    fn access(&self, from: &mut Reader<'_>, cluster_name: &str, why: &str) -> Box<dyn Access> {
        let access = VsphereAccess::read(from, cluster_name, why);
        Box::new(Controlled { access, instances: self.0 })
    }
}

/// What a controller goes by.
#[derive(Debug)]
struct Controlled {
    access: VsphereAccess,
    instances: Settings,
}

#[async_trait]
impl Access for Controlled {
    async fn open(&self, with: &Opening<'_>) -> Result<Opened, Failure> {
        let (line, vim_settings) = way_to_vcenter(&self.access, with.proxies)?;
        let way = way_told("the vCenter", &self.access.authority, line.way());
        let metrics = Metrics::default();
        with.registry.add(metrics.clone()).map_err(|error| Failure::Ended(chain(&error)))?;
        let observed = VimSettings { observer: Arc::new(metrics.clone()), ..vim_settings };
        let vim = Vim::new(observed, line, with.clock.clone());
        let settings =
            ProviderSettings { instances: self.instances, ..provider_settings(&self.access) };
        let provider = Vsphere::counted(vim, with.clock.clone(), settings, metrics);
        Ok(Opened { provider: Arc::new(provider), ways: way.into_iter().collect() })
    }
}

fn provider_settings(access: &VsphereAccess) -> ProviderSettings {
    ProviderSettings {
        datacenter: access.datacenter.clone(),
        ..ProviderSettings::new(&access.cluster_name, &access.folder)
    }
}

impl Examined for VsphereAccess {
    fn address(&self) -> String {
        self.authority.clone()
    }

    fn reach(&self, proxies: &Proxies, clock: &Clock) -> Result<Box<dyn Reached>, Failure> {
        let (line, settings) = way_to_vcenter(self, proxies)?;
        let at = format!("the vCenter at {} {}", self.authority, line.way());
        let settings =
            VimSettings { patience: PATIENCE, request_timeout: PATIENCE * 3, ..settings };
        let vim = Vim::new(settings, line, clock.clone());
        let provider = Vsphere::new(vim, clock.clone(), provider_settings(self));
        Ok(Box::new(ReachedVcenter { at, provider }))
    }
}

/// A vCenter, and the way to it.
struct ReachedVcenter {
    at: String,
    provider: Vsphere,
}

#[async_trait(?Send)]
impl Reached for ReachedVcenter {
    fn at(&self) -> String {
        self.at.clone()
    }

    async fn examine(&self, patient: &Patient) -> Vec<Finding> {
        self.provider.examine(patient).await
    }
}

/// The way to a vCenter, and with which settings it is taken.
fn way_to_vcenter(
    access: &VsphereAccess,
    proxies: &Proxies,
) -> Result<(Arc<Https>, VimSettings), Failure> {
    let refuse = |setting: &Setting, problem: String| {
        Failure::bad_input(format!("--{} ({}): {problem}", setting.name, setting.variable))
    };
    let endpoint: Endpoint = access.authority.parse().map_err(|error: InvalidEndpoint| {
        let error = error.of("a vCenter", "https://host:port/sdk");
        refuse(&VSPHERE_ENDPOINT, error.to_string())
    })?;
    let thumbprint = access.thumbprint.as_ref().map(|bytes| {
        let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.join(":").parse()
    });
    let thumbprint = thumbprint
        .transpose()
        .map_err(|error: InvalidThumbprint| refuse(&VSPHERE_THUMBPRINT, error.to_string()))?;
    let tls = TlsSettings {
        ca_files: access.ca_files.clone(),
        thumbprints: Vec::from_iter(thumbprint),
        insecure: access.insecure,
        ..TlsSettings::default()
    };
    let line = Https::behind(proxies, endpoint, &tls)
        .map_err(|error| refuse(&VSPHERE_TLS_CA_CERTS, chain(&error)))?;
    let user_agent = format!("joiner/{} ({})", BUILD.version, access.cluster_name);
    let settings = VimSettings { user_agent, ..VimSettings::with_source(access.credentials()) };
    Ok((Arc::new(line), settings))
}

#[cfg(test)]
mod tests {
    use joiner_core::price::UnitPrices;
    use joiner_operator::settings::declared;
    use joiner_settings::Values;
    use joiner_vsphere::settings::declared::VSPHERE_VM_MEMORY_OVERHEAD_PERCENT as OWN_SHARE;

    use super::*;

    /// What instances cost and hide where these settings are given.
    fn instances(given: &[(&Setting, &str)]) -> Settings {
        let mut values = Values::default();
        for (setting, text) in given {
            values.give(setting, *text);
        }
        let mut reader = Reader::new(&values);
        let planner = PlannerSettings::read(&mut reader);
        let settings = Settings::read(&mut reader, planner.prices, planner.memory_overhead);
        reader.accept(settings).unwrap().settings
    }

    #[test]
    fn a_clouds_own_share_of_hidden_memory_beats_the_one_for_all() {
        let share = |given: &[(&Setting, &str)]| instances(given).memory_overhead.to_string();
        let of_all = (&declared::VM_MEMORY_OVERHEAD_PERCENT, "0.1");
        assert_eq!(share(&[]), "0.075");
        assert_eq!(share(&[of_all]), "0.1");
        assert_eq!(share(&[of_all, (&OWN_SHARE, "0")]), "0");
        assert_eq!(share(&[of_all, (&OWN_SHARE, "")]), "0.1");
    }

    #[test]
    fn prices_are_those_of_all_clouds() {
        assert_eq!(instances(&[]), Settings::default());
        let given = [
            (&declared::PRICE_PER_VCPU, "0.03"),
            (&declared::PRICE_PER_VM, "0.5"),
            (&declared::PRICE_PER_GPU, ""),
        ];
        let expected = UnitPrices { per_vcpu: 0.03, per_vm: 0.5, ..UnitPrices::default() };
        assert_eq!(instances(&given).prices, expected);
    }
}
