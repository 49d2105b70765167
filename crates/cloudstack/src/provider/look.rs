//! Telling the operator what is there.

use std::{collections::BTreeSet, time::Duration};

use joiner_cloud::{CloudError, instance::Instance, mark::Mark, order::ClaimId};
use joiner_core::label;

use super::{Inner, troubles::unanswered};
use crate::{
    client::{ClientError, Command, objects::VirtualMachine, requests},
    marks::cluster_tag,
    provider_id::{Form, uuid_of},
    vm::{self, Life, is_copy, is_original, mark_of},
};

/// So many claims with instances make an empty list a matter of doubt.
const CLAIMS_IN_DOUBT: usize = 3;
/// How long such a list is doubted.
const DOUBTED_FOR: Duration = Duration::from_mins(10);

impl Inner {
    pub(super) async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        self.cluster_uid()?;
        let Some(uuid) = uuid_of(provider_id) else { return Ok(None) };
        let found = self.vm(&uuid).await.map_err(unanswered("looking for an instance"))?;
        let Some(vm) = found.filter(|vm| Life::of(vm) != Life::Gone) else {
            self.check_scope().await?;
            return Ok(None);
        };
        let Some(mark) = mark_of(&vm, self.cluster()).filter(|mark| !is_copy(&vm, mark)) else {
            return Ok(None);
        };
        let instance = self.instance(&vm, &mark, self.form());
        Ok(Some(instance).filter(|own| own.cluster_unproven || own.may_be_of(claim)))
    }

    /// Every instance of the cluster: those that carry its tag, and those whose tags were not written
    /// yet, which are known by their name and their details.
    pub(super) async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.cluster_uid()?;
        self.check_scope().await?;
        let mut found = self.every_vm().await?;
        found.retain(|(vm, _)| Life::of(vm) != Life::Gone);
        let untagged: Vec<&(VirtualMachine, Mark)> =
            found.iter().filter(|(vm, mark)| vm.tags.is_empty() && mark.made_here).collect();
        self.tag_again(&untagged).await;
        self.tell_stopped(&found);
        let form = self.form();
        let instances: Vec<Instance> =
            found.iter().map(|(vm, mark)| self.instance(vm, mark, form)).collect();
        self.doubt_emptiness(instances.is_empty())?;
        let uids: BTreeSet<&str> = found.iter().map(|(_, mark)| mark.claim.uid.as_str()).collect();
        self.homes.keep(&uids);
        self.metrics.shared.listed(found.iter().map(|(vm, _)| vm.state.as_str()));
        Ok(instances)
    }

    /// The instances that carry this cluster's mark, with copies left out.
    async fn every_vm(&self) -> Result<Vec<(VirtualMachine, Mark)>, CloudError> {
        let unanswered = unanswered("listing instances");
        let (key, value) = cluster_tag(&self.settings.cluster);
        let tagged = self.in_all_projects(|| requests::instances_tagged(&key, &value));
        let mut found = tagged.await.map_err(&unanswered)?;
        let prefix = &self.settings.name_prefix;
        let named = self.in_all_projects(|| requests::instances_containing(prefix));
        found.extend(named.await.map_err(&unanswered)?);
        let mut seen = BTreeSet::new();
        found.retain(|vm| seen.insert(vm.id.clone()));
        self.tell_suspects(&found);
        Ok(found
            .into_iter()
            .filter_map(|vm| {
                let mark = mark_of(&vm, self.cluster())?;
                is_original(&vm, &mark, prefix).then_some((vm, mark))
            })
            .collect())
    }

    /// A list of instances in the scope of the keys, and in each project that a class names.
    pub(super) async fn in_all_projects(
        &self,
        command: impl Fn() -> Command,
    ) -> Result<Vec<VirtualMachine>, ClientError> {
        let mut found: Vec<VirtualMachine> = self.client.list(command()).await?;
        let projects: BTreeSet<String> = self.state().projects.values().cloned().collect();
        let own = self.client.scope().project.as_ref();
        for project in projects.iter().filter(|project| Some(*project) != own) {
            let more = self.client.list(command().with("projectid", project.as_str())).await?;
            found.extend(more);
        }
        Ok(found)
    }

    /// Fails for a while where nothing is listed although claims have instances: other keys see
    /// nothing either.
    fn doubt_emptiness(&self, is_empty: bool) -> Result<(), CloudError> {
        let now = self.now();
        let mut state = self.state();
        let claims = state.claims.len();
        if !is_empty || claims < CLAIMS_IN_DOUBT {
            state.empty_since = None;
            return Ok(());
        }
        let since = *state.empty_since.get_or_insert(now);
        if now.duration_since(since).unsigned_abs() >= DOUBTED_FOR {
            return Ok(());
        }
        Err(CloudError::Unknown(format!(
            "CloudStack lists no instance, and {claims} claims have one; look whether the keys are \
             of the same account and project as before"
        )))
    }

    /// What an instance is to the operator.
    fn instance(&self, vm: &VirtualMachine, mark: &Mark, form: Form) -> Instance {
        let resolved = {
            let state = self.state();
            let named = state.resolutions.named(&mark.class);
            // Before its tags are written, an instance does not say its class.
            named.or_else(|| state.resolutions.all().next()).cloned()
        };
        let instance = vm::instance(vm, mark, resolved.as_deref(), form);
        let zone = instance.labels.get(label::ZONE);
        if let Some(zone) = zone.filter(|_| !mark.claim.uid.is_empty()) {
            self.homes.know(&mark.claim.uid, &mark.pool, zone);
        }
        instance
    }
}
