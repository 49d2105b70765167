//! Label selectors on pods and namespaces.

use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
};

use crate::label::Labels;

/// A label selector of Kubernetes, prepared for matching.
///
/// The empty selector matches everything. A selector that Kubernetes would reject, with an unknown operator or with
/// `In` without values, matches nothing: see [`LabelSelector::nothing`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LabelSelector {
    /// Sorted and without duplicates. It is a list because pods may have thousands of selectors with one term each.
    terms: Vec<SelectorTerm>,
    nothing: bool,
}

/// One condition of a selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SelectorTerm {
    /// The label has one of these values.
    In(String, BTreeSet<String>),
    /// The label is absent or has none of these values.
    NotIn(String, BTreeSet<String>),
    /// The label is present.
    Exists(String),
    /// The label is absent.
    DoesNotExist(String),
}

impl LabelSelector {
    /// Matches no object.
    pub fn nothing() -> Self {
        Self { terms: Vec::new(), nothing: true }
    }

    /// All of `terms` must be satisfied. A list term without values never is in Kubernetes, so the selector then
    /// matches nothing.
    pub fn new(terms: impl IntoIterator<Item = SelectorTerm>) -> Self {
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_unstable();
        terms.dedup();
        terms.shrink_to_fit();
        let refused = terms.iter().any(|term| match term {
            SelectorTerm::In(_, values) | SelectorTerm::NotIn(_, values) => values.is_empty(),
            SelectorTerm::Exists(_) | SelectorTerm::DoesNotExist(_) => false,
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
    pub fn and(self, term: SelectorTerm) -> Self {
        self.and_all([term])
    }

    /// The same selector with more conditions.
    pub fn and_all(mut self, terms: impl IntoIterator<Item = SelectorTerm>) -> Self {
        if self.nothing {
            return self;
        }
        self.terms.extend(terms);
        Self::new(self.terms)
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        !self.nothing
            && self.terms.iter().all(|term| match term {
                SelectorTerm::In(key, values) => {
                    labels.get(key).is_some_and(|value| values.contains(value))
                }
                SelectorTerm::NotIn(key, values) => {
                    labels.get(key).is_none_or(|value| !values.contains(value))
                }
                SelectorTerm::Exists(key) => labels.contains_key(key),
                SelectorTerm::DoesNotExist(key) => !labels.contains_key(key),
            })
    }

    /// A label that every selected object has, if the selector requires one value. Selectors are indexed by it.
    pub fn exact(&self) -> Option<(&str, &str)> {
        self.terms.iter().find_map(|term| match term {
            SelectorTerm::In(key, values) if values.len() == 1 => {
                values.first().map(|value| (key.as_str(), value.as_str()))
            }
            _ => None,
        })
    }

    /// The keys of the labels that decide about the selection.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| match term {
            SelectorTerm::In(key, _)
            | SelectorTerm::NotIn(key, _)
            | SelectorTerm::Exists(key)
            | SelectorTerm::DoesNotExist(key) => key.as_str(),
        })
    }
}

impl Display for LabelSelector {
    /// The syntax of `kubectl`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.nothing {
            return f.write_str("<nothing>");
        }
        if self.terms.is_empty() {
            return f.write_str("<everything>");
        }
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{term}")?;
        }
        Ok(())
    }
}

impl Display for SelectorTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let list = |values: &BTreeSet<String>| {
            values.iter().map(String::as_str).collect::<Vec<_>>().join(",")
        };
        match self {
            Self::In(key, values) if values.len() == 1 => write!(f, "{key}={}", list(values)),
            Self::In(key, values) => write!(f, "{key} in ({})", list(values)),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", list(values)),
            Self::Exists(key) => f.write_str(key),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(operator: &str, key: &str, values: &[&str]) -> SelectorTerm {
        let key = key.to_owned();
        let values = values.iter().map(|&value| value.to_owned()).collect();
        match operator {
            "In" => SelectorTerm::In(key, values),
            "NotIn" => SelectorTerm::NotIn(key, values),
            "Exists" => SelectorTerm::Exists(key),
            _ => SelectorTerm::DoesNotExist(key),
        }
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn each_operator_on_the_value_another_value_and_no_label() {
        for (operator, values, selected) in [
            ("In", &["a"][..], [true, false, false]),
            ("In", &["a", "b"], [true, true, false]),
            ("NotIn", &["a"], [false, true, true]),
            ("Exists", &[], [true, true, false]),
            ("DoesNotExist", &[], [false, false, true]),
        ] {
            let selector = LabelSelector::new([term(operator, "app", values)]);
            let objects = [labels(&[("app", "a")]), labels(&[("app", "b")]), labels(&[])];
            assert_eq!(objects.map(|labels| selector.matches(&labels)), selected, "{selector}");
        }
    }

    #[test]
    fn all_terms_must_hold() {
        let selector = LabelSelector::labels(&labels(&[("app", "web"), ("tier", "front")]))
            .and(term("DoesNotExist", "canary", &[]));
        assert!(selector.matches(&labels(&[("app", "web"), ("tier", "front"), ("more", "x")])));
        assert!(!selector.matches(&labels(&[("app", "web")])));
        assert!(!selector.matches(&labels(&[("app", "web"), ("tier", "front"), ("canary", "")])));
        assert_eq!(selector.keys().collect::<Vec<_>>(), ["app", "tier", "canary"]);
    }

    #[test]
    fn the_empty_selector_matches_everything_and_a_refused_one_nothing() {
        assert!(LabelSelector::default().matches(&labels(&[])));
        for refused in [
            LabelSelector::nothing(),
            LabelSelector::new([term("In", "app", &[])]),
            LabelSelector::new([term("NotIn", "app", &[])]),
            LabelSelector::default().and(term("In", "app", &[])),
            LabelSelector::nothing().and(term("Exists", "app", &[])),
        ] {
            assert_eq!(refused, LabelSelector::nothing());
            assert!(!refused.matches(&labels(&[])));
            assert!(!refused.matches(&labels(&[("app", "web")])));
        }
    }

    #[test]
    fn it_prints_as_kubectl_takes_it() {
        let selector = LabelSelector::new([
            term("In", "app", &["web"]),
            term("In", "tier", &["front", "back"]),
            term("NotIn", "zone", &["a"]),
            term("Exists", "owner", &[]),
            term("DoesNotExist", "canary", &[]),
        ]);
        assert_eq!(
            selector.to_string(),
            "app=web,tier in (back,front),zone notin (a),owner,!canary"
        );
        assert_eq!(LabelSelector::default().to_string(), "<everything>");
        assert_eq!(LabelSelector::nothing().to_string(), "<nothing>");
    }
}
