//! Custom resource definitions, our own and given ones, and the kinds they define.

use std::{collections::BTreeSet, fs, io, path::Path};

use joiner_core::testing::rng::Rng;
use serde_json::{Value, json};

use super::{
    Generator,
    kind::Kind,
    schema::{self, Menus},
};
use crate::exchange::{Exchange, Handling};

const COLLECTION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A custom resource definition.
#[derive(Debug, Clone)]
pub struct Definition(Value);

/// Definitions could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A folder or a file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file is not YAML.
    #[error("{path}: {problem}")]
    Yaml {
        /// Which.
        path: String,
        /// Why.
        problem: String,
    },
}

impl Definition {
    /// Our own definitions, which use what others may not.
    pub fn own() -> Vec<Self> {
        let definitions: Vec<Value> =
            serde_saphyr::from_str(include_str!("../kinds/own-definitions.yaml"))
                .expect("our definitions are well-formed");
        definitions.into_iter().map(Self).collect()
    }

    /// All definitions in a folder and the folders in it, in the order of their paths. Of several
    /// with the same name the first is taken.
    pub fn read_folder(folder: &Path) -> Result<Vec<Self>, DefinitionError> {
        let mut paths = Vec::new();
        files(folder, &mut paths)?;
        paths.sort();
        let mut names = BTreeSet::new();
        let mut definitions = Vec::new();
        for path in paths {
            let shown = path.display().to_string();
            let text = fs::read_to_string(&path)
                .map_err(|source| DefinitionError::Io { path: shown.clone(), source })?;
            let documents: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| {
                DefinitionError::Yaml { path: shown.clone(), problem: error.to_string() }
            })?;
            for mut document in documents {
                let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                if document["kind"] == "CustomResourceDefinition" && names.insert(name) {
                    if document["spec"]["conversion"]["strategy"] == "Webhook" {
                        // Nobody would answer.
                        document["spec"]["conversion"] = json!({"strategy": "None"});
                    }
                    definitions.push(Self(document));
                }
            }
        }
        Ok(definitions)
    }

    /// The kinds of the versions that are served.
    pub(super) fn kinds(&self, rng: &mut Rng) -> Vec<Kind> {
        let spec = &self.0["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut kinds = Vec::new();
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] != true {
                continue;
            }
            let Menus { base, good, bad, status } =
                schema::menus(rng, &version["schema"]["openAPIV3Schema"]);
            let has_status = version["subresources"].get("status").is_some();
            let selectable = version["selectableFields"].as_array().into_iter().flatten();
            kinds.push(Kind {
                api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
                kind: text(&spec["names"]["kind"]),
                resource: text(&spec["names"]["plural"]),
                namespaced: spec["scope"] == "Namespaced",
                weight: if text(&spec["group"]) == "compare.example.com" { 3 } else { 1 },
                subresources: has_status.then(|| "status".to_owned()).into_iter().collect(),
                scale: version["subresources"].get("scale").is_some(),
                selectors: selectable
                    .map(|field| format!("{}=x", text(&field["jsonPath"]).trim_start_matches('.')))
                    .collect(),
                base,
                good,
                bad,
                status,
                custom: true,
            });
        }
        kinds
    }
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) -> Result<(), DefinitionError> {
    let failed = |source| DefinitionError::Io { path: folder.display().to_string(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            found.push(path);
        }
    }
    Ok(())
}

impl Generator {
    /// Creates a definition and waits until its resources are served.
    pub(super) fn define(&mut self, definition: &Definition) {
        const RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";
        let definition = &definition.0;
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&definition["metadata"]["name"]);
        let path = format!("{COLLECTION}/{name}");
        self.push(
            Exchange::new("create", RESOURCE, "POST")
                .at(COLLECTION)
                .json(definition)
                .remember(&path),
        );
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                let served = format!(
                    "/apis/{}/{}/{}",
                    text(&spec["group"]),
                    text(&version["name"]),
                    text(&spec["names"]["plural"])
                );
                let wait = Exchange::new("wait for", text(&spec["names"]["plural"]), "GET");
                self.push(wait.at(served).handled(Handling::Until("")));
            }
        }
        let wait = Exchange::new("wait for", RESOURCE, "GET").at(&path);
        self.push(wait.handled(Handling::Until("InitialNamesAccepted")));
        self.push(Exchange::new("get", RESOURCE, "GET").at(&path).remember(&path));
        self.refused_definitions(definition, &path);
    }

    /// Changes to a definition that are refused or dry, since servers take notice of real ones only
    /// after a moment.
    fn refused_definitions(&mut self, definition: &Value, path: &str) {
        const RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";
        let patches = [
            json!({"spec": {"scope": "Sideways"}}),
            json!({"spec": {"group": "other.example.com"}}),
            json!({"spec": {"names": {"plural": "others"}}}),
            json!({"spec": {"versions": []}}),
            json!({"spec": {"versions": [{"name": "v9", "served": true, "storage": true}]}}),
            json!({"spec": {"versions": [{"name": "v9", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}}]}}),
            json!({"spec": {"versions": [{"name": "v9", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string",
                    "x-kubernetes-validations": [{"rule": "self.nope"}]}}}}}]}}),
            json!({"spec": {"preserveUnknownFields": true}}),
            json!({"spec": {"conversion": {"strategy": "Webhook"}}}),
        ];
        for _ in 0..2 {
            let patch = self.rng.pick(&patches).to_string();
            self.push(
                Exchange::new("merge-patch", RESOURCE, "PATCH")
                    .at(path)
                    .query("dryRun", "All")
                    .text("application/merge-patch+json", patch),
            );
        }
        self.push(Exchange::new("create", RESOURCE, "POST").at(COLLECTION).json(definition));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        self.push(Exchange::new("get", RESOURCE, "GET").at(path).header("accept", table));
    }
}
