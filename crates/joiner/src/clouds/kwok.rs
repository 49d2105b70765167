//! KWOK: nodes without instances.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use joiner_cloud::types::TypeSource;
use joiner_kwok::{
    Kwok, KwokTypes, NODE_CLASS,
    settings::{INSTANCE_TYPES_FILE_PATH, TYPES},
};
use joiner_operator::settings::PlannerSettings;
use joiner_settings::Reader;

use super::{Access, Class, Cloud, CloudKind, CloudSettings, Opened, Opening};
use crate::{catalog::catalog_file, errors::Failure};

/// KWOK.
pub(crate) const KIND: CloudKind = CloudKind {
    name: "kwok",
    title: "KWOK",
    classes: &[Class {
        kind: NODE_CLASS,
        has_types: false,
        planned_by: &["spec.nodeRegistrationDelay"],
    }],
    crds: || vec![joiner_api::crd::kwok_node_class()],
    settings: CloudSettings {
        turned_on_by: None,
        needs_cluster_name: false,
        access: &[],
        access_told: "",
        types: TYPES,
        costs: &[],
    },
    types_told: "KWOK's for KWOKNodeClasses",
    read,
    doctor: None,
};

fn read(from: &mut Reader<'_>, _planner: &PlannerSettings) -> Arc<dyn Cloud> {
    Arc::new(KwokSettings { types_file: from.path(&INSTANCE_TYPES_FILE_PATH) })
}

/// What KWOK goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KwokSettings {
    /// The types of its pools, if not the built-in ones.
    types_file: Option<PathBuf>,
}

impl KwokSettings {
    /// The types. `flag` is what messages call the setting.
    fn types(&self, flag: &str) -> Result<KwokTypes, Failure> {
        match &self.types_file {
            Some(path) => Ok(KwokTypes::of_file(catalog_file(flag, path)?)),
            None => Ok(KwokTypes::built_in()),
        }
    }
}

impl Cloud for KwokSettings {
    fn types(&self) -> Result<Box<dyn TypeSource>, Failure> {
        let flag = format!("--{}", INSTANCE_TYPES_FILE_PATH.name);
        Ok(Box::new(self.types(&flag)?))
    }

    fn access(&self, _from: &mut Reader<'_>, _cluster: &str, _why: &str) -> Box<dyn Access> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Access for KwokSettings {
    async fn open(&self, with: &Opening<'_>) -> Result<Opened, Failure> {
        let setting = &INSTANCE_TYPES_FILE_PATH;
        let types = self.types(&format!("--{} ({})", setting.name, setting.variable))?;
        let provider = Kwok::with_types(with.client.clone(), with.clock.clone(), types);
        Ok(Opened { provider: Arc::new(provider), ways: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use joiner_settings::Values;

    use super::*;

    #[test]
    fn a_file_of_types_that_is_empty_is_not_set() {
        for (text, expected) in [("", None), ("/etc/types.json", Some("/etc/types.json"))] {
            let mut values = Values::default();
            values.give(&INSTANCE_TYPES_FILE_PATH, text);
            let mut reader = Reader::new(&values);
            let planner = PlannerSettings::read(&mut reader);
            let read = read(&mut reader, &planner);
            let file = expected.map(PathBuf::from);
            let expected = KwokSettings { types_file: file };
            assert_eq!(format!("{read:?}"), format!("{expected:?}"));
        }
    }
}
