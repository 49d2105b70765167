//! From an instance that is there to one that runs and carries its tags.

use std::{sync::atomic::Ordering, time::Duration};

use joiner_cloud::{CloudError, attempts::Refused, choice::Choice, instance::Instance, mark::Mark};

use super::Work;
use crate::{
    client::{JobFailed, Submitted, api, made, objects::VirtualMachine, requests},
    marks,
    provider::{
        Inner,
        troubles::{is_open, of_launch, unanswered},
    },
    vm::{self, Life},
};

/// How long a leftover is waited for to go.
const CLEANED_UP_WITHIN: Duration = Duration::from_secs(30);

impl Inner {
    /// A deployment was accepted: its tags are written, and its job is waited for.
    pub(super) async fn launched(
        &self,
        work: &Work<'_>,
        choice: &Choice<'_>,
        submitted: &Submitted,
        name: &str,
    ) -> Result<Instance, Refused> {
        let id = submitted.object.clone().ok_or_else(|| {
            CloudError::Unknown(format!("CloudStack does not say the id of instance {name:?}"))
        })?;
        let own = VirtualMachine { id, name: name.to_owned(), ..VirtualMachine::default() };
        self.tag_all(work, &own).await?;
        let outcome = self.client.wait(submitted, self.settings.launch_wait).await;
        match outcome {
            Ok(result) => match made::<VirtualMachine>(result, "virtualmachine") {
                Ok(vm) if vm.id == own.id => Ok(self.as_made(work, &vm)),
                _ => self.as_it_is(work, &own).await,
            },
            Err(JobFailed::Deadline(_)) => {
                self.watch(&submitted.job, &work.order.claim);
                self.as_it_is(work, &own).await
            }
            Err(failed) if is_open(&failed) => self.reopened(work, &own, &failed).await,
            Err(failed) => {
                self.clean_up(&own, &work.mark(self)?).await;
                work.failures.fetch_add(1, Ordering::Relaxed);
                Err(self.launch_failed(work, choice, &failed.class(), failed.to_string()))
            }
        }
    }

    /// The claim's instance was there already.
    pub(super) async fn finish(
        &self,
        work: &Work<'_>,
        vm: &VirtualMachine,
    ) -> Result<Instance, Refused> {
        self.tag_all(work, vm).await?;
        let Some(job) = vm.job.clone() else { return self.started(work, vm).await };
        let submitted = Submitted {
            job,
            command: api::DEPLOY_VIRTUAL_MACHINE.name,
            object: Some(vm.id.clone()),
        };
        match self.client.wait(&submitted, self.settings.launch_wait).await {
            Ok(_) | Err(JobFailed::Deadline(_)) => self.as_it_is(work, vm).await,
            Err(failed) if is_open(&failed) => self.reopened(work, vm, &failed).await,
            Err(failed) => {
                self.clean_up(vm, &work.mark(self)?).await;
                Err(of_launch(&failed.class(), failed.to_string()))
            }
        }
    }

    /// Nobody knows what became of the job: the instance tells.
    async fn reopened(
        &self,
        work: &Work<'_>,
        own: &VirtualMachine,
        failed: &JobFailed,
    ) -> Result<Instance, Refused> {
        let unanswered = unanswered("looking for the claim's instance");
        let vm = self.vm(&own.id).await.map_err(unanswered)?;
        match vm {
            Some(vm) if Life::of(&vm) != Life::Failed => self.started(work, &vm).await,
            Some(vm) => {
                self.clean_up(&vm, &work.mark(self)?).await;
                Err(CloudError::Unknown(failed.to_string()).into())
            }
            None => Err(CloudError::Unknown(failed.to_string()).into()),
        }
    }

    /// The instance, started if it is off.
    async fn started(&self, work: &Work<'_>, vm: &VirtualMachine) -> Result<Instance, Refused> {
        if Life::of(vm) != Life::Off {
            return Ok(self.as_made(work, vm));
        }
        let unanswered = unanswered("starting the claim's instance");
        let submitted = self.client.submit(requests::start(&vm.id)).await.map_err(unanswered)?;
        match self.client.wait(&submitted, self.settings.launch_wait).await {
            Ok(_) | Err(JobFailed::Deadline(_)) => self.as_it_is(work, vm).await,
            Err(failed) if is_open(&failed) => Err(CloudError::Unknown(failed.to_string()).into()),
            Err(failed) => {
                self.clean_up(vm, &work.mark(self)?).await;
                Err(of_launch(&failed.class(), failed.to_string()))
            }
        }
    }

    /// The instance as the server shows it now.
    async fn as_it_is(&self, work: &Work<'_>, own: &VirtualMachine) -> Result<Instance, Refused> {
        let unanswered = unanswered("looking at the claim's instance");
        match self.vm(&own.id).await.map_err(unanswered)? {
            Some(vm) if Life::of(&vm) != Life::Gone => Ok(self.as_made(work, &vm)),
            _ => Err(CloudError::Unknown(format!(
                "instance {:?} went while it was made; it is made again",
                own.name
            ))
            .into()),
        }
    }

    fn as_made(&self, work: &Work<'_>, vm: &VirtualMachine) -> Instance {
        let mark = Mark {
            claim: work.order.claim.clone(),
            cluster_uid: self.cluster().uid.unwrap_or_default().to_owned(),
            ..Mark::default()
        };
        vm::instance(vm, &mark, Some(work.resolved), self.form())
    }

    /// Writes the tags of an instance, and of the data disk that was made with it.
    async fn tag_all(&self, work: &Work<'_>, vm: &VirtualMachine) -> Result<(), CloudError> {
        let mark = Mark { instance_uuid: vm.id.clone(), ..work.mark(self)? };
        self.tag(vm, &marks::tags(&mark, work.class.spec.tags.as_ref())).await;
        if work.resolved.resolution.disk_offering.is_some() {
            self.tag_data_disks(&vm.id, &mark.claim.name).await;
        }
        Ok(())
    }

    /// Removes an instance that could not be started. Where that fails, the next creation or the
    /// claim's deletion finds it again.
    pub(in crate::provider) async fn clean_up(&self, vm: &VirtualMachine, mark: &Mark) {
        self.metrics.destroyed("Error");
        let removing = async {
            if let Err(why) = self.destroy(vm, mark).await {
                tracing::info!(instance = vm.name, "it is not removed yet: {why}");
            }
        };
        tokio::select! {
            biased;
            () = removing => {}
            () = self.clock.sleep(CLEANED_UP_WITHIN) => {}
        }
    }

    /// Removes other instances of the same claim and name. A deployment whose job's id was in use
    /// leaves one.
    pub(super) async fn remove_doubles(&self, work: &Work<'_>, kept: &VirtualMachine) {
        let Ok(named) = self.named(&kept.name).await else { return };
        for vm in named.iter().filter(|vm| vm.id != kept.id && Life::of(vm) == Life::Off) {
            if let Some(mark) = self.own_mark(vm, &work.order.claim) {
                self.clean_up(vm, &mark).await;
            }
        }
    }
}
