//! The controller's planning settings, published for commands that plan like it.
//!
//! The controller writes them into an annotation of its lease, where they last as long as its
//! leadership. Only planning settings that differ from their defaults are included; none of them is
//! secret.

use std::collections::BTreeMap;

use joiner_settings::{Setting, Values};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::ListParams};
use serde::{Deserialize, Serialize};

/// The annotation on the lease.
pub const ANNOTATION: &str = "joiner.sh/settings";

/// Settings that a controller has published.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Published {
    /// The controller that uses them. After a change of holder the annotation may belong to the
    /// previous one.
    holder: String,
    /// Texts by the names of their flags.
    settings: BTreeMap<String, String>,
}

/// Settings of a controller that runs, and the lease that it was found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `namespace/name` of the lease.
    pub lease: String,
    /// The values that differ from their defaults.
    pub values: Values,
}

/// Those of the given settings that differ from their defaults.
pub fn given(
    values: &Values,
    settings: impl IntoIterator<Item = &'static Setting>,
) -> BTreeMap<String, String> {
    let settings = settings.into_iter();
    let differing = settings.filter(|setting| values.get(setting) != setting.default);
    differing.map(|own| (own.name.to_owned(), values.get(own).to_owned())).collect()
}

impl Published {
    /// The published settings of a process.
    pub fn by(holder: &str, settings: &BTreeMap<String, String>) -> Self {
        Self { holder: holder.to_owned(), settings: settings.clone() }
    }

    /// The annotation.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The settings that the holder of a lease has published. Settings that are not among `known`
    /// are left out.
    fn in_lease(lease: &Lease, known: &[&'static Setting]) -> Option<Found> {
        let text = lease.metadata.annotations.as_ref()?.get(ANNOTATION)?;
        let published: Self = serde_json::from_str(text).ok()?;
        let holder = lease.spec.as_ref()?.holder_identity.as_deref();
        if holder != Some(published.holder.as_str()) {
            return None;
        }
        let mut values = Values::default();
        for setting in known {
            if let Some(text) = published.settings.get(setting.name) {
                values.give(setting, text.as_str());
            }
        }
        let name = |text: &Option<String>| text.clone().unwrap_or_default();
        let lease = format!("{}/{}", name(&lease.metadata.namespace), name(&lease.metadata.name));
        Some(Found { lease, values })
    }
}

/// Finds the planning settings of the controller that runs in a cluster, by the name of its lease.
/// Only `known` settings are returned. None if no controller or several have published settings, or
/// if the API server does not answer. An error contains the API server's message when leases may
/// not be listed.
pub async fn find(
    client: &Client,
    lease: &str,
    known: &[&'static Setting],
) -> Result<Option<Found>, String> {
    let leases: Api<Lease> = Api::all(client.clone());
    let params = ListParams::default().fields(&format!("metadata.name={lease}"));
    match leases.list(&params).await {
        Ok(listed) => Ok(only(&listed.items, known)),
        Err(kube::Error::Api(status)) if status.code == 403 => Err(status.message.clone()),
        Err(_) => Ok(None),
    }
}

fn only(leases: &[Lease], known: &[&'static Setting]) -> Option<Found> {
    let mut found = leases.iter().filter_map(|lease| Published::in_lease(lease, known));
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;

    use super::*;
    use crate::settings::declared;

    fn known() -> Vec<&'static Setting> {
        declared::planner().collect()
    }

    fn values() -> Values {
        let mut values = Values::default();
        values.give(&declared::PREFERENCE_POLICY, "Ignore");
        values.give(&declared::PRICE_PER_VCPU, declared::PRICE_PER_VCPU.default);
        values.give(&declared::LOG_OUTPUT_PATHS, "/var/log/joiner.log");
        values.give(&declared::JOIN_TOKEN, "hunter2");
        values
    }

    fn lease(namespace: &str, holder: &str, text: &str) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.namespace = Some(namespace.to_owned());
        lease.metadata.name = Some("karpenter-leader-election".to_owned());
        lease.metadata.annotations = Some([(ANNOTATION.to_owned(), text.to_owned())].into());
        lease.spec =
            Some(LeaseSpec { holder_identity: Some(holder.to_owned()), ..LeaseSpec::default() });
        lease
    }

    fn published() -> String {
        Published::by("joiner_1", &given(&values(), known())).text()
    }

    #[test]
    fn only_what_others_can_plan_by_and_differs_from_the_defaults_is_published() {
        let text = r#"{"holder":"joiner_1","settings":{"preference-policy":"Ignore"}}"#;
        assert_eq!(published(), text);
    }

    #[test]
    fn what_was_published_is_found_as_it_was_given() {
        let found = only(&[lease("joiner", "joiner_1", &published())], &known()).unwrap();
        assert_eq!(found.lease, "joiner/karpenter-leader-election");
        assert_eq!(found.values.get(&declared::PREFERENCE_POLICY), "Ignore");
        assert_eq!(found.values.get(&declared::MIN_VALUES_POLICY), "Strict");
    }

    #[test]
    fn an_annotation_that_another_holder_left_is_not_believed() {
        assert_eq!(only(&[lease("joiner", "karpenter-7d9f_1", &published())], &known()), None);
        assert_eq!(only(&[lease("joiner", "joiner_1", "no JSON")], &known()), None);
        assert_eq!(only(&[], &known()), None);
    }

    #[test]
    fn of_two_controllers_neither_is_meant() {
        let two = ["joiner", "other"].map(|own| lease(own, "joiner_1", &published()));
        assert_eq!(only(&two, &known()), None);
    }

    #[test]
    fn what_a_later_version_publishes_besides_is_left_out() {
        let text =
            r#"{"holder":"j","settings":{"of-a-later-version":"1","price-per-vm":"2"},"more":1}"#;
        let found = only(&[lease("joiner", "j", text)], &known()).unwrap();
        assert_eq!(found.values.get(&declared::PRICE_PER_VM), "2");
    }
}
