//! Objects by the selectors they have, so that a pod finds the ones that select it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_apiserver::Key;
use joiner_core::{label::Labels, selector::LabelSelector};

/// Objects by a label and its value.
type ByLabel = BTreeMap<(String, String), BTreeSet<Key>>;

/// Selectors of namespaced objects, indexed by a label that everything they select must have.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    all: BTreeMap<Key, LabelSelector>,
    /// By namespace, then by a label and its value.
    by_label: BTreeMap<Arc<str>, ByLabel>,
    /// Those that ask for no label by value, by namespace.
    others: BTreeMap<Arc<str>, BTreeSet<Key>>,
}

impl Selectors {
    /// Takes in an object's selector, in place of an earlier one. Says whether it is another one.
    pub(super) fn put(&mut self, key: &Key, selector: LabelSelector) -> bool {
        if self.all.get(key) == Some(&selector) {
            return false;
        }
        self.remove(key);
        let namespace = Arc::clone(&key.namespace);
        match selector.exact() {
            Some((label, value)) => {
                let label = (label.to_owned(), value.to_owned());
                let labels = self.by_label.entry(namespace).or_default();
                labels.entry(label).or_default().insert(key.clone());
            }
            None => {
                self.others.entry(namespace).or_default().insert(key.clone());
            }
        }
        self.all.insert(key.clone(), selector);
        true
    }

    /// Forgets an object.
    pub(super) fn remove(&mut self, key: &Key) {
        let Some(selector) = self.all.remove(key) else { return };
        match selector.exact() {
            Some((label, value)) => {
                let label = (label.to_owned(), value.to_owned());
                let Some(labels) = self.by_label.get_mut(&key.namespace) else { return };
                if let Some(keys) = labels.get_mut(&label) {
                    keys.remove(key);
                    if keys.is_empty() {
                        labels.remove(&label);
                    }
                }
            }
            None => {
                if let Some(keys) = self.others.get_mut(&key.namespace) {
                    keys.remove(key);
                }
            }
        }
    }

    /// The objects of a namespace that select something with these labels.
    pub(super) fn selecting(&self, namespace: &str, labels: &Labels) -> BTreeSet<Key> {
        let indexed = self.by_label.get(namespace).into_iter().flat_map(|index| {
            labels
                .iter()
                .filter_map(|(label, value)| index.get(&(label.clone(), value.clone())))
                .flatten()
        });
        let others = self.others.get(namespace).into_iter().flatten();
        indexed.chain(others).filter(|key| self.all[*key].matches(labels)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use joiner_core::selector::SelectorTerm;

    use super::*;

    #[test]
    fn labels_find_the_selectors_of_their_namespace() {
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let mut selectors = Selectors::default();
        let app = LabelSelector::labels(&labels(&[("app", "web")]));
        selectors.put(&Key::new("a", "exact"), app.clone());
        selectors.put(&Key::new("b", "elsewhere"), app.clone());
        let exists = LabelSelector::new([SelectorTerm::Exists("tier".into())]);
        selectors.put(&Key::new("a", "exists"), exists);
        let found = |selectors: &Selectors, pairs: &[(&str, &str)]| {
            let keys = selectors.selecting("a", &labels(pairs));
            keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(&selectors, &[("app", "web"), ("tier", "x")]), "a/exact a/exists");
        assert_eq!(found(&selectors, &[("app", "db")]), "");
        assert!(!selectors.put(&Key::new("a", "exact"), app));
        selectors.put(&Key::new("a", "exact"), LabelSelector::labels(&labels(&[("app", "db")])));
        assert_eq!(found(&selectors, &[("app", "web")]), "");
        assert_eq!(found(&selectors, &[("app", "db")]), "a/exact");
        selectors.remove(&Key::new("a", "exact"));
        assert_eq!(found(&selectors, &[("app", "db")]), "");
    }
}
