//! Volumes.

use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    estate::{Kind, Number, Volume, VolumeState},
    job::Work,
    refusal::Refusal,
    world::World,
};

impl World {
    pub(super) fn list_volumes(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let tags = given.pairs("tags")?;
        let shown = |number: &Number, volume: &Volume| {
            let same = |name: &str, of: Option<Number>| {
                given.entity(name).is_none_or(|wanted| Some(wanted) == of)
            };
            self.shows(&scope, volume.owner)
                && given.selects(*number)
                && given.equals("name", &volume.name)
                && given.mentions(&[&volume.name])
                && given.equals("type", kind(volume))
                && given.equals("state", volume.state.name())
                && same("virtualmachineid", volume.vm)
                && same("zoneid", Some(volume.zone))
                && same("diskofferingid", volume.disk_offering)
                && self.estate.tags.matches(Kind::Volume, *number, &tags)
        };
        let all = self.estate.volumes.iter();
        let rows: Vec<_> = all.filter(|(number, volume)| shown(number, volume)).collect();
        Ok(call.listed(&rows, |(number, volume)| self.volume_row(**number, volume)))
    }

    pub(crate) fn volume_row(&self, number: Number, volume: &Volume) -> Value {
        let zone = &self.estate.zones[&volume.zone];
        let vm = volume.vm.and_then(|vm| self.estate.vms.get(&vm));
        let offering = volume.disk_offering.and_then(|it| self.estate.disk_offerings.get(&it));
        let row = json!({
            "id": volume.id,
            "name": volume.name,
            "type": kind(volume),
            "state": volume.state.name(),
            "size": volume.size_gib << 30,
            "zoneid": zone.id,
            "zonename": zone.facts.name,
            "virtualmachineid": vm.map(|vm| &vm.id),
            "vmname": vm.map(|vm| &vm.name),
            "vmstate": vm.map(|vm| vm.state.name()),
            "deviceid": volume.vm.map(|_| u32::from(!volume.is_root)),
            "diskofferingid": offering.map(|offering| &offering.id),
            "diskofferingname": offering.map(|offering| &offering.facts.name),
            "created": self.time(volume.created),
            "storagetype": "shared",
            "deleteprotection": false,
            "tags": self.tag_rows(Kind::Volume, number, volume.owner),
        });
        self.owned(volume.owner, without_nulls(row))
    }

    pub(super) fn delete_volume(&mut self, call: &Call) -> Result<Value, Refusal> {
        let number = self.detached_volume(call)?;
        self.remove_volume(number);
        Ok(json!({ "success": true }))
    }

    pub(super) fn destroy_volume(&mut self, call: &Call) -> Result<Value, Refusal> {
        let number = self.detached_volume(call)?;
        let expunge = call.given.flag("expunge");
        self.submit(call, Work::DestroyVolume { volume: number, expunge }, None, None)
    }

    fn detached_volume(&self, call: &Call) -> Result<Number, Refusal> {
        let number = call.given.required("id");
        let Some(volume) = self.estate.volumes.get(&number) else {
            return Err(Refusal::value("Unable to find volume with the specified ID"));
        };
        self.may_operate(call.caller, volume.owner)?;
        if volume.vm.is_some() {
            let text = "Please specify a volume that is not attached to any VM.";
            return Err(Refusal::value(text));
        }
        Ok(number)
    }

    /// Removes a volume with its tags.
    pub(crate) fn remove_volume(&mut self, number: Number) {
        self.estate.volumes.remove(&number);
        self.estate.tags.forget(Kind::Volume, number);
        self.changes += 1;
    }

    /// Marks a volume as destroyed; it counts until it is removed.
    pub(crate) fn destroy_volume_later(&mut self, number: Number) {
        if let Some(volume) = self.estate.volumes.get_mut(&number) {
            volume.state = VolumeState::Destroy;
        }
    }
}

fn kind(volume: &Volume) -> &'static str {
    if volume.is_root { "ROOT" } else { "DATADISK" }
}
