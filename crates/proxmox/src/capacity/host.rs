//! What a host has left.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter},
};

use super::{cpu_set::CpuSet, pinning::Pinning, topology::Topology};
use crate::{MIB, configuration::settings::Policy};

/// A host, and what runs on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Host {
    /// Why it takes no instances at all; none where it does.
    pub out_of_use: Option<OutOfUse>,
    /// The share of its CPUs that is in use, in whole percent.
    pub load_percent: u32,
    /// Its CPUs and memory.
    pub topology: Topology,
    /// CPUs that it keeps for itself.
    pub reserved_cpus: CpuSet,
    /// Bytes of memory that it keeps for itself.
    pub reserved_memory: u64,
    /// How many virtual CPUs are given out for each CPU.
    pub cpu_overcommit: f64,
    /// How many bytes of memory are given out for each byte.
    pub memory_overcommit: f64,
    /// What its guests take, by their numbers.
    pub guests: BTreeMap<u32, Demand>,
    /// Guests of which it is not known whether they have CPUs of their own.
    pub unread: BTreeSet<u32>,
}

/// Why a host takes no instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfUse {
    /// It does not answer.
    Offline,
    /// An administrator is emptying it.
    Maintenance,
}

impl Display for OutOfUse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offline => "the host is offline",
            Self::Maintenance => "the host is in maintenance",
        })
    }
}

/// What an instance takes of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// Virtual CPUs.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// What it has for itself; none for an instance that runs on any CPU.
    pub pinning: Option<Pinning>,
}

/// What a host has left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Room {
    /// CPUs that are neither kept by the host nor by one guest.
    pub common: CpuSet,
    /// CPUs that guests have for themselves.
    pub pinned: CpuSet,
    /// CPUs that can still be given out.
    pub cpus: u32,
    /// Bytes of memory that can still be given out.
    pub memory: u64,
    /// Bytes of memory of each NUMA node that no guest is bound to.
    pub numa: BTreeMap<u32, u64>,
    /// CPUs that one instance can have at most.
    pub cpus_max: u32,
    /// How many guests there are of which it is not known whether they have CPUs of their own.
    pub unread: usize,
}

/// Why an instance does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The host takes no instances.
    #[error("{0}")]
    OutOfUse(OutOfUse),
    /// It has fewer CPUs than the instance, however empty it is.
    #[error("an instance has {needed} CPUs, and the host has {has}")]
    TooManyCpus {
        /// Of the instance.
        needed: u32,
        /// Of the host.
        has: u32,
    },
    /// Too few CPUs are left.
    #[error("{free} of {needed} CPUs are free")]
    Cpus {
        /// What is needed.
        needed: u32,
        /// What is left.
        free: u32,
    },
    /// Too little memory is left.
    #[error("{} of {} MiB of memory are free", .free / MIB, .needed / MIB)]
    Memory {
        /// What is needed, in bytes.
        needed: u64,
        /// What is left, in bytes.
        free: u64,
    },
    /// Which CPUs are free is not known yet.
    #[error("the configuration of {0} running virtual machines is not known yet")]
    Unread(usize),
    /// No CPUs can be given to the instance alone.
    #[error("{0}")]
    NotPinned(#[from] super::pinning::NotPinned),
}

impl Host {
    /// What is left when besides the guests `reserved` is there.
    pub fn room<'d>(&'d self, reserved: impl IntoIterator<Item = &'d Demand>) -> Room {
        self.room_beside(self.guests.values().chain(reserved), self.unread.len())
    }

    /// What is left when all of this is there.
    ///
    /// CPUs and memory are counted each by itself, and what is more than the host has leaves nothing.
    ///
    /// COMPAT: upstream leaves a guest out altogether, with its memory, when its CPUs do not fit.
    pub(crate) fn room_beside<'d>(
        &self,
        demands: impl Iterator<Item = &'d Demand>,
        unread: usize,
    ) -> Room {
        let mut pinned = CpuSet::default();
        let mut counted: u32 = 0;
        let mut memory: u64 = 0;
        let mut numa = self.topology.numa_memory.clone();
        for demand in demands {
            memory = memory.saturating_add(demand.memory);
            let Some(pinning) = &demand.pinning else {
                counted = counted.saturating_add(demand.cpus);
                continue;
            };
            pinned.add(&pinning.cpus);
            for binding in &pinning.numa {
                if let Some(free) = numa.get_mut(&binding.node) {
                    *free = free.saturating_sub(binding.memory_mib.saturating_mul(MIB));
                }
            }
        }
        let pinned = pinned.difference(&self.reserved_cpus);
        let all = &self.topology.cpus;
        let common = all.difference(&self.reserved_cpus).difference(&pinned);
        let to_give = stretched(u64::from(common.len()), self.cpu_overcommit) as u32;
        let own_memory = self.topology.memory().saturating_sub(self.reserved_memory);
        Room {
            cpus: to_give.saturating_sub(counted),
            memory: stretched(own_memory, self.memory_overcommit).saturating_sub(memory),
            cpus_max: all.len(),
            unread,
            common,
            pinned,
            numa,
        }
    }

    /// What an instance takes of this room, or why it does not fit. With the policy `static` it has
    /// CPUs of its own, if the host's topology is known; one that is a guess is only counted with.
    pub fn place(
        &self,
        room: &Room,
        policy: Policy,
        cpus: u32,
        memory: u64,
    ) -> Result<Demand, NoRoom> {
        self.check(room, policy, cpus, memory)?;
        let pinning = match policy {
            Policy::Static if self.topology.is_known() => {
                Some(Pinning::choose(&self.topology, room, cpus, memory)?)
            }
            Policy::Static | Policy::Simple => None,
        };
        Ok(Demand { cpus, memory, pinning })
    }

    /// Why an instance does not fit into this room, if it does not. Choosing its CPUs takes longer.
    pub fn check(&self, room: &Room, policy: Policy, cpus: u32, memory: u64) -> Result<(), NoRoom> {
        if let Some(why) = self.out_of_use {
            return Err(NoRoom::OutOfUse(why));
        }
        if cpus > room.cpus_max {
            return Err(NoRoom::TooManyCpus { needed: cpus, has: room.cpus_max });
        }
        if cpus > room.cpus {
            return Err(NoRoom::Cpus { needed: cpus, free: room.cpus });
        }
        if memory > room.memory {
            return Err(NoRoom::Memory { needed: memory, free: room.memory });
        }
        if policy == Policy::Static && self.topology.is_known() {
            if room.unread > 0 {
                return Err(NoRoom::Unread(room.unread));
            }
            Pinning::candidates(&self.topology, room, cpus, memory)?;
        }
        Ok(())
    }

    /// How a log shows what is left.
    pub fn told(&self, room: &Room, policy: Policy) -> String {
        let mut text = format!(
            "CPU: Free: {}, Static: [{}], Common: [{}], Reserved: [{}], Mem: {}M",
            room.cpus,
            room.pinned,
            room.common,
            self.reserved_cpus,
            room.memory / MIB
        );
        if policy == Policy::Static {
            let nodes = room.numa.iter().map(|(node, free)| format!(", N{node}:{}M", free / MIB));
            text.extend(nodes);
        }
        text
    }
}

/// An amount times a ratio of 1 or more, rounded down.
fn stretched(amount: u64, ratio: f64) -> u64 {
    if ratio > 1.0 { (amount as f64 * ratio).floor() as u64 } else { amount }
}
