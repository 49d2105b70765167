//! Taking over instances that upstream made.

use joiner_cloud::{CloudError, adoption::Adoption, instance::Instance, mark::Mark};

use super::{Inner, troubles::unanswered};
use crate::{
    marks::{adopting_tags, missing_tags},
    provider_id::uuid_of,
    vm::{is_copy, mark_of},
};

impl Inner {
    /// Writes the identities of claim and cluster into an instance's tags. An instance that has them
    /// stays as it is, and so does one of another claim or cluster.
    pub(super) async fn adopt(
        &self,
        instance: &Instance,
        by: &Adoption,
    ) -> Result<bool, CloudError> {
        let cluster_uid = self.cluster_uid()?.to_owned();
        let unanswered = unanswered("marking an instance");
        let Some(uuid) = uuid_of(&instance.provider_id) else { return Ok(false) };
        let Some(vm) = self.vm(&uuid).await.map_err(&unanswered)? else { return Ok(false) };
        let Some(mark) = mark_of(&vm, self.cluster()).filter(|mark| !is_copy(&vm, mark)) else {
            return Ok(false);
        };
        let is_of_another = !mark.claim.uid.is_empty() && mark.claim.uid != by.claim.uid;
        if is_of_another || mark.claim.name != by.claim.name {
            return Ok(false);
        }
        let wanted = adopting_tags(&Mark {
            claim: by.claim.clone(),
            cluster_uid,
            pool: by.node_pool.clone().unwrap_or_default(),
            class: by.class.clone(),
            instance_uuid: vm.id.clone(),
            ..mark
        });
        self.tag(&vm, &wanted).await;
        let now = self.vm(&uuid).await.map_err(&unanswered)?;
        Ok(now.is_some_and(|now| missing_tags(&now, &wanted).is_empty()))
    }
}
