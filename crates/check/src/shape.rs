//! The part of a claim that does not depend on its pods: pool, requirements and types.
//!
//! Large plans have thousands of claims and few shapes, so each shape is checked once.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use joiner_core::{
    label::{self, WellKnown},
    plan::PlannedClaim,
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::Snapshot,
};

use crate::{
    amounts::Room,
    compat,
    facts::SpecFacts,
    finding::Rule,
    pools::{PoolFacts, TypeFacts},
};

/// A host name that no pod requires. The real name is unknown until the instance exists.
const UNNAMED_HOST: &str = "(an instance without a name yet)";

/// Keys that only a planner uses, and that claims never have.
pub(crate) const UNWRITTEN: [&str; 3] = [label::HOSTNAME, label::REGISTERED, label::INITIALIZED];

/// A pool, requirements and a list of types.
#[derive(Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) pool: &'a PoolFacts<'a>,
    /// The options that the requirements leave.
    pub(crate) left: Rc<Left>,
    /// The listed types, in order, as numbers of the pool's types. Unknown ones are skipped.
    pub(crate) types: Vec<usize>,
    /// The types that the requirements allow.
    pub(crate) allowed_types: Vec<&'a str>,
    /// The price of the cheapest type.
    pub(crate) price: Option<f64>,
    /// Whether a `minValues` is lower than the pool's.
    pub(crate) lowered: bool,
    /// Rules that every claim of this shape breaks.
    pub(crate) problems: Vec<(Rule, String)>,
}

/// The options that the requirements leave, without the one on the instance type.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) requirements: Requirements,
    /// For each type of the pool.
    pub(crate) offers: Vec<Offer>,
    /// For each specification that was asked for, why each of its alternatives is not satisfied.
    suits: RefCell<HashMap<usize, Rc<[Option<String>]>>>,
}

/// The offerings of a type under some requirements.
#[derive(Debug)]
pub(crate) struct Offer {
    /// Whether the type's own labels satisfy them.
    pub(crate) agrees: bool,
    /// The price of the cheapest offering.
    pub(crate) price: Option<f64>,
    /// The capacity for pods, for each distinct offering.
    pub(crate) rooms: Vec<Rc<Room>>,
}

impl Left {
    /// The reasons why the alternatives of a specification are not satisfied; `None` for those that are.
    pub(crate) fn shortfalls(
        &self,
        number: usize,
        spec: &SpecFacts<'_>,
        well_known: &WellKnown,
    ) -> Rc<[Option<String>]> {
        let mut suits = self.suits.borrow_mut();
        let judged = suits.entry(number).or_insert_with(|| {
            let alternatives = spec.alternatives().iter();
            alternatives
                .map(|wanted| compat::shortfall(&self.requirements, wanted, well_known))
                .collect()
        });
        judged.clone()
    }
}

/// All shapes seen so far.
pub(crate) struct Shapes<'a> {
    snapshot: &'a Snapshot,
    settings: &'a PlanSettings,
    pools: &'a BTreeMap<&'a str, PoolFacts<'a>>,
    /// By pool, and by the addresses of the fields that claims of one shape share.
    known: HashMap<(&'a str, *const String, *const RequirementSpec), Rc<Shape<'a>>>,
    left: HashMap<(&'a str, Requirements), Rc<Left>>,
}

impl<'a> Shapes<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        settings: &'a PlanSettings,
        pools: &'a BTreeMap<&'a str, PoolFacts<'a>>,
    ) -> Self {
        Self { snapshot, settings, pools, known: HashMap::new(), left: HashMap::new() }
    }

    /// The shape of a claim, if its pool is known.
    pub(crate) fn of(&mut self, claim: &'a PlannedClaim) -> Option<Rc<Shape<'a>>> {
        let pool = self.pools.get(claim.node_pool.as_str())?;
        let address =
            (&*claim.node_pool, claim.instance_types.as_ptr(), claim.requirements.as_ptr());
        if let Some(shape) = self.known.get(&address) {
            return Some(shape.clone());
        }
        let shape = Rc::new(self.build(pool, claim));
        self.known.insert(address, shape.clone());
        Some(shape)
    }

    fn build(&mut self, pool: &'a PoolFacts<'a>, claim: &'a PlannedClaim) -> Shape<'a> {
        let mut problems = Vec::new();
        let of_type = |spec: &&RequirementSpec| label::normalize(&spec.key) == label::INSTANCE_TYPE;
        let type_specs: Vec<&RequirementSpec> = claim.requirements.iter().filter(of_type).collect();
        let others = claim.requirements.iter().filter(|spec| !of_type(spec));
        let left = self.left(pool, Requirements::from_specs(others));
        let types = listed_types(pool, claim, self.settings, &mut problems);
        let allowed_types = match type_specs.as_slice() {
            [RequirementSpec { operator: Operator::In, values, .. }] => {
                values.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        };
        let mut shape =
            Shape { pool, left, types, allowed_types, price: None, lowered: false, problems };
        shape.check_requirements(claim, &self.snapshot.catalog.well_known);
        shape.check_offers();
        let type_minimum = type_specs.iter().filter_map(|spec| spec.min_values).max();
        shape.check_min_values(type_minimum, self.settings);
        shape
    }

    /// The options that `requirements` leave in `pool`.
    fn left(&mut self, pool: &'a PoolFacts<'a>, mut requirements: Requirements) -> Rc<Left> {
        requirements.set(label::HOSTNAME, Requirement::one_of([UNNAMED_HOST]));
        for key in [label::REGISTERED, label::INITIALIZED] {
            requirements.set(key, Requirement::one_of(["true"]));
        }
        let key = (&*pool.pool.name, requirements);
        if let Some(left) = self.left.get(&key) {
            return left.clone();
        }
        let requirements = key.1.clone();
        let offers = self.offers(pool, &requirements);
        let left = Rc::new(Left { requirements, offers, suits: RefCell::default() });
        self.left.insert(key, left.clone());
        left
    }

    fn offers(&self, pool: &PoolFacts<'a>, requirements: &Requirements) -> Vec<Offer> {
        let catalog = &self.snapshot.catalog;
        // The capacity type is chosen after the types, from their offerings. The labels of the types do not matter
        // for it.
        let mut before = requirements.clone();
        before.remove(label::CAPACITY_TYPE);
        if let Some(key) = &catalog.reservation_id_label {
            before.remove(key);
        }
        // A claim for reserved capacity keeps types that fit but are not reserved.
        let wanted = if is_reserved(requirements, catalog.reservation_id_label.as_deref()) {
            &before
        } else {
            requirements
        };
        let offer = |each: &TypeFacts<'a>| {
            let mut rooms: Vec<Rc<Room>> = Vec::new();
            for (offering, room) in each.of.offerings.iter().zip(&each.rooms) {
                if offering.available
                    && offering.serves(wanted, &catalog.well_known)
                    && !rooms.iter().any(|known| Rc::ptr_eq(known, room))
                {
                    rooms.push(room.clone());
                }
            }
            Offer {
                agrees: each.of.requirements.intersects(&before).is_ok(),
                price: each.of.cheapest(requirements, &catalog.well_known),
                rooms,
            }
        };
        pool.types.iter().map(offer).collect()
    }
}

/// Whether a claim is for reserved capacity only.
pub(crate) fn is_reserved(requirements: &Requirements, reservation_id: Option<&str>) -> bool {
    let single = requirements.get(label::CAPACITY_TYPE).and_then(Requirement::single);
    single == Some(label::CAPACITY_TYPE_RESERVED)
        && reservation_id.is_some_and(|key| requirements.get(key).is_some())
}

/// The types that a claim lists and its pool has.
fn listed_types(
    pool: &PoolFacts<'_>,
    claim: &PlannedClaim,
    settings: &PlanSettings,
    problems: &mut Vec<(Rule, String)>,
) -> Vec<usize> {
    let listed = &claim.instance_types;
    if listed.is_empty() || listed.len() > settings.instance_types_max {
        let message =
            format!("it lists {} types; 1 to {} may be", listed.len(), settings.instance_types_max);
        problems.push((Rule::TypeCount, message));
    }
    let mut seen = vec![false; pool.types.len()];
    let mut types = Vec::with_capacity(listed.len());
    for name in listed.iter() {
        match pool.type_named(name) {
            None => problems.push((Rule::TypeUnknown, format!("the pool has no type {name}"))),
            Some(number) if std::mem::replace(&mut seen[number], true) => {
                problems.push((Rule::TypeUnknown, format!("it lists type {name} twice")));
            }
            Some(number) => types.push(number),
        }
    }
    types
}

impl<'a> Shape<'a> {
    /// The listed types.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&TypeFacts<'a>, &Offer)> {
        self.types.iter().map(|&i| (&self.pool.types[i], &self.left.offers[i]))
    }

    fn problem(&mut self, rule: Rule, message: impl Into<String>) {
        self.problems.push((rule, message.into()));
    }

    fn check_requirements(&mut self, claim: &PlannedClaim, well_known: &WellKnown) {
        for spec in claim.requirements.iter() {
            if UNWRITTEN.contains(&label::normalize(&spec.key)) {
                let message = format!("no claim may have a requirement on {}", spec.key);
                self.problem(Rule::ClaimRequirements, message);
            }
        }
        let template = &self.pool.template;
        if let Some(shortfall) = compat::shortfall(&self.left.requirements, template, well_known) {
            self.problem(Rule::ClaimRequirements, format!("of the pool's template, {shortfall}"));
        }
        let of_pool = template.get(label::INSTANCE_TYPE);
        let listed: BTreeSet<&str> = claim.instance_types.iter().map(String::as_str).collect();
        let stray = self.allowed_types.iter().copied().find(|name| {
            !listed.contains(name) || of_pool.is_some_and(|of_pool| !of_pool.has(name))
        });
        if let Some(stray) = stray {
            let message = format!("they allow type {stray}, which is not in its list or pool");
            self.problem(Rule::ClaimRequirements, message);
        }
        let allowed: BTreeSet<&str> = self.allowed_types.iter().copied().collect();
        // A type need not have its own name as a label; then a requirement may exclude it.
        let named = |each: &&TypeFacts<'_>| {
            let name = each.of.requirements.get(label::INSTANCE_TYPE);
            name.and_then(Requirement::single) == Some(&each.of.name)
        };
        let mut types = self.types.iter().map(|&i| &self.pool.types[i]);
        let missing = types
            .find(|each| named(each) && !allowed.contains(each.of.name.as_str()))
            .map(|each| format!("they do not allow type {} of its list", each.of.name));
        if let Some(message) = missing {
            self.problem(Rule::ClaimRequirements, message);
        }
    }

    /// Checks that every type is offered, and that the cheapest comes first.
    fn check_offers(&mut self) {
        let mut problems = Vec::new();
        let mut last: Option<(&str, f64)> = None;
        for (each, offer) in self.listed() {
            let name = each.of.name.as_str();
            if !offer.agrees {
                let message = format!("type {name} does not meet its requirements");
                problems.push((Rule::TypeIncompatible, message));
            } else if offer.rooms.is_empty() {
                let message = format!("type {name} is not offered where and how it may be");
                problems.push((Rule::TypeIncompatible, message));
            }
            let price = offer.price.unwrap_or(f64::INFINITY);
            if let Some((dearer, before)) = last.filter(|(_, before)| price < *before) {
                let message = format!("{dearer} for {before} comes before {name} for {price}");
                problems.push((Rule::TypeOrder, message));
            }
            last = Some((name, price));
        }
        let price = self.listed().filter_map(|(_, offer)| offer.price).min_by(f64::total_cmp);
        if price.is_none() && problems.is_empty() && !self.types.is_empty() {
            let message = "none of its types is offered under its requirements".to_owned();
            problems.push((Rule::TypeIncompatible, message));
        }
        self.price = price;
        self.problems.extend(problems);
    }

    fn check_min_values(&mut self, type_minimum: Option<u32>, settings: &PlanSettings) {
        let best_effort = settings.min_values == MinValuesPolicy::BestEffort;
        // Only a strict planner checks `minValues` again after it has truncated a long list.
        let may_be_cut = best_effort && self.types.len() >= settings.instance_types_max;
        let template = self.pool.template.clone();
        for (key, of_pool) in template.iter() {
            let Some(wanted) = of_pool.min_values() else { continue };
            let kept = match key {
                label::INSTANCE_TYPE => type_minimum,
                _ => self.left.requirements.get(key).and_then(Requirement::min_values),
            };
            let Some(kept) = kept else {
                let message = format!("it has lost minValues {wanted} of {key}");
                self.problem(Rule::MinValues, message);
                continue;
            };
            if kept < wanted {
                self.lowered = true;
                if !best_effort {
                    let message = format!("minValues {wanted} of {key} is lowered to {kept}");
                    self.problem(Rule::MinValues, message);
                }
            }
            let values: BTreeSet<&str> = self
                .listed()
                .filter_map(|(each, _)| each.of.requirements.get(key))
                .flat_map(|requirement| requirement.values().iter().map(String::as_str))
                .collect();
            if values.len() < kept as usize && !may_be_cut {
                let count = values.len();
                let message = format!("its types have {count} values of {key}, not {kept}");
                self.problem(Rule::MinValues, message);
            }
        }
    }
}
