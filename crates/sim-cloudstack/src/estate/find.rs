//! Finding objects by name, for what tests and the demonstration do from outside.

use super::{Estate, Kind, Number, Vm};

impl Estate {
    /// The first object of a kind that has a name.
    pub(crate) fn named(&self, kind: Kind, name: &str) -> Option<Number> {
        fn first<'m, T>(
            mut all: impl Iterator<Item = (&'m Number, &'m T)>,
            has: impl Fn(&T) -> bool,
        ) -> Option<Number>
        where
            T: 'm,
        {
            all.find(|(_, object)| has(object)).map(|(number, _)| *number)
        }
        match kind {
            Kind::Domain => first(self.domains.iter(), |domain| domain.name == name),
            Kind::Account | Kind::User => first(self.accounts.iter(), |it| it.name == name),
            Kind::Project => first(self.projects.iter(), |project| project.name == name),
            Kind::Zone => first(self.zones.iter(), |zone| zone.facts.name == name),
            Kind::Host => first(self.hosts.iter(), |host| host.facts.name == name),
            Kind::Network => first(self.networks.iter(), |network| network.facts.name == name),
            Kind::Template => first(self.templates.iter(), |it| it.facts.name == name),
            Kind::ServiceOffering => {
                first(self.service_offerings.iter(), |it| it.facts.name == name)
            }
            Kind::DiskOffering => first(self.disk_offerings.iter(), |it| it.facts.name == name),
            Kind::KeyPair => first(self.key_pairs.iter(), |pair| pair.name == name),
            Kind::AffinityGroup => first(self.affinity_groups.iter(), |group| group.name == name),
            Kind::SecurityGroup => first(self.security_groups.iter(), |group| group.name == name),
            Kind::Vm => first(self.vms.iter(), |vm| vm.name == name),
            Kind::Volume => first(self.volumes.iter(), |volume| volume.name == name),
            Kind::Job | Kind::Other => None,
        }
    }

    /// The id of an object.
    pub(crate) fn id(&self, kind: Kind, number: Number) -> Option<&str> {
        let known = self.ids.iter().find(|(_, known)| **known == (kind, number));
        known.map(|(id, _)| id.as_str())
    }

    /// The VM that has an address.
    pub(crate) fn vm_at(&self, address: &str) -> Option<(&Vm, Number)> {
        self.vms.iter().find_map(|(number, vm)| {
            let has = vm.nics.iter().any(|nic| self.address(nic).as_deref() == Some(address));
            has.then_some((vm, *number))
        })
    }
}
