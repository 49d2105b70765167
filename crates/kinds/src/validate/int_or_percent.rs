//! Fields that hold a number or a percentage.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats,
};

/// The percentage in the field, if it holds one.
fn percentage(value: &Value) -> Option<i64> {
    let text = value.as_str().filter(|text| formats::percent(text).is_empty())?;
    text.strip_suffix('%')?.parse().ok()
}

/// The number or percentage in the field.
pub(crate) fn amount(value: Option<&Value>) -> i64 {
    let Some(value) = value else { return 0 };
    let number = || value.as_str().and_then(|text| text.parse().ok());
    percentage(value).or_else(|| value.as_i64()).or_else(number).unwrap_or_default()
}

/// A number that is not negative, or a percentage.
pub(crate) fn nonnegative(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if let Some(text) = value.as_str() {
        errors.invalid_each(path, text, formats::percent(text));
    } else if let Some(number) = value.as_i64() {
        errors.nonnegative(path, number);
    }
}

/// Not more than all.
pub(crate) fn at_most_all(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if percentage(value).is_some_and(|percentage| percentage > 100) {
        errors.invalid(path, value.clone(), "must not be greater than 100%");
    }
}
