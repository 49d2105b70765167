//! Whether the cluster has the needed CRDs, in a recent enough version.
//!
//! A watch only shows that a kind is missing. This check also finds older versions, and fields that
//! the API server would silently drop.

use std::time::Duration;

use joiner_clock::Clock;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use kube::Api;
use serde_json::Value;

use crate::{cluster::Cluster, probes::NotReady, trouble::Trouble, world::Wanted};

/// How long to wait before the definitions are looked at again that were not good.
const AGAIN: Duration = Duration::from_secs(30);
/// How many missing fields are named.
const NAMED: usize = 3;

/// The definitions that are needed.
pub(crate) struct Definitions {
    cluster: Cluster,
    clock: Clock,
    needed: Vec<CustomResourceDefinition>,
}

/// The verdict on a CRD.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// It works, but the values of these fields are lost.
    Lacks(Vec<String>),
    /// It does not work.
    NotReady(NotReady),
}

impl Definitions {
    /// The ones that are wanted of `ours`.
    pub(crate) fn new(
        cluster: &Cluster,
        clock: &Clock,
        wanted: &Wanted,
        ours: Vec<CustomResourceDefinition>,
    ) -> Self {
        let is_wanted = |definition: &CustomResourceDefinition| {
            let names = &definition.spec.names;
            wanted.needs(&names.kind) || wanted.classes.iter().any(|class| class.kind == names.kind)
        };
        let needed = ours.into_iter().filter(is_wanted).collect();
        Self { cluster: cluster.clone(), clock: clock.clone(), needed }
    }

    /// Looks at the definitions until all of them can be worked with; tells what is missing.
    pub(crate) async fn look_until_good(&self, tell: impl Fn(Vec<NotReady>)) {
        let mut told = None;
        loop {
            let missing = match self.look().await {
                Ok(missing) => missing,
                Err(trouble) if trouble.code() == Some(403) => {
                    // Whether they are there is then seen by whether their objects can be listed.
                    tracing::info!(
                        "whether CustomResourceDefinitions are new enough is not known, since they \
                         may not be looked at: add the verb get on \
                         customresourcedefinitions.apiextensions.k8s.io to the role"
                    );
                    Vec::new()
                }
                Err(trouble) => vec![NotReady::Unreachable { problem: trouble.to_string() }],
            };
            if told.as_ref() != Some(&missing) {
                for missing in &missing {
                    tracing::warn!("{missing}");
                }
            }
            tell(missing.clone());
            if missing.is_empty() {
                return;
            }
            told = Some(missing);
            self.clock.sleep(AGAIN).await;
        }
    }

    async fn look(&self) -> Result<Vec<NotReady>, Trouble> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.cluster.client().clone());
        let mut missing = Vec::new();
        let mut outdated = Vec::new();
        for ours in &self.needed {
            let name = name(ours);
            let what = || format!("get CustomResourceDefinition {name}");
            let found = self.cluster.call_if_allowed(what, definitions.get_opt(name)).await?;
            match judge(ours, found.as_ref()) {
                Verdict::Good => {}
                Verdict::NotReady(why) => missing.push(why),
                Verdict::Lacks(fields) => outdated.push((name, fields)),
            }
        }
        if missing.is_empty() {
            for (name, fields) in outdated {
                tracing::warn!(
                    "the CustomResourceDefinition {name} is older than this program, so that the \
                     API server drops what is written to {}: joiner crds | kubectl apply -f -",
                    fields.join(", ")
                );
            }
        }
        Ok(missing)
    }
}

fn name(definition: &CustomResourceDefinition) -> &str {
    definition.metadata.name.as_deref().unwrap_or_default()
}

/// The verdict on a CRD that is compared with Joiner's.
fn judge(ours: &CustomResourceDefinition, found: Option<&CustomResourceDefinition>) -> Verdict {
    let Some(found) = found else {
        return Verdict::NotReady(NotReady::CrdMissing { name: name(ours).to_owned() });
    };
    let old =
        |lacks: String| Verdict::NotReady(NotReady::CrdOld { name: name(ours).to_owned(), lacks });
    let mut fields = Vec::new();
    for version in &ours.spec.versions {
        let same = |other: &&CustomResourceDefinitionVersion| other.name == version.name;
        let Some(there) = found.spec.versions.iter().filter(|v| v.served).find(same) else {
            return old(format!("version {}", version.name));
        };
        let has_status = |version: &CustomResourceDefinitionVersion| {
            version.subresources.as_ref().is_some_and(|parts| parts.status.is_some())
        };
        if has_status(version) && !has_status(there) {
            return old(format!("the status subresource of {}", version.name));
        }
        lacking(&schema(version), &schema(there), "", &mut fields);
    }
    if fields.is_empty() {
        return Verdict::Good;
    }
    let more = fields.len().saturating_sub(NAMED);
    fields.truncate(NAMED);
    if more > 0 {
        fields.push(format!("{more} more"));
    }
    Verdict::Lacks(fields)
}

fn schema(version: &CustomResourceDefinitionVersion) -> Value {
    serde_json::to_value(&version.schema).unwrap_or_default()["openAPIV3Schema"].take()
}

/// The fields of one schema that another has not.
fn lacking(ours: &Value, theirs: &Value, path: &str, fields: &mut Vec<String>) {
    if theirs["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for (name, ours) in ours["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match theirs["properties"].get(name) {
            Some(theirs) => lacking(ours, theirs, &path, fields),
            None => fields.push(path),
        }
    }
    if ours["items"].is_object() {
        lacking(&ours["items"], &theirs["items"], &format!("{path}[]"), fields);
    }
}

#[cfg(test)]
mod tests {
    use joiner_api::crd::crds;

    use super::*;

    fn pools() -> CustomResourceDefinition {
        let is_pools =
            |definition: &CustomResourceDefinition| name(definition) == "nodepools.karpenter.sh";
        crds().into_iter().find(is_pools).unwrap()
    }

    /// Our definition, with something done to the JSON of its first version.
    fn changed(change: impl FnOnce(&mut Value)) -> CustomResourceDefinition {
        let mut definition = serde_json::to_value(pools()).unwrap();
        change(&mut definition["spec"]["versions"][0]);
        serde_json::from_value(definition).unwrap()
    }

    fn verdict(found: Option<&CustomResourceDefinition>) -> String {
        match judge(&pools(), found) {
            Verdict::NotReady(why) => why.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn our_own_definition_is_good() {
        assert_eq!(judge(&pools(), Some(&pools())), Verdict::Good);
    }

    #[test]
    fn a_definition_that_cannot_be_worked_with_is_named_with_the_remedy() {
        expect_test::expect![[r"the CustomResourceDefinition nodepools.karpenter.sh is missing: joiner crds | kubectl apply -f -"]]
            .assert_eq(&verdict(None));
        let beta = changed(|version| version["name"] = "v1beta1".into());
        expect_test::expect![[r"the CustomResourceDefinition nodepools.karpenter.sh is too old, it lacks version v1: joiner crds | kubectl apply -f -"]]
            .assert_eq(&verdict(Some(&beta)));
        let no_status = changed(|version| version["subresources"] = Value::Null);
        assert!(verdict(Some(&no_status)).contains("it lacks the status subresource of v1:"));
    }

    #[test]
    fn fields_that_would_be_dropped_are_named() {
        let older = changed(|version| {
            let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            spec["properties"].as_object_mut().unwrap().remove("replicas");
        });
        assert_eq!(judge(&pools(), Some(&older)), Verdict::Lacks(vec!["spec.replicas".into()]));
        let open = changed(|version| {
            let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            *spec = serde_json::json!({
                "type": "object", "x-kubernetes-preserve-unknown-fields": true
            });
        });
        assert_eq!(judge(&pools(), Some(&open)), Verdict::Good);
    }
}
