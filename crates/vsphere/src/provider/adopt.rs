//! Machines that the predecessor made.

use joiner_cloud::{CloudError, adoption::Adoption, machine::Machine};
use joiner_core::label;
use joiner_vim::spec::ExtraConfig;

use super::{Inner, troubles::unanswered};
use crate::{WELL_KNOWN_LABELS, marks::Mark};

/// Labels of a claim that say what its machine was made as.
const DECIDED: [&str; 6] = [
    label::INSTANCE_TYPE,
    label::CAPACITY_TYPE,
    label::ZONE,
    label::REGION,
    label::ARCH,
    label::OS,
];

impl Inner {
    /// Writes a claim's mark into a machine of the predecessor, which may run meanwhile. Its identity
    /// in vCenter stays what it is.
    pub(super) async fn adopt(&self, machine: &Machine, by: &Adoption) -> Result<bool, CloudError> {
        let trouble = unanswered("looking for a machine of the predecessor");
        for vm in self.with_id(&machine.provider_id).await.map_err(&trouble)? {
            // What carries a mark belongs to whom it says.
            if vm.mark.is_some() || self.is_stray(&vm) || !self.is_ours(&vm).await? {
                continue;
            }
            let mark = mark(&self.settings.cluster, by);
            let settings = mark.settings();
            let settings =
                settings.iter().map(|(key, value)| ExtraConfig::new(key, value)).collect();
            let what =
                format!("marking virtual machine {:?} as NodeClaim {}'s", vm.name, by.claim.name);
            self.write_settings(&vm, settings, &what).await?;
            return Ok(true);
        }
        Ok(false)
    }
}

/// The mark of a machine that the predecessor made. What it was cloned from, and what its class was
/// like then, nobody knows.
fn mark(cluster: &str, by: &Adoption) -> Mark {
    let decided = DECIDED.iter().chain(&WELL_KNOWN_LABELS);
    let labels: label::Labels =
        decided.filter_map(|key| Some(((*key).to_owned(), by.labels.get(*key)?.clone()))).collect();
    let own = |key: &str| labels.get(key).cloned().unwrap_or_default();
    Mark {
        cluster: cluster.to_owned(),
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
