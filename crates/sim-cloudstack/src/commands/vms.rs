//! VMs: listing, changing, starting, stopping and removing them.

mod row;

use serde_json::{Value, json};

use super::Call;
use crate::{
    estate::{Kind, Number, Vm, VmState},
    inventory::AccountKind,
    job::Work,
    refusal::{Refusal, code},
    world::World,
};

pub(crate) use row::Parts;

impl World {
    pub(super) fn list_vms(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        if given.entity("id").is_some() && given.entities("ids").is_some() {
            return Err(Refusal::value("Specify either id or ids but not both parameters"));
        }
        let parts = Parts::read(given.texts("details"))?;
        let tags = given.pairs("tags")?;
        let sees_destroyed =
            call.caller.kind != AccountKind::User || self.behaviour.users_see_destroyed;
        let shown = |number: &Number, vm: &Vm| {
            let same =
                |name: &str, of: Number| given.entity(name).is_none_or(|wanted| wanted == of);
            self.shows(&scope, vm.owner)
                && given.selects(*number)
                && (sees_destroyed || !vm.state.is_destroyed())
                && given.text("name").is_none_or(|name| name == vm.name)
                && given.mentions(&[&vm.name, &vm.display_name])
                && given.text("state").is_none_or(|state| is_of_state(vm.state, state))
                && same("zoneid", vm.zone)
                && same("templateid", vm.template)
                && same("serviceofferingid", vm.offering)
                && given.entity("hostid").is_none_or(|host| vm.host == Some(host))
                && given
                    .entity("networkid")
                    .is_none_or(|network| vm.nics.iter().any(|nic| nic.network == network))
                && given
                    .entity("affinitygroupid")
                    .is_none_or(|group| vm.affinity_groups.contains(&group))
                && given
                    .entity("securitygroupid")
                    .is_none_or(|group| vm.security_groups.contains(&group))
                && given
                    .text("keypair")
                    .is_none_or(|wanted| vm.key_pairs.iter().any(|name| name == wanted))
                && given.equals("arch", &self.estate.templates[&vm.template].facts.arch)
                && self.estate.tags.matches(Kind::Vm, *number, &tags)
        };
        let all = self.estate.vms.iter();
        let rows: Vec<_> = all.filter(|(number, vm)| shown(number, vm)).collect();
        let with_user_data = given.flag("userdata");
        Ok(call.listed(&rows, |(number, vm)| {
            let mut row = self.vm_row(**number, vm, parts, call.caller);
            if with_user_data && given.entity("id").is_some() && !vm.user_data.is_empty() {
                row["userdata"] = vm.user_data.clone().into();
            }
            row
        }))
    }

    /// The VM that a command is about, if the caller may act on it.
    fn vm_of(&self, call: &Call) -> Result<(Number, &Vm), Refusal> {
        let number = call.given.required("id");
        let Some(vm) = self.estate.vms.get(&number) else {
            // The id is known, and the VM was expunged.
            return Err(Refusal::value("Unable to find a virtual machine with specified vmId"));
        };
        self.may_operate(call.caller, vm.owner)?;
        Ok((number, vm))
    }

    fn submit_for_vm(&mut self, call: &Call, work: Work) -> Result<Value, Refusal> {
        let (number, vm) = self.vm_of(call)?;
        let id = vm.id.clone();
        self.submit(call, work, Some(number), Some(("VirtualMachine", &id)))
    }

    pub(super) fn start_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        if call.given.entity("hostid").is_some() && !call.caller.is_root() {
            return Err(Refusal::denied("Parameter hostid can only be specified by a Root Admin"));
        }
        self.submit_for_vm(call, Work::Start)
    }

    pub(super) fn stop_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        self.submit_for_vm(call, Work::Stop)
    }

    pub(super) fn reboot_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (_, vm) = self.vm_of(call)?;
        if vm.state != VmState::Running {
            let text = format!("Unable to reboot VM {}: it is {}", vm.id, vm.state.name());
            return Err(Refusal::value(text));
        }
        self.submit_for_vm(call, Work::Reboot)
    }

    pub(super) fn destroy_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (number, vm) = self.vm_of(call)?;
        if vm.delete_protection {
            let text = format!("VM {} has delete protection enabled and cannot be deleted.", vm.id);
            return Err(Refusal::value(text));
        }
        let volumes = call.given.entities("volumeids").unwrap_or_default().to_vec();
        for volume in &volumes {
            let found = self.estate.volumes.get(volume);
            if found.is_none_or(|volume| volume.vm != Some(number) || volume.is_root) {
                let text = "Unable to destroy a volume: it is no data volume of this VM";
                return Err(Refusal::value(text));
            }
        }
        let expunge = call.given.flag("expunge");
        let may_expunge = call.caller.kind != AccountKind::User || self.behaviour.users_may_expunge;
        self.submit_for_vm(call, Work::Destroy { expunge, may_expunge, volumes })
    }

    pub(super) fn expunge_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (_, vm) = self.vm_of(call)?;
        if call.caller.kind == AccountKind::User && !self.behaviour.users_may_expunge {
            let text = "Expunging a vm can only be done by an Admin. Or when the \
                        allow.user.expunge.recover.vm key is set.";
            return Err(Refusal::denied(text));
        }
        if !vm.state.is_destroyed() && vm.state != VmState::Error {
            let text = format!("Please destroy VM {} before expunging it", vm.id);
            return Err(Refusal::value(text));
        }
        self.submit_for_vm(call, Work::Expunge)
    }

    pub(super) fn update_vm(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (number, vm) = self.vm_of(call)?;
        let given = &call.given;
        if let Some(name) = given.text("name") {
            check_host_name(name)?;
            let networks: Vec<Number> = vm.nics.iter().map(|nic| nic.network).collect();
            self.refuse_taken_name(name, &networks, number)?;
        }
        let user_data =
            given.text("userdata").map(|text| self.user_data(text, call)).transpose()?;
        let details = given.fields("details");
        check_details(&details)?;
        let now = self.agenda.now();
        let Some(vm) = self.estate.vms.get_mut(&number) else {
            return Err(Refusal::value("Unable to find a virtual machine with specified vmId"));
        };
        let put = |place: &mut String, name: &str| {
            if let Some(text) = given.text(name) {
                text.clone_into(place);
            }
        };
        put(&mut vm.name, "name");
        put(&mut vm.display_name, "displayname");
        put(&mut vm.group, "group");
        if let Some(user_data) = user_data {
            vm.user_data = user_data;
        }
        if given.flag("cleanupdetails") {
            vm.details.clear();
        } else if !details.is_empty() {
            // The new ones replace all of the old ones.
            vm.details = details;
        }
        if let Some(protected) = given.choice("deleteprotection") {
            vm.delete_protection = protected;
        }
        if let Some(groups) = given.entities("securitygroupids") {
            vm.security_groups = groups.iter().copied().collect();
        }
        vm.updated = now;
        self.changes += 1;
        let vm = &self.estate.vms[&number];
        Ok(json!({ "virtualmachine": self.vm_row(number, vm, Parts::ALL, call.caller) }))
    }

    /// Refuses a host name that another VM of the networks has.
    pub(super) fn refuse_taken_name(
        &self,
        name: &str,
        networks: &[Number],
        except: Number,
    ) -> Result<(), Refusal> {
        if self.estate.name_is_free(name, networks, except) {
            return Ok(());
        }
        Err(Refusal::value(format!(
            "The vm with hostName {name} already exists in the network domain: cs.internal; network \
             ids={networks:?}"
        )))
    }
}

/// Refuses names that hosts cannot have.
pub(super) fn check_host_name(name: &str) -> Result<(), Refusal> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let fits = (1..=63).contains(&name.len());
    let ends = name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.ends_with('-');
    if letters && fits && ends {
        return Ok(());
    }
    Err(Refusal::plain(
        code::PARAMETER,
        format!(
            "Invalid name {name}: a vm name has ASCII letters, digits and hyphens, is 1 to 63 \
             characters long, begins with a letter and does not end with a hyphen"
        ),
    ))
}

/// Refuses details that only administrators may set.
pub(super) fn check_details(
    details: &std::collections::BTreeMap<String, String>,
) -> Result<(), Refusal> {
    match details.keys().find(|key| key.to_ascii_lowercase().starts_with("extraconfig")) {
        Some(key) => Err(Refusal::value(format!("{key} cannot be given as a detail"))),
        None => Ok(()),
    }
}

fn is_of_state(state: VmState, wanted: &str) -> bool {
    if wanted.eq_ignore_ascii_case("Present") {
        return !state.is_destroyed();
    }
    wanted.eq_ignore_ascii_case(state.name())
}
