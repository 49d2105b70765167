//! The CRDs of everything that Joiner serves, those of every cloud's classes included.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// All of them, in the order in which they are printed.
pub(crate) fn all() -> Vec<CustomResourceDefinition> {
    let of_vsphere = serde_json::from_value(joiner_vsphere::crd()).expect("it is a definition");
    joiner_api::crd::crds().into_iter().chain([of_vsphere]).collect()
}

/// All of them as one stream of YAML documents.
pub(crate) fn text() -> String {
    let crds: Vec<String> = all().iter().map(joiner_api::crd::to_yaml).collect();
    format!("---\n{}", crds.join("---\n"))
}
