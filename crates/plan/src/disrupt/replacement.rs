//! Which instance types a replacement may be launched as, so that it is cheaper than what it replaces.

use std::{collections::BTreeMap, sync::Arc};

use joiner_core::{
    instance_type::{Catalog, InstanceType, Offering, satisfies_min_values},
    label::{self, CAPACITY_TYPE_ON_DEMAND, CAPACITY_TYPE_RESERVED, CAPACITY_TYPE_SPOT},
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
    requirement::{Requirement, Requirements},
};

use super::candidate::Removable;

/// Karpenter's limit: a spot instance is replaced by another spot instance only if at least this many cheaper types
/// remain. With fewer, the replacement would soon be replaced as well.
const SPOT_OPTIONS_MIN: usize = 15;

/// Prices that differ by less are equal: the difference comes from rounding. The value is far below any price and
/// far above the rounding error of a sum.
const PRICE_TOLERANCE: f64 = 1e-9;

/// The types that a claim may still become.
#[derive(Debug)]
struct Options<'s> {
    catalog: &'s Catalog,
    requirements: Requirements,
    types: Vec<&'s InstanceType>,
}

/// The claims, narrowed to types with which they cost less together than the instances of `set`. The savings are
/// divided equally, so each claim has its own maximum price.
pub(super) fn cheaper(
    catalog: &Catalog,
    set: &[&Removable<'_>],
    claims: &[PlannedClaim],
    spot_to_spot: bool,
) -> Result<Vec<PlannedClaim>, Reason> {
    let price: f64 = set.iter().map(|each| each.price).sum();
    if let [claim] = claims {
        return Ok(vec![cheaper_than(price, catalog, set, claim, spot_to_spot)?]);
    }
    let least: f64 = claims.iter().map(|claim| claim.price).sum();
    if !is_less(least, price) {
        let message = format!(
            "can't replace with cheaper nodes: the cheapest {} that fit cost {least:.4} per hour, and \
             now it is {price:.4}",
            claims.len()
        );
        let reason = Reason::new(ReasonId::MoveNotCheaper, message);
        return Err(reason
            .with("replacement", format!("{least:.4}"))
            .with("price", format!("{price:.4}")));
    }
    let share = (price - least) / claims.len() as f64;
    claims
        .iter()
        .map(|claim| cheaper_than(claim.price + share, catalog, set, claim, spot_to_spot))
        .collect()
}

fn cheaper_than(
    price: f64,
    catalog: &Catalog,
    set: &[&Removable<'_>],
    claim: &PlannedClaim,
    spot_to_spot: bool,
) -> Result<PlannedClaim, Reason> {
    let mut options = Options::of(catalog, claim, price);
    if options.types.is_empty() {
        return Err(not_cheaper(set, price, claim, &options));
    }
    let all_spot = set.iter().all(|each| each.capacity_type() == Some(CAPACITY_TYPE_SPOT));
    let is_spot_to_spot = all_spot && options.may_be(CAPACITY_TYPE_SPOT);
    if is_spot_to_spot {
        if !spot_to_spot {
            let message = "SpotToSpotConsolidation is disabled, so a spot instance is not replaced by \
                           a spot instance";
            return Err(Reason::new(ReasonId::MoveSpotToSpot, message));
        }
        options.pin(CAPACITY_TYPE_SPOT);
    }
    options.keep_below(price);
    if options.types.is_empty() {
        return Err(not_cheaper(set, price, claim, &options));
    }
    if let [.., _, _] = set {
        options.keep_other_shapes(set)?;
    } else if is_spot_to_spot {
        options.keep_flexible()?;
    }
    if options.may_be(CAPACITY_TYPE_SPOT) && options.may_be(CAPACITY_TYPE_ON_DEMAND) {
        // If no spot capacity is left, the launch must fail. Otherwise the replacement could be more expensive than
        // what it replaces.
        let launched = if options.any_offered(CAPACITY_TYPE_SPOT) {
            CAPACITY_TYPE_SPOT
        } else {
            CAPACITY_TYPE_ON_DEMAND
        };
        options.pin(launched);
    }
    let reached = satisfies_min_values(options.types.iter().copied(), &options.requirements);
    if let Some(key) = reached.err().and_then(|short| short.into_keys().next()) {
        return Err(short_of_min_values(claim, &key));
    }
    Ok(options.narrowed(claim))
}

/// Whether `price` is less than `than` by more than a rounding error.
pub(super) fn is_less(price: f64, than: f64) -> bool {
    price < than - PRICE_TOLERANCE * than.abs().max(PRICE_TOLERANCE)
}

impl<'s> Options<'s> {
    /// The types of a claim with an offering below `price`. A claim lists its cheapest types first, so for most
    /// claims that save nothing only the first type is examined.
    fn of(catalog: &'s Catalog, claim: &PlannedClaim, price: f64) -> Self {
        let requirements = Requirements::from_specs(claim.requirements.iter());
        let mut options = Self { catalog, requirements, types: Vec::new() };
        if !is_less(claim.price, price) {
            return options;
        }
        let known: BTreeMap<&str, &InstanceType> = catalog
            .types(&claim.node_pool)
            .iter()
            .map(|each| (each.name.as_str(), &**each))
            .collect();
        let listed =
            claim.instance_types.iter().filter_map(|name| known.get(name.as_str()).copied());
        let is_below = |each: &&InstanceType| {
            let cheapest = each.cheapest(&options.requirements, &catalog.well_known);
            cheapest.is_some_and(|cheapest| is_less(cheapest, price))
        };
        options.types = listed.take_while(is_below).collect();
        options
    }

    fn may_be(&self, capacity_type: &str) -> bool {
        let allowed = self.requirements.get(label::CAPACITY_TYPE);
        allowed.is_none_or(|allowed| allowed.has(capacity_type))
    }

    /// Offerings that are available and satisfy the claim's requirements.
    fn offerings<'o>(&'o self, of: &'o InstanceType) -> impl Iterator<Item = &'o Offering> {
        of.compatible_offerings(&self.requirements, &self.catalog.well_known)
    }

    fn any_offered(&self, capacity_type: &str) -> bool {
        let mut offerings = self.types.iter().flat_map(|each| self.offerings(each));
        offerings.any(|offering| is_of(offering, capacity_type))
    }

    /// Restricts the claim to one capacity type, whatever `minValues` the pool has for it.
    ///
    /// COMPAT: upstream keeps the pool's `minValues`, and every API server rejects such a claim.
    fn pin(&mut self, capacity_type: &str) {
        self.requirements.set(label::CAPACITY_TYPE, Requirement::one_of([capacity_type]));
        let (requirements, well_known) = (&self.requirements, &self.catalog.well_known);
        self.types.retain(|each| each.cheapest(requirements, well_known).is_some());
    }

    /// The highest price that an instance of this type can have.
    fn worst_price(&self, of: &InstanceType) -> Option<f64> {
        let order = [CAPACITY_TYPE_RESERVED, CAPACITY_TYPE_SPOT, CAPACITY_TYPE_ON_DEMAND];
        order.into_iter().find_map(|capacity_type| {
            let prices = self.offerings(of).filter(|each| is_of(each, capacity_type));
            prices.map(|offering| offering.price).max_by(f64::total_cmp)
        })
    }

    fn keep_below(&mut self, price: f64) {
        let mut types = std::mem::take(&mut self.types);
        types.retain(|each| self.worst_price(each).is_some_and(|worst| is_less(worst, price)));
        self.types = types;
    }

    /// If the replacement may have the type of a removed instance, it must be cheaper than each removed instance of
    /// that type. Otherwise one of them could simply stay.
    fn keep_other_shapes(&mut self, set: &[&Removable<'_>]) -> Result<(), Reason> {
        let of_type = |each: &&InstanceType| {
            let name = each.name.as_str();
            let same = set.iter().filter(|gone| {
                gone.instance_type.is_some_and(|instance_type| instance_type.name == name)
            });
            same.map(|gone| gone.price).min_by(f64::total_cmp)
        };
        let Some(most) = self.types.iter().filter_map(of_type).min_by(f64::total_cmp) else {
            return Ok(());
        };
        self.keep_below(most);
        if self.types.is_empty() {
            let message = "the new instance would be one just like those that go, so one of them can \
                           stay";
            return Err(Reason::new(ReasonId::MoveEqualShape, message));
        }
        Ok(())
    }

    /// A spot instance is replaced only if many types are acceptable, and then by one of the cheapest.
    fn keep_flexible(&mut self) -> Result<(), Reason> {
        let found = self.types.len();
        if found < SPOT_OPTIONS_MIN {
            let message = format!(
                "SpotToSpotConsolidation requires {SPOT_OPTIONS_MIN} cheaper instance type options \
                 than the current candidate to consolidate, got {found}"
            );
            return Err(Reason::new(ReasonId::MoveSpotOptions, message)
                .with("options", found)
                .with("needed", SPOT_OPTIONS_MIN));
        }
        self.types = self.by_price().into_iter().map(|(_, each)| each).collect();
        let needed = satisfies_min_values(self.types.iter().copied(), &self.requirements);
        self.types.truncate(needed.unwrap_or(found).max(SPOT_OPTIONS_MIN));
        Ok(())
    }

    /// Types with the price of their cheapest offering, the cheapest first; equal ones by name.
    fn by_price(&self) -> Vec<(f64, &'s InstanceType)> {
        let well_known = &self.catalog.well_known;
        let mut priced: Vec<(f64, &InstanceType)> = self
            .types
            .iter()
            .map(|each| {
                let price = each.cheapest(&self.requirements, well_known);
                (price.unwrap_or(f64::INFINITY), *each)
            })
            .collect();
        priced.sort_by(|left, right| {
            left.0.total_cmp(&right.0).then_with(|| left.1.name.cmp(&right.1.name))
        });
        priced
    }

    /// The claim, restricted to the remaining types.
    fn narrowed(self, claim: &PlannedClaim) -> PlannedClaim {
        let priced = self.by_price();
        let names: Vec<String> = priced.iter().map(|(_, each)| each.name.clone()).collect();
        let mut requirements = self.requirements;
        let min_values = requirements.get(label::INSTANCE_TYPE).and_then(Requirement::min_values);
        let named = Requirement::one_of(names.iter().cloned()).with_min_values(min_values);
        requirements.set(label::INSTANCE_TYPE, named);
        let mut annotations = (*claim.annotations).clone();
        for (key, overlaid) in [
            (label::PRICE_OVERLAY_APPLIED, priced.iter().any(|(_, each)| each.price_overlaid)),
            (
                label::CAPACITY_OVERLAY_APPLIED,
                priced.iter().any(|(_, each)| each.capacity_overlaid),
            ),
        ] {
            if !overlaid {
                annotations.remove(key);
            }
        }
        PlannedClaim {
            instance_types: names.into(),
            requirements: requirements.to_specs().into(),
            annotations: Arc::new(annotations),
            price: priced.first().map_or(0.0, |(price, _)| *price),
            ..claim.clone()
        }
    }
}

fn is_of(offering: &Offering, capacity_type: &str) -> bool {
    let offered = offering.requirements.get(label::CAPACITY_TYPE);
    offered.and_then(|offered| offered.single()) == Some(capacity_type)
}

fn not_cheaper(
    set: &[&Removable<'_>],
    price: f64,
    claim: &PlannedClaim,
    options: &Options<'_>,
) -> Reason {
    let cheapest = claim.instance_types.first().and_then(|name| {
        let mut types = options.catalog.types(&claim.node_pool).iter();
        let cheapest = types.find(|each| each.name == *name)?;
        Some((options.worst_price(cheapest)?, cheapest))
    });
    if price <= 0.0 {
        let message = "can't replace with a cheaper node: as far as is known, it costs nothing now";
        return Reason::new(ReasonId::MoveNotCheaper, message).with("price", price);
    }
    if let ([only], Some((_, cheapest))) = (set, cheapest)
        && only.instance_type.is_some_and(|instance_type| instance_type.name == cheapest.name)
        && let (Some(zone), Some(capacity_type)) = (only.zone(), only.capacity_type())
    {
        let message = format!(
            "its pods need an instance like {}: the best replacement is another {} (now {capacity_type} \
             in zone {zone})",
            only.name(),
            cheapest.name
        );
        let reason = Reason::new(ReasonId::MoveEqualShape, message);
        return reason.with("instanceType", &cheapest.name);
    }
    let reason = |message: String| Reason::new(ReasonId::MoveNotCheaper, message);
    let told = match cheapest {
        Some((worst, cheapest)) => reason(format!(
            "can't replace with a cheaper node: the cheapest that fits, {}, may cost {worst:.4} per \
             hour, and now it is {price:.4}",
            cheapest.name
        ))
        .with("instanceType", &cheapest.name)
        .with("replacement", format!("{worst:.4}")),
        None => reason("can't replace with a cheaper node: nothing that fits is offered".to_owned()),
    };
    told.with("price", format!("{price:.4}"))
}

fn short_of_min_values(claim: &PlannedClaim, key: &str) -> Reason {
    let pool = &claim.node_pool;
    let message = format!(
        "the types that would do and are cheaper leave fewer values of {key} than the minValues of \
         NodePool {pool:?}"
    );
    Reason::new(ReasonId::MinValuesUnmet, message).in_pool(pool).with("key", key)
}
