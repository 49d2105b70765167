//! Affinity groups, security groups and SSH key pairs.

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    estate::{AffinityGroup, KeyPair, Kind, Owner},
    job::Work,
    refusal::Refusal,
    world::World,
};

/// The types of affinity groups.
const TYPES: [&str; 4] = [
    "host anti-affinity",
    "host affinity",
    "non-strict host anti-affinity",
    "non-strict host affinity",
];

impl World {
    pub(super) fn list_key_pairs(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let all = self.estate.key_pairs.iter();
        let rows: Vec<_> = all
            .filter(|(number, pair)| {
                self.shows(&scope, pair.owner)
                    && given.selects(**number)
                    && given.equals("name", &pair.name)
                    && given.mentions(&[&pair.name])
            })
            .collect();
        Ok(call.listed(&rows, |(_, pair)| self.key_pair_row(pair)))
    }

    pub(super) fn register_key_pair(&mut self, call: &Call) -> Result<Value, Refusal> {
        let owner = self.owner(call.caller, &call.given)?;
        let name = call.given.text("name").unwrap_or_default().to_owned();
        if self.estate.key_pairs.values().any(|pair| pair.owner == owner && pair.name == name) {
            let text = format!("A key pair with name '{name}' already exists.");
            return Err(Refusal::value(text));
        }
        let (number, id) = self.estate.identify(Kind::KeyPair);
        let pair = KeyPair { id, name, owner };
        let row = self.key_pair_row(&pair);
        self.estate.key_pairs.insert(number, pair);
        Ok(json!({ "keypair": row }))
    }

    fn key_pair_row(&self, pair: &KeyPair) -> Value {
        let hash = digest(&SHA256, pair.name.as_bytes());
        let fingerprint: Vec<String> =
            hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let fingerprint = fingerprint.join(":");
        self.owned(
            pair.owner,
            json!({ "id": pair.id, "name": pair.name, "fingerprint": fingerprint }),
        )
    }

    pub(super) fn list_affinity_groups(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let of_vm = given.entity("virtualmachineid").and_then(|vm| self.estate.vms.get(&vm));
        let all = self.estate.affinity_groups.iter();
        let rows: Vec<_> = all
            .filter(|(number, group)| {
                self.shows(&scope, group.owner)
                    && given.selects(**number)
                    && given.equals("name", &group.name)
                    && given.equals("type", &group.kind)
                    && given.mentions(&[&group.name, &group.kind])
                    && of_vm.is_none_or(|vm| vm.affinity_groups.contains(number))
            })
            .collect();
        Ok(call.listed(&rows, |(number, group)| {
            let members = self.estate.vms.values();
            let members = members.filter(|vm| vm.affinity_groups.contains(number));
            let members: Vec<&str> = members.map(|vm| vm.id.as_str()).collect();
            self.affinity_group_row(group, &members)
        }))
    }

    pub(crate) fn affinity_group_row(&self, group: &AffinityGroup, members: &[&str]) -> Value {
        let row = json!({
            "id": group.id,
            "name": group.name,
            "type": group.kind,
            "description": group.description,
            "virtualmachineIds": (!members.is_empty()).then_some(members),
        });
        self.owned(group.owner, without_nulls(row))
    }

    pub(super) fn create_affinity_group(&mut self, call: &Call) -> Result<Value, Refusal> {
        let owner = self.owner(call.caller, &call.given)?;
        let text = |name| call.given.text(name).unwrap_or_default().to_owned();
        let (name, kind, description) = (text("name"), text("type"), text("description"));
        if !TYPES.contains(&kind.as_str()) {
            return Err(Refusal::value(format!(
                "Unable to create affinity group, invalid type {kind}"
            )));
        }
        let taken = |group: &AffinityGroup| group.owner == owner && group.name == name;
        if self.estate.affinity_groups.values().any(taken) {
            return Err(Refusal::value(format!(
                "Unable to create affinity group, a group with name {name} already exists."
            )));
        }
        let (number, id) = self.estate.identify(Kind::AffinityGroup);
        let group = AffinityGroup { id: id.clone(), name, kind, description, owner };
        self.estate.affinity_groups.insert(number, group);
        self.submit(call, Work::CreateAffinityGroup(number), None, Some(("AffinityGroup", &id)))
    }

    pub(super) fn delete_affinity_group(&mut self, call: &Call) -> Result<Value, Refusal> {
        let owner = self.owner(call.caller, &call.given)?;
        let named = call.given.text("name");
        let found = match (call.given.entity("id"), named) {
            (Some(number), _) => Some(number),
            (None, Some(name)) => {
                let all = self.estate.affinity_groups.iter();
                let of_name = |group: &AffinityGroup| group.owner == owner && group.name == name;
                all.into_iter().find(|(_, group)| of_name(group)).map(|(number, _)| *number)
            }
            (None, None) => None,
        };
        let group = found.and_then(|number| self.estate.affinity_groups.get(&number));
        let (Some(number), Some(group)) = (found, group) else {
            let text = "Either the affinity group Id or group name must be specified";
            return Err(Refusal::value(text));
        };
        self.may_operate(call.caller, group.owner)?;
        let id = group.id.clone();
        self.submit(call, Work::DeleteAffinityGroup(number), None, Some(("AffinityGroup", &id)))
    }

    pub(super) fn list_security_groups(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let of_vm = given.entity("virtualmachineid").and_then(|vm| self.estate.vms.get(&vm));
        let all = self.estate.security_groups.iter();
        let rows: Vec<_> = all
            .filter(|(number, group)| {
                self.shows(&scope, group.owner)
                    && given.selects(**number)
                    && given.equals("securitygroupname", &group.name)
                    && given.mentions(&[&group.name])
                    && of_vm.is_none_or(|vm| vm.security_groups.contains(number))
            })
            .collect();
        Ok(call.listed(&rows, |(_, group)| {
            self.owned(group.owner, json!({ "id": group.id, "name": group.name, "tags": [] }))
        }))
    }

    pub(super) fn list_projects(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let all = self.estate.projects.iter();
        let rows: Vec<_> = all
            .filter(|(number, project)| {
                (call.caller.is_root() || project.members.contains(&call.caller.account))
                    && given.selects(**number)
                    && given.equals("name", &project.name)
                    && given.equals("state", "Active")
                    && given.mentions(&[&project.name])
            })
            .collect();
        Ok(call.listed(&rows, |(number, project)| {
            let domain = &self.estate.domains[&project.domain];
            json!({
                "id": project.id,
                "name": project.name,
                "displaytext": project.name,
                "state": "Active",
                "domainid": domain.id,
                "domain": domain.name,
                "tags": self.tag_rows(Kind::Project, **number, Owner::Project(**number)),
            })
        }))
    }
}
