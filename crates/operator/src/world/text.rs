//! Objects as JSON text from the API server.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::kept;

/// The name and version of an object, which are read even if the rest is malformed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// The resource version as text, to resume a watch.
    pub(super) resource_version: String,
}

impl Head {
    /// The resource version as a number.
    pub(super) fn version(&self) -> u64 {
        kept::version(Some(&self.resource_version))
    }
}

/// The text of an object without `managedFields`. That list is often longer than the rest, and no
/// decision depends on it.
#[derive(Debug)]
pub(super) struct Text<'t> {
    pub(super) head: Head,
    pub(super) body: Cow<'t, RawValue>,
}

impl<'t> Text<'t> {
    /// Reads the text of an object. Text that is not an object has an empty name.
    pub(super) fn of(raw: &'t RawValue) -> Self {
        let outline: Outline<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let metadata = outline.metadata.unwrap_or_default();
        let body = match metadata.managed_fields {
            Some(managers) => without(raw, managers).map_or(Cow::Borrowed(raw), Cow::Owned),
            None => Cow::Borrowed(raw),
        };
        let text = |field: Option<Cow<'_, str>>| field.map(Cow::into_owned);
        let head = Head {
            namespace: text(metadata.namespace).filter(|namespace| !namespace.is_empty()),
            name: text(metadata.name).unwrap_or_default(),
            resource_version: text(metadata.resource_version).unwrap_or_default(),
        };
        Self { head, body }
    }
}

#[derive(Default, Deserialize)]
struct Outline<'t> {
    #[serde(borrow)]
    metadata: Option<Metadata<'t>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'t> {
    #[serde(borrow)]
    name: Option<Cow<'t, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'t, str>>,
    #[serde(borrow)]
    resource_version: Option<Cow<'t, str>>,
    #[serde(borrow)]
    managed_fields: Option<&'t RawValue>,
}

/// The text without one of its parts.
fn without(whole: &RawValue, part: &RawValue) -> Option<Box<RawValue>> {
    const NOTHING: &str = "null";
    let (whole, part) = (whole.get(), part.get());
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let (before, after) = (whole.get(..start)?, whole.get(start + part.len()..)?);
    let mut rest = String::with_capacity(before.len() + NOTHING.len() + after.len());
    rest.push_str(before);
    rest.push_str(NOTHING);
    rest.push_str(after);
    RawValue::from_string(rest).ok()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::{json, value::to_raw_value};

    use super::*;
    use crate::objects::Body;

    #[test]
    fn who_wrote_which_field_is_left_out_and_nothing_else() {
        let written = json!({"f:metadata": {"f:labels": {}}});
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "labels": {"managedFields": "a label"}, "name": "n",
                "managedFields": [{"manager": "kubelet", "fieldsV1": written}],
                "resourceVersion": "7",
            },
            "spec": {"providerID": "test://n"},
        });
        let raw = to_raw_value(&node).unwrap();
        let text = Text::of(&raw);
        let mut expected = node;
        expected["metadata"]["managedFields"] = json!(null);
        let left: serde_json::Value = serde_json::from_str(text.body.get()).unwrap();
        assert_eq!(left, expected);
        let node: Node = text.body.decode().unwrap();
        assert_eq!(node.metadata.managed_fields, None);
    }

    #[test]
    fn an_object_is_known_by_name_whatever_else_it_says() {
        let raw =
            r#"{"spec": 5, "metadata": {"name": "n", "namespace": "s", "resourceVersion": "7"}}"#;
        let raw: &RawValue = serde_json::from_str(raw).unwrap();
        let head = Text::of(raw).head;
        assert_eq!((head.namespace.as_deref(), &*head.name, head.version()), (Some("s"), "n", 7));
        assert_eq!(Text::of(serde_json::from_str("[1]").unwrap()).head, Head::default());
    }
}
