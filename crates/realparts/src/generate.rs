//! Questions to an API server out of a seed.
//!
//! The generator keeps track of what the real server has, so that most questions hit something,
//! and starts over with another object where the two servers disagree: a difference is reported
//! where it arises and not once more for everything that follows from it. The same seed and the
//! same answers give the same questions.

pub mod custom;
mod delete;
pub mod kind;
mod odd;
mod patch;
mod pattern;
mod read;
pub mod schema;
mod spoil;
mod subresource;
mod write;

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use joiner_core::testing::rng::Rng;
use serde_json::{Value, json};

use self::{custom::Definition, kind::Kind};
use crate::exchange::{Exchange, Handling};

/// What an object is and where it is.
#[derive(Debug, Clone)]
struct Target {
    kind: Rc<Kind>,
    namespace: String,
    name: String,
}

impl Target {
    /// The object's path, which is also the key it is remembered by.
    fn path(&self) -> String {
        format!("{}/{}", self.kind.collection(&self.namespace), self.name)
    }

    /// How often answers speak of a name: the kind with a subresource.
    fn label(&self, subresource: &str) -> String {
        match subresource {
            "" => self.kind.label(),
            name => format!("{}/{name}", self.kind.label()),
        }
    }
}

/// An object that exists, as the real server showed it last.
#[derive(Debug)]
struct Live {
    target: Target,
    object: Value,
}

/// A list of objects that was read.
#[derive(Debug, Clone)]
struct Listed {
    kind: Rc<Kind>,
    namespace: String,
    /// The key it is remembered by.
    key: String,
}

/// Makes questions.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    /// Begins every name of this run that is not in a namespace of this run.
    prefix: String,
    kinds: Vec<Rc<Kind>>,
    /// Namespaces whose objects have names that were chosen, so that both servers have the same.
    namespaces: Vec<String>,
    /// The namespace for objects with names that servers make, which differ.
    generated: String,
    /// By path, so that everything happens in the same order every time.
    live: BTreeMap<String, Live>,
    /// Paths of questions under way, to find out what their answers are about.
    targets: BTreeMap<String, Target>,
    /// Lists that were read lately, for watches to begin at.
    lists: VecDeque<Listed>,
    /// The list that is being read.
    listing: Option<Listed>,
    queue: VecDeque<Exchange>,
    /// Makes keys and names that were never used before.
    counter: usize,
}

impl Generator {
    /// A generator of the questions of a seed, about built-in kinds and those of definitions.
    pub fn new(seed: u64, definitions: &[Definition]) -> Self {
        let prefix = format!("s{seed}");
        let mut generator = Self {
            rng: Rng::new(seed),
            kinds: Kind::built_in().into_iter().map(Rc::new).collect(),
            namespaces: ["a", "b", "c"].iter().map(|name| format!("{prefix}-{name}")).collect(),
            generated: format!("{prefix}-generated"),
            prefix,
            live: BTreeMap::new(),
            targets: BTreeMap::new(),
            lists: VecDeque::new(),
            listing: None,
            queue: VecDeque::new(),
            counter: 0,
        };
        generator.begin(definitions);
        generator
    }

    /// The questions that come first: discovery, the namespaces, the definitions.
    fn begin(&mut self, definitions: &[Definition]) {
        self.discovery();
        let spaces: Vec<String> =
            self.namespaces.iter().chain([&self.generated]).cloned().collect();
        for name in spaces {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let path = "/api/v1/namespaces";
            self.push(
                Exchange::new("create", "namespaces", "POST")
                    .at(path)
                    .json(&namespace)
                    .remember(&format!("{path}/{name}")),
            );
        }
        for definition in definitions {
            self.define(definition);
            let kinds = definition.kinds(&mut self.rng);
            self.kinds.extend(kinds.into_iter().map(Rc::new));
        }
    }

    /// The next question.
    pub fn next_exchange(&mut self) -> Exchange {
        loop {
            if let Some(exchange) = self.queue.pop_front() {
                return exchange;
            }
            self.story();
        }
    }

    /// Takes notice of what the real server answered, and whether the other agreed.
    pub fn observe(&mut self, exchange: &Exchange, status: u16, body: &str, agreed: bool) {
        if exchange.handling != Handling::Compare {
            return;
        }
        if let Some(listed) = self.listing.take_if(|listed| listed.key == exchange.key) {
            if status == 200 {
                self.lists.push_back(listed);
            }
            if self.lists.len() > 5 {
                self.lists.pop_front();
            }
        }
        let Some(target) = self.targets.get(&exchange.key).cloned() else { return };
        if !agreed {
            self.give_up(&target);
            return;
        }
        if status == 404 && exchange.method == "GET" {
            self.live.remove(&exchange.key);
        }
        if !(200..300).contains(&status) {
            return;
        }
        let object: Value = serde_json::from_str(body).unwrap_or_default();
        if exchange.method == "DELETE" {
            // Whether it is gone or only marked is the next question.
            let get = Exchange::new("get after delete", target.label(""), "GET");
            self.queue.push_front(get.at(&exchange.key).remember(&exchange.key));
        } else if object["kind"] != "Status" {
            self.live.insert(exchange.key.clone(), Live { target, object });
        }
    }

    /// Forgets an object that the servers disagree on, and removes it from both.
    fn give_up(&mut self, target: &Target) {
        let path = target.path();
        self.live.remove(&path);
        let clear = Exchange::new("tidy", target.label(""), "PATCH")
            .at(&path)
            .text("application/merge-patch+json", r#"{"metadata":{"finalizers":null}}"#)
            .handled(Handling::Ignore);
        let remove = Exchange::new("tidy", target.label(""), "DELETE")
            .at(&path)
            .query("gracePeriodSeconds", "0")
            .handled(Handling::Ignore);
        self.push(clear);
        self.push(remove);
    }

    /// Puts a few questions that belong together into the queue.
    fn story(&mut self) {
        match self.rng.below(100) {
            0..=17 => self.create(),
            18..=24 => self.get(),
            25..=35 => self.update(),
            36..=41 => self.json_patch(),
            42..=48 => self.merge_patch(),
            49..=56 => self.strategic_patch(),
            57..=66 => self.apply(),
            67..=73 => self.status(),
            74..=78 => self.other_subresource(),
            79..=84 => self.delete(),
            85 => self.delete_collection(),
            86..=91 => self.list(),
            92 => self.pages(),
            93..=94 => self.watch(),
            _ => self.odd(),
        }
    }

    fn push(&mut self, exchange: Exchange) {
        self.queue.push_back(exchange);
    }

    fn count(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// A kind, by weight. However many definitions there are, most questions are about what every
    /// server has.
    fn kind(&mut self) -> Rc<Kind> {
        let custom = self.rng.chance(30);
        let class = || self.kinds.iter().filter(|kind| kind.custom == custom);
        let total: usize = class().map(|kind| kind.weight).sum();
        let mut rest = self.rng.below(total);
        for kind in class() {
            if rest < kind.weight {
                return Rc::clone(kind);
            }
            rest -= kind.weight;
        }
        Rc::clone(&self.kinds[0])
    }

    /// A namespace for objects of a kind: none where the kind has none.
    fn namespace(&mut self, kind: &Kind) -> String {
        if !kind.namespaced {
            return String::new();
        }
        // The first is the fullest, so that lists and budgets have something to chew on.
        let weighted = [0, 0, 0, 1, 1, 2];
        self.namespaces[*self.rng.pick(&weighted)].clone()
    }

    /// A name that objects of a kind may have.
    fn name(&mut self, kind: &Kind) -> String {
        let name = *self.rng.pick(&["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]);
        if kind.namespaced { name.to_owned() } else { format!("{}-{name}", self.prefix) }
    }

    /// An object of any kind that probably does not exist.
    fn somewhere(&mut self) -> Target {
        let kind = self.kind();
        let namespace = self.namespace(&kind);
        let name = self.name(&kind);
        Target { kind, namespace, name }
    }

    /// An object that exists, most of the time. It is known by its path afterwards.
    fn target(&mut self, suits: impl Fn(&Kind) -> bool) -> Target {
        let target = if self.rng.chance(92) { self.existing(suits) } else { None };
        let target = match target {
            Some(target) => target,
            None => self.somewhere(),
        };
        self.targets.insert(target.path(), target.clone());
        target
    }

    /// An object that exists, of a kind chosen by weight among those that suit.
    fn existing(&mut self, suits: impl Fn(&Kind) -> bool) -> Option<Target> {
        let mut choices = Vec::new();
        for live in self.live.values().filter(|live| suits(&live.target.kind)) {
            for _ in 0..live.target.kind.weight.min(3) {
                choices.push(&live.target);
            }
        }
        if choices.is_empty() {
            return None;
        }
        Some((*self.rng.pick(&choices)).clone())
    }

    /// What the real server showed last of an object; null if it has none.
    fn shown(&self, target: &Target) -> Value {
        self.live.get(&target.path()).map_or(Value::Null, |live| live.object.clone())
    }
}
