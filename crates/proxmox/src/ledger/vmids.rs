//! Numbers of virtual machines.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

use crate::configuration::settings::VMIDS;

/// How long a number is not given out again after its virtual machine is gone: others may still take
/// it for the one that was.
pub const QUARANTINE: Duration = Duration::from_mins(5);

/// Numbers that cannot be given out now. Regions have numbers of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vmids {
    lowest: u32,
    /// Until when a number is not given out, by region and number.
    avoided: BTreeMap<(String, u32), Timestamp>,
}

impl Vmids {
    /// Numbers from this one on.
    pub fn new(lowest: u32) -> Self {
        Self { lowest, avoided: BTreeMap::new() }
    }

    /// The lowest number that is given out.
    pub fn lowest(&self) -> u32 {
        self.lowest
    }

    /// Does not give out a number for a while.
    pub fn avoid(&mut self, region: &str, vmid: u32, now: Timestamp) {
        self.avoided.retain(|_, until| *until > now);
        let until = now.saturating_add(QUARANTINE).unwrap_or(Timestamp::MAX);
        self.avoided.insert((region.to_owned(), vmid), until);
    }

    /// The lowest number that is neither taken nor avoided.
    pub fn lowest_free(
        &self,
        region: &str,
        taken: impl Iterator<Item = u32>,
        now: Timestamp,
    ) -> Option<u32> {
        let taken: BTreeSet<u32> = taken.filter(|vmid| *vmid >= self.lowest).collect();
        let is_avoided = |vmid: u32| {
            let until = self.avoided.get(&(region.to_owned(), vmid));
            until.is_some_and(|until| *until > now)
        };
        let first = self.lowest.max(*VMIDS.start());
        (first..=*VMIDS.end()).find(|vmid| !taken.contains(vmid) && !is_avoided(*vmid))
    }
}
