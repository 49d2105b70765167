//! CloudStack: virtual machines of an Apache CloudStack.

use std::sync::Arc;

use async_trait::async_trait;
use joiner_cloud::types::TypeSource;
use joiner_cloudstack::{
    NODE_CLASS, StatusOfferings, crd,
    offerings::Settings,
    settings::declared::{ACCESS, CLOUDSTACK_API_URL, COSTS},
};
use joiner_operator::settings::PlannerSettings;
use joiner_settings::Reader;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{Access, Class, Cloud, CloudKind, CloudSettings, Opened, Opening};
use crate::errors::Failure;

/// CloudStack.
pub(crate) const KIND: CloudKind = CloudKind {
    name: "cloudstack",
    title: "CloudStack",
    classes: &[Class { kind: NODE_CLASS, has_types: true, planned_by: &PLANNED_BY }],
    crds,
    settings: CloudSettings {
        turned_on_by: Some(&CLOUDSTACK_API_URL),
        needs_cluster_name: false,
        access: ACCESS,
        access_told: "This version plans for CloudStack and does not create instances there yet, \
                      so a controller with this provider does not start.",
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

/// Why no controller starts with this provider.
const NO_INSTANCES: &str = "the provider cloudstack (--providers, CLOUDSTACK_API_URL): this \
                            version plans for CloudStack (joiner plan, joiner explain) and does \
                            not create instances there yet; leave the provider out";

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

    fn access(&self, from: &mut Reader<'_>, _cluster_name: &str, _why: &str) -> Box<dyn Access> {
        from.refuse_other(NO_INSTANCES);
        Box::new(Unopened)
    }
}

/// The access of a provider that is refused.
#[derive(Debug)]
struct Unopened;

#[async_trait]
impl Access for Unopened {
    async fn open(&self, _with: &Opening<'_>) -> Result<Opened, Failure> {
        Err(Failure::bad_input(NO_INSTANCES))
    }
}
