//! The algebra of requirements on node labels.
//!
//! A [`Requirement`] is the set of values one label may still have; [`Requirements`] is one such
//! set per key. Pods, pools, instance types, offerings and claims all speak this language, and
//! planning is mostly intersecting it.

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

/// How a requirement is written in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
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

/// An operator that is none of the eight.
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

/// One requirement as the API writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequirementSpec {
    /// The label.
    pub key: String,
    /// How the label relates to the values.
    pub operator: Operator,
    /// What the label is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// How many different values must stay possible.
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

/// The values one label may have.
///
/// Without `complement` it must be one of `values`. With it, anything but `values`, inside the
/// bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    complement: bool,
    values: BTreeSet<String>,
    gte: Option<i64>,
    lte: Option<i64>,
    min_values: Option<u32>,
}

impl Requirement {
    /// Any value will do, but the label must be there.
    pub const EXISTS: Self =
        Self { complement: true, values: BTreeSet::new(), gte: None, lte: None, min_values: None };

    /// The label must be absent.
    pub const DOES_NOT_EXIST: Self =
        Self { complement: false, values: BTreeSet::new(), gte: None, lte: None, min_values: None };

    /// One of `values`.
    pub fn one_of<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::DOES_NOT_EXIST }
    }

    /// From its parts; bounds only mean something on a complement.
    pub fn from_parts(
        complement: bool,
        values: BTreeSet<String>,
        gte: Option<i64>,
        lte: Option<i64>,
        min_values: Option<u32>,
    ) -> Self {
        Self { complement, values, gte, lte, min_values }
    }

    /// From the API's form. A bound that is no integer counts as 0, as in Karpenter; see
    /// [`validate`].
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

    /// Every label value that is a number is at least 0, since none begins with a minus sign.
    fn at_least(self, lowest: i64) -> Self {
        Self { gte: Some(lowest.max(0)), ..self }
    }

    /// COMPAT: upstream keeps bounds below zero (`Lt 0` becomes `Lte -1`), which its own CRD then
    /// refuses on the claim. Here nothing is left.
    fn at_most(self, highest: i64) -> Self {
        if highest < 0 {
            return Self { min_values: self.min_values, ..Self::DOES_NOT_EXIST };
        }
        Self { lte: Some(highest), ..self }
    }

    /// Whether everything but [`Requirement::values`] is allowed.
    pub fn is_complement(&self) -> bool {
        self.complement
    }

    /// The values listed: allowed ones, or excluded ones of a complement.
    pub fn values(&self) -> &BTreeSet<String> {
        &self.values
    }

    /// Lower and upper bound, both inclusive.
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (self.gte, self.lte)
    }

    /// How many different values must stay possible.
    pub fn min_values(&self) -> Option<u32> {
        self.min_values
    }

    /// The same requirement with another `minValues`.
    pub fn with_min_values(mut self, min_values: Option<u32>) -> Self {
        self.min_values = min_values;
        self
    }

    /// The operator this reads as. Bounds do not show.
    pub fn operator(&self) -> Operator {
        match (self.complement, self.values.is_empty()) {
            (true, true) => Operator::Exists,
            (true, false) => Operator::NotIn,
            (false, false) => Operator::In,
            (false, true) => Operator::DoesNotExist,
        }
    }

    /// The only value allowed, if there is exactly one.
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

    /// What both allow.
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

    /// Whether some value is allowed by both. Two complements always meet, unless their bounds
    /// part.
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

    /// A value to put on a label that must have one: the smallest listed, else the smallest number
    /// that is allowed.
    ///
    /// COMPAT: upstream draws a random number for open requirements; ours is the same on every run
    /// and never one of the excluded values.
    pub fn any(&self) -> Option<String> {
        if !self.complement {
            return self.values.first().cloned();
        }
        let low = self.gte.unwrap_or(0);
        let high = self.lte.unwrap_or(i64::MAX);
        // At most one candidate more than there are excluded values is needed.
        (low..=high)
            .take(self.values.len() + 1)
            .map(|n| n.to_string())
            .find(|n| !self.values.contains(n))
    }

    /// Back to the API's form.
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
        // COMPAT: upstream forgets excluded values when there are bounds.
        if specs.is_empty() || !self.values.is_empty() {
            specs.push(spec(self.operator(), self.values.iter().cloned().collect()));
        }
        specs
    }
}

/// An integer, cut to the range of `i64` as Karpenter does. Anything else is 0.
fn saturating_integer(text: &str) -> i64 {
    text.parse().unwrap_or_else(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => i64::MAX,
        IntErrorKind::NegOverflow => i64::MIN,
        _ => 0,
    })
}

/// The tighter bounds of both, or nothing if no number is inside.
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

/// Requirements by label key. A key that is not there allows everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Requirements(BTreeMap<String, Requirement>);

/// Why one set of requirements cannot meet another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incompatible {
    /// The other side wants a label that this side knows nothing of.
    #[error("label {key:?} does not have known values{}", hint(.like.as_deref()))]
    Unknown {
        /// The label.
        key: String,
        /// A known label that looks like it.
        like: Option<String>,
    },
    /// Both constrain the label, and no value pleases both.
    #[error("key {key}, {key} {wanted} not in {key} {offered}")]
    Conflict {
        /// The label.
        key: String,
        /// What the other side wants.
        wanted: Box<Requirement>,
        /// What this side has.
        offered: Box<Requirement>,
    },
}

fn hint(like: Option<&str>) -> String {
    like.map(|like| format!(" (typo of {like:?}?)")).unwrap_or_default()
}

impl Requirements {
    /// No requirement at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Each label must have exactly this value.
    pub fn from_labels<'l>(labels: impl IntoIterator<Item = (&'l String, &'l String)>) -> Self {
        let mut all = Self::new();
        for (key, value) in labels {
            all.add(key, Requirement::one_of([value.as_str()]));
        }
        all
    }

    /// All of `specs`; several on one key are intersected.
    pub fn from_specs<'s>(specs: impl IntoIterator<Item = &'s RequirementSpec>) -> Self {
        let mut all = Self::new();
        for spec in specs {
            all.add(&spec.key, Requirement::new(spec.operator, &spec.values, spec.min_values));
        }
        all
    }

    /// Narrows `key`. Beta keys are taken for the ones in use.
    pub fn add(&mut self, key: &str, requirement: Requirement) {
        let key = label::normalize(key);
        match self.0.get_mut(key) {
            Some(existing) => *existing = requirement.intersection(existing),
            None => {
                self.0.insert(key.to_owned(), requirement);
            }
        }
    }

    /// Replaces what is known of `key`.
    pub fn set(&mut self, key: &str, requirement: Requirement) {
        self.0.insert(label::normalize(key).to_owned(), requirement);
    }

    /// Narrows by every requirement of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (key, requirement) in &other.0 {
            self.add(key, requirement.clone());
        }
    }

    /// Forgets `key`.
    pub fn remove(&mut self, key: &str) -> Option<Requirement> {
        self.0.remove(label::normalize(key))
    }

    /// What is known of `key`, if anything.
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(label::normalize(key))
    }

    /// Keys and requirements in order of key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Requirement)> {
        self.0.iter().map(|(key, requirement)| (key.as_str(), requirement))
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any requirement carries `minValues`.
    pub fn has_min_values(&self) -> bool {
        self.0.values().any(|requirement| requirement.min_values.is_some())
    }

    /// Whether the keys that both constrain leave a value. Two exclusions never contradict.
    pub fn intersects(&self, other: &Self) -> Result<(), Incompatible> {
        let Some((key, own, wanted)) = self.conflict(other) else { return Ok(()) };
        Err(Incompatible::Conflict {
            key: key.to_owned(),
            wanted: Box::new(wanted.clone()),
            offered: Box::new(own.clone()),
        })
    }

    /// Whether what `self` offers can serve what `wanted` asks for.
    ///
    /// A key that `self` does not know is refused unless `wanted` only excludes values, or the
    /// provider will fill the key in (`open`: the well-known keys for a new claim, `None` for a
    /// node that exists).
    pub fn compatible(&self, wanted: &Self, open: Option<&WellKnown>) -> Result<(), Incompatible> {
        if let Some(key) = self.unknown_key(wanted, open) {
            let like = self.looks_like(key, open);
            return Err(Incompatible::Unknown { key: key.to_owned(), like });
        }
        self.intersects(wanted)
    }

    /// As [`Requirements::compatible`], for callers who do not ask why.
    pub fn is_compatible(&self, wanted: &Self, open: Option<&WellKnown>) -> bool {
        self.unknown_key(wanted, open).is_none() && self.conflict(wanted).is_none()
    }

    /// The first key that `wanted` insists on and nobody will supply.
    fn unknown_key<'w>(&self, wanted: &'w Self, open: Option<&WellKnown>) -> Option<&'w str> {
        let known =
            |key: &str| self.0.contains_key(key) || open.is_some_and(|open| open.contains(key));
        let mut insisted = wanted.0.iter().filter(|(_, requirement)| !is_exclusion(requirement));
        insisted.find(|(key, _)| !known(key)).map(|(key, _)| key.as_str())
    }

    /// The first key of which no value pleases both, with what each side says of it.
    fn conflict<'r>(
        &'r self,
        other: &'r Self,
    ) -> Option<(&'r str, &'r Requirement, &'r Requirement)> {
        let smaller = if self.0.len() <= other.0.len() { self } else { other };
        let mut shared = smaller
            .0
            .keys()
            .filter_map(|key| Some((key.as_str(), self.0.get(key)?, other.0.get(key)?)));
        shared.find(|(_, own, wanted)| {
            let both_exclude = is_exclusion(own) && is_exclusion(wanted);
            !both_exclude && !own.has_intersection(wanted)
        })
    }

    fn looks_like(&self, key: &str, open: Option<&WellKnown>) -> Option<String> {
        let suffix = key.split_once('/').map_or(key, |(_, suffix)| suffix);
        let similar = |known: &&str| known.contains(key) || known.ends_with(suffix);
        let keys = || {
            let own = self.0.keys().map(String::as_str);
            open.into_iter().flat_map(WellKnown::iter).chain(own)
        };
        keys().find(similar).or_else(|| misspelt(key, keys())).map(str::to_owned)
    }

    /// Back to the API's form, in order of key.
    pub fn to_specs(&self) -> Vec<RequirementSpec> {
        self.0.iter().flat_map(|(key, requirement)| requirement.to_specs(key)).collect()
    }

    /// The labels of which only one value is left.
    pub fn single_values(&self) -> Labels {
        self.0
            .iter()
            .filter_map(|(key, requirement)| Some((key.clone(), requirement.single()?.to_owned())))
            .collect()
    }
}

/// The known key that one or two slips of the pen turn into this one.
fn misspelt<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    /// More slips than these make any short word of any other.
    const SLIPS_MAX: usize = 2;
    /// Of so many letters one may be wrong.
    const LETTERS_PER_SLIP: usize = 4;

    let slips = SLIPS_MAX.min(key.len() / LETTERS_PER_SLIP);
    // Comparing takes the product of both lengths, and those of known keys are bounded.
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
