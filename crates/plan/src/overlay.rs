//! `NodeOverlay`s: corrections of prices and capacity, applied to a catalog before planning.
//!
//! [`evaluate`] takes overlays in order of weight and gives each a [`Verdict`]. The heaviest matching overlay
//! decides a price or an amount. Lighter overlays only fill gaps. Two overlays of equal weight for the same value
//! are in conflict, and the second one has no effect at all.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    str::FromStr,
    sync::Arc,
};

use joiner_core::{
    instance_type::{Catalog, InstanceType},
    label::{self, WellKnown},
    pool::NodePool,
    quantity::Quantity,
    requirement::{self, Operator, Requirement, RequirementSpec, Requirements},
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};

/// Resources that only the provider may set.
const NOT_OVERLAID: [&str; 4] = [CPU, MEMORY, EPHEMERAL_STORAGE, PODS];

/// Whether overlays may set the amount of a resource.
pub fn may_correct(resource: &str) -> bool {
    !NOT_OVERLAID.contains(&resource)
}

/// One overlay: a correction, and the types it applies to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overlay {
    /// Name.
    pub name: String,
    /// Heavier overlays win.
    pub weight: i32,
    /// Selects instance types and offerings.
    pub requirements: Vec<RequirementSpec>,
    /// The change of the price of the selected offerings.
    pub price: Option<PriceChange>,
    /// Replaces amounts of the types with a selected offering.
    pub capacity: Resources,
}

/// A change of a price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PriceChange {
    /// The new price.
    Set(f64),
    /// An amount that is added.
    Add(f64),
    /// A change by this many percent.
    AddPercent(f64),
}

/// The error for a text that is not a change of a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPriceChange(String);

impl Display for InvalidPriceChange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no change of a price: write a price such as 0.5, or a change such as +0.1, \
             -0.1, +10% or -10%",
            self.0
        )
    }
}

impl std::error::Error for InvalidPriceChange {}

impl FromStr for PriceChange {
    type Err = InvalidPriceChange;

    /// Parses a price without a sign, or a change with a sign.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidPriceChange(text.chars().take(64).collect());
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_change = unsigned.len() < text.len();
        let (digits, is_percentage) = match unsigned.strip_suffix('%') {
            Some(digits) if is_change => (digits, true),
            _ => (unsigned, false),
        };
        // Rust also parses words such as `inf` and exponents, which the API does not accept.
        if !digits.chars().all(|digit| digit.is_ascii_digit() || digit == '.') {
            return Err(invalid());
        }
        let amount: f64 = digits.parse().map_err(|_| invalid())?;
        let amount = if text.starts_with('-') { -amount } else { amount };
        Ok(match (is_change, is_percentage) {
            (false, _) => Self::Set(amount),
            (true, false) => Self::Add(amount),
            (true, true) => Self::AddPercent(amount),
        })
    }
}

impl PriceChange {
    /// The price after the change. It is never below zero.
    pub fn apply(self, price: f64) -> f64 {
        let changed = match self {
            Self::Set(price) => price,
            Self::Add(amount) => price + amount,
            Self::AddPercent(percent) => price * (1.0 + percent / 100.0),
        };
        changed.max(0.0)
    }
}

/// The result of evaluating an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The overlay is in force. It may match nothing.
    Applied,
    /// Another overlay of the same weight corrects the same value, so this one has no effect.
    Conflict {
        /// The other one's name.
        with: String,
    },
    /// The overlay breaks a rule; a sentence names it.
    Invalid(String),
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied => f.write_str("applied"),
            Self::Conflict { with } => {
                write!(f, "conflicts with overlay {with:?}: give one of them another weight")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

/// A corrected catalog.
#[derive(Debug, Clone, Default)]
pub struct Evaluated {
    /// The catalog. Only changed types are copied.
    pub catalog: Catalog,
    /// The verdict of each overlay, by name.
    pub verdicts: BTreeMap<String, Verdict>,
}

/// Applies `overlays` to the types of every pool.
///
/// COMPAT: upstream distinguishes offerings by the first five values of each label. It also loses the devices,
/// capacity and overhead of an overlaid offering or type. Here offerings are distinguished by their position, and
/// all other fields are kept.
pub fn evaluate(overlays: &[Overlay], pools: &[NodePool], catalog: &Catalog) -> Evaluated {
    let mut ordered: Vec<&Overlay> = overlays.iter().collect();
    ordered.sort_by(|left, right| {
        right.weight.cmp(&left.weight).then_with(|| right.name.cmp(&left.name))
    });

    let mut corrections = Corrections::default();
    let mut verdicts = BTreeMap::new();
    for overlay in ordered {
        let verdict = match invalid(overlay, &catalog.well_known) {
            Some(why) => Verdict::Invalid(why),
            None => corrections.add(overlay, &targets(overlay, pools, catalog)),
        };
        verdicts.insert(overlay.name.clone(), verdict);
    }
    Evaluated { catalog: corrections.applied_to(catalog), verdicts }
}

/// The reason why an overlay is invalid.
fn invalid(overlay: &Overlay, well_known: &WellKnown) -> Option<String> {
    for spec in &overlay.requirements {
        if let Err(error) = requirement::validate(spec, well_known) {
            return Some(error.to_string());
        }
        if spec.operator == Operator::NotIn && spec.values.is_empty() {
            return Some(format!("label {:?} has operator NotIn and no values", spec.key));
        }
    }
    let provided = overlay.capacity.iter().find(|(name, _)| !may_correct(name));
    provided.map(|(name, _)| {
        format!("capacity of {name} is the provider's to say: overlay other resources only")
    })
}

/// A type of a pool, and the offerings that an overlay selects.
struct Target<'c> {
    pool: &'c str,
    index: usize,
    offerings: Vec<usize>,
}

/// The types and offerings that `overlay` selects. A type needs at least one selected offering.
fn targets<'c>(overlay: &Overlay, pools: &'c [NodePool], catalog: &Catalog) -> Vec<Target<'c>> {
    let wanted = Requirements::from_specs(&overlay.requirements);
    let mut targets = Vec::new();
    for pool in pools {
        let mut of_pool = Requirements::from_labels(&pool.labels);
        of_pool.add(label::NODE_POOL, Requirement::one_of([pool.name.as_str()]));
        for (index, instance_type) in catalog.types(&pool.name).iter().enumerate() {
            let mut offered = of_pool.clone();
            offered.add_all(&instance_type.requirements);
            if !offered.is_compatible(&wanted, None) {
                continue;
            }
            let offerings: Vec<usize> = instance_type
                .offerings
                .iter()
                .enumerate()
                .filter(|(_, offering)| offering.serves(&wanted, &catalog.well_known))
                .map(|(index, _)| index)
                .collect();
            if !offerings.is_empty() {
                targets.push(Target { pool: &pool.name, index, offerings });
            }
        }
    }
    targets
}

/// The corrections of accepted overlays, by pool and position of the type.
#[derive(Default)]
struct Corrections {
    by_type: BTreeMap<(String, usize), TypeCorrection>,
}

#[derive(Default)]
struct TypeCorrection {
    prices: BTreeMap<usize, Correction<PriceChange>>,
    capacity: BTreeMap<String, Correction<Quantity>>,
}

/// The corrections of one value. Overlays come in order of weight: the first decides the value, and the last is
/// kept to detect conflicts.
struct Correction<T> {
    value: T,
    lightest: (i32, String),
}

fn conflict<'m, K: Ord, T>(
    corrections: &'m BTreeMap<K, Correction<T>>,
    key: &K,
    overlay: &Overlay,
) -> Option<&'m str> {
    let (weight, name) = &corrections.get(key)?.lightest;
    (*weight == overlay.weight).then_some(name)
}

fn correct<K: Ord, T>(
    corrections: &mut BTreeMap<K, Correction<T>>,
    key: K,
    value: T,
    overlay: &Overlay,
) {
    let by = (overlay.weight, overlay.name.clone());
    corrections
        .entry(key)
        .and_modify(|correction| correction.lightest = by.clone())
        .or_insert_with(|| Correction { value, lightest: by.clone() });
}

impl Corrections {
    /// Accepts an overlay for all of its targets, or for none.
    fn add(&mut self, overlay: &Overlay, targets: &[Target<'_>]) -> Verdict {
        if let Some(with) = targets.iter().find_map(|target| self.conflict(overlay, target)) {
            return Verdict::Conflict { with: with.to_owned() };
        }
        if overlay.price.is_none() && overlay.capacity.is_empty() {
            return Verdict::Applied;
        }
        for target in targets {
            let place = (target.pool.to_owned(), target.index);
            let corrections = self.by_type.entry(place).or_default();
            if let Some(change) = overlay.price {
                for offering in &target.offerings {
                    correct(&mut corrections.prices, *offering, change, overlay);
                }
            }
            for (name, amount) in overlay.capacity.iter() {
                correct(&mut corrections.capacity, name.to_owned(), amount, overlay);
            }
        }
        Verdict::Applied
    }

    fn conflict(&self, overlay: &Overlay, target: &Target<'_>) -> Option<&str> {
        let corrections = self.by_type.get(&(target.pool.to_owned(), target.index))?;
        let price = overlay.price.and_then(|_| {
            target
                .offerings
                .iter()
                .find_map(|offering| conflict(&corrections.prices, offering, overlay))
        });
        price.or_else(|| {
            overlay
                .capacity
                .iter()
                .find_map(|(name, _)| conflict(&corrections.capacity, &name.to_owned(), overlay))
        })
    }

    fn applied_to(&self, catalog: &Catalog) -> Catalog {
        let mut corrected = catalog.clone();
        for (pool, types) in &mut corrected.by_pool {
            let of_pool = (pool.clone(), 0)..=(pool.clone(), usize::MAX);
            let mut changed = self.by_type.range(of_pool).peekable();
            if changed.peek().is_none() {
                continue;
            }
            let mut list = types.to_vec();
            for ((_, index), correction) in changed {
                list[*index] = Arc::new(correction.applied_to(&list[*index]));
            }
            *types = list.into();
        }
        corrected
    }
}

impl TypeCorrection {
    fn applied_to(&self, instance_type: &InstanceType) -> InstanceType {
        let mut corrected = instance_type.clone();
        for (index, correction) in &self.prices {
            let price = &mut corrected.offerings[*index].price;
            *price = correction.value.apply(*price);
            corrected.price_overlaid = true;
        }
        for (name, correction) in &self.capacity {
            corrected.capacity.set(name.clone(), correction.value);
            corrected.capacity_overlaid = true;
        }
        corrected
    }
}

#[cfg(test)]
mod tests;
