//! Classes of which one instance can be there at a time.

use joiner_cloud::{CloudError, attempts::Refused, limiter::Pass};

use super::{Inner, Work};
use crate::{
    NODE_CLASS_KIND,
    networks::Adapter,
    provider::troubles::unanswered,
    vm::{self, Vm},
};

impl Inner {
    /// Makes sure that no other instance has the hardware addresses that the class names: two of them
    /// in one network take each other's packets. The returned pass excludes other creations while it
    /// is held; there is none where the class sets no address.
    pub(super) async fn alone(&self, work: &Work<'_>) -> Result<Option<Pass>, Refused> {
        let Some(mac) = work.class.spec.adapters().iter().find_map(Adapter::mac) else {
            return Ok(None);
        };
        let class = work.class.name();
        let pass = self.gates.pass(&format!("instances with {mac}"), 1).await;
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        for folder in self.own_folders().await? {
            let all = self.vim.list(&folder, "VirtualMachine", &paths).await;
            let all = all.map_err(unanswered("looking who has a hardware address"))?;
            let is_another = |vm: &Vm| {
                let mark = vm.mark.as_ref().filter(|_| vm.is_of(self.cluster()));
                mark.is_some_and(|mark| mark.class == class && mark.claim != work.order.claim)
            };
            if let Some(other) = all.iter().map(Vm::read).find(is_another) {
                return Err(CloudError::InsufficientCapacity(format!(
                    "NodeClaim {}: {NODE_CLASS_KIND} {class:?} names the hardware address {mac}, \
                     which virtual machine {:?} has; remove spec.networks[].macAddr to have more \
                     than one instance",
                    work.order.claim.name, other.name
                ))
                .into());
            }
        }
        Ok(Some(pass))
    }
}
