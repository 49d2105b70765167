//! All possible instances: every type of every usable pool.

use joiner_core::{
    instance_type::{InstanceType, Offering},
    pool::NodePool,
    requirement::Requirements,
    snapshot::Snapshot,
    taint::Toleration,
};

use crate::{
    amounts::{Columns, Room, Row},
    compat,
    pools::{self, PoolFacts},
};

/// A type of a pool.
pub(super) struct Supply<'a> {
    /// The pool's number.
    pool: usize,
    of: &'a InstanceType,
    /// The offerings that the pool allows.
    offerings: Vec<&'a Offering>,
    /// The price of the cheapest of them.
    price: f64,
    /// The largest capacity for pods of any of them, minus daemons, under any interpretation of the rules.
    room: Row,
}

/// All possible instances.
pub(super) struct Supplies<'a> {
    pools: Vec<(&'a NodePool, Requirements)>,
    all: Vec<Supply<'a>>,
}

/// A supply for a particular kind of pod.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// The number of the supply.
    pub(super) supply: usize,
    pub(super) price: f64,
    pub(super) room: Box<[f64]>,
}

impl<'a> Supplies<'a> {
    /// `None` if a price is negative or not a number: then no bound exists.
    pub(super) fn new(snapshot: &'a Snapshot, columns: &Columns<'_>) -> Option<Self> {
        let (mut pools, mut all) = (Vec::new(), Vec::new());
        for pool in snapshot.pools.iter().filter(|pool| pools::is_usable(pool)) {
            let facts = PoolFacts::new(snapshot, pool, columns, true);
            let template = facts.template;
            for each in &facts.types {
                let usable = |offering: &&Offering| {
                    offering.available && offering.serves(&template, &snapshot.catalog.well_known)
                };
                let offerings: Vec<&Offering> = each.of.offerings.iter().filter(usable).collect();
                if offerings.iter().any(|offering| offering.price.is_nan() || offering.price < 0.0)
                {
                    return None;
                }
                let added = |offering: &Offering| pools::room_if_added(each.of, offering, columns);
                let mut most: Option<Row> = None;
                for (offering, room) in each.of.offerings.iter().zip(&each.rooms) {
                    if usable(&offering) {
                        widen(&mut most, room);
                        if let Some(room) = added(offering) {
                            widen(&mut most, &room);
                        }
                    }
                }
                let price = offerings.iter().map(|offering| offering.price).min_by(f64::total_cmp);
                if let (Some(most), Some(price)) = (most, price)
                    && each.of.requirements.intersects(&template).is_ok()
                {
                    let daemons = &each.daemons.certain;
                    let room =
                        most.iter().zip(daemons).map(|(most, daemons)| most - daemons).collect();
                    all.push(Supply { pool: pools.len(), of: each.of, offerings, price, room });
                }
            }
            pools.push((pool, template));
        }
        Some(Self { pools, all })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The supplies for pods with these tolerations and requirements, each with the price of the cheapest offering
    /// that they accept.
    ///
    /// Too many supplies are allowed here, too few are not. So a label that a pool does not mention counts as
    /// present.
    pub(super) fn choices(
        &self,
        tolerations: &[Toleration],
        alternatives: &[Requirements],
    ) -> Vec<Choice> {
        let open: Vec<Vec<&Requirements>> = self
            .pools
            .iter()
            .map(|(pool, template)| {
                let tolerated = compat::first_forbidding(&pool.taints, tolerations).is_none();
                let met = |wanted: &&Requirements| tolerated && template.intersects(wanted).is_ok();
                alternatives.iter().filter(met).collect()
            })
            .collect();
        let price = |supply: &Supply<'_>| {
            let prices = open[supply.pool].iter().filter_map(|wanted| supply.price(wanted));
            prices.min_by(f64::total_cmp)
        };
        let choices = self.all.iter().enumerate().filter_map(|(number, supply)| {
            let room = supply.room.iter().map(|&nanos| nanos as f64).collect();
            Some(Choice { supply: number, price: price(supply)?, room })
        });
        choices.collect()
    }
}

/// Raises each amount to the larger one.
fn widen(most: &mut Option<Row>, room: &Room) {
    let most = most.get_or_insert_with(|| room.amounts.clone());
    for (largest, other) in most.iter_mut().zip(&room.amounts) {
        *largest = (*largest).max(*other);
    }
}

impl Supply<'_> {
    /// The price of the cheapest offering for a pod with these requirements.
    fn price(&self, wanted: &Requirements) -> Option<f64> {
        if wanted.is_empty() {
            return Some(self.price);
        }
        self.of.requirements.intersects(wanted).ok()?;
        let accepted =
            self.offerings.iter().filter(|each| each.requirements.intersects(wanted).is_ok());
        accepted.map(|offering| offering.price).min_by(f64::total_cmp)
    }
}
