//! The shape of values: types, limits, formats, logical junctors.
//!
//! The texts and the choice among the alternatives of `anyOf` and `oneOf` follow the validator that
//! the API server uses: the alternative with the most checks passed explains the failure.

use serde_json::{Map, Number, Value};

use super::node::Node;
use crate::{
    correlate::Pair,
    error::{ErrorKind, FieldError},
    formats::Format,
    path::Path,
    schema::{Additional, Type},
    text,
};

/// What is wrong with `value`; `pair` has the old one on updates.
pub(super) fn validate(
    node: &Node,
    value: &Value,
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
) -> Vec<FieldError> {
    check_ratcheting(node, value, path, pair)
        .findings
        .into_iter()
        .map(|finding| finding.error)
        .collect()
}

#[derive(Default)]
struct Outcome {
    findings: Vec<Finding>,
    /// Checks passed.
    matches: u32,
}

struct Finding {
    /// Equal texts are one finding.
    text: String,
    error: FieldError,
}

impl Outcome {
    fn add(&mut self, finding: Finding) {
        if !self.findings.iter().any(|known| known.text == finding.text) {
            self.findings.push(finding);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other.findings.into_iter().for_each(|finding| self.add(finding));
    }

    fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    /// An error about the value at `path`, of which `words` follow "… in body".
    fn refuse(&mut self, path: &Path<'_>, kind: ErrorKind, value: Value, words: &str) {
        let text = format!("{} in body {words}", path.show_relative());
        let error = FieldError::new(kind, path.show_below_base(), Some(value), text.clone());
        self.add(Finding { text, error });
    }

    /// An error about the whole object.
    fn refuse_whole(&mut self, path: &Path<'_>, text: String) {
        let field = Path::root(path.base()).show();
        let error = FieldError::invalid(field, "", text.clone());
        self.add(Finding { text, error });
    }
}

/// Checks a value, unless it is as wrong as it was before.
fn check_ratcheting(
    node: &Node,
    value: &Value,
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
) -> Outcome {
    let mut outcome = check(node, value, path, pair);
    if !outcome.is_valid() && pair.is_some_and(|pair| pair.is_unchanged()) {
        outcome.findings.clear();
    }
    outcome
}

fn check(node: &Node, value: &Value, path: &Path<'_>, pair: Option<Pair<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    if value.is_null() {
        check_type(node, value, path, &mut outcome);
        check_enum(node, value, path, &mut outcome);
        return outcome;
    }
    let schema = &node.schema;
    if schema.kind.is_some() || schema.int_or_string || node.format.is_some() {
        check_type(node, value, path, &mut outcome);
        outcome.matches += 1;
    }
    check_junctors(node, value, path, pair, &mut outcome);
    outcome.matches += 1;
    match value {
        Value::String(text) => {
            check_text(node, text, path, &mut outcome);
            outcome.matches += 1;
            if let Some(Format::Text(format)) = node.format {
                if !format.accepts(text) {
                    let name = schema.format.as_deref().unwrap_or_default();
                    let words = format!("must be of type {name}: {}", text::quote(text));
                    let shown = Value::from(text.as_str());
                    outcome.refuse(path, ErrorKind::TypeInvalid, shown, &words);
                }
                outcome.matches += 1;
            }
        }
        Value::Number(number) => {
            check_number(node, number, path, &mut outcome);
            outcome.matches += 2;
        }
        Value::Array(items) => {
            check_items(node, items, path, pair, &mut outcome);
            outcome.matches += 2;
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
    check_enum(node, value, path, &mut outcome);
    outcome.matches += 1;
    if let Value::Object(fields) = value {
        check_fields(node, fields, path, pair, &mut outcome);
        outcome.matches += 1;
    }
    outcome.matches += 1;
    outcome
}

/// The type of a JSON value, and the format that the validator takes it to have.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0
}

fn check_type(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut Outcome) {
    let schema = &node.schema;
    let wanted = if schema.int_or_string { "integer,string" } else { schema.kind_word() };
    let is = |kind: Type| {
        if schema.int_or_string {
            matches!(kind, Type::Integer | Type::String)
        } else {
            schema.kind == Some(kind)
        }
    };
    let (found, found_format) = type_of(value);
    let mut refuse = |wanted: &str, found: &str| {
        let words = format!("must be of type {wanted}: {}", text::quote(found));
        outcome.refuse(path, ErrorKind::TypeInvalid, Value::from(found), &words);
    };
    if value.is_null() {
        if wanted.is_empty() || schema.nullable {
            outcome.matches += 1;
        } else {
            refuse(wanted, found);
        }
        return;
    }
    let whole = value.as_f64().is_some_and(is_whole);
    let fits = Type::parse(found).is_some_and(is)
        || (found == "number" && whole && is(Type::Integer))
        || (found == "integer" && is(Type::Number));
    let formatted = node.format.is_some();
    let format = schema.format.as_deref().filter(|_| formatted).unwrap_or_default();
    let textual = matches!(value, Value::String(_) | Value::Array(_));
    if !textual && formatted && !(fits || found_format == format) {
        refuse(format, found_format);
    } else if (textual && formatted && !is(Type::Number) && !is(Type::Integer)) || fits {
        outcome.matches += 1;
    } else {
        refuse(wanted, found);
    }
}

fn check_junctors(
    node: &Node,
    value: &Value,
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
    outcome: &mut Outcome,
) {
    outcome.matches += 1;
    let name = || text::quote(&path.show_relative());
    if !node.any_of.is_empty() {
        let (best, valid) = try_all(&node.any_of, value, path, pair, true);
        if valid == 0 {
            let text = format!("{} must validate at least one schema (anyOf)", name());
            outcome.refuse_whole(path, text);
        }
        outcome.merge(best);
    }
    if !node.one_of.is_empty() {
        let (best, valid) = try_all(&node.one_of, value, path, pair, false);
        if valid == 1 {
            outcome.merge(best);
        } else {
            let found = match valid {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            let text = format!("{} must validate one and only one schema (oneOf). {found}", name());
            outcome.refuse_whole(path, text);
            if valid == 0 {
                outcome.merge(best);
            }
        }
    }
    let mut valid = 0;
    for all_of in &node.all_of {
        let result = check(all_of, value, path, pair);
        valid += usize::from(result.is_valid());
        outcome.merge(result);
    }
    if valid < node.all_of.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        let text = format!("{} must validate all the schemas (allOf){none}", name());
        outcome.refuse_whole(path, text);
    }
    if let Some(not) = &node.not
        && check(not, value, path, pair).is_valid()
    {
        let text = format!("{} must not validate the schema (not)", name());
        outcome.refuse_whole(path, text);
    }
}

/// Tries alternatives: the first that is valid, or the one with the most checks passed, and how
/// many are valid.
fn try_all(
    alternatives: &[std::sync::Arc<Node>],
    value: &Value,
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
    stop_at_first: bool,
) -> (Outcome, usize) {
    let mut best: Option<Outcome> = None;
    let mut valid = 0;
    for alternative in alternatives {
        let outcome = check(alternative, value, path, pair);
        if outcome.is_valid() {
            valid += 1;
            if valid == 1 {
                best = Some(outcome);
            }
            if stop_at_first {
                break;
            }
        } else if valid == 0 && best.as_ref().is_none_or(|best| outcome.matches > best.matches) {
            best = Some(outcome);
        }
    }
    (best.unwrap_or_default(), valid)
}

fn check_text(node: &Node, text: &str, path: &Path<'_>, outcome: &mut Outcome) {
    let schema = &node.schema;
    let length = || text.chars().count() as u64;
    if let Some(limit) = schema.max_length
        && text.len() as u64 > limit
        && length() > limit
    {
        let words =
            format!("{} in body should be at most {limit} chars long", path.show_relative());
        let error = FieldError::too_long(path.show_below_base(), limit);
        outcome.add(Finding { text: words, error });
        return;
    }
    if let Some(limit) = schema.min_length
        && length() < limit
    {
        let words = format!("should be at least {limit} chars long");
        outcome.refuse(path, ErrorKind::Invalid, Value::from(text), &words);
        return;
    }
    let words = match (&node.pattern, &schema.pattern) {
        (Some(Ok(regex)), Some(pattern)) if !regex.is_match(text) => {
            format!("should match '{pattern}'")
        }
        (Some(Err(error)), Some(pattern)) => {
            format!("should match '{pattern}, but pattern is invalid: {error}'")
        }
        _ => return,
    };
    outcome.refuse(path, ErrorKind::Invalid, Value::from(text), &words);
}

/// A number as the validator sees it: whole when it was written whole.
#[derive(Clone, Copy)]
enum Amount {
    Whole(i64),
    Float(f64),
}

impl Amount {
    fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Whole(whole),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Whole(whole) => Value::from(whole),
            Self::Float(float) => Value::from(float),
        }
    }
}

fn check_number(node: &Node, number: &Number, path: &Path<'_>, outcome: &mut Outcome) {
    let schema = &node.schema;
    let amount = Amount::of(number);
    check_range(node, amount, "Checked", path, outcome);
    if let Some(factor) = schema.multiple_of {
        check_range(node, Amount::Float(factor), "MultipleOf", path, outcome);
        let (multiple, shown) = match amount {
            Amount::Whole(whole) if factor.fract() == 0.0 => {
                (factor as i64 != 0 && whole % (factor as i64) == 0, (factor as i64).to_string())
            }
            Amount::Whole(whole) => (is_whole(whole as f64 / factor), text::float(factor)),
            Amount::Float(float) => (is_whole(float / factor), text::float(factor)),
        };
        if !multiple {
            let words = format!("should be a multiple of {shown}");
            outcome.refuse(path, ErrorKind::Invalid, amount.value(), &words);
        }
    }
    if let Some(limit) = schema.minimum {
        check_range(node, Amount::Float(limit), "Minimum boundary", path, outcome);
        let (low, shown) = compare(amount, limit, schema.exclusive_minimum, true);
        if low {
            let than = if schema.exclusive_minimum { "than" } else { "than or equal to" };
            let words = format!("should be greater {than} {shown}");
            outcome.refuse(path, ErrorKind::Invalid, amount.value(), &words);
        }
    }
    if let Some(limit) = schema.maximum {
        check_range(node, Amount::Float(limit), "Maximum boundary", path, outcome);
        let (high, shown) = compare(amount, limit, schema.exclusive_maximum, false);
        if high {
            let than = if schema.exclusive_maximum { "than" } else { "than or equal to" };
            let words = format!("should be less {than} {shown}");
            outcome.refuse(path, ErrorKind::Invalid, amount.value(), &words);
        }
    }
}

/// Whether an amount lies beyond a limit, and how the limit is shown. Whole amounts are compared
/// with the whole part of the limit.
fn compare(amount: Amount, limit: f64, exclusive: bool, lower: bool) -> (bool, String) {
    match amount {
        Amount::Whole(whole) => {
            let limit = limit as i64;
            let beyond = if lower { whole < limit } else { whole > limit };
            (beyond || (exclusive && whole == limit), limit.to_string())
        }
        Amount::Float(float) => {
            let beyond = if lower { float < limit } else { float > limit };
            #[expect(clippy::float_cmp, reason = "a limit is excluded exactly")]
            let at = float == limit;
            (beyond || (exclusive && at), text::float(limit))
        }
    }
}

/// Refuses a number, or a limit, that does not fit the type and format of the value.
fn check_range(node: &Node, amount: Amount, what: &str, path: &Path<'_>, outcome: &mut Outcome) {
    if node.schema.int_or_string {
        return;
    }
    let whole = match amount {
        Amount::Whole(whole) => Some(whole),
        Amount::Float(float) if float.fract() == 0.0 && float.abs() < 9.3e18 => Some(float as i64),
        Amount::Float(_) => None,
    };
    let fits = match (node.schema.kind, node.format) {
        (Some(Type::Integer), Some(Format::Int32)) => {
            whole.is_some_and(|whole| i32::try_from(whole).is_ok())
        }
        (Some(Type::Integer), _) => whole.is_some(),
        (Some(Type::Number), Some(Format::Float)) => match amount {
            Amount::Whole(_) => true,
            Amount::Float(float) => (float as f32).is_finite(),
        },
        _ => true,
    };
    if !fits {
        let kind = node.schema.kind_word();
        let format = match (&node.schema.format, node.format) {
            (Some(format), Some(_)) => format!("with format {format}"),
            _ => "(default format)".to_owned(),
        };
        let at = path.show_relative();
        outcome.refuse_whole(path, format!("{what} value must be of type {kind} {format} in {at}"));
    }
}

fn check_items(
    node: &Node,
    items: &[Value],
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
    outcome: &mut Outcome,
) {
    let schema = &node.schema;
    if let Some(inner) = &node.items {
        let entries = pair.map(|pair| pair.entries());
        for (i, item) in items.iter().enumerate() {
            // The pair's own new entry lives as long as the pair; find it by its place.
            let new = pair.and_then(|pair| pair.new.get(i));
            let pair = entries.as_ref().zip(new).and_then(|(entries, new)| entries.pair(new));
            outcome.merge(check_ratcheting(inner, item, &path.index(i), pair));
        }
    }
    let size = items.len();
    if let Some(limit) = schema.min_items
        && (size as u64) < limit
    {
        let words = format!("should have at least {limit} items");
        outcome.refuse(path, ErrorKind::Invalid, Value::from(size), &words);
    }
    if let Some(limit) = schema.max_items
        && size as u64 > limit
    {
        let text = format!("{} in body should have at most {limit} items", path.show_relative());
        let error = FieldError::too_many(path.show_below_base(), size, limit);
        outcome.add(Finding { text, error });
    }
    if schema.unique_items && (1..size).any(|i| items[..i].contains(&items[i])) {
        let words = "shouldn't contain duplicates";
        outcome.refuse(path, ErrorKind::Invalid, Value::from(""), words);
    }
}

fn check_enum(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut Outcome) {
    let Some(allowed) = node.schema.enumeration.as_ref().filter(|allowed| !allowed.is_empty())
    else {
        return;
    };
    if allowed.iter().any(|allowed| is_enum_value(value, allowed)) {
        return;
    }
    let shown: Vec<String> = allowed
        .iter()
        .map(|value| value.as_str().map_or_else(|| text::json(value), str::to_owned))
        .collect();
    let supported: Vec<&str> = shown.iter().map(String::as_str).collect();
    let text = format!("{} in body should be one of {supported:?}", path.show_relative());
    let error = FieldError::not_supported(path.show_below_base(), value.clone(), &supported);
    outcome.add(Finding { text, error });
}

/// Numbers are compared in the kind of number that the schema has.
fn is_enum_value(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(number), Value::Number(allowed)) => match allowed.as_i64() {
            Some(allowed) => {
                number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
                    == Some(allowed)
            }
            None => number.as_f64() == allowed.as_f64(),
        },
        (value, allowed) => value == allowed,
    }
}

fn check_fields(
    node: &Node,
    fields: &Map<String, Value>,
    path: &Path<'_>,
    pair: Option<Pair<'_>>,
    outcome: &mut Outcome,
) {
    let schema = &node.schema;
    let size = fields.len();
    if let Some(limit) = schema.min_properties
        && (size as u64) < limit
    {
        let words = format!("should have at least {limit} properties");
        outcome.refuse(path, ErrorKind::Invalid, Value::from(size), &words);
    }
    if let Some(limit) = schema.max_properties
        && size as u64 > limit
    {
        let at = path.show_relative();
        let text = format!("{at} in body should have at most {limit} properties");
        let error = FieldError::too_many(path.show_below_base(), size, limit);
        outcome.add(Finding { text, error });
    }
    let inner_pair = |key: &str| {
        // Type fields at the root cannot have been wrong before: both sides were converted.
        let type_field = path.is_root() && (key == "kind" || key == "apiVersion");
        pair.filter(|_| !type_field).and_then(|pair| pair.field(key))
    };
    if let Some(values) = &node.additional {
        for (key, value) in fields.iter().filter(|(key, _)| !node.properties.contains_key(*key)) {
            outcome.merge(check_ratcheting(values, value, &path.key(key), inner_pair(key)));
        }
    } else if schema.additional == Some(Additional::Allowed(false)) {
        for key in fields.keys().filter(|key| !node.properties.contains_key(*key)) {
            let at = path.show_relative();
            let text = format!("{at}.{key} in body is a forbidden property");
            let field = path.show_below_base();
            let error = FieldError::invalid(field, key.as_str(), text.clone());
            outcome.add(Finding { text, error });
        }
    }
    for (name, property) in &node.properties {
        if let Some(value) = fields.get(name) {
            outcome.merge(check_ratcheting(property, value, &path.field(name), inner_pair(name)));
        }
    }
    for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
        let missing = path.field(name);
        let text = format!("{} in body is required", missing.show_relative());
        outcome.add(Finding { text, error: FieldError::required(missing.show_below_base(), "") });
    }
}
