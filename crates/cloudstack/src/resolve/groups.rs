//! What a class names besides its selectors.

use std::fmt::Display;

use super::{Listed, Seen};
use crate::{
    GroupRef, NodeClass,
    client::objects::{DiskOffering, Identified},
    node_class::written,
};

/// What was found, and what was not.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) disk_offering: Option<DiskOffering>,
    pub(super) override_disk_offering: Option<DiskOffering>,
    pub(super) affinity_group_ids: Vec<String>,
    pub(super) security_group_ids: Vec<String>,
    /// Reason and message of each thing that is not there.
    pub(super) problems: Vec<(&'static str, String)>,
    /// What could not be looked for, and why.
    pub(super) unknown: Vec<String>,
}

/// Finds what a class names.
pub(super) fn find(class: &NodeClass, listed: &Listed) -> Groups {
    let spec = &class.spec;
    let mut groups = Groups::default();
    let disk = written(spec.disk_offering.as_ref());
    groups.disk_offering = groups.disk("spec.diskOffering", disk, &listed.disk_offerings);
    if let Some(found) = &groups.disk_offering {
        let size = spec.disk_size_gib;
        if found.is_customized && size.is_none() {
            let problem = "leaves the size open; write spec.diskSizeGiB";
            groups.problems.push(missing("DiskOfferingNotFound", "spec.diskOffering", problem));
        }
    }
    let instead = written(spec.override_disk_offering.as_ref());
    groups.override_disk_offering =
        groups.disk("spec.overrideDiskOffering", instead, &listed.disk_offerings);
    if let Some(name) = written(spec.ssh_key_pair.as_ref()) {
        let known = groups.seen("spec.sshKeyPair", &listed.key_pairs);
        if known.is_some_and(|pairs| !pairs.iter().any(|pair| pair.name == name)) {
            let problem = format!("names the key pair {name:?}, which is not there; register it");
            groups.problems.push(missing("SSHKeyPairNotFound", "spec.sshKeyPair", problem));
        }
    }
    if let Some(id) = written(spec.project_id.as_ref()) {
        let known = groups.seen("spec.projectID", &listed.projects);
        let is_it = |own: &crate::client::objects::Project| own.id.eq_ignore_ascii_case(id);
        match known.map(|projects| projects.iter().find(|own| is_it(own))) {
            Some(None) => {
                let problem = format!(
                    "names the project {id:?}, which is not there or not for this key; add its \
                     account to the project"
                );
                groups.problems.push(missing("ProjectNotFound", "spec.projectID", problem));
            }
            Some(Some(found)) if found.state.as_deref().is_some_and(|own| own != "Active") => {
                let problem = format!("names the project {id:?}, which is not active");
                groups.problems.push(missing("ProjectNotFound", "spec.projectID", problem));
            }
            _ => {}
        }
    }
    let refs = spec.affinity_groups.as_deref().unwrap_or_default();
    groups.affinity_group_ids =
        groups.all(("spec.affinityGroups", "AffinityGroupNotFound"), refs, &listed.affinity_groups);
    let refs = spec.security_groups.as_deref().unwrap_or_default();
    groups.security_group_ids =
        groups.all(("spec.securityGroups", "SecurityGroupNotFound"), refs, &listed.security_groups);
    groups
}

impl Groups {
    /// A list, if it could be read.
    fn seen<'l, T>(&mut self, field: &str, list: &'l Seen<T>) -> Option<&'l [T]> {
        match list {
            Ok(list) => Some(list),
            Err(why) => {
                self.unknown.push(format!("{field}: {why}"));
                None
            }
        }
    }

    fn disk(
        &mut self,
        field: &str,
        wanted: Option<&str>,
        list: &Seen<DiskOffering>,
    ) -> Option<DiskOffering> {
        let wanted = wanted?;
        let known = self.seen(field, list)?;
        let is_active = |own: &DiskOffering| own.state.as_deref().unwrap_or("Active") == "Active";
        let is_it = |own: &&DiskOffering| {
            is_active(own) && (own.name == wanted || own.id.eq_ignore_ascii_case(wanted))
        };
        let found = known.iter().filter(is_it).min_by_key(|own| &own.id).cloned();
        if found.is_none() {
            let problem = format!("names {wanted:?}, which is not there; name a disk offering");
            self.problems.push(missing("DiskOfferingNotFound", field, problem));
        }
        found
    }

    /// The ids of groups that a class refers to.
    fn all<T: Identified>(
        &mut self,
        (field, reason): (&str, &'static str),
        refs: &[GroupRef],
        list: &Seen<T>,
    ) -> Vec<String> {
        if refs.is_empty() {
            return Vec::new();
        }
        let Some(known) = self.seen(field, list) else { return Vec::new() };
        let mut ids = Vec::new();
        for (index, GroupRef { id, name }) in refs.iter().enumerate() {
            let (id, name) = (written(id.as_ref()), written(name.as_ref()));
            let is_it = |own: &&T| {
                (id.is_some() || name.is_some())
                    && id.is_none_or(|id| own.id().eq_ignore_ascii_case(id))
                    && name.is_none_or(|name| own.name() == name)
            };
            match known.iter().filter(is_it).map(Identified::id).min() {
                Some(id) => ids.push(id.to_owned()),
                None => {
                    let field = format!("{field}[{index}]");
                    let problem = "names a group that is not there; create it, or name another";
                    self.problems.push(missing(reason, &field, problem));
                }
            }
        }
        ids
    }
}

fn missing(reason: &'static str, field: &str, problem: impl Display) -> (&'static str, String) {
    (reason, format!("{field} {problem}"))
}
