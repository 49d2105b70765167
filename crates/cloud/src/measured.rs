//! How much memory guests really see.
//!
//! Firmware and the guest's kernel keep some of an instance's memory; how much depends on the size and
//! on the image. Until a node of the same type and image has joined it is a guess, from then on it is
//! what that node has.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::resources::MEMORY;

use crate::instance::Measured;

const MIB: i64 = 1 << 20;

/// What nodes have shown, for as long as the process lives: they show it again to the next one.
#[derive(Debug, Default)]
pub struct MeasuredMemory {
    /// Bytes by type and image.
    seen: BTreeMap<(String, String), i64>,
    /// Instances that exist, by provider id.
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    memory_mib: u64,
    /// Whether its memory is what its type says; the predecessor's have more.
    is_exact: bool,
}

impl MeasuredMemory {
    /// Takes note of how much memory an instance has, and whether it was made here.
    pub fn know(&mut self, provider_id: &str, memory_mib: u64, made_here: bool) {
        self.known.insert(provider_id.to_owned(), Known { memory_mib, is_exact: made_here });
    }

    /// Forgets instances that are gone.
    pub fn keep<'m>(&mut self, there: impl Iterator<Item = &'m str>) {
        let there: BTreeSet<&str> = there.collect();
        self.known.retain(|id, _| there.contains(id.as_str()));
    }

    /// Learns from a node; answers whether there is nothing more to learn from it. Of an instance that
    /// nobody has looked at yet it is not known whether it has what its type says.
    pub fn learn(&mut self, measured: &Measured<'_>) -> bool {
        let Some(known) = self.known.get(measured.provider_id) else { return false };
        let memory = measured.capacity.get(MEMORY).floor();
        let all = i64::try_from(known.memory_mib).unwrap_or(i64::MAX).saturating_mul(MIB);
        if known.is_exact && (1..=all).contains(&memory) && !measured.image_id.is_empty() {
            let key = (measured.instance_type.to_owned(), measured.image_id.to_owned());
            // Pods have to fit on each of them.
            let least = self.seen.entry(key).or_insert(memory);
            *least = memory.min(*least);
        }
        true
    }

    /// What guests of an image see, by their type.
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
    fn the_least_that_a_guest_of_a_type_and_image_sees_is_what_all_have() {
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
    fn nothing_is_learnt_from_instances_that_have_more_than_their_type_says() {
        let mut memory = MeasuredMemory::default();
        assert!(!learn(&mut memory, "a", "i", 4 * GIB), "nobody has looked at it yet");
        memory.know("a", 4296, false);
        assert!(learn(&mut memory, "a", "i", 4 * GIB));
        memory.know("b", 4096, true);
        assert!(learn(&mut memory, "b", "i", 5 * GIB), "no guest sees more than there is");
        assert!(memory.of_image("i").is_empty());
        memory.keep(["b"].into_iter());
        assert!(!learn(&mut memory, "a", "i", 4 * GIB));
    }
}
