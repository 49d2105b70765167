//! The fields of one size of instances, checked one by one.

use std::{collections::BTreeMap, fmt::Display};

use joiner_core::{
    label::{self, Labels, WellKnown},
    quantity::Quantity,
    resources::Resources,
};

use super::{Problem, Reason};
use crate::scalar::written;

/// The architecture where a size does not say it.
pub const DEFAULT_ARCH: &str = "amd64";

const GIB: i64 = 1 << 30;

/// Reads the fields of one entry of `spec.instanceTypes` and collects what is wrong with them. A
/// field with a problem is read as if it were empty; its value is never used.
#[derive(Debug)]
pub struct Reader<'p> {
    field: String,
    problems: &'p mut Vec<Problem>,
    before: usize,
}

impl<'p> Reader<'p> {
    /// A reader for the entry at index `i`.
    pub fn new(i: usize, problems: &'p mut Vec<Problem>) -> Self {
        let before = problems.len();
        Self { field: format!("spec.instanceTypes[{i}]"), problems, before }
    }

    /// Whether the entry has no problem so far.
    pub fn is_sound(&self) -> bool {
        self.problems.len() == self.before
    }

    /// Adds a problem of a field.
    pub fn refuse(&mut self, field: &str, text: impl Into<String>) {
        let field = format!("{}.{field}", self.field);
        self.problems.push(Problem::new(Reason::INVALID_INSTANCE_TYPE, field, text));
    }

    /// The text of a field that must be there.
    pub fn required(
        &mut self,
        field: &str,
        value: Option<&impl Display>,
        remedy: &str,
    ) -> Option<String> {
        let text = written(value);
        if text.is_none() {
            self.refuse(field, format!("is missing; {remedy}"));
        }
        text
    }

    /// The number of CPUs, which must be there.
    pub fn cpus(&mut self, value: Option<&impl Display>, max: i64) -> i64 {
        let remedy = format!("write a whole number from 1 to {max}");
        let Some(text) = self.required("cpu", value, &remedy) else { return 0 };
        whole(&text, max).unwrap_or_else(|| {
            self.refuse("cpu", format!("{text:?} is not a number of CPUs; {remedy}"));
            0
        })
    }

    /// The number of pods that a node takes.
    pub fn max_pods(&mut self, value: Option<&impl Display>, max: i64) -> Option<i64> {
        let text = written(value)?;
        let pods = whole(&text, max);
        if pods.is_none() {
            let remedy = format!("write a whole number from 1 to {max}, or leave it out");
            self.refuse("maxPods", format!("{text:?} is not a number of pods; {remedy}"));
        }
        pods
    }

    /// The operating system, which must be there.
    pub fn os(&mut self, value: Option<&impl Display>) -> &'static str {
        const REMEDY: &str = "write linux or windows";
        let text = self.required("os", value, REMEDY).unwrap_or_default();
        let known = ["linux", "windows"].into_iter().find(|os| os.eq_ignore_ascii_case(&text));
        if known.is_none() && !text.is_empty() {
            self.refuse("os", format!("{text:?} is not known; {REMEDY}"));
        }
        known.unwrap_or_default()
    }

    /// The architecture.
    pub fn arch(&mut self, value: Option<&impl Display>) -> &'static str {
        let text = written(value).unwrap_or_else(|| DEFAULT_ARCH.to_owned());
        let known = [DEFAULT_ARCH, "arm64"].into_iter().find(|arch| *arch == text);
        known.unwrap_or_else(|| {
            self.refuse("arch", format!("{text:?} is not known; write amd64 or arm64"));
            DEFAULT_ARCH
        })
    }

    /// The size of the first disk in GiB, where the entry says it.
    pub fn disk(&mut self, gib: Option<i64>) -> Option<i64> {
        if let Some(gib) = gib.filter(|gib| !is_disk(*gib)) {
            self.refuse("diskSize", not_a_disk(gib));
        }
        gib
    }

    /// Extended resources by their names.
    pub fn extended(&mut self, amounts: Option<&BTreeMap<String, Quantity>>) -> Resources {
        let mut extended = Resources::new();
        for (name, &amount) in amounts.into_iter().flatten() {
            let field = format!("extendedResources[{name:?}]");
            if !name.contains('/') || !label::is_valid_key(name) {
                self.refuse(
                    &field,
                    "is not an extended resource; write a name such as nvidia.com/gpu",
                );
            } else if amount < Quantity::ZERO || amount != Quantity::whole(amount.floor()) {
                self.refuse(
                    &field,
                    format!("{amount} is not a whole number of 0 or more; write one"),
                );
            }
            extended.set(name, amount);
        }
        extended
    }

    /// Labels of the entry's nodes. Well-known labels and those of the cloud's `group` are reserved.
    pub fn labels(&mut self, labels: Option<&Labels>, group: &str) -> Labels {
        let reserved = WellKnown::default().restricting([group.to_owned()]);
        for (key, value) in labels.into_iter().flatten() {
            let field = format!("labels[{key:?}]");
            if !label::is_valid_key(key) {
                self.refuse(&field, "is not a label key; write one such as example.com/disk");
            } else if reserved.contains(key) || reserved.is_restricted(key) {
                self.refuse(&field, "is reserved; use a domain of your own");
            } else if !label::is_valid_value(value) {
                self.refuse(&field, not_a_label_value(value));
            }
        }
        labels.cloned().unwrap_or_default()
    }

    /// The price for an hour.
    pub fn price(&mut self, value: Option<&impl Display>) -> Option<f64> {
        let text = written(value)?;
        let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
        if price.is_none() {
            self.refuse("price", format!("{text:?} is not a price; write a number of 0 or more"));
        }
        price
    }

    /// A field that becomes the value of a label.
    pub fn label_value(&mut self, field: &str, value: Option<&String>) -> Option<String> {
        let text = written(value)?;
        if !label::is_valid_value(&text) {
            self.refuse(field, not_a_label_value(&text));
        }
        Some(text)
    }
}

/// The message for a text that cannot be a label's value.
pub fn not_a_label_value(text: &str) -> String {
    format!(
        "{text:?} is not a valid value of a label; use at most 63 letters, digits and, between \
         them, - _ ."
    )
}

/// Whether a disk can have this size in GiB, and its bytes can be counted.
pub fn is_disk(gib: i64) -> bool {
    (0..=i64::MAX / GIB).contains(&gib)
}

/// The message for an invalid disk size.
pub fn not_a_disk(gib: i64) -> String {
    format!("{gib} is not a disk size; write GiB, or 0 to keep the template's")
}

/// A whole number from 1 to `max`, in any of the ways to write an amount.
fn whole(text: &str, max: i64) -> Option<i64> {
    let amount: Quantity = text.parse().ok()?;
    let number = amount.floor();
    (Quantity::whole(number) == amount && (1..=max).contains(&number)).then_some(number)
}
