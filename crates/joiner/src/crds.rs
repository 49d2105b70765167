//! The CRDs of everything that Joiner serves, those of every cloud's classes included.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::clouds::{self, Clouds};

/// All of them, in the order in which they are printed.
pub(crate) fn all(clouds: Clouds) -> Vec<CustomResourceDefinition> {
    joiner_api::crd::karpenter_crds().into_iter().chain(clouds.crds()).collect()
}

/// All of them as one stream of YAML documents.
pub(crate) fn text() -> String {
    let crds: Vec<String> = all(clouds::ALL).iter().map(joiner_api::crd::to_yaml).collect();
    format!("---\n{}", crds.join("---\n"))
}
