//! What a machine that was cloned still lacks before it may be switched on.
//!
//! Only the clone itself says some things, such as the hardware addresses that its guest knows its
//! adapters by. Each step looks first, so that one that was done before is not done again.

use joiner_cloud::CloudError;
use joiner_vim::{
    Method, Object,
    spec::{ConfigSpec, ExtraConfig},
};

use super::{Inner, Refused, Work};
use crate::{
    inventory::nics,
    marks, networks,
    provider::troubles::unanswered,
    user_data::{self, METADATA},
    vm::{Power, Vm},
};

impl Inner {
    /// Completes a machine that does not run yet.
    pub(super) async fn prepare(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        if vm.power == Power::On || work.class.spec.adapters().is_empty() {
            return Ok(());
        }
        let metadata = marks::property(METADATA);
        let paths = ["config.hardware.device", metadata.as_str()];
        let read = self.vim.read(std::slice::from_ref(&vm.reference), &paths).await;
        let read = read.map_err(unanswered("looking at what was cloned"))?;
        let Some(read) = read.first() else { return Ok(()) };
        let known = read.text(&metadata);
        self.tell_of_adapters(work, vm, read, known).await
    }

    /// Tells the guest about its adapters.
    async fn tell_of_adapters(
        &self,
        work: &Work<'_>,
        vm: &Vm,
        read: &Object,
        known: Option<&str>,
    ) -> Result<(), Refused> {
        // Guests that cannot be told were found to do as the class says by themselves.
        let Some(known) = known else { return Ok(()) };
        let adapters = work.class.spec.adapters();
        let own = read.value("config.hardware.device").map(nics).unwrap_or_default();
        let macs: Vec<String> = own.into_iter().filter_map(|nic| nic.mac).collect();
        if macs.len() != adapters.len() {
            // Whatever it was made as, it was not made as the class is now.
            self.destroy(vm).await?;
            return Err(CloudError::Create {
                reason: "AdaptersDiffer",
                message: format!(
                    "virtual machine {:?} has {} adapters and {} says {}: it is made anew",
                    work.name,
                    macs.len(),
                    work.class.name(),
                    adapters.len()
                ),
            }
            .into());
        }
        let network = networks::netplan(adapters, &macs, &work.order.inputs.addresses);
        let text = user_data::metadata(&work.name, &work.order.claim.uid, network);
        if text == known {
            return Ok(());
        }
        let spec = ConfigSpec {
            extra_config: vec![ExtraConfig::new(METADATA, text)],
            ..ConfigSpec::default()
        };
        self.carry_out(work, vm, Method::Reconfigure(Box::new(spec)), "telling its adapters to")
            .await
    }
}
