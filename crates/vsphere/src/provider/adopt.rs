//! Instances that the predecessor made.

use joiner_cloud::{CloudError, adoption::Adoption, instance::Instance, mark::Mark};
use joiner_core::label;
use joiner_vim::spec::ExtraConfig;

use super::{Inner, troubles::unanswered};
use crate::{WELL_KNOWN_LABELS, marks, tags, vm::Vm};

/// Labels of a claim that say what its instance was made as.
const DECIDED: [&str; 6] = [
    label::INSTANCE_TYPE,
    label::CAPACITY_TYPE,
    label::ZONE,
    label::REGION,
    label::ARCH,
    label::OS,
];

impl Inner {
    /// Writes a claim's mark into an instance of the predecessor, or what a mark from before lacks.
    /// Instances may run meanwhile. Their identity in vCenter stays what it is.
    pub(super) async fn adopt(
        &self,
        instance: &Instance,
        by: &Adoption,
    ) -> Result<bool, CloudError> {
        let trouble = unanswered("looking for an instance of the predecessor");
        let mut free = Vec::new();
        for vm in self.with_id(&instance.provider_id).await.map_err(&trouble)? {
            if is_free(&vm, by) && !self.is_stray(&vm) && self.is_ours(&vm).await? {
                free.push(vm);
            }
        }
        let vm = match &free[..] {
            [vm] => vm,
            [] => return Ok(false),
            several => {
                let names: Vec<&str> = several.iter().map(|vm| vm.name.as_str()).collect();
                return Err(CloudError::Invalid(format!(
                    "virtual machines {names:?} have the provider id of NodeClaim {}, and nothing \
                     says which of them is a copy: none is marked; take the tag {} off the copy",
                    by.claim.name,
                    tags::CLUSTER
                )));
            }
        };
        let cluster_uid = self.cluster_uid()?;
        let settings = match &vm.mark {
            // The claim in its mark stays.
            Some(own) if own.instance().is_some() => vec![marks::cluster_uid(cluster_uid)],
            _ => {
                // Without it the instance could not be told from a copy later.
                let Some(instance_uuid) = vm.instance_uuid.clone() else { return Ok(false) };
                let mark = mark(&self.settings.cluster, cluster_uid, by);
                marks::settings(&Mark { instance_uuid, ..mark })
            }
        };
        let settings = settings.iter().map(|(key, value)| ExtraConfig::new(key, value)).collect();
        let what =
            format!("marking virtual machine {:?} as NodeClaim {}'s", vm.name, by.claim.name);
        self.write_settings(vm, settings, &what).await?;
        Ok(true)
    }
}

/// Whether an instance may get a claim's mark, or what its own lacks. An instance with a complete
/// mark belongs to the claim that the mark names. Marks of earlier versions lack the cluster's UID
/// and the UUID of adopted instances. That UUID distinguishes an instance from its copy.
fn is_free(vm: &Vm, by: &Adoption) -> bool {
    vm.mark.as_ref().is_none_or(|mark| {
        let lacks_cluster = mark.cluster_uid.is_empty() && !vm.may_be_copy();
        let lacks_instance = !mark.made_here && mark.instance().is_none();
        lacks_cluster || (lacks_instance && mark.claim.uid == by.claim.uid)
    })
}

/// The mark of an instance that the predecessor made. Its template and its class's hash are unknown.
fn mark(cluster: &str, cluster_uid: &str, by: &Adoption) -> Mark {
    let decided = DECIDED.iter().chain(&WELL_KNOWN_LABELS);
    let labels: label::Labels =
        decided.filter_map(|key| Some(((*key).to_owned(), by.labels.get(*key)?.clone()))).collect();
    let own = |key: &str| labels.get(key).cloned().unwrap_or_default();
    Mark {
        cluster: cluster.to_owned(),
        cluster_uid: cluster_uid.to_owned(),
        claim: by.claim.clone(),
        pool: by.node_pool.clone().unwrap_or_default(),
        class: by.class.clone(),
        instance_type: own(label::INSTANCE_TYPE),
        zone: own(label::ZONE),
        region: own(label::REGION),
        made_here: false,
        labels,
        ..Mark::default()
    }
}
