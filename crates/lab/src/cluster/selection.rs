//! Which nodes a pod may be on by their labels, and which pods a selector means.

use std::collections::BTreeSet;

use joiner_core::{
    label::Labels,
    selector::{LabelSelector, SelectorTerm},
};
use serde_json::Value;

/// One condition on a label of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Condition {
    fn read(value: &Value) -> Self {
        Self {
            key: text(&value["key"]),
            operator: text(&value["operator"]),
            values: texts(&value["values"]),
        }
    }

    /// Whether a label with this value, or no such label, meets the condition.
    fn holds(&self, label: Option<&str>) -> bool {
        let among = |label: &str| self.values.iter().any(|value| value == label);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|value| number(value));
        match self.operator.as_str() {
            "In" => label.is_some_and(among),
            "NotIn" => !label.is_some_and(among),
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            "Gt" => label.and_then(number).zip(bound()).is_some_and(|(own, bound)| own > bound),
            "Lt" => label.and_then(number).zip(bound()).is_some_and(|(own, bound)| own < bound),
            _ => false,
        }
    }
}

/// Conditions on a node that must all be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeTerm {
    labels: Vec<Condition>,
    fields: Vec<Condition>,
}

impl NodeTerm {
    /// A `NodeSelectorTerm`.
    pub(crate) fn read(value: &Value) -> Self {
        let conditions = |field: &str| list(&value[field]).iter().map(Condition::read).collect();
        Self { labels: conditions("matchExpressions"), fields: conditions("matchFields") }
    }

    /// Whether a node meets the term. A term without conditions is met by none.
    pub(crate) fn matches(&self, name: &str, labels: &Labels) -> bool {
        if self.labels.is_empty() && self.fields.is_empty() {
            return false;
        }
        let label = |key: &str| labels.get(key).map(String::as_str);
        self.labels.iter().all(|condition| condition.holds(label(&condition.key)))
            && self.fields.iter().all(|condition| {
                condition.holds((condition.key == "metadata.name").then_some(name))
            })
    }

    /// The nodes that the term names, if it names any.
    fn names(&self) -> Option<&[String]> {
        let by_name = |field: &&Condition| field.key == "metadata.name" && field.operator == "In";
        self.fields.iter().find(by_name).map(|field| field.values.as_slice())
    }
}

/// Which nodes a pod must be on, and which it would like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeSelection {
    labels: Labels,
    required: Option<Vec<NodeTerm>>,
    preferred: Vec<(i64, NodeTerm)>,
}

impl NodeSelection {
    /// What a pod's spec says.
    pub(crate) fn read(spec: &Value) -> Self {
        let affinity = &spec["affinity"]["nodeAffinity"];
        let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
        let preferred = &affinity["preferredDuringSchedulingIgnoredDuringExecution"];
        Self {
            labels: labels(&spec["nodeSelector"]),
            required: required
                .is_object()
                .then(|| list(&required["nodeSelectorTerms"]).iter().map(NodeTerm::read).collect()),
            preferred: list(preferred)
                .iter()
                .map(|term| (integer(&term["weight"]), NodeTerm::read(&term["preference"])))
                .collect(),
        }
    }

    /// Whether a pod may be on a node.
    pub(crate) fn allows(&self, name: &str, labels: &Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self
                .required
                .as_ref()
                .is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }

    /// The only nodes that can be meant, when every term names nodes: pods of `DaemonSets`.
    pub(crate) fn names(&self) -> Option<BTreeSet<&str>> {
        let terms = self.required.as_ref().filter(|terms| !terms.is_empty())?;
        let names: Option<Vec<_>> = terms.iter().map(NodeTerm::names).collect();
        Some(names?.into_iter().flatten().map(String::as_str).collect())
    }

    /// The weights of the preferences that a node meets, summed.
    pub(crate) fn preference(&self, name: &str, labels: &Labels) -> i64 {
        let met = self.preferred.iter().filter(|(_, term)| term.matches(name, labels));
        met.map(|(weight, _)| weight).sum()
    }

    /// Whether there are preferences.
    pub(crate) fn has_preferences(&self) -> bool {
        !self.preferred.is_empty()
    }
}

/// A `LabelSelector`; what is not there selects nothing.
pub(crate) fn selector(value: &Value) -> LabelSelector {
    if !value.is_object() {
        return LabelSelector::nothing();
    }
    let equal = labels(&value["matchLabels"])
        .into_iter()
        .map(|(key, value)| SelectorTerm::In(key, BTreeSet::from([value])));
    let mut terms: Vec<_> = equal.collect();
    for expression in list(&value["matchExpressions"]) {
        let key = text(&expression["key"]);
        let values = || texts(&expression["values"]).into_iter().collect();
        terms.push(match expression["operator"].as_str() {
            Some("In") => SelectorTerm::In(key, values()),
            Some("NotIn") => SelectorTerm::NotIn(key, values()),
            Some("Exists") => SelectorTerm::Exists(key),
            Some("DoesNotExist") => SelectorTerm::DoesNotExist(key),
            _ => return LabelSelector::nothing(),
        });
    }
    LabelSelector::new(terms)
}

/// The entries of a list; none when there is no list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text; empty when there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

/// A number; zero when there is none.
pub(crate) fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Texts by key, such as labels and annotations.
pub(crate) fn labels(value: &Value) -> Labels {
    let pairs = value.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_operator_on_a_number_a_word_and_no_label() {
        for (operator, values, met) in [
            ("In", json!(["5"]), [true, false, false]),
            ("NotIn", json!(["5"]), [false, true, true]),
            ("Exists", json!(null), [true, true, false]),
            ("DoesNotExist", json!(null), [false, false, true]),
            ("Gt", json!(["4"]), [true, false, false]),
            ("Gt", json!(["5"]), [false, false, false]),
            ("Lt", json!(["6"]), [true, false, false]),
            ("Lt", json!(["many"]), [false, false, false]),
            ("Near", json!(["5"]), [false, false, false]),
        ] {
            let condition = json!({"key": "size", "operator": operator, "values": values});
            let term = NodeTerm::read(&json!({"matchExpressions": [condition]}));
            let nodes = [json!({"size": "5"}), json!({"size": "big"}), json!({})];
            assert_eq!(nodes.map(|node| term.matches("n", &labels(&node))), met, "{condition}");
        }
    }

    #[test]
    fn one_term_is_enough_and_an_empty_one_never_is() {
        let on = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
        let selection = |terms: Value| {
            NodeSelection::read(&json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            }}}))
        };
        let either = selection(json!([on("a"), on("b")]));
        assert!(either.allows("a", &Labels::new()) && either.allows("b", &Labels::new()));
        assert!(!either.allows("c", &Labels::new()));
        assert_eq!(either.names(), Some(BTreeSet::from(["a", "b"])));
        assert!(!selection(json!([{}])).allows("a", &Labels::new()));
        assert!(!selection(json!([])).allows("a", &Labels::new()));
        assert_eq!(selection(json!([on("a"), {}])).names(), None);
        assert!(NodeSelection::read(&json!({})).allows("a", &Labels::new()));
    }

    #[test]
    fn no_selector_selects_nothing_and_an_empty_one_everything() {
        assert!(!selector(&json!(null)).matches(&Labels::new()));
        assert!(selector(&json!({})).matches(&Labels::new()));
        let odd = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        assert!(!selector(&odd).matches(&Labels::new()));
    }
}
