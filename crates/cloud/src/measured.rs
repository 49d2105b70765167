//! The memory that guests see.
//!
//! Firmware and the guest's kernel keep a part of an instance's memory; how much depends on the size
//! and on the image. The planner works with an estimate until a node of the same type and image has
//! joined, and with the capacity of that node from then on.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::resources::MEMORY;

use crate::instance::Measured;

const MIB: i64 = 1 << 20;

/// The memory that nodes reported. It is not stored: the next process learns it from the same nodes.
#[derive(Debug, Default)]
pub struct MeasuredMemory {
    /// Bytes by type and image.
    seen: BTreeMap<(String, String), i64>,
    /// Existing instances, by provider id.
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    memory_mib: u64,
    /// Whether its memory equals that of its type. Instances of a predecessor may have more.
    is_exact: bool,
}

impl MeasuredMemory {
    /// Records how much memory an instance has, and whether this program made it.
    pub fn know(&mut self, provider_id: &str, memory_mib: u64, made_here: bool) {
        self.known.insert(provider_id.to_owned(), Known { memory_mib, is_exact: made_here });
    }

    /// Forgets every instance that is not in this list.
    pub fn keep<'m>(&mut self, existing: impl Iterator<Item = &'m str>) {
        let existing: BTreeSet<&str> = existing.collect();
        self.known.retain(|id, _| existing.contains(id.as_str()));
    }

    /// Learns from a node. Returns whether the node is dealt with: an instance that was not recorded
    /// yet is asked for again.
    pub fn learn(&mut self, measured: &Measured<'_>) -> bool {
        let Some(known) = self.known.get(measured.provider_id) else { return false };
        let memory = measured.capacity.get(MEMORY).floor();
        let all = i64::try_from(known.memory_mib).unwrap_or(i64::MAX).saturating_mul(MIB);
        if known.is_exact && (1..=all).contains(&memory) && !measured.image_id.is_empty() {
            let key = (measured.instance_type.to_owned(), measured.image_id.to_owned());
            // Pods have to fit on each node of the type.
            let least = self.seen.entry(key).or_insert(memory);
            *least = memory.min(*least);
        }
        true
    }

    /// The bytes that guests of an image see, by their type.
    pub fn of_image(&self, image: &str) -> BTreeMap<String, i64> {
        let own = self.seen.iter().filter(|((_, of), _)| of == image);
        own.map(|((instance_type, _), bytes)| (instance_type.clone(), *bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use joiner_core::{quantity::Quantity, resources::Resources};

    use super::*;

    const GIB: i64 = 1 << 30;

    fn learn(memory: &mut MeasuredMemory, id: &str, image: &str, bytes: i64) -> bool {
        let capacity = Resources::from_iter([(MEMORY, Quantity::bytes(bytes))]);
        memory.learn(&Measured {
            provider_id: id,
            instance_type: "small",
            image_id: image,
            capacity: &capacity,
        })
    }

    #[test]
    fn the_smallest_memory_of_a_type_and_image_counts_for_all() {
        let mut memory = MeasuredMemory::default();
        memory.know("a", 4096, true);
        memory.know("b", 4096, true);
        assert!(learn(&mut memory, "a", "/dc1/vm/ubuntu", 4 * GIB - 200));
        assert!(learn(&mut memory, "b", "/dc1/vm/ubuntu", 4 * GIB - 300));
        assert!(learn(&mut memory, "a", "/dc1/vm/flatcar", 4 * GIB - 100));
        assert_eq!(memory.of_image("/dc1/vm/ubuntu")["small"], 4 * GIB - 300);
        assert_eq!(memory.of_image("/dc1/vm/flatcar")["small"], 4 * GIB - 100);
        assert!(memory.of_image("/dc1/vm/photon").is_empty());
    }

    #[test]
    fn an_instance_with_more_memory_than_its_type_teaches_nothing() {
        let mut memory = MeasuredMemory::default();
        assert!(!learn(&mut memory, "a", "i", 4 * GIB), "it was not recorded yet");
        memory.know("a", 4296, false);
        assert!(learn(&mut memory, "a", "i", 4 * GIB));
        memory.know("b", 4096, true);
        assert!(learn(&mut memory, "b", "i", 5 * GIB), "no guest sees more than there is");
        assert!(memory.of_image("i").is_empty());
        memory.keep(["b"].into_iter());
        assert!(!learn(&mut memory, "a", "i", 4 * GIB));
    }
}
