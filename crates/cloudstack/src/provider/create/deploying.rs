//! Making an instance in one way.

use std::sync::atomic::Ordering;

use joiner_cloud::{
    CloudError,
    attempts::{Refused, TRIES_MAX},
    bootstrap::class_text::Recipient,
    choice::Choice,
    instance::Instance,
    notes::Note,
    unavailable::{Scarce, zone_of},
};
use joiner_core::label;

use super::{Work, names_used_up};
use crate::{
    NODE_CLASS_KIND,
    client::{ClientError, ErrorClass, objects::Template, requests::Deploy},
    labels, marks, names,
    node_class::written,
    offerings::chosen_templates,
    provider::{Inner, find::Attempted, tagging::letters, troubles::of_launch},
    resolve::ZoneResolution,
    user_data,
    vm::{ATTEMPTS_MAX, Life},
};

impl Inner {
    /// Makes the instance in one way. A name that is taken is no failure: the next one is tried.
    pub(super) async fn make(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
    ) -> Result<Instance, Refused> {
        let claim = &work.order.claim;
        loop {
            if self.state().is_deleted_since(&claim.uid, work.deletions) {
                let message = format!("NodeClaim {:?} is being deleted", claim.name);
                return Err(CloudError::Create { reason: "ClaimDeleted", message }.into());
            }
            let attempt = work.next.load(Ordering::Relaxed);
            if attempt >= ATTEMPTS_MAX {
                return Err(names_used_up(work).into());
            }
            let deploy = self.deploy(work, choice, attempt)?;
            let error = match self.client.submit(deploy.command()).await {
                Ok(submitted) => {
                    work.next.store(attempt + 1, Ordering::Relaxed);
                    return self.launched(work, choice, &submitted, &deploy.name).await;
                }
                Err(error) => error,
            };
            if !is_taken(&error) {
                let text = error.to_string();
                return Err(self.launch_failed(work, choice, &error.class(), text));
            }
            // Another process was faster, or the name is of somebody else.
            match self.attempted(claim, attempt).await? {
                Attempted::Own(vm) if Life::of(&vm) == Life::Failed => {
                    self.clean_up(&vm, &work.mark(self)?).await;
                }
                Attempted::Own(vm) => {
                    self.remove_doubles(work, &vm).await;
                    return self.finish(work, &vm).await;
                }
                Attempted::Used | Attempted::Free => {}
            }
            work.next.store(attempt + 1, Ordering::Relaxed);
        }
    }

    /// What the failure of a launch means: it is counted, and told where it is about a limit.
    pub(super) fn launch_failed(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        class: &ErrorClass,
        text: String,
    ) -> Refused {
        self.metrics.launch_failed(class.word(), &choice.instance_type.name, choice.zone());
        if matches!(class, ErrorClass::Quota { .. }) {
            self.notes.write(Note::went_wrong(&work.order.claim, "QuotaExceeded", text.clone()));
        }
        let refused = of_launch(class, text);
        if matches!(refused, Refused::Final(CloudError::InsufficientCapacity(_))) {
            // Nothing of the class can be had, whatever its type is.
            let now = self.now();
            let mut state = self.state();
            for own in work.resolved.types.iter() {
                for zone in own.offerings.iter().map(zone_of) {
                    let scarce = Scarce::room(work.class.name(), &own.name, zone);
                    state.unavailable.remember(scarce, now);
                }
            }
        }
        match refused {
            Refused::NoRoom(text) if work.failures.load(Ordering::Relaxed) >= TRIES_MAX => {
                Refused::Final(CloudError::InsufficientCapacity(text))
            }
            other => other,
        }
    }

    fn deploy(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        attempt: u32,
    ) -> Result<Deploy, Refused> {
        let Work { order, class, resolved, .. } = work;
        let (spec, resolution) = (&class.spec, &resolved.resolution);
        let stale =
            |what: &str| Refused::Stale(format!("{what} of zone {:?} has gone", choice.zone()));
        let zone = work.zone(choice).ok_or_else(|| stale("everything"))?;
        let made_of = resolved.made_of.get(&choice.instance_type.name);
        let made_of = made_of.ok_or_else(|| stale("the service offering"))?;
        let offering = made_of.by_zone.get(&zone.zone.id);
        let offering = offering.ok_or_else(|| stale("the service offering"))?;
        let template = template(work, zone).ok_or_else(|| stale("the template"))?;
        let network = zone.networks.first().ok_or_else(|| stale("the network"))?;
        let further = zone.additional_networks.iter();
        let networks = [network].into_iter().chain(further).map(|own| own.id.clone());
        let name = names::instance(
            &self.settings.name_prefix,
            &order.claim.name,
            &order.claim.uid,
            attempt,
        );
        let mut details = marks::details(&work.mark(self)?, spec.details.as_ref());
        details.extend(made_of.details());
        let override_disk = resolution.override_disk_offering.as_ref();
        let disk = resolution.disk_offering.as_ref();
        Ok(Deploy {
            zone_id: zone.zone.id.clone(),
            service_offering_id: offering.id.clone(),
            template_id: template.id.clone(),
            network_ids: networks.collect(),
            job_id: names::deploy_job(&order.claim.uid, attempt),
            details,
            user_data: self.text(work, choice, &name)?,
            root_disk_gib: offering.root_disk_gib,
            key_pair: written(spec.ssh_key_pair.as_ref()).map(str::to_owned),
            disk_offering_id: disk.map(|own| own.id.clone()),
            disk_gib: disk.filter(|own| own.is_customized).and(spec.disk_size_gib),
            override_disk_offering_id: override_disk
                .filter(|_| !offering.has_strict_disk)
                .map(|own| own.id.clone()),
            affinity_group_ids: resolution.affinity_group_ids.clone(),
            security_group_ids: resolution.security_group_ids.clone(),
            group: written(spec.instance_group.as_ref()).map(str::to_owned),
            boot_type: written(spec.boot_type.as_ref()).map(str::to_owned),
            boot_mode: written(spec.boot_mode.as_ref()).map(str::to_owned),
            hypervisor: None,
            project_id: written(spec.project_id.as_ref()).map(str::to_owned),
            name,
        })
    }

    fn text(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        name: &str,
    ) -> Result<Option<joiner_cloud::bootstrap::Secret<String>>, CloudError> {
        let order = work.order;
        let recipient = Recipient {
            node_name: name,
            instance_type: choice.instance_type,
            token: order.inputs.token.clone(),
            order: Some(order),
        };
        let inputs = Some(&*order.inputs.class);
        let made = user_data::text(work.class, self.settings.user_data_max, inputs, &recipient);
        let made = made.ok_or_else(|| CloudError::Create {
            reason: "BootstrapNotReady",
            message: format!(
                "it is not known what instances of {NODE_CLASS_KIND} {:?} join with; see its \
                 condition BootstrapReady",
                work.class.name()
            ),
        })?;
        let text = made.map_err(|error| CloudError::NodeClassNotReady(error.to_string()))?;
        Ok(Some(letters(&text)).filter(|text| !text.reveal().is_empty()))
    }
}

/// The template of the first architecture that the order takes.
fn template<'z>(work: &Work<'_>, zone: &'z ZoneResolution) -> Option<&'z Template> {
    let wanted = &work.order.requirements;
    let takes = |key: &str, value: &str| wanted.get(key).is_none_or(|own| own.has(value));
    let mut templates = chosen_templates(zone).into_iter();
    let found = templates.find(|(arch, template)| {
        takes(label::ARCH, arch)
            && takes(labels::TEMPLATE_ID, &template.id)
            && takes(labels::TEMPLATE_NAME, &labels::sanitize(&template.name))
    });
    found.map(|(_, template)| template)
}

/// Whether the name or the id of the job is in use.
fn is_taken(error: &ClientError) -> bool {
    let is_of_job = |own: &crate::client::Refusal| {
        own.code == 431 && own.text.contains("update with custom id")
    };
    error.class() == ErrorClass::DuplicateName || error.refusal().is_some_and(is_of_job)
}
