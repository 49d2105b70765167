//! The algebra of requirements on node labels.
//!
//! A [`Requirement`] is the set of values that one label may have, and [`Requirements`] holds one such set per key.
//! Pods, pools, instance types, offerings and claims all use them. Planning consists mostly of intersecting them.

#[cfg(test)]
mod tests;
mod validate;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter},
    num::{IntErrorKind, ParseIntError},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::label::{self, Labels, WellKnown};

pub use validate::{InvalidRequirement, validate};

/// The operator of a requirement in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer above the value.
    Gt,
    /// The label is an integer below the value.
    Lt,
    /// The label is an integer, the value or above (an extension of `karpenter.sh` objects).
    Gte,
    /// The label is an integer, the value or below (an extension of `karpenter.sh` objects).
    Lte,
}

/// The error for an unknown operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown operator {0:?}: use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte")]
pub struct UnknownOperator(pub String);

impl FromStr for Operator {
    type Err = UnknownOperator;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return Err(UnknownOperator(text.to_owned())),
        })
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A requirement in the form of the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequirementSpec {
    /// The label.
    pub key: String,
    /// The relation between the label and the values.
    pub operator: Operator,
    /// The values that the label is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// How many different values must remain possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_values: Option<u32>,
}

impl RequirementSpec {
    /// A requirement without `minValues`.
    pub fn new<V: Into<String>>(
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self {
            key: key.into(),
            operator,
            values: values.into_iter().map(Into::into).collect(),
            min_values: None,
        }
    }
}

/// The values that one label may have.
///
/// Without `complement`, the label has one of `values`. With it, the label has any other value within the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    complement: bool,
    values: BTreeSet<String>,
    gte: Option<i64>,
    lte: Option<i64>,
    min_values: Option<u32>,
}

impl Requirement {
    /// Any value, but the label must be present.
    pub const EXISTS: Self =
        Self { complement: true, values: BTreeSet::new(), gte: None, lte: None, min_values: None };

    /// The label must be absent.
    pub const DOES_NOT_EXIST: Self =
        Self { complement: false, values: BTreeSet::new(), gte: None, lte: None, min_values: None };

    /// One of `values`.
    pub fn one_of<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::DOES_NOT_EXIST }
    }

    /// Builds a requirement from its parts. Bounds only apply to a complement.
    pub fn from_parts(
        complement: bool,
        values: BTreeSet<String>,
        gte: Option<i64>,
        lte: Option<i64>,
        min_values: Option<u32>,
    ) -> Self {
        Self { complement, values, gte, lte, min_values }
    }

    /// Converts the form of the API. A bound that is not an integer counts as 0, as in Karpenter; see [`validate`].
    pub fn new(operator: Operator, values: &[String], min_values: Option<u32>) -> Self {
        let bound = || values.first().map_or(0, |value| saturating_integer(value));
        let set = || values.iter().cloned().collect();
        let base = Self { min_values, ..Self::EXISTS };
        match operator {
            Operator::In => Self { complement: false, values: set(), ..base },
            Operator::NotIn => Self { values: set(), ..base },
            Operator::Exists => base,
            Operator::DoesNotExist => Self { complement: false, ..base },
            Operator::Gt => match bound().checked_add(1) {
                Some(lowest) => base.at_least(lowest),
                None => Self::DOES_NOT_EXIST,
            },
            Operator::Lt => base.at_most(bound().saturating_sub(1)),
            Operator::Gte => base.at_least(bound()),
            Operator::Lte => base.at_most(bound()),
        }
    }

    /// Label values that are numbers are never negative, because none starts with a minus sign.
    fn at_least(self, lowest: i64) -> Self {
        Self { gte: Some(lowest.max(0)), ..self }
    }

    /// COMPAT: upstream keeps bounds below zero (`Lt 0` becomes `Lte -1`), and its CRD rejects them on the claim.
    /// Here no value is left.
    fn at_most(self, highest: i64) -> Self {
        if highest < 0 {
            return Self { min_values: self.min_values, ..Self::DOES_NOT_EXIST };
        }
        Self { lte: Some(highest), ..self }
    }

    /// Whether all values except [`Requirement::values`] are allowed.
    pub fn is_complement(&self) -> bool {
        self.complement
    }

    /// The listed values: allowed ones, or the excluded ones of a complement.
    pub fn values(&self) -> &BTreeSet<String> {
        &self.values
    }

    /// Lower and upper bound, both inclusive.
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (self.gte, self.lte)
    }

    /// How many different values must remain possible.
    pub fn min_values(&self) -> Option<u32> {
        self.min_values
    }

    /// The same requirement with another `minValues`.
    pub fn with_min_values(mut self, min_values: Option<u32>) -> Self {
        self.min_values = min_values;
        self
    }

    /// The equivalent operator, ignoring bounds.
    pub fn operator(&self) -> Operator {
        match (self.complement, self.values.is_empty()) {
            (true, true) => Operator::Exists,
            (true, false) => Operator::NotIn,
            (false, false) => Operator::In,
            (false, true) => Operator::DoesNotExist,
        }
    }

    /// The only allowed value, if there is exactly one.
    pub fn single(&self) -> Option<&str> {
        if self.complement || self.values.len() != 1 {
            return None;
        }
        self.values.first().map(String::as_str)
    }

    /// Whether the label may have `value`.
    pub fn has(&self, value: &str) -> bool {
        self.values.contains(value) != self.complement && within(value, self.gte, self.lte)
    }

    /// The values that both allow.
    pub fn intersection(&self, other: &Self) -> Self {
        let min_values = self.min_values.max(other.min_values);
        let Some((gte, lte)) = merged_bounds(self, other) else {
            return Self { min_values, ..Self::DOES_NOT_EXIST };
        };
        let complement = self.complement && other.complement;
        let inside = |value: &&String| within(value, gte, lte);
        let values: BTreeSet<String> = match (self.complement, other.complement) {
            (true, true) => self.values.union(&other.values).filter(inside).cloned().collect(),
            (true, false) => {
                other.values.difference(&self.values).filter(inside).cloned().collect()
            }
            (false, true) => {
                self.values.difference(&other.values).filter(inside).cloned().collect()
            }
            (false, false) => {
                self.values.intersection(&other.values).filter(inside).cloned().collect()
            }
        };
        let (gte, lte) = if complement { (gte, lte) } else { (None, None) };
        Self { complement, values, gte, lte, min_values }
    }

    /// Whether both allow a common value. Two complements always do, unless their bounds exclude each other.
    pub fn has_intersection(&self, other: &Self) -> bool {
        let Some((gte, lte)) = merged_bounds(self, other) else { return false };
        let meets = |listed: &Self, open: &Self| {
            listed.values.iter().any(|value| {
                open.values.contains(value) != open.complement && within(value, gte, lte)
            })
        };
        match (self.complement, other.complement) {
            (true, true) => true,
            (false, _) => meets(self, other),
            (true, false) => meets(other, self),
        }
    }

    /// A value for a label that must have one: the smallest listed value, or else the smallest allowed number.
    ///
    /// COMPAT: upstream draws a random number for open requirements, and may draw an excluded one. Here the value
    /// is always the same, and never an excluded one.
    pub fn any(&self) -> Option<String> {
        if !self.complement {
            return self.values.first().cloned();
        }
        let low = self.gte.unwrap_or(0);
        let high = self.lte.unwrap_or(i64::MAX);
        // One candidate more than there are excluded values is enough.
        (low..=high)
            .take(self.values.len() + 1)
            .map(|number| number.to_string())
            .find(|number| !self.values.contains(number))
    }

    /// Converts to the form of the API.
    pub fn to_specs(&self, key: &str) -> Vec<RequirementSpec> {
        let spec = |operator, values: Vec<String>| RequirementSpec {
            key: key.to_owned(),
            operator,
            values,
            min_values: self.min_values,
        };
        let mut specs = Vec::new();
        if let Some(gte) = self.gte {
            specs.push(spec(Operator::Gte, vec![gte.to_string()]));
        }
        if let Some(lte) = self.lte {
            specs.push(spec(Operator::Lte, vec![lte.to_string()]));
        }
        // COMPAT: upstream loses excluded values if there are bounds.
        if specs.is_empty() || !self.values.is_empty() {
            specs.push(spec(self.operator(), self.values.iter().cloned().collect()));
        }
        specs
    }
}

/// An integer, limited to the range of `i64` as in Karpenter. Any other text is 0.
fn saturating_integer(text: &str) -> i64 {
    text.parse().unwrap_or_else(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => i64::MAX,
        IntErrorKind::NegOverflow => i64::MIN,
        _ => 0,
    })
}

/// The tighter bounds of both, or `None` if they contain no number.
fn merged_bounds(a: &Requirement, b: &Requirement) -> Option<(Option<i64>, Option<i64>)> {
    let gte = a.gte.max(b.gte);
    let lte = match (a.lte, b.lte) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let apart = gte.zip(lte).is_some_and(|(low, high)| low > high);
    (!apart).then_some((gte, lte))
}

fn within(value: &str, gte: Option<i64>, lte: Option<i64>) -> bool {
    if gte.is_none() && lte.is_none() {
        return true;
    }
    value.parse::<i64>().is_ok_and(|number| {
        gte.is_none_or(|low| low <= number) && lte.is_none_or(|high| number <= high)
    })
}

impl Display for Requirement {
    /// `In [a b]`, with at most five values, then bounds and `minValues`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{}", self.operator())?;
        if !self.values.is_empty() {
            let shown: Vec<&str> = self.values.iter().take(SHOWN).map(String::as_str).collect();
            write!(f, " [{}", shown.join(" "))?;
            if self.values.len() > SHOWN {
                write!(f, " and {} others", self.values.len() - SHOWN)?;
            }
            f.write_str("]")?;
        }
        if let Some(gte) = self.gte {
            write!(f, " >={gte}")?;
        }
        if let Some(lte) = self.lte {
            write!(f, " <={lte}")?;
        }
        if let Some(min) = self.min_values {
            write!(f, " minValues {min}")?;
        }
        Ok(())
    }
}

/// Requirements by label key. A missing key allows every value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Requirements(BTreeMap<String, Requirement>);

/// Why one set of requirements cannot satisfy another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incompatible {
    /// The other side requires a label that is unknown on this side.
    #[error("label {key:?} does not have known values{}", hint(.like.as_deref()))]
    Unknown {
        /// The label.
        key: String,
        /// A known label with a similar name.
        like: Option<String>,
    },
    /// Both sides constrain the label, and they have no common value.
    #[error("key {key}, {key} {wanted} not in {key} {offered}")]
    Conflict {
        /// The label.
        key: String,
        /// The requirement of the other side.
        wanted: Box<Requirement>,
        /// The requirement of this side.
        offered: Box<Requirement>,
    },
}

fn hint(like: Option<&str>) -> String {
    like.map(|like| format!(" (typo of {like:?}?)")).unwrap_or_default()
}

impl Requirements {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Each label must have exactly the given value.
    pub fn from_labels<'l>(labels: impl IntoIterator<Item = (&'l String, &'l String)>) -> Self {
        let mut all = Self::new();
        for (key, value) in labels {
            all.add(key, Requirement::one_of([value.as_str()]));
        }
        all
    }

    /// All of `specs`. Several for one key are intersected.
    pub fn from_specs<'s>(specs: impl IntoIterator<Item = &'s RequirementSpec>) -> Self {
        let mut all = Self::new();
        for spec in specs {
            all.add(&spec.key, Requirement::new(spec.operator, &spec.values, spec.min_values));
        }
        all
    }

    /// Narrows `key`. Beta keys are converted to current ones.
    pub fn add(&mut self, key: &str, requirement: Requirement) {
        let key = label::normalize(key);
        match self.0.get_mut(key) {
            Some(existing) => *existing = requirement.intersection(existing),
            None => {
                self.0.insert(key.to_owned(), requirement);
            }
        }
    }

    /// Replaces the requirement of `key`.
    pub fn set(&mut self, key: &str, requirement: Requirement) {
        self.0.insert(label::normalize(key).to_owned(), requirement);
    }

    /// Narrows by every requirement of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (key, requirement) in &other.0 {
            self.add(key, requirement.clone());
        }
    }

    /// Removes the requirement of `key`.
    pub fn remove(&mut self, key: &str) -> Option<Requirement> {
        self.0.remove(label::normalize(key))
    }

    /// The requirement of `key`, if there is one.
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(label::normalize(key))
    }

    /// Keys and requirements in order of key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Requirement)> {
        self.0.iter().map(|(key, requirement)| (key.as_str(), requirement))
    }

    /// Whether there is no requirement.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any requirement has `minValues`.
    pub fn has_min_values(&self) -> bool {
        self.0.values().any(|requirement| requirement.min_values.is_some())
    }

    /// Whether each key that both constrain has a common value. Two exclusions never conflict.
    pub fn intersects(&self, other: &Self) -> Result<(), Incompatible> {
        let Some((key, offered, wanted)) = self.conflict(other) else { return Ok(()) };
        Err(Incompatible::Conflict {
            key: key.to_owned(),
            wanted: Box::new(wanted.clone()),
            offered: Box::new(offered.clone()),
        })
    }

    /// Whether `self`, as offered, satisfies `wanted`.
    ///
    /// A key that `self` lacks is refused, unless `wanted` only excludes values or the provider sets the key.
    /// `open` holds the keys that providers set: the well-known ones for a new claim, and `None` for an existing
    /// node.
    pub fn compatible(&self, wanted: &Self, open: Option<&WellKnown>) -> Result<(), Incompatible> {
        if let Some(key) = self.unknown_key(wanted, open) {
            let like = self.looks_like(key, open);
            return Err(Incompatible::Unknown { key: key.to_owned(), like });
        }
        self.intersects(wanted)
    }

    /// As [`Requirements::compatible`], without the reason.
    pub fn is_compatible(&self, wanted: &Self, open: Option<&WellKnown>) -> bool {
        self.unknown_key(wanted, open).is_none() && self.conflict(wanted).is_none()
    }

    /// The first key that `wanted` requires and that neither this side nor the provider sets.
    fn unknown_key<'w>(&self, wanted: &'w Self, open: Option<&WellKnown>) -> Option<&'w str> {
        let known =
            |key: &str| self.0.contains_key(key) || open.is_some_and(|open| open.contains(key));
        let mut insisted = wanted.0.iter().filter(|(_, requirement)| !is_exclusion(requirement));
        insisted.find(|(key, _)| !known(key)).map(|(key, _)| key.as_str())
    }

    /// The first key without a common value, with the requirements of both sides.
    fn conflict<'r>(
        &'r self,
        other: &'r Self,
    ) -> Option<(&'r str, &'r Requirement, &'r Requirement)> {
        let smaller = if self.0.len() <= other.0.len() { self } else { other };
        let mut shared = smaller
            .0
            .keys()
            .filter_map(|key| Some((key.as_str(), self.0.get(key)?, other.0.get(key)?)));
        shared.find(|(_, offered, wanted)| {
            let both_exclude = is_exclusion(offered) && is_exclusion(wanted);
            !both_exclude && !offered.has_intersection(wanted)
        })
    }

    fn looks_like(&self, key: &str, open: Option<&WellKnown>) -> Option<String> {
        let suffix = key.split_once('/').map_or(key, |(_, suffix)| suffix);
        let similar = |known: &&str| known.contains(key) || known.ends_with(suffix);
        let keys = || {
            let known = self.0.keys().map(String::as_str);
            open.into_iter().flat_map(WellKnown::iter).chain(known)
        };
        keys().find(similar).or_else(|| misspelt(key, keys())).map(str::to_owned)
    }

    /// Converts to the form of the API, in order of key.
    pub fn to_specs(&self) -> Vec<RequirementSpec> {
        self.0.iter().flat_map(|(key, requirement)| requirement.to_specs(key)).collect()
    }

    /// The labels with only one value left.
    pub fn single_values(&self) -> Labels {
        self.0
            .iter()
            .filter_map(|(key, requirement)| Some((key.clone(), requirement.single()?.to_owned())))
            .collect()
    }
}

/// The known key that differs from this one by one or two typing errors.
fn misspelt<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    /// More errors than these would match any two short words. The value was chosen for hints in messages.
    const SLIPS_MAX: usize = 2;
    /// The number of letters per accepted error. The value was chosen for hints in messages.
    const LETTERS_PER_SLIP: usize = 4;

    let slips = SLIPS_MAX.min(key.len() / LETTERS_PER_SLIP);
    // The comparison takes time proportional to both lengths, and those of known keys are bounded.
    let alike = known.filter(|known| known.len().abs_diff(key.len()) <= slips);
    let scored = alike.map(|known| (strsim::osa_distance(key, known), known));
    scored.filter(|(distance, _)| *distance <= slips).min().map(|(_, known)| known)
}

fn is_exclusion(requirement: &Requirement) -> bool {
    matches!(requirement.operator(), Operator::NotIn | Operator::DoesNotExist)
}

impl Display for Requirements {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .filter(|(key, _)| key.as_str() != label::HOSTNAME)
            .map(|(key, requirement)| format!("{key} {requirement}"))
            .collect();
        f.write_str(&parts.join(", "))
    }
}
