//! The hashes of classes and templates, by which a change is found.
//!
//! The predecessor writes them on classes, templates and claims. They are the same here, bit by bit:
//! it hashes its Go types under their Go names with the library that [`joiner_api::hash`] describes.
//! A list that is left out is passed over, and an empty list is not.

mod class;
mod template;

pub use self::{
    class::{HASH_VERSION, class_has_changed, class_hash, class_hash_v2, class_in_place_hash},
    template::{
        TEMPLATE_HASH_VERSION, template_hash, template_in_place_hash, unmanaged_template_hash,
    },
};

use joiner_api::hash::{fnv, set, text};

/// The number of a text; none where it is left out or empty, which is Go's zero value.
fn text_of(value: Option<&String>) -> Option<u64> {
    value.filter(|value| !value.is_empty()).map(|value| text(value))
}

/// The number of a text that Go holds by a pointer, so that an empty one counts.
fn pointed_text(value: Option<&String>) -> Option<u64> {
    value.map(|value| text(value))
}

/// The number of a truth value that Go holds by a pointer, so that `false` counts.
fn pointed_bool(value: Option<bool>) -> Option<u64> {
    value.map(|value| fnv(&[u8::from(value)]))
}

/// The number of a list of texts; none where it is left out.
fn texts(values: Option<&Vec<String>>) -> Option<u64> {
    values.map(|values| set(values.iter().map(|value| text(value))))
}
