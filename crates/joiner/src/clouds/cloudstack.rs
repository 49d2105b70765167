//! CloudStack: virtual machines of an Apache CloudStack.

use std::sync::Arc;

use async_trait::async_trait;
use joiner_cloud::types::TypeSource;
use joiner_cloudstack::{
    CloudStack, Metrics, NODE_CLASS, ProviderSettings, StatusOfferings,
    client::{Client, ClientSettings, address},
    crd,
    offerings::Settings,
    settings::{
        CloudStackAccess,
        declared::{ACCESS, CLOUDSTACK_API_URL, CLOUDSTACK_CA_FILE, COSTS},
    },
};
use joiner_line::{Https, HttpsSettings, SettingNames, TlsSettings};
use joiner_operator::settings::PlannerSettings;
use joiner_settings::{Reader, Setting};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{Access, Class, Cloud, CloudKind, CloudSettings, Opened, Opening};
use crate::{
    build::BUILD,
    connection::way_told,
    errors::{Failure, chain},
};

/// CloudStack.
pub(crate) const KIND: CloudKind = CloudKind {
    name: "cloudstack",
    title: "CloudStack",
    classes: &[Class { kind: NODE_CLASS, has_types: true, planned_by: &PLANNED_BY }],
    crds,
    settings: CloudSettings {
        turned_on_by: Some(&CLOUDSTACK_API_URL),
        needs_cluster_name: true,
        access: ACCESS,
        access_told: "An address, both keys (or the files that have them) and `--cluster-name` are \
                      needed when the provider is on.",
        types: &[],
        costs: COSTS,
    },
    types_told: "those that the status of CloudStackNodeClasses lists",
    read,
    doctor: None,
};

/// What a class says of sizes and places, and what its status says that they come to. Nothing about
/// how its instances are made or what they run.
const PLANNED_BY: [&str; 28] = [
    "spec.customOfferingShapes",
    "spec.kubelet",
    "spec.rootDiskSize",
    "spec.zone",
    "spec.zones",
    "status.diskOfferingID",
    "status.networks.canUseForDeploy",
    "status.networks.id",
    "status.networks.name",
    "status.networks.type",
    "status.networks.zone",
    "status.serviceOfferings.cpuNumber",
    "status.serviceOfferings.cpuSpeed",
    "status.serviceOfferings.customized",
    "status.serviceOfferings.gpus",
    "status.serviceOfferings.id",
    "status.serviceOfferings.memory",
    "status.serviceOfferings.name",
    "status.serviceOfferings.networkRate",
    "status.serviceOfferings.price",
    "status.serviceOfferings.rootDiskGiB",
    "status.serviceOfferings.zones",
    "status.templates.arch",
    "status.templates.id",
    "status.templates.name",
    "status.templates.sizeGiB",
    "status.templates.zone",
    "status.zoneID",
];

fn crds() -> Vec<CustomResourceDefinition> {
    vec![serde_json::from_value(crd()).expect("it is a definition")]
}

fn read(from: &mut Reader<'_>, planner: &PlannerSettings) -> Arc<dyn Cloud> {
    Arc::new(Costs(Settings::read(from, planner.prices, planner.memory_overhead)))
}

/// What instances cost and hide.
#[derive(Debug)]
struct Costs(Settings);

impl Cloud for Costs {
    fn types(&self) -> Result<Box<dyn TypeSource>, Failure> {
        Ok(Box::new(StatusOfferings::new(self.0.clone())))
    }

    fn access(&self, from: &mut Reader<'_>, cluster_name: &str, why: &str) -> Box<dyn Access> {
        Box::new(Controlled {
            access: CloudStackAccess::read(from, why),
            cluster_name: cluster_name.to_owned(),
            instances: self.0.clone(),
        })
    }
}

/// What a controller goes by.
#[derive(Debug)]
struct Controlled {
    access: CloudStackAccess,
    cluster_name: String,
    instances: Settings,
}

#[async_trait]
impl Access for Controlled {
    async fn open(&self, with: &Opening<'_>) -> Result<Opened, Failure> {
        let access = &self.access;
        let refuse = |setting: &Setting, problem: &str| {
            Failure::bad_input(format!("--{} ({}): {problem}", setting.name, setting.variable))
        };
        let (endpoint, path) = address(&access.url)
            .map_err(|error| refuse(&CLOUDSTACK_API_URL, &error.to_string()))?;
        let server = endpoint.authority();
        let names = SettingNames {
            server: "CloudStack".into(),
            ca_files: CLOUDSTACK_CA_FILE.variable.into(),
            ca_inline: None,
            thumbprint: None,
        };
        let https = HttpsSettings {
            tls: TlsSettings {
                ca_files: access.ca_file.clone().into_iter().collect(),
                insecure: !access.is_checked,
                ..TlsSettings::default()
            },
            proxies: with.proxies.clone(),
            // Requests are signed, so that an address without TLS shows no key. It is warned about.
            plain_allowed: true,
            ..HttpsSettings::new(names)
        };
        let https = Https::new(endpoint, https)
            .map_err(|error| refuse(&CLOUDSTACK_CA_FILE, &chain(&error)))?;
        let way = way_told("CloudStack", &server, https.way());
        let metrics = Metrics::default();
        with.registry.add(metrics.clone()).map_err(|error| Failure::Ended(chain(&error)))?;
        let mut client = ClientSettings {
            path,
            scope: access.scope.clone(),
            requests_per_second: access.requests_per_second,
            answer_timeout: access.timeout,
            ..ClientSettings::with_source(access.keys())
        };
        client.line.user_agent = format!("joiner/{} ({})", BUILD.version, self.cluster_name);
        client.line.requests_in_flight = access.requests_in_flight as usize;
        client.line.observer = Arc::new(metrics.clone());
        let client = Client::new(client, Arc::new(https), with.clock.clone());
        let settings = ProviderSettings {
            name_prefix: access.name_prefix.clone(),
            instances: self.instances.clone(),
            provider_ids: access.provider_ids,
            expunge: access.expunge,
            launch_wait: access.launch_wait,
            ..ProviderSettings::new(&self.cluster_name, &access.url)
        };
        let provider = CloudStack::counted(client, with.clock.clone(), settings, metrics);
        Ok(Opened { provider: Arc::new(provider), ways: way.into_iter().collect() })
    }
}
