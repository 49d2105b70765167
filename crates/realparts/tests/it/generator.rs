use std::collections::{BTreeMap, BTreeSet};

use joiner_realparts::{
    exchange::{Body, Exchange, Handling},
    generate::{Generator, custom::Definition, kind::Kind},
};

/// The first questions of a seed to a server that creates whatever it is asked to, lists, changes
/// nothing and deletes nothing.
fn questions(seed: u64, count: usize) -> Vec<Exchange> {
    let mut generator = Generator::new(seed, &Definition::own());
    let mut asked = Vec::new();
    for _ in 0..count {
        let exchange = generator.next_exchange();
        let created = match (&exchange.body, exchange.method) {
            (Body::Text(text), "POST") => Some(text.clone()),
            _ => None,
        };
        match created {
            Some(object) => generator.observe(&exchange, 201, &object, true),
            None if exchange.verb == "list" => generator.observe(&exchange, 200, "{}", true),
            None => generator.observe(&exchange, 409, "", true),
        }
        asked.push(exchange);
    }
    asked
}

fn lines(seed: u64) -> Vec<String> {
    questions(seed, 500).iter().map(|exchange| format!("{exchange:?}")).collect()
}

#[test]
fn a_seed_always_asks_the_same() {
    assert_eq!(lines(7), lines(7));
    assert_ne!(lines(7), lines(8));
}

#[test]
fn every_kind_is_created_and_every_verb_is_used() {
    let mut created = BTreeSet::new();
    let mut verbs: BTreeMap<&str, usize> = BTreeMap::new();
    for exchange in questions(1, 6000) {
        *verbs.entry(exchange.verb).or_default() += 1;
        if exchange.verb == "create" {
            created.insert(exchange.resource);
        }
    }
    for kind in Kind::built_in() {
        assert!(created.contains(&kind.label()), "no {} was created", kind.label());
    }
    for own in ["widgets", "gadgets", "bags"] {
        assert!(created.contains(&format!("{own}.compare.example.com")), "no {own} were created");
    }
    let common = [
        "create",
        "get",
        "update",
        "json-patch",
        "merge-patch",
        "strategic-patch",
        "apply",
        "delete",
        "deletecollection",
        "list",
        "page",
        "watch",
        "odd path",
        "odd method",
        "stranger",
        "wrong patch",
    ];
    for verb in common {
        let times = verbs.get(verb).copied().unwrap_or_default();
        assert!(times >= 10, "{verb} was used {times} times in 6000");
    }
}

#[test]
fn an_object_that_the_servers_disagree_on_is_removed_from_both() {
    let mut generator = Generator::new(1, &[]);
    let disputed = loop {
        let exchange = generator.next_exchange();
        if exchange.verb == "create" && exchange.resource == "pods" && !exchange.key.is_empty() {
            break exchange;
        }
    };
    generator.observe(&disputed, 201, "{}", false);
    let tidy = std::iter::repeat_with(|| generator.next_exchange())
        .find(|exchange| exchange.method == "DELETE")
        .unwrap();
    assert_eq!(tidy.handling, Handling::Ignore);
    assert_eq!(tidy.path, format!("{}?gracePeriodSeconds=0", disputed.key));
}
