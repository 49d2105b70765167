//! The hash by which a claim remembers the template it was made from.
//!
//! Karpenter writes this number on pools and claims and replaces every node whose number differs
//! from its pool's. A cluster that moves to Joiner keeps its nodes only if both compute the same
//! number, so this repeats, bit by bit, how Karpenter's hash library (`hashstructure`, format 2)
//! walks the Go types: a struct is hashed under its Go name and a field under its Go name, fields
//! that have Go's zero value are passed over, and lists are sets.
//!
//! The steps of that walk are public: hashes of other kinds that come from the same library are made
//! of them too.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Taint, apimachinery::pkg::apis::meta::v1::Time};

use crate::{
    node_class_reference::NodeClassReference,
    node_pool::{NodeClaimTemplate, NodeClaimTemplateSpec, TemplateMetadata},
};

/// The version that is stored with the hash. A claim with another version gets a new hash and is not replaced.
pub const NODE_POOL_HASH_VERSION: &str = "v3";

/// The hash of a pool's template. Requirements are excluded: they are compared with the node's labels instead.
pub fn node_pool_hash(template: &NodeClaimTemplate) -> u64 {
    structure(
        "NodeClaimTemplate",
        [
            ("ObjectMeta", template.metadata.as_ref().and_then(metadata)),
            ("Spec", Some(spec(&template.spec))),
        ],
    )
}

/// `None` if both maps are missing, because the Go struct is then zero and skipped.
fn metadata(metadata: &TemplateMetadata) -> Option<u64> {
    let labels = metadata.labels.as_ref().map(map);
    let annotations = metadata.annotations.as_ref().map(map);
    (labels.is_some() || annotations.is_some())
        .then(|| structure("ObjectMeta", [("Labels", labels), ("Annotations", annotations)]))
}

fn spec(spec: &NodeClaimTemplateSpec) -> u64 {
    let grace_period = spec.termination_grace_period.as_ref().map(|duration| {
        structure(
            "Duration",
            [("Duration", Some(duration.nanos()).filter(|nanos| *nanos != 0).map(int))],
        )
    });
    // The Go type holds a pointer, so here zero is included and `Never` is skipped.
    let expire_after = spec.expire_after.as_ref().and_then(|duration| {
        let nanos = duration.nanos()?;
        Some(structure("NillableDuration", [("Duration", Some(int(nanos)))]))
    });
    structure(
        "NodeClaimTemplateSpec",
        [
            ("Taints", spec.taints.as_deref().map(taints)),
            ("StartupTaints", spec.startup_taints.as_deref().map(taints)),
            ("NodeClassRef", spec.node_class_ref.as_ref().map(node_class)),
            ("TerminationGracePeriod", grace_period),
            ("ExpireAfter", expire_after),
        ],
    )
}

fn taints(taints: &[Taint]) -> u64 {
    set(taints.iter().map(|taint| {
        structure(
            "Taint",
            [
                ("Key", text_if_any(&taint.key)),
                ("Value", taint.value.as_deref().and_then(text_if_any)),
                ("Effect", text_if_any(&taint.effect)),
                ("TimeAdded", taint.time_added.as_ref().map(time)),
            ],
        )
    }))
}

fn node_class(reference: &NodeClassReference) -> u64 {
    structure(
        "NodeClassReference",
        [
            ("Kind", text_if_any(&reference.kind)),
            ("Name", text_if_any(&reference.name)),
            ("Group", text_if_any(&reference.group)),
        ],
    )
}

/// A time in the binary form of Go's `time.Time`: a version, seconds since the year 1, nanoseconds, and the offset
/// of the time zone in minutes.
///
/// COMPAT: Karpenter's hash depends on the time zone of its process. This is the hash of a process in UTC, as in
/// its published images.
fn time(time: &Time) -> u64 {
    const SECONDS_FROM_YEAR_1_TO_1970: i64 = 62_135_596_800;

    let since_1970 = time.0.as_nanosecond();
    let seconds = since_1970.div_euclid(1_000_000_000) as i64 + SECONDS_FROM_YEAR_1_TO_1970;
    let nanos = since_1970.rem_euclid(1_000_000_000) as i32;
    let mut binary = vec![1];
    binary.extend(seconds.to_be_bytes());
    binary.extend(nanos.to_be_bytes());
    binary.extend(0_i16.to_be_bytes());
    structure("Time", [("Time", Some(fnv(&binary)))])
}

/// The number of a struct with the given Go name, made of those of its fields that are not zero, in
/// Go's order.
pub fn structure<'f>(name: &str, fields: impl IntoIterator<Item = (&'f str, Option<u64>)>) -> u64 {
    fields
        .into_iter()
        .filter_map(|(field, value)| Some(ordered(text(field), value?)))
        .fold(text(name), |hash, field| finish(hash ^ field))
}

fn map(map: &BTreeMap<String, String>) -> u64 {
    finish(set(map.iter().map(|(key, value)| ordered(text(key), text(value)))))
}

/// The number of a list of elements. Equal elements cancel each other out: the library does so, and
/// the number has to be the same.
pub fn set(elements: impl Iterator<Item = u64>) -> u64 {
    elements.fold(0, |hash, element| hash ^ element)
}

/// The hash of a text.
pub fn text(text: &str) -> u64 {
    fnv(text.as_bytes())
}

/// The number of a text, unless it is empty and so Go's zero value.
pub fn text_if_any(value: &str) -> Option<u64> {
    (!value.is_empty()).then(|| text(value))
}

/// The number of an integer of 64 bits.
pub fn int(value: i64) -> u64 {
    fnv(&value.to_le_bytes())
}

fn ordered(first: u64, second: u64) -> u64 {
    fnv(&[first.to_le_bytes(), second.to_le_bytes()].concat())
}

fn finish(hash: u64) -> u64 {
    fnv(&hash.to_le_bytes())
}

/// FNV-1 with 64 bits, which is not FNV-1a. Booleans and shorter integers are hashed as their bytes,
/// the lowest first.
pub fn fnv(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 14_695_981_039_346_656_037;
    const PRIME: u64 = 1_099_511_628_211;

    bytes.iter().fold(OFFSET_BASIS, |hash, byte| hash.wrapping_mul(PRIME) ^ u64::from(*byte))
}

#[cfg(test)]
mod tests;
