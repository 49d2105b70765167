//! The picture of a vCenter for viewers.

use joiner_sim_vcenter::{HostPicture, Picture, VmPicture};
use joiner_view::{
    scene::Amount,
    site::{Datastore, Failure, Host, Power, Site, VirtualMachine},
};

/// What makes a clone.
const CLONE: &str = "CloneVM_Task";

pub(super) fn site(picture: &Picture) -> Site {
    let clones = picture.tasks.iter().filter(|task| task.method == CLONE);
    let clones = clones.filter_map(|task| {
        let name = task.makes.clone()?;
        let power = Power::Cloning;
        Some(VirtualMachine { name, power, progress: Some(task.progress), ..Default::default() })
    });
    let instances = picture.vms.iter().filter(|vm| !vm.template).map(instance);
    let failures = picture.failed.iter().filter_map(|task| {
        let (id, instance, why) = (task.id.clone(), task.makes.clone()?, task.message.clone());
        Some(Failure { id, instance, why })
    });
    Site {
        name: "vCenter".to_owned(),
        hosts: picture.hosts.iter().map(host).collect(),
        datastores: picture
            .datastores
            .iter()
            .map(|own| Datastore {
                name: own.name.clone(),
                usable: own.usable,
                space: amount(own.used_bytes, own.capacity_bytes),
            })
            .collect(),
        instances: clones.chain(instances).collect(),
        failures: failures.collect(),
    }
}

fn amount(requested: u64, total: u64) -> Amount {
    Amount { requested: requested as f64, total: total as f64 }
}

fn host(own: &HostPicture) -> Host {
    Host {
        name: own.name.clone(),
        zone: own.cluster.clone(),
        up: own.connected && !own.maintenance,
        cpu: amount(own.cpus_used, own.cores.into()),
        memory: amount(own.memory_used_mib << 20, own.memory_mib << 20),
        instances: own.vms,
    }
}

fn instance(own: &VmPicture) -> VirtualMachine {
    VirtualMachine {
        name: own.name.clone(),
        host: own.host.clone(),
        datastore: own.datastore.clone(),
        power: match (own.powered_on, own.booted) {
            (false, _) => Power::Off,
            (true, false) => Power::Booting,
            (true, true) => Power::On,
        },
        progress: None,
    }
}
