//! What an instance that was cloned still lacks before it may be switched on.
//!
//! Only the clone itself says some things, such as the hardware addresses that its guest knows its
//! adapters by. Each step looks first, so that one that was done before is not done again.

use joiner_cloud::{CloudError, attempts::Refused, bootstrap::network::netplan};
use joiner_vim::{
    Method, Object,
    spec::{ConfigSpec, ExtraConfig},
};

use super::{Inner, Work};
use crate::{
    inventory::nics,
    marks, passthrough,
    provider::troubles::unanswered,
    user_data::{self, METADATA},
    vm::{Power, Vm},
    vm_settings::HardwareVersion,
};

impl Inner {
    /// Completes an instance that does not run yet.
    pub(super) async fn prepare(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        let spec = &work.class.spec;
        let version = HardwareVersion::read(spec.hardware_version.as_deref()).ok().flatten();
        let instance_type = vm.mark.as_ref().map(|mark| mark.instance_type.as_str());
        let devices = instance_type.and_then(|own| work.memory.devices.get(own));
        let is_complete = spec.adapters().is_empty() && version.is_none() && devices.is_none();
        if vm.power == Power::On || is_complete {
            return Ok(());
        }
        let metadata = marks::property(METADATA);
        let paths =
            ["config.changeVersion", "config.version", "config.hardware.device", metadata.as_str()];
        let read = self.vim.read(std::slice::from_ref(&vm.reference), &paths).await;
        let read = read.map_err(unanswered("looking at what was cloned"))?;
        let Some(read) = read.first() else { return Ok(()) };
        if let Some(version) = version {
            self.upgrade(work, vm, read, version).await?;
        }
        if let Some(devices) = devices
            && let Some(own) = read.value("config.hardware.device")
            && let Some(spec) =
                passthrough::missing(devices, own, read.text("config.changeVersion"))
        {
            let method = Method::Reconfigure(Box::new(spec));
            self.carry_out(work, vm, method, "giving devices of its host to").await?;
        }
        self.tell_of_adapters(work, vm, read, read.text(&metadata)).await
    }

    /// Brings the virtual hardware to a version.
    async fn upgrade(
        &self,
        work: &Work<'_>,
        vm: &Vm,
        read: &Object,
        wanted: HardwareVersion,
    ) -> Result<(), Refused> {
        let own = HardwareVersion::read(read.text("config.version")).ok().flatten();
        if own.is_some_and(|own| own >= wanted) {
            return Ok(());
        }
        let method = Method::Upgrade { version: Some(wanted.to_string()) };
        self.carry_out(work, vm, method, "upgrading the hardware of").await
    }

    /// Tells the guest about its adapters.
    async fn tell_of_adapters(
        &self,
        work: &Work<'_>,
        vm: &Vm,
        read: &Object,
        known: Option<&str>,
    ) -> Result<(), Refused> {
        // Guests that cannot receive settings already match the class by default.
        let Some(known) = known else { return Ok(()) };
        let adapters = work.class.spec.adapter_settings();
        if adapters.is_empty() {
            return Ok(());
        }
        let own = read.value("config.hardware.device").map(nics).unwrap_or_default();
        let macs: Vec<String> = own.into_iter().filter_map(|nic| nic.mac).collect();
        if macs.len() != adapters.len() {
            // The instance was made from an older state of the class.
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
        let network = netplan(&adapters, &macs, &work.order.inputs.addresses);
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
