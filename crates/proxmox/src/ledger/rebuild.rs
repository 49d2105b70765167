//! The ledger after a restart.

use jiff::Timestamp;
use joiner_cloud::order::ClaimId;

use super::{Entry, Ledger};
use crate::capacity::{host::Demand, region::Region, storage::StorageKey};

/// What a claim says of its instance. Region, zone and number are kept on the claim before the clone
/// is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimRecord {
    /// The claim.
    pub claim: ClaimId,
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
    /// The number of its virtual machine.
    pub vmid: u32,
    /// What its type takes of a host.
    pub demand: Demand,
    /// The storage of its disk, and the disk's size in bytes.
    pub disk: Option<(StorageKey, u64)>,
    /// Its addresses, as its annotation has them.
    pub addresses: Vec<std::net::IpAddr>,
}

/// A claim whose instance is in a region that could not be looked at. Its room is held, because
/// nothing says that it is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The claim.
    pub claim: ClaimId,
    /// The region.
    pub region: String,
}

impl Ledger {
    /// The ledger that follows from claims and from the regions that could be looked at.
    ///
    /// Every claim that was given a number has its room until its instance is seen to run. An
    /// instance that is not in a list keeps its room until it is released.
    pub fn rebuilt(
        lowest_vmid: u32,
        claims: Vec<ClaimRecord>,
        regions: &[&Region],
        now: Timestamp,
    ) -> (Self, Vec<Lost>) {
        let mut ledger = Self::new(lowest_vmid);
        let mut lost = Vec::new();
        for record in claims {
            let ClaimRecord { claim, region, zone, vmid, demand, disk, addresses } = record;
            if !regions.iter().any(|own| own.name == region) {
                lost.push(Lost { claim: claim.clone(), region: region.clone() });
            }
            for address in addresses {
                ledger.addresses.bind(&claim.uid, address);
            }
            let uid = claim.uid.clone();
            let entry = Entry { claim, region, zone, vmid, demand, disk, is_running: false };
            ledger.entries.insert(uid, entry);
        }
        for region in regions {
            ledger.see(region);
        }
        ledger.addresses.begin(now);
        (ledger, lost)
    }
}
