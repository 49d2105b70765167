//! Deploying VMs: what is checked at once, in the server's order. Hosts are chosen by the job.

mod checks;

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Call,
    vms::{check_details, check_host_name},
};
use crate::{
    estate::{Kind, Number, Owner, Vm, VmState, Volume, VolumeState, limit::Resource},
    job::Work,
    refusal::Refusal,
    world::World,
};

/// How large a VM is.
#[derive(Clone, Copy, Debug)]
struct Size {
    cpus: u32,
    mhz: u32,
    memory_mib: u64,
}

impl World {
    pub(super) fn deploy_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        // A refusal after the parameters were read loses what it was made of.
        let vm = self.deploy_now(call).map_err(Refusal::without_cause)?;
        let id = self.estate.vms[&vm].id.clone();
        let start = call.given.choice("startvm").unwrap_or(true);
        self.submit(call, Work::Deploy { start }, Some(vm), Some(("VirtualMachine", &id)))
    }

    /// Makes the VM with its volumes and adapters.
    fn deploy_now(&mut self, call: &Call) -> Result<Number, Refusal> {
        let given = &call.given;
        let owner = self.owner(call.caller, given)?;
        refuse_what_only_root_may_say(call)?;
        let details = given.fields("details");
        check_details(&details)?;
        let zone = given.required("zoneid");
        self.check_zone(call, zone)?;
        let offering = given.required("serviceofferingid");
        let size = self.check_offering(call, offering, zone, &details)?;
        let template = self.check_template(call, zone)?;
        let data = self.check_disk_offering(call, zone)?;
        let root_gib = self.root_size(call, offering, template)?;
        let networks = self.check_networks(call, owner, zone)?;
        let data_gib = data.map_or(0, |(_, gib)| gib);
        let wanted = [
            (Resource::UserVm, 1),
            (Resource::Cpu, u64::from(size.cpus)),
            (Resource::Memory, size.memory_mib),
            (Resource::Gpu, self.estate.gpus(offering)),
            (Resource::Volume, 1 + u64::from(data.is_some())),
            (Resource::PrimaryStorage, root_gib + data_gib),
        ];
        self.estate.within_limits(owner, &wanted)?;
        let user_data = match given.text("userdata") {
            Some(text) => self.user_data(text, call)?,
            None => String::new(),
        };
        let key_pairs = self.check_key_pairs(call, owner)?;
        self.check_user_data_service(call, template, &networks)?;
        let security_groups = self.check_security_groups(call, owner, zone)?;
        let affinity_groups = self.check_affinity_groups(call, owner)?;
        let generated = format!("VM-{}", self.estate.vms.len() + 1);
        let name = given.text("name").map_or(generated, str::to_owned);
        check_host_name(&name)?;
        self.refuse_taken_name(&name, &networks, 0)?;
        let nics = self.estate.plug(&networks)?;
        let now = self.agenda.now();
        let (number, id) = match given.text("customid") {
            Some(id) => (self.estate.register(Kind::Vm, id), id.to_owned()),
            None => self.estate.identify(Kind::Vm),
        };
        let display_name = given.text("displayname").unwrap_or(&name).to_owned();
        let vm = Vm {
            id,
            name,
            display_name,
            owner,
            zone,
            template,
            offering,
            cpus: size.cpus,
            mhz: size.mhz,
            memory_mib: size.memory_mib,
            state: VmState::Stopped,
            host: None,
            nics,
            details,
            user_data,
            user_data_details: given.fields("userdatadetails"),
            key_pairs,
            affinity_groups,
            security_groups,
            group: given.text("group").unwrap_or_default().to_owned(),
            delete_protection: false,
            created: now,
            updated: now,
        };
        self.estate.vms.insert(number, vm);
        self.add_volume(number, owner, zone, root_gib, None);
        if let Some((offering, gib)) = data {
            self.add_volume(number, owner, zone, gib, Some(offering));
        }
        self.changes += 1;
        Ok(number)
    }

    fn add_volume(
        &mut self,
        vm: Number,
        owner: Owner,
        zone: Number,
        size_gib: u64,
        disk_offering: Option<Number>,
    ) {
        let (number, id) = self.estate.identify(Kind::Volume);
        let is_root = disk_offering.is_none();
        let name = format!("{}-{vm}", if is_root { "ROOT" } else { "DATA" });
        let volume = Volume {
            id,
            name,
            owner,
            zone,
            vm: Some(vm),
            is_root,
            size_gib,
            disk_offering,
            state: VolumeState::Allocated,
            created: self.agenda.now(),
        };
        self.estate.volumes.insert(number, volume);
    }

    fn check_affinity_groups(
        &self,
        call: &Call,
        owner: Owner,
    ) -> Result<BTreeSet<Number>, Refusal> {
        let names = call.given.texts("affinitygroupnames");
        let ids = call.given.entities("affinitygroupids");
        if ids.is_some() && !names.is_empty() {
            let text = "affinitygroupids parameter is mutually exclusive with affinitygroupnames";
            return Err(Refusal::value(text));
        }
        let mut groups: BTreeSet<Number> = ids.unwrap_or_default().iter().copied().collect();
        for name in names {
            let all = self.estate.affinity_groups.iter();
            let found = all.filter(|(_, group)| group.owner == owner && group.name == *name);
            let found = found.map(|(number, _)| *number).next();
            groups.insert(found.ok_or_else(|| {
                Refusal::value(format!("Unable to find affinity group by name {name}"))
            })?);
        }
        let foreign = groups.iter().find(|group| self.estate.affinity_groups[group].owner != owner);
        match foreign {
            Some(group) => {
                let id = &self.estate.affinity_groups[group].id;
                Err(Refusal::denied(format!("Affinity group {id} is of another account")))
            }
            None => Ok(groups),
        }
    }
}

fn refuse_what_only_root_may_say(call: &Call) -> Result<(), Refusal> {
    if call.caller.is_root() {
        return Ok(());
    }
    let given = &call.given;
    if given.text("customid").is_some() {
        let text = "Parameter customid can only be specified by a Root Admin";
        return Err(Refusal::denied(text));
    }
    if given.entity("hostid").is_some() {
        let text = "Parameter hostid can only be specified by a Root Admin";
        return Err(Refusal::denied(text));
    }
    Ok(())
}
