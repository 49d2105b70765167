//! Asking where in a cluster of datastores a VM should go.

use super::{Request, returned};
use crate::{
    fault::Fault,
    reference::{Kind, Ref},
    wire::value::Value::{self, Data, Float, Int, List, Ref as Named, Time},
    world::World,
};

impl World {
    /// The members of a datastore cluster that can take something, those with most space first.
    pub(super) fn recommend_datastores(&self, request: &Request<'_>) -> Result<String, Fault> {
        let spec = request.call.child("storageSpec");
        let pod = spec.and_then(|spec| spec.at(&["podSelectionSpec", "storagePod"]));
        let pod = self.present(pod)?;
        if pod.kind != Kind::StoragePod {
            let why = "it is no datastore cluster";
            let property = "storageSpec.podSelectionSpec.storagePod";
            return Err(Fault::invalid_argument(property, why));
        }
        let vm = spec.and_then(|spec| spec.child("vm")).map(|vm| self.present(Some(vm)));
        let vm = vm.transpose()?;
        let mut members: Vec<(u64, Ref)> = self
            .estate
            .tree
            .children(pod)
            .filter_map(|member| Some((member, self.estate.datastores.get(&member)?)))
            .filter(|(_, own)| own.is_usable() && own.free_bytes() > 0)
            .map(|(member, own)| (own.free_bytes(), member))
            .collect();
        members.sort_by(|(free, one), (other_free, other)| {
            other_free.cmp(free).then_with(|| one.cmp(other))
        });
        let recommendations = members.iter().enumerate().map(|(at, (_, member))| {
            let location = Data("VirtualMachineRelocateSpec", vec![("datastore", Named(*member))]);
            let used = self.estate.datastores.get(member).map_or(0.0, |own| {
                own.used_bytes as f32 * 100.0 / own.capacity_bytes.max(1) as f32
            });
            let action = Value::sub(
                "StoragePlacementAction",
                vec![
                    ("type", Value::text("StoragePlacementV1")),
                    ("target", Named(*member)),
                    ("vm", Value::maybe(vm, Named)),
                    ("relocateSpec", location),
                    ("destination", Named(*member)),
                    ("spaceUtilBefore", Float(used)),
                ],
            );
            Data(
                "ClusterRecommendation",
                vec![
                    ("key", Value::text((at + 1).to_string())),
                    ("type", Value::text("V1")),
                    ("time", Time(self.moment(self.agenda.now()))),
                    ("rating", Int(5 - at.min(4) as i32)),
                    ("reason", Value::text("storagePlacement")),
                    ("reasonText", Value::text("Satisfy storage initial placement requests")),
                    ("action", List("ClusterAction", vec![action])),
                    ("target", Named(*member)),
                ],
            )
        });
        let recommendations = List("ClusterRecommendation", recommendations.collect());
        let result = Data("StoragePlacementResult", vec![("recommendations", recommendations)]);
        Ok(returned(&result))
    }
}
