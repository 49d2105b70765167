//! The single requirement that no type of a pool satisfies.

use std::collections::BTreeSet;

use joiner_core::{
    label,
    pool::NodePool,
    reason::Reason,
    requirement::{Requirement, Requirements},
};

use crate::solve::template::Template;

/// A requirement that no type of a pool satisfies even alone.
pub(super) struct Lack<'r> {
    pub(super) key: &'r str,
    pub(super) wanted: &'r Requirement,
    /// The values that the types have instead.
    pub(super) offered: String,
}

impl Lack<'_> {
    pub(super) fn told(&self, reason: Reason) -> Reason {
        let Self { key, wanted, offered } = self;
        reason.with("key", key).with("wanted", wanted).with("offered", offered)
    }
}

/// The first requirement that no type of a pool satisfies, if there is one.
pub(super) fn types_lack<'r>(
    template: &Template<'_>,
    wanted: &'r Requirements,
) -> Option<Lack<'r>> {
    /// How many values are listed. The value was chosen so that a message stays on one line.
    const SHOWN: usize = 10;

    let types = || template.types.iter().map(|info| info.instance_type);
    let offers = |key: &str, wanted: &Requirement| {
        types().any(|each| {
            each.requirements.get(key).is_none_or(|values| values.has_intersection(wanted))
        })
    };
    let (key, wanted) = wanted.iter().find(|(key, wanted)| !offers(key, wanted))?;
    let listed = types()
        .filter_map(|each| each.requirements.get(key))
        .filter(|values| !values.is_complement());
    let values: BTreeSet<&str> =
        listed.flat_map(|values| values.values().iter().map(String::as_str)).collect();
    let mut offered: Vec<String> = values.iter().take(SHOWN).map(ToString::to_string).collect();
    if values.len() > SHOWN {
        offered.push(format!("{} others", values.len() - SHOWN));
    }
    let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
    Some(Lack { key, wanted, offered })
}

/// Requirements as text, without those that every instance of the pool is assumed to satisfy.
pub(super) fn shown(pool: &NodePool, wanted: &Requirements) -> String {
    let mut shown = wanted.clone();
    let class = &pool.node_class;
    for assumed in [
        label::HOSTNAME,
        label::REGISTERED,
        label::INITIALIZED,
        label::NODE_POOL,
        &label::node_class(&class.group, &class.kind),
    ] {
        shown.remove(assumed);
    }
    shown.to_string()
}
