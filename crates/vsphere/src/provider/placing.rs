//! Which of several places an instance goes to that cost the same.

use joiner_cloud::{
    InstanceTypes,
    choice::{self, Choice},
    homes::Going,
    unavailable::zone_of,
};
use joiner_core::evenness::ZoneRoom;

use super::{Inner, create::Work};
use crate::load::Amount;

/// An instance that is sent somewhere. It is on its way until this is dropped.
pub(super) struct Placing<'i> {
    inner: &'i Inner,
    uid: String,
    going: Option<Going<'i>>,
}

impl Inner {
    /// Every way to make an order's instance, in the order in which they are tried. The instance
    /// counts where the first of them leads from then on, so that others that are made at the same
    /// time look elsewhere.
    pub(super) fn place<'t>(
        &self,
        work: &Work<'_>,
        types: &'t InstanceTypes,
    ) -> (Vec<Choice<'t>>, Placing<'_>) {
        let (order, well_known) = (work.order, Self::well_known());
        let uid = order.claim.uid.as_str();
        let mut choices: Vec<Choice<'t>> = choice::every(order, types, &well_known).collect();
        let chosen = self.homes.choose(order, |instances| {
            let mut state = self.state();
            let room = |choice: &Choice<'t>| {
                let place = work.resolution.place(zone_of(choice.offering))?;
                state.loads.room(&place.compute.cluster, work.amount(choice), uid)
            };
            choice::in_order(&mut choices, room, instances);
            let first = choices.first()?;
            if let Some(place) = work.resolution.place(zone_of(first.offering)) {
                state.loads.send(uid, &place.compute.cluster, work.amount(first));
            }
            Some(((), first.zone().to_owned()))
        });
        let going = chosen.map(|((), going)| going);
        (choices, Placing { inner: self, uid: uid.to_owned(), going })
    }

    /// The free room of the zones of a class, as far as it is known.
    pub(super) fn room(&self, class: &str) -> ZoneRoom {
        let state = self.state();
        let (Some(resolution), Some(memory)) =
            (state.resolutions.named(class), state.classes.get(class))
        else {
            return ZoneRoom::new();
        };
        let zones = memory.types.iter().flat_map(|own| &own.offerings).filter_map(zone_of);
        let room = |zone: &str| {
            let cluster = &resolution.place(Some(zone))?.compute.cluster;
            state.loads.room(cluster, Amount::default(), "")
        };
        zones.filter_map(|zone| Some((zone.to_owned(), room(zone)?))).collect()
    }
}

impl Work<'_> {
    /// What an instance takes of its host.
    fn amount(&self, choice: &Choice<'_>) -> Amount {
        let hardware = self.memory.hardware.get(&choice.instance_type.name);
        hardware.map_or_else(Amount::default, |own| Amount {
            cpus: u64::from(own.cpus),
            memory_mib: own.memory_mib,
        })
    }
}

impl Placing<'_> {
    /// The instance is tried where a choice leads.
    pub(super) fn try_in(&self, work: &Work<'_>, choice: &Choice<'_>) {
        if let Some(going) = &self.going {
            going.turns_to(choice.zone());
        }
        if let Some(place) = work.resolution.place(zone_of(choice.offering)) {
            let amount = work.amount(choice);
            self.inner.state().loads.send(&self.uid, &place.compute.cluster, amount);
        }
    }

    /// The instance is there.
    pub(super) fn arrived(mut self) {
        if let Some(going) = self.going.take() {
            going.arrived();
        }
    }
}

impl Drop for Placing<'_> {
    fn drop(&mut self) {
        self.inner.state().loads.end(&self.uid, self.inner.now());
    }
}
