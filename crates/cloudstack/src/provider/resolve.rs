//! What classes come to: lists what their selectors may find, and has the choice made.

use std::{sync::Arc, time::Duration};

use joiner_cloud::{CloudError, InstanceTypes, class};

use super::{Inner, Resolved};
use crate::{
    NODE_CLASS_KIND,
    client::{Command, Listed as Listable, api, requests},
    node_class::NodeClass,
    offerings::{Instances, instance_types, zone_labels},
    resolve::{Listed, Resolution, Seen, from_status, resolve},
};

/// How long what a class came to is used without another look.
const RESOLVED_FOR: Duration = Duration::from_mins(5);
/// How long what a class came to is used while CloudStack is away.
pub(super) const KEPT_FOR: Duration = Duration::from_mins(10);
/// The filters of templates that a key may use: own and public ones, and those shared with it.
const TEMPLATE_FILTERS: [&str; 2] = ["executable", "sharedexecutable"];

/// A list without which no instance is made could not be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) why: String,
    /// What the class comes to as far as it is known.
    pub(super) resolution: Box<Resolution>,
}

/// Reads a class that has no problem by itself.
pub(super) fn read_class(class: &class::NodeClass) -> Result<NodeClass, CloudError> {
    let not_ready = |why: String| {
        CloudError::NodeClassNotReady(format!(
            "{NODE_CLASS_KIND} {:?} is not ready: {why}",
            class.name
        ))
    };
    let read = NodeClass::read(&class.object()).map_err(|error| not_ready(error.to_string()))?;
    match read.problems().first() {
        None => Ok(read),
        Some(problem) => Err(not_ready(problem.to_string())),
    }
}

impl Inner {
    /// What a class comes to, as a creation needs it.
    pub(super) async fn resolved(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<Arc<Resolved>, CloudError> {
        let fresh = || self.state().resolutions.fresh(class, RESOLVED_FOR, self.now());
        if let Some(kept) = fresh() {
            return Ok(kept);
        }
        // Orders that are made at once share one look.
        let _turn = self.gathering.lock().await;
        if let Some(kept) = fresh() {
            return Ok(kept);
        }
        match self.look_at(class, read).await {
            Ok(resolved) => Ok(resolved),
            Err(Unread { why, .. }) => self.kept(class).ok_or_else(|| {
                CloudError::Unknown(format!(
                    "looking for what {NODE_CLASS_KIND} {:?} names: {why}",
                    class.name
                ))
            }),
        }
    }

    /// What a class came to while CloudStack still answered.
    pub(super) fn kept(&self, class: &class::NodeClass) -> Option<Arc<Resolved>> {
        self.state().resolutions.fresh(class, KEPT_FOR, self.now())
    }

    /// Finds out what a class comes to, and remembers it.
    pub(super) async fn look_at(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<Arc<Resolved>, Unread> {
        let listed = self.gather(read).await;
        let resolution = resolve(read, &listed);
        if let Some(why) = unread(&listed) {
            return Err(Unread { why, resolution: Box::new(resolution) });
        }
        let resolved = Arc::new(self.resolved_of(read, resolution));
        let now = self.now();
        self.state().remember(class, &resolved, now);
        Ok(resolved)
    }

    fn resolved_of(&self, read: &NodeClass, resolution: Resolution) -> Resolved {
        let Instances { types, made_of, names, .. } =
            instance_types(read, &resolution, &self.settings.instances);
        Resolved {
            zones: zone_labels(&resolution),
            types: types.into_iter().map(Arc::new).collect(),
            made_of,
            names,
            resolution,
        }
    }

    /// The types of a class: by what it came to, or by what its status says.
    pub(super) fn types_of(&self, class: &class::NodeClass) -> Result<InstanceTypes, CloudError> {
        let read = read_class(class)?;
        let known = self.state().resolutions.of(class).map(|own| Arc::clone(&own.types));
        let types = known.unwrap_or_else(|| self.resolved_of(&read, from_status(&read)).types);
        Ok(self.offered(&class.name, &types))
    }

    /// Lists everything that a class's selectors may find.
    async fn gather(&self, read: &NodeClass) -> Listed {
        let spec = &read.spec;
        let project = spec.project_id.as_deref().filter(|id| !id.is_empty());
        let own = |command: Command| command.with_some("projectid", project);
        let mut listed = Listed {
            zones: self.seen("zones", Command::new(api::LIST_ZONES)).await,
            networks: Ok(Vec::new()),
            templates: Ok(Vec::new()),
            offerings: Ok(Vec::new()),
            ..Listed::default()
        };
        let asked = read.zones();
        let zones: Vec<String> = listed
            .zones
            .iter()
            .flatten()
            .filter(|zone| {
                asked.iter().any(|own| *own == zone.name || own.eq_ignore_ascii_case(&zone.id))
            })
            .map(|zone| zone.id.clone())
            .collect();
        for zone in &zones {
            let networks = self.seen("networks", own(requests::guest_networks(zone))).await;
            add(&mut listed.networks, networks);
            for filter in TEMPLATE_FILTERS {
                let templates = own(requests::templates(zone, filter));
                add(&mut listed.templates, self.seen("templates", templates).await);
            }
            let offerings = own(requests::in_zone(api::LIST_SERVICE_OFFERINGS, zone));
            add(&mut listed.offerings, self.seen("offerings", offerings).await);
        }
        if spec.disk_offering.is_some() || spec.override_disk_offering.is_some() {
            let command = own(Command::new(api::LIST_DISK_OFFERINGS));
            listed.disk_offerings = self.seen("diskofferings", command).await;
        }
        if spec.ssh_key_pair.is_some() {
            let command = own(Command::new(api::LIST_SSH_KEY_PAIRS));
            listed.key_pairs = self.seen("keypairs", command).await;
        }
        if spec.affinity_groups.is_some() {
            let command = own(Command::new(api::LIST_AFFINITY_GROUPS));
            listed.affinity_groups = self.seen("affinitygroups", command).await;
        }
        if spec.security_groups.is_some() {
            let command = own(Command::new(api::LIST_SECURITY_GROUPS));
            listed.security_groups = self.seen("securitygroups", command).await;
        }
        if project.is_some() {
            listed.projects = self.seen("projects", Command::new(api::LIST_PROJECTS)).await;
        }
        listed
    }

    async fn seen<T: Listable>(&self, kind: &str, command: Command) -> Seen<T> {
        let read = self.client.list(command).await;
        self.metrics.refreshed(kind, read.is_ok());
        read.map_err(|error| error.to_string())
    }
}

/// Adds the list of another zone. Of a list that could not be read whole, nothing is known.
fn add<T>(all: &mut Seen<T>, more: Seen<T>) {
    match (all.as_mut(), more) {
        (Ok(all), Ok(more)) => all.extend(more),
        (Ok(_), Err(why)) => *all = Err(why),
        (Err(_), _) => {}
    }
}

/// Why it is unknown what a class comes to: one of the lists without which no instance is made.
fn unread(listed: &Listed) -> Option<String> {
    let errors = [
        listed.zones.as_ref().err(),
        listed.networks.as_ref().err(),
        listed.templates.as_ref().err(),
        listed.offerings.as_ref().err(),
    ];
    errors.into_iter().flatten().next().cloned()
}
