//! What the program has to know of a cloud.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider,
    class::{ClassKind, NodeClass},
    doctor::{Finding, Patient},
    needs::SecretName,
    types::TypeSource,
};
use joiner_operator::{
    metrics::Registry,
    settings::{PlannerSettings, declared},
};
use joiner_proxy::Proxies;
use joiner_settings::{Reader, Setting};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;

use crate::errors::Failure;

/// A cloud, as data and functions. Nothing is read or opened here.
#[derive(Debug)]
pub(crate) struct CloudKind {
    /// The name of its provider, by which commands, metrics and messages call it.
    pub(crate) name: &'static str,
    /// Its name in headings.
    pub(crate) title: &'static str,
    /// Its kinds of class.
    pub(crate) classes: &'static [Class],
    /// The definitions of its classes.
    pub(crate) crds: fn() -> Vec<CustomResourceDefinition>,
    /// Its settings.
    pub(crate) settings: CloudSettings,
    /// Whose types a plan uses that is given none, such as `KWOK's for KWOKNodeClasses`.
    pub(crate) types_told: &'static str,
    /// Reads the settings that planning goes by; problems are kept by the reader.
    pub(crate) read: fn(&mut Reader<'_>, &PlannerSettings) -> Arc<dyn Cloud>,
    /// What `joiner doctor` looks at, where there is something to look at.
    pub(crate) doctor: Option<DoctorKind>,
}

impl CloudKind {
    /// What the cluster is called, where instances are named after it; a problem is kept by the
    /// reader. `why` says what cannot be done without it.
    pub(crate) fn cluster_name<'v>(&self, from: &mut Reader<'v>, why: &str) -> &'v str {
        let setting = &declared::CLUSTER_NAME;
        if self.settings.needs_cluster_name {
            from.required(setting, why)
        } else {
            from.text(setting)
        }
    }
}

/// A kind of class.
#[derive(Debug)]
pub(crate) struct Class {
    /// The kind.
    pub(crate) kind: ClassKind,
    /// Whether its types depend on the class, so that no plan can do without the object.
    pub(crate) has_types: bool,
    /// The fields that a plan depends on, as [`crate::dump`] writes them down.
    pub(crate) planned_by: &'static [&'static str],
}

/// The settings of a cloud.
#[derive(Debug)]
pub(crate) struct CloudSettings {
    /// The setting that turns it on by being given. A cloud without one is on where no other is.
    pub(crate) turned_on_by: Option<&'static Setting>,
    /// Whether its instances are named after the cluster, so that `--cluster-name` is needed.
    pub(crate) needs_cluster_name: bool,
    /// What only a controller and a doctor go by.
    pub(crate) access: &'static [&'static Setting],
    /// What is to be said of `access` on the page of settings; empty where there are none.
    pub(crate) access_told: &'static str,
    /// Where types of instances come from. May be files of this computer, and so is not published.
    pub(crate) types: &'static [&'static Setting],
    /// What instances cost and hide, instead of what is set for all clouds.
    pub(crate) costs: &'static [&'static Setting],
}

/// A cloud with the settings that planning goes by.
pub(crate) trait Cloud: Debug + Send + Sync {
    /// How its classes become types where the cloud is not asked.
    fn types(&self) -> Result<Box<dyn TypeSource>, Failure>;

    /// Reads what only a controller goes by; problems are kept by the reader. `why` says what cannot
    /// be done without it.
    fn access(&self, from: &mut Reader<'_>, cluster_name: &str, why: &str) -> Box<dyn Access>;
}

/// A cloud with all settings of a controller.
#[async_trait]
pub(crate) trait Access: Debug + Send + Sync {
    /// Opens the cloud for a controller.
    async fn open(&self, with: &Opening<'_>) -> Result<Opened, Failure>;
}

/// What a cloud may need to be opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'o> {
    /// The cluster.
    pub(crate) client: &'o Client,
    /// The page for its metrics.
    pub(crate) registry: &'o Registry,
    /// The proxies that variables name.
    pub(crate) proxies: &'o Proxies,
    /// The time.
    pub(crate) clock: &'o Clock,
}

/// A cloud that a controller can use.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The provider.
    pub(crate) provider: Arc<dyn CloudProvider>,
    /// How its servers are reached, where that is not directly; a sentence for each.
    pub(crate) ways: Vec<String>,
}

/// What `joiner doctor` looks at.
#[derive(Debug)]
pub(crate) struct DoctorKind {
    /// What it does, in a line of help.
    pub(crate) about: &'static str,
    /// What is to be said besides.
    pub(crate) details: &'static str,
    /// What `-f` gives, in a line of help.
    pub(crate) files: &'static str,
    /// Why its settings are needed.
    pub(crate) needed: &'static str,
    /// The Secrets that a class refers to.
    pub(crate) secrets: fn(&NodeClass) -> Vec<SecretName>,
    /// Reads what it goes by; problems are kept by the reader.
    pub(crate) read: fn(&mut Reader<'_>, cluster_name: &str, why: &str) -> Box<dyn Examined>,
}

/// A cloud that can be looked at.
pub(crate) trait Examined: Debug {
    /// Where it is, as the user names it.
    fn address(&self) -> String;

    /// The way to it. Nothing is asked yet.
    fn reach(&self, proxies: &Proxies, clock: &Clock) -> Result<Box<dyn Reached>, Failure>;
}

/// A cloud, and the way to it.
#[async_trait(?Send)]
pub(crate) trait Reached {
    /// What is looked at, and how it is reached.
    fn at(&self) -> String;

    /// Looks at everything that instances depend on, and changes nothing.
    async fn examine(&self, patient: &Patient) -> Vec<Finding>;
}
