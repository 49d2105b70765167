//! What the API calls the kinds that are read.

use joiner_cloud::class::ClassKind;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

/// A kind that can be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The kind.
    pub(crate) kind: String,
    /// What roles call it: `pods`, `nodepools.karpenter.sh`.
    pub(crate) name: String,
    /// Where all of them are, in all namespaces.
    pub(crate) path: String,
}

impl Resource {
    /// A kind that has a type.
    pub(crate) fn of<T: kube::Resource<DynamicType = ()>>() -> Self {
        Self {
            kind: T::kind(&()).into_owned(),
            name: name(&T::plural(&()), &T::group(&())),
            path: T::url_path(&(), None),
        }
    }

    /// A provider's settings.
    pub(crate) fn of_class(class: &ClassKind) -> Self {
        let resource = api_resource(class);
        Self {
            kind: class.kind.to_owned(),
            name: name(class.plural, class.group),
            path: <DynamicObject as kube::Resource>::url_path(&resource, None),
        }
    }
}

/// What the API calls a provider's settings.
pub(crate) fn api_resource(class: &ClassKind) -> ApiResource {
    let gvk = GroupVersionKind::gvk(class.group, class.version, class.kind);
    ApiResource::from_gvk_with_plural(&gvk, class.plural)
}

fn name(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// What roles call the kind of a class of which no more than this is known.
pub(super) fn of_class(group: &str, kind: &str) -> String {
    name(&format!("{}es", kind.to_lowercase()), group)
}
