//! The first log line of a controller: its version, cluster and settings.

use joiner_cloud::Providers;

use crate::{engine, settings::Settings};

/// What a controller says of itself before anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The cluster's name, where one is given, and its API server.
    pub(crate) cluster: String,
    /// The clouds that are on.
    pub(crate) providers: String,
    /// The optional features that are on.
    pub(crate) gates: String,
    /// The leases that it acts with.
    pub(crate) leases: String,
}

impl Introduction {
    /// Puts together what a controller with these settings says.
    pub fn of(
        settings: &Settings,
        providers: &Providers,
        (name, server): (Option<&str>, &str),
        namespace: &str,
    ) -> Self {
        let cluster = match name {
            Some(name) => format!("{name} at {server}"),
            None => server.to_owned(),
        };
        let leases = if settings.leader_election.disabled {
            "none (--disable-leader-election)".to_owned()
        } else {
            listed(engine::leases(settings, providers, namespace))
        };
        Self {
            cluster,
            providers: listed(providers.all().iter().map(|provider| provider.name())),
            gates: listed(settings.planner.gates.on()),
            leases,
        }
    }

    /// Writes the line.
    pub fn tell(&self, version: &str) {
        let Self { cluster, providers, gates, leases } = self;
        tracing::info!(version, cluster, providers, gates, leases, "starting");
    }
}

fn listed<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use joiner_cloud::testing::TestCloud;
    use joiner_settings::{Setting, Values};

    use super::*;
    use crate::settings::declared;

    fn introduction(given: &[(&Setting, &str)]) -> Introduction {
        let cloud = TestCloud::new();
        cloud.state().predecessor_lease = Some("karpenter-leader-election");
        let providers = Providers::new(vec![Arc::new(cloud)], Vec::new());
        let mut values = Values::default();
        for (setting, text) in given {
            values.give(setting, *text);
        }
        let settings = Settings::read(&values).unwrap().settings;
        Introduction::of(&settings, &providers, (None, "https://10.0.0.10:6443"), "joiner")
    }

    #[test]
    fn it_says_cluster_providers_gates_and_leases() {
        let said = introduction(&[
            (&declared::FEATURE_GATES, "NodeOverlay=true"),
            (&declared::LEADER_ELECTION_NAME, "joiner"),
        ]);
        assert_eq!(
            said,
            Introduction {
                cluster: "https://10.0.0.10:6443".to_owned(),
                providers: "test".to_owned(),
                gates: "ReservedCapacity, NodeOverlay".to_owned(),
                leases: "joiner/joiner, joiner/karpenter-leader-election".to_owned(),
            }
        );
    }

    #[test]
    fn what_there_is_none_of_is_said_too() {
        let said = introduction(&[
            (&declared::FEATURE_GATES, "ReservedCapacity=false"),
            (&declared::DISABLE_LEADER_ELECTION, "true"),
        ]);
        assert_eq!(said.gates, "none");
        assert_eq!(said.leases, "none (--disable-leader-election)");
    }
}
