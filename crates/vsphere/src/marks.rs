//! Where the [`Mark`] of a virtual machine is kept: in settings of its configuration, which its guest
//! cannot read.

use std::collections::BTreeMap;

use joiner_cloud::mark::{self, Mark, field};

/// How every key begins.
pub(crate) const PREFIX: &str = "joiner.";

/// The field for the cluster module that keeps an instance apart from others. It is written once the
/// module is known.
const MODULE: &str = "module";

/// Every field of a virtual machine's mark.
fn fields() -> impl Iterator<Item = &'static str> {
    field::ALL.into_iter().chain([MODULE])
}

fn key(field: &str) -> String {
    format!("{PREFIX}{field}")
}

/// The settings that say a mark.
pub(crate) fn settings(mark: &Mark) -> Vec<(String, String)> {
    let mut settings = replacing(mark);
    settings.retain(|(_, value)| !value.is_empty());
    settings
}

/// The settings of a clone that say a mark and nothing else: an empty value removes the key. A clone
/// begins with the settings of its template, and the template may have been a node.
pub(crate) fn replacing(mark: &Mark) -> Vec<(String, String)> {
    let fields = mark.fields().into_iter().chain([(MODULE, String::new())]);
    fields.map(|(field, value)| (key(field), value)).collect()
}

/// Reads the mark of a virtual machine.
pub(crate) fn read(values: &BTreeMap<String, String>) -> Option<Mark> {
    Mark::read(|field| values.get(&key(field)).cloned())
}

/// The cluster module that a virtual machine was put into.
pub(crate) fn module_of(values: &BTreeMap<String, String>) -> Option<String> {
    values.get(&key(MODULE)).filter(|module| !module.is_empty()).cloned()
}

/// The key of the cluster module.
pub(crate) fn module() -> String {
    key(MODULE)
}

/// The key of the instance's UUID in vCenter.
pub(crate) fn instance_uuid() -> String {
    key(field::INSTANCE_UUID)
}

/// The setting with the UID of the cluster.
pub(crate) fn cluster_uid(uid: &str) -> (String, String) {
    (key(field::CLUSTER_UID), uid.to_owned())
}

/// The setting that says that the join data is gone.
pub(crate) fn join_data_emptied() -> (String, &'static str) {
    let (field, value) = mark::join_data_emptied();
    (key(field), value)
}

/// The properties of a virtual machine that its mark is read from: its own keys alone, so that user
/// data is never downloaded.
pub(crate) fn properties() -> impl Iterator<Item = String> {
    fields().map(|field| property(&key(field)))
}

/// The path of the property that is a setting's value.
pub(crate) fn property(key: &str) -> String {
    format!("config.extraConfig[\"{key}\"].value")
}

/// The setting that a property is the value of.
pub(crate) fn setting_of(property: &str) -> Option<&str> {
    property.strip_prefix("config.extraConfig[\"")?.strip_suffix("\"].value")
}

#[cfg(test)]
mod tests {
    use joiner_cloud::order::ClaimId;

    use super::*;

    fn mark() -> Mark {
        Mark {
            cluster: "prod".to_owned(),
            claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
            made_here: true,
            ..Mark::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let written: BTreeMap<String, String> = settings(&mark()).into_iter().collect();
        assert_eq!(read(&written), Some(mark()));
        assert_eq!(written["joiner.nodeclaim-uid"], "uid-1");
        assert_eq!(written["joiner.schema"], "1");
        assert!(!written.contains_key("joiner.region"), "what is empty is not written");
    }

    #[test]
    fn a_clone_loses_every_key_of_its_template_that_it_does_not_write() {
        let replacing: BTreeMap<String, String> = replacing(&mark()).into_iter().collect();
        assert_eq!(replacing.len(), fields().count(), "each key is written or removed");
        assert_eq!(replacing["joiner.module"], "", "an empty value removes the key");
        assert_eq!(read(&replacing), Some(mark()));
    }

    #[test]
    fn only_the_keys_of_marks_are_downloaded() {
        let paths: Vec<String> = properties().collect();
        assert!(paths.contains(&"config.extraConfig[\"joiner.cluster\"].value".to_owned()));
        let keys: Vec<&str> = paths.iter().filter_map(|path| setting_of(path)).collect();
        assert_eq!(keys.len(), fields().count());
        assert!(settings(&mark()).iter().all(|(key, _)| keys.contains(&key.as_str())));
    }
}
