//! Why an instance could not be tagged as it should be.

use std::collections::BTreeSet;

use joiner_vim::tags::Category;

use super::WantedTag;
use crate::choose::Unresolved;

/// Why tags cannot be put on instances.
#[derive(Debug, Default)]
pub(crate) struct Objections {
    /// About tags that the class asks for. No instance is made without them.
    pub(crate) of_class: Vec<Unresolved>,
    /// About tags for reports. Instances are made without them.
    pub(crate) others: Vec<Unresolved>,
}

impl Objections {
    /// Whether there are any.
    pub(crate) fn are_there(&self) -> bool {
        !(self.of_class.is_empty() && self.others.is_empty())
    }
}

/// What a vCenter has of a tag that is wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Its category; none where there is none.
    pub(crate) category: Option<Category>,
    /// Whether the tag itself is there.
    pub(crate) has_tag: bool,
}

/// The account's privileges for tags, and the objects where it may lack some.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights<'r> {
    /// Its privileges at the root of the inventory; none where they are unknown.
    pub(crate) root: Option<&'r BTreeSet<String>>,
    /// The same in the folder of the instances, and the folder's path.
    pub(crate) folder: Option<(&'r BTreeSet<String>, &'r str)>,
}

impl Rights<'_> {
    /// Unknown privileges.
    pub(crate) const UNKNOWN: Rights<'static> = Rights { root: None, folder: None };

    /// Where the account lacks a privilege; none where it has the privilege, or it is unknown.
    fn lacks(&self, id: &str) -> Option<String> {
        let (had, at) = if id == OBJECT_ATTACHABLE {
            let (had, path) = self.folder?;
            (had, path.to_owned())
        } else {
            (self.root?, "/ (the vCenter's root)".to_owned())
        };
        (!had.contains(id)).then_some(at)
    }
}

pub(crate) const ATTACH_TAG: &str = "InventoryService.Tagging.AttachTag";
pub(crate) const CREATE_TAG: &str = "InventoryService.Tagging.CreateTag";
pub(crate) const CREATE_CATEGORY: &str = "InventoryService.Tagging.CreateCategory";
pub(crate) const OBJECT_ATTACHABLE: &str = "InventoryService.Tagging.ObjectAttachable";

const INSTANCE: &str = "VirtualMachine";

/// Why instances could not carry a tag, as far as is known.
pub(crate) fn objection(
    wanted: &WantedTag,
    known: &Known,
    rights: Rights<'_>,
) -> Option<Unresolved> {
    let WantedTag { category, tag, .. } = wanted;
    if let Some(own) = &known.category
        && !own.associable_types.is_empty()
        && !own.associable_types.iter().any(|kind| kind_of(kind) == INSTANCE)
    {
        let kinds: Vec<&str> = own.associable_types.iter().map(|kind| kind_of(kind)).collect();
        return Some(Unresolved {
            reason: "CategoryNotForInstances",
            message: format!(
                "instances are to carry the tag {tag:?} of category {category:?}, but tags of that \
                 category are for {} only; add {INSTANCE} to the category's associable types, or \
                 take it out of spec.tags",
                kinds.join(", ")
            ),
        });
    }
    let denied = |id: &str, what: &str, remedy: &str| {
        let at = rights.lacks(id)?;
        Some(Unresolved {
            reason: "PermissionDenied",
            message: format!(
                "instances are to carry the tag {tag:?} of category {category:?}, {what}, and the \
                 account lacks {id} on {at}; {remedy}add the privilege to its role"
            ),
        })
    };
    let category_missing = || {
        known
            .category
            .is_none()
            .then(|| denied(CREATE_CATEGORY, "which is not there", "make it, or "))?
    };
    let tag_missing = || {
        (!known.has_tag).then(|| denied(CREATE_TAG, "which does not have it", "make it, or "))?
    };
    category_missing()
        .or_else(tag_missing)
        .or_else(|| denied(ATTACH_TAG, "which somebody has to attach", ""))
        .or_else(|| denied(OBJECT_ATTACHABLE, "which somebody has to attach", ""))
}

/// A kind of objects without the name of the interface that some releases put before it.
fn kind_of(kind: &str) -> &str {
    kind.rsplit(':').next().unwrap_or(kind)
}

#[cfg(test)]
mod tests {
    use joiner_vim::tags::Cardinality;

    use super::*;

    fn wanted() -> WantedTag {
        WantedTag {
            category: "k8s-zone".to_owned(),
            tag: "az1".to_owned(),
            single: true,
            before_boot: true,
        }
    }

    fn known(types: &[&str], has_tag: bool) -> Known {
        let category = Category {
            id: "urn:1".to_owned(),
            name: "k8s-zone".to_owned(),
            cardinality: Cardinality::Single,
            associable_types: types.iter().map(|&kind| kind.to_owned()).collect(),
        };
        Known { category: Some(category), has_tag }
    }

    fn told(known: &Known, root: &[&str], folder: &[&str]) -> Option<String> {
        let set = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<BTreeSet<_>>();
        let (root, folder) = (set(root), set(folder));
        let rights = Rights { root: Some(&root), folder: Some((&folder, "/dc1/vm/k8s")) };
        objection(&wanted(), known, rights).map(|unresolved| unresolved.message)
    }

    const ALL: [&str; 3] = [ATTACH_TAG, CREATE_TAG, CREATE_CATEGORY];

    #[test]
    fn a_category_has_to_be_for_instances() {
        let hosts = known(&["HostSystem", "urn:vim25:Datacenter"], true);
        let text = told(&hosts, &ALL, &[OBJECT_ATTACHABLE]).expect("it cannot be used");
        assert!(text.contains("for HostSystem, Datacenter only; add VirtualMachine"), "{text}");
        for types in [&[][..], &["VirtualMachine"], &["urn:vim25:VirtualMachine"]] {
            assert_eq!(told(&known(types, true), &ALL, &[OBJECT_ATTACHABLE]), None);
        }
    }

    #[test]
    fn what_is_missing_may_be_made_or_the_privilege_is_named() {
        let lacks = |known: &Known, root: &[&str], folder: &[&str]| {
            let text = told(known, root, folder).expect("something is lacking");
            let (_, after) = text.split_once("lacks ").expect("it says what");
            after.split_once(';').expect("and what to do").0.to_owned()
        };
        let root = "/ (the vCenter's root)";
        let nothing = Known::default();
        assert_eq!(lacks(&nothing, &[ATTACH_TAG], &[]), format!("{CREATE_CATEGORY} on {root}"));
        let empty = known(&[], false);
        assert_eq!(lacks(&empty, &[CREATE_CATEGORY], &[]), format!("{CREATE_TAG} on {root}"));
        let there = known(&[], true);
        assert_eq!(lacks(&there, &[], &[]), format!("{ATTACH_TAG} on {root}"));
        assert_eq!(lacks(&there, &ALL, &[]), format!("{OBJECT_ATTACHABLE} on /dc1/vm/k8s"));
    }

    #[test]
    fn what_nobody_says_is_no_objection() {
        assert_eq!(objection(&wanted(), &Known::default(), Rights::UNKNOWN), None);
    }
}
