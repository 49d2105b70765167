//! Making the estate of what an inventory says.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Account, AffinityGroup, DiskOffering, Domain, Estate, Host, KeyPair, Kind, Network, Number,
    Owner, Project, SecurityGroup, ServiceOffering, Template, Vm, VmState, Zone,
    limit::{Limits, Resource},
};
use crate::inventory::{self, Inventory, InventoryError};

/// The domain that every account without another one is in.
const ROOT: &str = "ROOT";

impl Estate {
    pub(crate) fn build(inventory: &Inventory) -> Result<Self, InventoryError> {
        let mut estate = Self::empty(inventory.seed);
        estate.build_accounts(inventory)?;
        estate.build_places(inventory)?;
        estate.build_networks(inventory)?;
        estate.build_templates(inventory)?;
        estate.build_offerings(inventory)?;
        estate.build_groups(inventory)?;
        for vm in &inventory.vms {
            estate.build_vm(vm)?;
        }
        Ok(estate)
    }

    fn find(&self, kind: Kind, name: &str, referrer: &str) -> Result<Number, InventoryError> {
        let word = match kind {
            Kind::Domain => "domain",
            Kind::Account => "account",
            Kind::Project => "project",
            Kind::Zone => "zone",
            Kind::Network => "network",
            Kind::Template => "template",
            Kind::ServiceOffering => "service offering",
            _ => "object",
        };
        self.named(kind, name).ok_or_else(|| InventoryError {
            kind: word,
            name: name.to_owned(),
            referrer: referrer.to_owned(),
        })
    }

    fn build_accounts(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        for name in std::iter::once(ROOT).chain(inventory.domains.iter().map(String::as_str)) {
            let (number, id) = self.identify(Kind::Domain);
            self.domains.insert(number, Domain { id, name: name.to_owned() });
        }
        for account in &inventory.accounts {
            let domain = if account.domain.is_empty() { ROOT } else { &account.domain };
            let domain = self.find(Kind::Domain, domain, &account.name)?;
            let (number, id) = self.identify(Kind::Account);
            let (_, user_id) = self.identify(Kind::User);
            let made = Account {
                id,
                user_id,
                name: account.name.clone(),
                domain,
                kind: account.kind,
                api_key: account.api_key.clone(),
                secret_key: account.secret_key.clone(),
                lacks: account.lacks.iter().map(|name| name.to_ascii_lowercase()).collect(),
                limits: limits(&account.limits, &account.name)?,
                disabled: account.disabled,
            };
            self.accounts.insert(number, made);
        }
        for project in &inventory.projects {
            let members = project.members.iter();
            let members = members.map(|name| self.find(Kind::Account, name, &project.name));
            let members = members.collect::<Result<_, _>>()?;
            let domain = self.find(Kind::Domain, ROOT, &project.name)?;
            let (number, id) = self.identify(Kind::Project);
            let limits = limits(&project.limits, &project.name)?;
            let made = Project { id, name: project.name.clone(), domain, members, limits };
            self.projects.insert(number, made);
        }
        Ok(())
    }

    fn build_places(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        for zone in &inventory.zones {
            let (number, id) = self.identify(Kind::Zone);
            self.zones.insert(number, Zone { id, facts: zone.clone() });
        }
        for host in &inventory.hosts {
            let zone = self.find(Kind::Zone, &host.zone, &host.name)?;
            let (number, id) = self.identify(Kind::Host);
            self.hosts.insert(number, Host { id, zone, facts: host.clone(), connected: true });
        }
        Ok(())
    }

    fn build_networks(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        for network in &inventory.networks {
            let zone = self.find(Kind::Zone, &network.zone, &network.name)?;
            let owner = match (network.account.as_str(), network.project.as_str()) {
                ("", "") => None,
                (account, "") => {
                    Some(Owner::Account(self.find(Kind::Account, account, &network.name)?))
                }
                (_, project) => {
                    Some(Owner::Project(self.find(Kind::Project, project, &network.name)?))
                }
            };
            let (number, id) = self.identify(Kind::Network);
            let made = Network {
                id,
                zone,
                owner,
                facts: network.clone(),
                state: network.state.clone(),
                taken: std::collections::BTreeSet::new(),
            };
            self.networks.insert(number, made);
            self.put_tags(Kind::Network, number, &network.tags);
        }
        Ok(())
    }

    fn build_templates(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        let mut os_types = BTreeMap::<&str, String>::new();
        for (age, template) in inventory.templates.iter().enumerate() {
            let owner = self.find(Kind::Account, &template.account, &template.name)?;
            let mut zones = BTreeMap::new();
            for (names, ready) in [(&template.ready_in, true), (&template.pending_in, false)] {
                for name in names {
                    zones.insert(self.find(Kind::Zone, name, &template.name)?, ready);
                }
            }
            let known = os_types.get(template.os_type.as_str()).cloned();
            let os_type_id = known.unwrap_or_else(|| self.identify(Kind::Other).1);
            os_types.insert(&template.os_type, os_type_id.clone());
            let (number, id) = self.identify(Kind::Template);
            // One second apart, so that the newest one can be told.
            let created = Duration::from_secs(age as u64);
            let facts = template.clone();
            let made = Template { id, owner, facts, zones, os_type_id, created };
            self.templates.insert(number, made);
            self.put_tags(Kind::Template, number, &template.tags);
        }
        Ok(())
    }

    fn build_offerings(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        let zones_of = |estate: &Self, zones: &[String], name: &str| {
            zones.iter().map(|zone| estate.find(Kind::Zone, zone, name)).collect::<Result<_, _>>()
        };
        for offering in &inventory.service_offerings {
            let zones = zones_of(self, &offering.zones, &offering.name)?;
            let domain = match offering.domain.as_str() {
                "" => None,
                domain => Some(self.find(Kind::Domain, domain, &offering.name)?),
            };
            let (number, id) = self.identify(Kind::ServiceOffering);
            let (facts, created) = (offering.clone(), Duration::ZERO);
            let made = ServiceOffering { id, facts, zones, domain, created };
            self.service_offerings.insert(number, made);
        }
        for offering in &inventory.disk_offerings {
            let zones = zones_of(self, &offering.zones, &offering.name)?;
            let (number, id) = self.identify(Kind::DiskOffering);
            self.disk_offerings.insert(number, DiskOffering { id, facts: offering.clone(), zones });
        }
        Ok(())
    }

    fn build_groups(&mut self, inventory: &Inventory) -> Result<(), InventoryError> {
        for (account, name) in &inventory.key_pairs {
            let owner = Owner::Account(self.find(Kind::Account, account, name)?);
            let (number, id) = self.identify(Kind::KeyPair);
            self.key_pairs.insert(number, KeyPair { id, name: name.clone(), owner });
        }
        for (account, name, kind) in &inventory.affinity_groups {
            let owner = Owner::Account(self.find(Kind::Account, account, name)?);
            let (number, id) = self.identify(Kind::AffinityGroup);
            let (name, kind, description) = (name.clone(), kind.clone(), String::new());
            let made = AffinityGroup { id, name, kind, description, owner };
            self.affinity_groups.insert(number, made);
        }
        for (account, name) in &inventory.security_groups {
            let owner = Owner::Account(self.find(Kind::Account, account, name)?);
            let (number, id) = self.identify(Kind::SecurityGroup);
            self.security_groups.insert(number, SecurityGroup { id, name: name.clone(), owner });
        }
        Ok(())
    }

    fn build_vm(&mut self, vm: &inventory::Vm) -> Result<(), InventoryError> {
        let network = self.find(Kind::Network, &vm.network, &vm.name)?;
        let template = self.find(Kind::Template, &vm.template, &vm.name)?;
        let offering = self.find(Kind::ServiceOffering, &vm.offering, &vm.name)?;
        let owner = match vm.project.as_str() {
            "" => Owner::Account(self.find(Kind::Account, &vm.account, &vm.name)?),
            project => Owner::Project(self.find(Kind::Project, project, &vm.name)?),
        };
        let nics = self.plug(&[network]).map_err(|_| InventoryError {
            kind: "free address in network",
            name: vm.network.clone(),
            referrer: vm.name.clone(),
        })?;
        let facts = &self.service_offerings[&offering].facts;
        let (cpus, mhz) = (facts.cpus.unwrap_or(1), facts.mhz.unwrap_or(1000));
        let memory_mib = facts.memory_mib.unwrap_or(1024);
        let (number, id) = self.identify(Kind::Vm);
        let mut made = Vm {
            id,
            name: vm.name.clone(),
            display_name: vm.name.clone(),
            owner,
            zone: self.networks[&network].zone,
            template,
            offering,
            cpus,
            mhz,
            memory_mib,
            state: VmState::Running,
            host: None,
            nics,
            details: BTreeMap::new(),
            user_data: String::new(),
            user_data_details: BTreeMap::new(),
            key_pairs: Vec::new(),
            affinity_groups: std::collections::BTreeSet::new(),
            security_groups: std::collections::BTreeSet::new(),
            group: String::new(),
            delete_protection: false,
            created: Duration::ZERO,
            updated: Duration::ZERO,
        };
        // What runs already has room, whatever it takes: hosts of the zone take turns.
        let hosts: Vec<Number> = self
            .hosts
            .iter()
            .filter(|(_, host)| host.zone == made.zone)
            .map(|(number, _)| *number)
            .collect();
        made.host = hosts.get(self.vms.len() % hosts.len().max(1)).copied();
        self.vms.insert(number, made);
        self.put_tags(Kind::Vm, number, &vm.tags);
        Ok(())
    }

    fn put_tags(&mut self, kind: Kind, number: Number, tags: &BTreeMap<String, String>) {
        for (key, value) in tags {
            self.tags.put(kind, number, key, value);
        }
    }
}

fn limits(named: &BTreeMap<String, u64>, referrer: &str) -> Result<Limits, InventoryError> {
    let read = |(name, limit): (&String, &u64)| {
        let resource = Resource::ALL.into_iter().find(|resource| resource.name() == name);
        let resource = resource.ok_or_else(|| InventoryError {
            kind: "resource",
            name: name.clone(),
            referrer: referrer.to_owned(),
        })?;
        Ok((resource, *limit))
    };
    named.iter().map(read).collect()
}
