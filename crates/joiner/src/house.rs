//! What tests of the house ask about the program.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::{clouds, crds};

/// The page of settings, as Markdown.
pub fn settings_page() -> String {
    clouds::ALL.settings_page()
}

/// The names of the clouds. The crate of a cloud is called `joiner-` and its name.
pub fn clouds() -> Vec<&'static str> {
    clouds::ALL.iter().map(|kind| kind.name).collect()
}

/// What `joiner crds` prints.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    crds::all(clouds::ALL)
}
