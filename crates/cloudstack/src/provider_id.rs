//! The names by which Kubernetes knows instances.
//!
//! Three forms are in use, and all of them end with the instance's UUID. Nodes and claims are
//! matched by the UUID; what is written on a claim is the form that its node has.

use std::collections::BTreeMap;

/// The scheme of ids that guests pass to their kubelet, and of upstream's.
const SCHEME: &str = "cloudstack://";
/// The scheme of ids that CloudStack's cloud controller writes.
const CONTROLLER_SCHEME: &str = "external-cloudstack://";

/// How an id is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `cloudstack:///<uuid>`, by guests; Cluster API's provider has it too.
    Guest,
    /// `external-cloudstack://<uuid>`, by CloudStack's cloud controller.
    Controller,
    /// `cloudstack://<zone>/<uuid>`, by upstream.
    Upstream,
}

impl Form {
    /// The id of an instance.
    pub fn id(self, zone_name: &str, uuid: &str) -> String {
        let uuid = uuid.to_ascii_lowercase();
        match self {
            Self::Guest => format!("{SCHEME}/{uuid}"),
            Self::Controller => format!("{CONTROLLER_SCHEME}{uuid}"),
            Self::Upstream => format!("{SCHEME}{zone_name}/{uuid}"),
        }
    }

    /// The form of an id; none if it is not CloudStack's.
    pub fn of(id: &str) -> Option<Self> {
        uuid_of(id)?;
        if id.starts_with(CONTROLLER_SCHEME) {
            return Some(Self::Controller);
        }
        Some(if id.starts_with("cloudstack:///") { Self::Guest } else { Self::Upstream })
    }

    /// The form that most of these ids have; none where none of them is CloudStack's. Of forms that
    /// are equally frequent the first of this enumeration counts.
    pub fn of_most<'i>(ids: impl IntoIterator<Item = &'i str>) -> Option<Self> {
        let mut counts: BTreeMap<Self, u32> = BTreeMap::new();
        for form in ids.into_iter().filter_map(Self::of) {
            *counts.entry(form).or_default() += 1;
        }
        counts
            .into_iter()
            .max_by_key(|(form, count)| (*count, std::cmp::Reverse(*form)))
            .map(|(form, _)| form)
    }
}

/// Which form ids get, by the setting `CLOUDSTACK_PROVIDER_ID_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FormSetting {
    /// That of nodes that are there.
    #[default]
    Auto,
    /// Always this one.
    Fixed(Form),
}

impl FormSetting {
    /// The word of a setting.
    pub fn read(word: &str) -> Result<Self, String> {
        match word {
            "" | "auto" => Ok(Self::Auto),
            "capi" => Ok(Self::Fixed(Form::Guest)),
            "ccm" => Ok(Self::Fixed(Form::Controller)),
            "legacy" => Ok(Self::Fixed(Form::Upstream)),
            other => Err(format!("{other:?} is not known; write auto, capi, ccm or legacy")),
        }
    }

    /// The form of new instances. `ids` are those of nodes; `has_controller` says whether
    /// CloudStack's cloud controller runs in the cluster.
    pub fn form<'i>(self, ids: impl IntoIterator<Item = &'i str>, has_controller: bool) -> Form {
        let without_nodes = if has_controller { Form::Controller } else { Form::Guest };
        match self {
            Self::Fixed(form) => form,
            Self::Auto => Form::of_most(ids).unwrap_or(without_nodes),
        }
    }
}

/// The UUID of an instance by its provider id in any form; none if this provider could not have
/// given it.
pub fn uuid_of(id: &str) -> Option<String> {
    let rest = id.strip_prefix(CONTROLLER_SCHEME).or_else(|| id.strip_prefix(SCHEME))?;
    let uuid = rest.rsplit('/').next()?;
    is_uuid(uuid).then(|| uuid.to_ascii_lowercase())
}

/// Whether a text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, char)| match at {
            8 | 13 | 18 | 23 => char == '-',
            _ => char.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "6f1c2a58-3b0e-4d9a-8c27-1e5f7a9b0c3d";

    fn all() -> [String; 3] {
        [Form::Guest, Form::Controller, Form::Upstream].map(|form| form.id("Zone 1", UUID))
    }

    /// Defect 43 of upstream: its ids match neither those of the cloud controller nor of Cluster API.
    #[test]
    fn ids_of_all_three_forms_are_one_instance() {
        assert_eq!(
            all(),
            [
                format!("cloudstack:///{UUID}"),
                format!("external-cloudstack://{UUID}"),
                format!("cloudstack://Zone 1/{UUID}"),
            ]
        );
        for id in all() {
            assert_eq!(uuid_of(&id).as_deref(), Some(UUID), "{id}");
        }
        let forms = all().map(|id| Form::of(&id));
        assert_eq!(forms, [Form::Guest, Form::Controller, Form::Upstream].map(Some));
        assert_eq!(
            uuid_of(&format!("cloudstack:///{}", UUID.to_uppercase())).as_deref(),
            Some(UUID)
        );
    }

    #[test]
    fn ids_of_others_are_none() {
        for id in ["", UUID, "cloudstack://", "cloudstack:///6f1c", "vsphere://6f1c", "kwok://x"] {
            assert_eq!(uuid_of(id), None, "{id}");
        }
    }

    #[test]
    fn new_instances_get_the_form_that_nodes_have() {
        let auto = FormSetting::Auto;
        let [guest, controller, upstream] = all();
        assert_eq!(auto.form([guest.as_str(), &upstream, &upstream], false), Form::Upstream);
        assert_eq!(auto.form([controller.as_str(), "kwok://x"], false), Form::Controller);
        assert_eq!(auto.form([upstream.as_str(), &guest], true), Form::Guest);
        assert_eq!(auto.form([], true), Form::Controller);
        assert_eq!(auto.form([], false), Form::Guest);
        let fixed = FormSetting::read("legacy").unwrap();
        assert_eq!(fixed.form([guest.as_str()], true), Form::Upstream);
        assert!(FormSetting::read("CAPI").unwrap_err().contains("write auto, capi, ccm or legacy"));
    }
}
