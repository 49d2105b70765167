//! Making volumes, as the provisioner of a class would.

use jiff::Timestamp;
use joiner_core::label::{Labels, ZONE};
use serde_json::{Value, json};

use super::{
    BOUND_BY_CONTROLLER, Claim, Class, Item, MAKING_TAKES, Refused, SELECTED_NODE, Tone,
    VOLUME_IN_USE, Volumes, later, reference,
};

impl Volumes {
    /// Starts making the volume of a claim, or finishes it when its time has come.
    pub(super) fn make(&mut self, claim: &Claim, now: Timestamp) -> Result<(), Refused> {
        let name = claim.class.as_deref().unwrap_or_default();
        let Some(class) = self.classes.get(name).cloned() else { return Ok(()) };
        self.pend(claim)?;
        let Some(ready) = self.making.get(&claim.key) else {
            let ready = later(now, MAKING_TAKES);
            self.making.insert(claim.key.clone(), ready);
            self.timers.add(ready, Item::Claim(claim.key.clone()));
            let annotation = json!({"volume.kubernetes.io/storage-provisioner": class.provisioner});
            self.patch_claim(&claim.key, None, json!({"metadata": {"annotations": annotation}}))?;
            let message = format!(
                "Waiting for a volume to be created either by the external provisioner '{}' or \
                 manually by the system administrator. If volume creation is delayed, please \
                 verify that the provisioner is running and correctly registered.",
                class.provisioner
            );
            self.tell(claim, Tone::Normal, "ExternalProvisioning", &message, now);
            return Ok(());
        };
        if now < *ready {
            return Ok(());
        }
        self.making.remove(&claim.key);
        let node = match &claim.selected_node {
            None => None,
            Some(name) => match self.nodes.get(name.as_str()) {
                Some(labels) => Some(labels),
                None => {
                    // The node is gone: the scheduler has to choose again.
                    let patch = json!({"metadata": {"annotations": {SELECTED_NODE: null}}});
                    return self.patch_claim(&claim.key, None, patch);
                }
            },
        };
        self.caller.create(&self.pvs, volume(claim, &class, node))?;
        let message = format!("Successfully provisioned volume {}", claim.made_volume());
        self.tell(claim, Tone::Normal, "ProvisioningSucceeded", &message, now);
        Ok(())
    }
}

/// The volume that is made for a claim, near a node if the claim waits for one.
fn volume(claim: &Claim, class: &Class, node: Option<&Labels>) -> Value {
    let name = claim.made_volume();
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {
                "pv.kubernetes.io/provisioned-by": class.provisioner,
                BOUND_BY_CONTROLLER: "yes",
            },
            "finalizers": [VOLUME_IN_USE],
        },
        "spec": {
            "capacity": {"storage": claim.size.to_string()},
            "accessModes": claim.modes,
            "volumeMode": claim.mode,
            "storageClassName": &*class.name,
            "persistentVolumeReclaimPolicy": class.reclaim,
            "claimRef": reference(claim),
            "csi": {"driver": class.provisioner, "volumeHandle": name},
        },
    });
    let place = place(class, node);
    if !place.is_empty() {
        let expressions: Vec<_> = place
            .iter()
            .map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}))
            .collect();
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}});
    }
    volume
}

/// Where a volume is made: where the node is, by the keys that the class names or by its zone;
/// without a node, in the first place that the class allows.
fn place<'a>(class: &'a Class, node: Option<&'a Labels>) -> Vec<(&'a str, &'a str)> {
    match node {
        Some(labels) => {
            let keys = class.topology_of(labels).unwrap_or_default();
            let mut keys: Vec<_> = keys.iter().map(|(key, _)| key.as_str()).collect();
            if keys.is_empty() {
                keys.push(ZONE);
            }
            keys.iter().filter_map(|key| Some((*key, labels.get(*key)?.as_str()))).collect()
        }
        None => {
            let first = class.topologies.iter().flatten().next().into_iter().flatten();
            first
                .filter_map(|(key, values)| Some((key.as_str(), values.first()?.as_str())))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_made_where_the_class_and_the_node_agree() {
        let class = |topologies| Class {
            name: "fast".into(),
            provisioner: "csi.example.com".into(),
            waits: true,
            reclaim: "Delete".into(),
            default: false,
            topologies,
        };
        let rack = |values: &[&str]| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            vec![("rack".to_owned(), values)]
        };
        let node: Labels = [(ZONE, "z1"), ("rack", "r2")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let open = class(None);
        let racks = class(Some(vec![rack(&["r1"]), rack(&["r2", "r3"])]));
        assert_eq!(place(&open, Some(&node)), [(ZONE, "z1")]);
        assert_eq!(place(&racks, Some(&node)), [("rack", "r2")]);
        assert_eq!(place(&racks, None), [("rack", "r1")]);
        assert_eq!(place(&open, None), []);
    }
}
