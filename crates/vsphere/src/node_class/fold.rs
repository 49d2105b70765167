//! Documented spellings that mean the same, folded into one.
//!
//! The README and the CRD of the provider that this one replaces disagree about the names of some
//! fields. Both are right here: what is written one way or the other is read as one field. Nothing
//! is written back, and nothing that is made of a class, its hash least of all, sees the difference.

use joiner_cloud::spec::{Problem, Reason, hash::is_written};
use serde_json::{Map, Value};

/// The selectors of a class, and the spellings that each has besides its own.
pub(crate) const SELECTORS: [(&str, &[(&str, &str)]); 5] = [
    ("computeSelector", &[TAG]),
    ("datastoreSelector", &[TAG]),
    ("networkSelector", &[TAG]),
    ("imageSelector", &[TAG]),
    ("dcSelector", &[TAG, ("name", "id")]),
];

/// The selector of an adapter.
pub(crate) const ADAPTER_SELECTOR: [(&str, &[(&str, &str)]); 1] = [("selector", &[TAG])];

/// What the README calls `tags`.
pub(crate) const TAG: (&str, &str) = ("tag", "tags");

/// What the README calls `userData`.
pub(crate) const USER_DATA: (&str, &str) = ("userdata", "userData");

/// Folds every spelling of a spec into the one that is read.
pub(crate) fn fold(spec: &mut Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Value::Object(fields) = spec else { return problems };
    rename(fields, "spec", USER_DATA, &mut problems);
    fold_selectors(fields, "spec", &SELECTORS, &mut problems);
    for (list, selectors) in [("zones", &SELECTORS[..]), ("networks", &ADAPTER_SELECTOR)] {
        let items = fields.get_mut(list).and_then(Value::as_array_mut);
        for (i, item) in items.into_iter().flatten().enumerate() {
            if let Value::Object(item) = item {
                fold_selectors(item, &format!("spec.{list}[{i}]"), selectors, &mut problems);
            }
        }
    }
    problems
}

fn fold_selectors(
    fields: &mut Map<String, Value>,
    at: &str,
    selectors: &[(&str, &[(&str, &str)])],
    problems: &mut Vec<Problem>,
) {
    for (selector, aliases) in selectors {
        let Some(Value::Object(found)) = fields.get_mut(*selector) else { continue };
        let at = format!("{at}.{selector}");
        // The schema accepts any value there, because upstream's schema pruned it.
        if found.get(TAG.0).is_some_and(|tag| !is_tags(tag)) {
            problems.push(Problem::new(
                Reason::INVALID_SELECTOR,
                format!("{at}.{}", TAG.0),
                "is no map of texts; write tags as {category: tag}",
            ));
            found.remove(TAG.0);
        }
        for alias in *aliases {
            rename(found, &at, *alias, problems);
        }
    }
}

fn is_tags(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(tags) => tags.values().all(Value::is_string),
        _ => false,
    }
}

fn rename(
    fields: &mut Map<String, Value>,
    at: &str,
    (alias, name): (&str, &str),
    problems: &mut Vec<Problem>,
) {
    let Some(written) = fields.remove(alias).filter(is_written) else { return };
    match fields.get(name).filter(|own| is_written(own)) {
        Some(own) if *own != written => problems.push(Problem::new(
            Reason::AMBIGUOUS_SPELLING,
            format!("{at}.{alias}"),
            format!("means the same as {at}.{name} and says something else; remove one of them"),
        )),
        Some(_) => {}
        None => {
            fields.insert(name.to_owned(), written);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn folded(mut spec: Value) -> (Value, Vec<String>) {
        let problems = fold(&mut spec);
        (spec, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_spellings_of_the_readme_are_those_of_the_crd() {
        let (readme, problems) = folded(json!({
            "computeSelector": {"tag": {"karpenter": "true"}},
            "dcSelector": {"name": "DC0"},
            "userdata": {"type": "ignition"},
            "zones": [{"name": "a", "networkSelector": {"tag": {"net": "a"}}}],
        }));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            readme,
            json!({
                "computeSelector": {"tags": {"karpenter": "true"}},
                "dcSelector": {"id": "DC0"},
                "userData": {"type": "ignition"},
                "zones": [{"name": "a", "networkSelector": {"tags": {"net": "a"}}}],
            })
        );
    }

    #[test]
    fn a_name_is_not_an_alias_where_it_is_a_field() {
        let spec = json!({"computeSelector": {"name": "Cluster01"}});
        assert_eq!(folded(spec.clone()), (spec, Vec::new()));
    }

    #[test]
    fn both_spellings_with_one_content_are_one() {
        let both = json!({"tag": {"a": "b"}, "tags": {"a": "b"}});
        let (spec, problems) = folded(json!({"imageSelector": both}));
        assert_eq!(spec, json!({"imageSelector": {"tags": {"a": "b"}}}));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn both_spellings_with_different_content_are_told() {
        let both = json!({"tag": {"a": "b"}, "tags": {"a": "c"}});
        let (spec, problems) = folded(json!({"imageSelector": both}));
        assert_eq!(spec, json!({"imageSelector": {"tags": {"a": "c"}}}));
        assert_eq!(
            problems,
            ["AmbiguousSpelling: spec.imageSelector.tag: means the same as \
              spec.imageSelector.tags and says something else; remove one of them"]
        );
    }

    #[test]
    fn a_tag_that_is_no_map_is_told() {
        let (spec, problems) = folded(json!({"computeSelector": {"tag": "karpenter"}}));
        assert_eq!(spec, json!({"computeSelector": {}}));
        assert_eq!(
            problems,
            ["InvalidSelector: spec.computeSelector.tag: is no map of texts; write tags as \
              {category: tag}"]
        );
    }
}
