//! Label selectors on pods and namespaces.

use std::collections::BTreeSet;

use crate::label::Labels;

/// Kubernetes' `LabelSelector`, ready to be matched.
///
/// The empty selector matches everything. A selector that Kubernetes would refuse (an unknown operator, `In` without
/// values) matches nothing, see [`LabelSelector::nothing`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LabelSelector {
    terms: BTreeSet<SelectorTerm>,
    nothing: bool,
}

/// One condition of a selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SelectorTerm {
    /// The label has one of these values.
    In(String, BTreeSet<String>),
    /// The label is absent or has none of these values.
    NotIn(String, BTreeSet<String>),
    /// The label is there.
    Exists(String),
    /// The label is absent.
    DoesNotExist(String),
}

impl LabelSelector {
    /// Matches no object.
    pub fn nothing() -> Self {
        Self { terms: BTreeSet::new(), nothing: true }
    }

    /// All of `terms` must hold; a list term without values can never hold in Kubernetes and matches nothing.
    pub fn new(terms: impl IntoIterator<Item = SelectorTerm>) -> Self {
        let terms: BTreeSet<_> = terms.into_iter().collect();
        let refused = terms.iter().any(|term| {
            matches!(term, SelectorTerm::In(_, values) | SelectorTerm::NotIn(_, values) if values.is_empty())
        });
        if refused { Self::nothing() } else { Self { terms, nothing: false } }
    }

    /// Every label given must be present with this value.
    pub fn labels<'l>(labels: impl IntoIterator<Item = (&'l String, &'l String)>) -> Self {
        Self::new(
            labels
                .into_iter()
                .map(|(key, value)| SelectorTerm::In(key.clone(), BTreeSet::from([value.clone()]))),
        )
    }

    /// The same selector with one more condition.
    pub fn and(mut self, term: SelectorTerm) -> Self {
        if self.nothing {
            return self;
        }
        self.terms.insert(term);
        Self::new(self.terms)
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        !self.nothing
            && self.terms.iter().all(|term| match term {
                SelectorTerm::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
                SelectorTerm::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
                SelectorTerm::Exists(key) => labels.contains_key(key),
                SelectorTerm::DoesNotExist(key) => !labels.contains_key(key),
            })
    }

    /// The keys whose values decide whether something is selected.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| match term {
            SelectorTerm::In(key, _)
            | SelectorTerm::NotIn(key, _)
            | SelectorTerm::Exists(key)
            | SelectorTerm::DoesNotExist(key) => key.as_str(),
        })
    }
}

impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nothing {
            return f.write_str("<nothing>");
        }
        if self.terms.is_empty() {
            return f.write_str("<everything>");
        }
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let list = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(",");
            match term {
                SelectorTerm::In(key, values) if values.len() == 1 => write!(f, "{key}={}", list(values))?,
                SelectorTerm::In(key, values) => write!(f, "{key} in ({})", list(values))?,
                SelectorTerm::NotIn(key, values) => write!(f, "{key} notin ({})", list(values))?,
                SelectorTerm::Exists(key) => f.write_str(key)?,
                SelectorTerm::DoesNotExist(key) => write!(f, "!{key}")?,
            }
        }
        Ok(())
    }
}
