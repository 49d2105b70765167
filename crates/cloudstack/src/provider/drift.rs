//! Whether an instance is as its class wants it.

use joiner_cloud::{CloudError, class, instance::Instance};

use super::{Inner, resolve::read_class, troubles::unanswered};
use crate::{
    client::objects::VirtualMachine, node_class::NodeClass, provider_id::uuid_of,
    resolve::Resolution,
};

impl Inner {
    pub(super) async fn drift(
        &self,
        instance: &Instance,
        class: &class::NodeClass,
    ) -> Result<Option<String>, CloudError> {
        let read = read_class(class)?;
        let resolved = self.resolved(class, &read).await?;
        let id = &instance.provider_id;
        let found = match uuid_of(id) {
            Some(uuid) => self.vm(&uuid).await.map_err(unanswered("looking for drift"))?,
            None => None,
        };
        let vm = found.ok_or_else(|| {
            CloudError::Unknown(format!("instance {id:?} is not there, so its drift is not known"))
        })?;
        Ok(why_drifted(&vm, &read, &resolved.resolution).map(str::to_owned))
    }
}

/// Why an instance is not as its class wants it. A zone that is not usable now proves nothing.
pub(super) fn why_drifted(
    vm: &VirtualMachine,
    class: &NodeClass,
    resolution: &Resolution,
) -> Option<&'static str> {
    let zone_name = vm.zone_name.as_deref().unwrap_or_default();
    let is_zone = |own: &&str| *own == zone_name || own.eq_ignore_ascii_case(&vm.zone_id);
    if !class.zones().iter().any(is_zone) {
        return Some("ZoneDrift");
    }
    let zone = resolution.zones.iter().find(|own| own.zone.id == vm.zone_id)?;
    let is_among = |id: Option<&str>, mut ids: Box<dyn Iterator<Item = &str> + '_>| {
        id.is_none_or(|id| ids.any(|own| own == id))
    };
    let network = vm.default_nic().map(|nic| nic.network_id.as_str());
    let templates = zone.templates.iter().map(|own| own.id.as_str());
    let networks = zone.networks.iter().map(|own| own.id.as_str());
    let offerings = zone.offerings.iter().map(|own| own.id.as_str());
    if !is_among(vm.template_id.as_deref(), Box::new(templates)) {
        return Some("TemplateDrift");
    }
    if !is_among(network, Box::new(networks)) {
        return Some("NetworkDrift");
    }
    if !is_among(vm.service_offering_id.as_deref(), Box::new(offerings)) {
        return Some("ServiceOfferingDrift");
    }
    None
}
