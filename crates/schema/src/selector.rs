//! Label and field selectors, as they are written in requests and objects.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use crate::{error::FieldError, meta, names, text};

/// Which objects a request or an object means, by their labels. The empty selector means all.
///
/// The planner has a selector of its own in `joiner_core::selector`: it never sees one that the API
/// server refused, cannot compare numbers, and needs no texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

/// One condition of a [`LabelSelector`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// What must be true of it.
    pub operator: Operator,
    /// What it is compared with, sorted.
    pub values: Vec<String>,
}

/// What a [`Requirement`] says about a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`: also true when there is no such label.
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`
    DoubleEquals,
    /// `key!=a`: also true when there is no such label.
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

impl LabelSelector {
    /// Reads the form in which requests have it: `a=b,c!=d,e in (f,g),!h`. The error is what the
    /// API server says with status 400.
    pub fn parse(selector: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: scan(selector), position: 0 };
        let mut requirements = parser.parse()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads the form in which objects have it: `matchLabels` and `matchExpressions`. No selector
    /// (`null`) means no object, an empty one means all.
    pub fn from_json(selector: Option<&Value>) -> Result<Self, String> {
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            return Ok(Self { requirements: Vec::new(), nothing: true });
        };
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels {
                let value = value.as_str().unwrap_or_default().to_owned();
                requirements.push(Requirement::new(key, Operator::Equals, vec![value])?);
            }
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let word = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
            let operator = match word {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => {
                    let word = text::quote(word);
                    return Err(format!("{word} is not a valid label selector operator"));
                }
            };
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            let values = expression.get("values").and_then(Value::as_array);
            let values = values.into_iter().flatten();
            let values = values.map(|v| v.as_str().unwrap_or_default().to_owned()).collect();
            requirements.push(Requirement::new(key, operator, values)?);
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Whether an object with these labels is meant.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_with(|key| labels.get(key).map(String::as_str))
    }

    /// Whether an object is meant whose `metadata.labels` are these.
    pub fn matches_json(&self, labels: Option<&Value>) -> bool {
        self.matches_with(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
    }

    /// Whether an object is meant whose labels a function knows.
    pub fn matches_with<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        !self.nothing && self.requirements.iter().all(|needed| needed.matches(label(&needed.key)))
    }

    /// Whether every object is meant.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// The conditions, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let values = values.join(",");
        match operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

impl Requirement {
    /// A condition, if the API server would take it.
    pub fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Self, String> {
        values.sort_unstable();
        values.dedup();
        let mut errors = Vec::new();
        let wrong = names::qualified_name(key);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid("key", key, wrong.join("; ")));
        }
        let shown = || Value::from(values.clone());
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                let words = "for 'in', 'notin' operators, values set can't be empty";
                errors.push(FieldError::invalid("values", shown(), words));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                let words = "values set must be empty for exists and does not exist";
                errors.push(FieldError::invalid("values", shown(), words));
            }
            Operator::GreaterThan | Operator::LessThan => {
                for (i, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        let words = "for 'Gt', 'Lt' operators, the value must be an integer";
                        let field = format!("values[{i}]");
                        errors.push(FieldError::invalid(field, value.as_str(), words));
                    }
                }
            }
            _ => {}
        }
        for (i, value) in values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                let field = format!("values[{i}][{key}]");
                errors.push(FieldError::invalid(field, value.as_str(), wrong.join("; ")));
            }
        }
        match &errors[..] {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            errors => Err(aggregate(errors)),
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let among = |value: &str| self.values.iter().any(|known| known == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(among),
            Operator::NotIn | Operator::NotEquals => label.is_none_or(|value| !among(value)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let limit = self.values.first().and_then(|value| value.parse::<i64>().ok());
                let value = label.and_then(|value| value.parse::<i64>().ok());
                value.zip(limit).is_some_and(|(value, limit)| {
                    if self.operator == Operator::LessThan { value < limit } else { value > limit }
                })
            }
        }
    }
}

/// Several errors in one text, as the API server joins them: each once, in brackets if many.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) }
}

/// What is wrong with a label selector in an object (`matchLabels` and `matchExpressions`).
pub fn validate_label_selector(selector: &Value, path: &str) -> Vec<FieldError> {
    let labels = selector.get("matchLabels");
    let mut errors = meta::validate_labels(labels, &format!("{path}.matchLabels"));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, expression) in expressions.into_iter().flatten().enumerate() {
        let path = format!("{path}.matchExpressions[{i}]");
        let values = expression.get("values").and_then(Value::as_array);
        let values: Vec<&Value> = values.into_iter().flatten().collect();
        let operator = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                format!("{path}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                format!("{path}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(FieldError::invalid(
                format!("{path}.operator"),
                operator,
                "not a valid selector operator",
            )),
        }
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
        for words in names::qualified_name(key) {
            errors.push(FieldError::invalid(format!("{path}.key"), key, words));
        }
        for (j, value) in values.into_iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            for words in names::label_value(value) {
                errors.push(FieldError::invalid(format!("{path}.values[{j}]"), value, words));
            }
        }
    }
    errors
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Error,
    End,
    Identifier,
    Closed,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// The token that a literal is, if it is none of the user's words.
fn token_of(literal: &str) -> Option<Token> {
    Some(match literal {
        ")" => Token::Closed,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn scan(selector: &str) -> Vec<(Token, String)> {
    let special = |c: char| "=!(),><".contains(c);
    let mut tokens = Vec::new();
    let mut rest = selector;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next().filter(|&c| c != '\0') else { break };
        if special(first) {
            let mut end = 0;
            let mut last: Option<(Token, usize)> = None;
            for c in rest.chars().take_while(|&c| special(c)) {
                end += c.len_utf8();
                match token_of(&rest[..end]) {
                    Some(token) => last = Some((token, end)),
                    None if last.is_some() => break,
                    None => {}
                }
            }
            match last {
                Some((token, end)) => {
                    tokens.push((token, rest[..end].to_owned()));
                    rest = &rest[end..];
                }
                None => {
                    let words = format!("error expected: keyword found '{}'", &rest[..end]);
                    tokens.push((Token::Error, words));
                    rest = &rest[end..];
                }
            }
        } else {
            let stop = |c: char| special(c) || " \t\r\n\0".contains(c);
            let end = rest.find(stop).unwrap_or(rest.len());
            let word = &rest[..end];
            tokens.push((token_of(word).unwrap_or(Token::Identifier), word.to_owned()));
            rest = &rest[end..];
        }
    }
    tokens.push((Token::End, String::new()));
    tokens
}

struct Parser {
    tokens: Vec<(Token, String)>,
    position: usize,
}

impl Parser {
    /// The next token, where `in` and `notin` may be names and values too.
    fn peek(&self) -> (Token, String) {
        let last = self.tokens.len() - 1;
        let (token, literal) = self.tokens[self.position.min(last)].clone();
        match token {
            Token::In | Token::NotIn => (Token::Identifier, literal),
            token => (token, literal),
        }
    }

    fn next(&mut self) -> (Token, String) {
        let next = self.peek();
        self.position += 1;
        next
    }

    fn parse(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let requirement = self
                        .requirement()
                        .map_err(|error| format!("unable to parse requirement: {error}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => match self.peek() {
                            (Token::Identifier | Token::Not, _) => {}
                            (_, found) => {
                                return Err(format!(
                                    "found '{found}', expected: identifier after ','"
                                ));
                            }
                        },
                        (_, found) => {
                            return Err(format!(
                                "found '{found}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, found) => {
                    return Err(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let wrong = names::qualified_name(&key);
        if !wrong.is_empty() {
            return Err(FieldError::invalid("<nil>", key.as_str(), wrong.join("; ")).to_string());
        }
        if negated {
            return Requirement::new(&key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(&key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        Requirement::new(&key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let (token, literal) = self.tokens[self.position.min(self.tokens.len() - 1)].clone();
        self.position += 1;
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => {
                return Err(format!("found '{literal}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        })
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let (token, found) = self.next();
        if token != Token::Open {
            return Err(format!("found '{found}' expected: '('"));
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.identifiers()?;
                self.position += 1;
                Ok(values)
            }
            (Token::Closed, _) => {
                self.position += 1;
                Ok(vec![String::new()])
            }
            (_, found) => Err(format!("found '{found}', expected: ',', ')' or identifier")),
        }
    }

    /// The values up to the closing bracket, which is left to be read. Nothing between two commas
    /// is the empty value.
    fn identifiers(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        loop {
            match self.next() {
                (Token::Identifier, value) => {
                    values.push(value);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Closed, _) => return Ok(values),
                        (_, found) => return Err(format!("found '{found}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek().0 {
                        Token::Closed => {
                            values.push(String::new());
                            return Ok(values);
                        }
                        Token::Comma => values.push(String::new()),
                        _ => {}
                    }
                }
                (_, found) => return Err(format!("found '{found}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Identifier, value) => Ok(value),
            (_, found) => Err(format!("found '{found}', expected: identifier")),
        }
    }
}

/// Which objects a request means, by their fields: `metadata.name=a,spec.nodeName!=b`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// The conditions; all must hold.
    pub terms: Vec<FieldTerm>,
}

/// One condition of a [`FieldSelector`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field's path, such as `metadata.name`.
    pub field: String,
    /// Whether the field must have the value, rather than must not.
    pub equal: bool,
    /// The value.
    pub value: String,
}

impl FieldSelector {
    /// Reads the form in which requests have it. The error is what the API server says with
    /// status 400.
    pub fn parse(selector: &str) -> Result<Self, String> {
        let mut parts = split_terms(selector);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let at = part.char_indices().find_map(|(i, _)| {
                let operator = ["!=", "==", "="].into_iter().find(|op| part[i..].starts_with(op));
                operator.map(|operator| (i, operator))
            });
            let Some((i, operator)) = at else {
                return Err(format!("invalid selector: '{selector}'; can't understand '{part}'"));
            };
            terms.push(FieldTerm {
                field: part[..i].to_owned(),
                equal: operator != "!=",
                value: unescape(&part[i + operator.len()..])?,
            });
        }
        Ok(Self { terms })
    }

    /// Whether an object is meant whose fields are these; a field without value is empty.
    pub fn matches<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> bool {
        let holds =
            |term: &FieldTerm| (field(&term.field).unwrap_or_default() == term.value) == term.equal;
        self.terms.iter().all(holds)
    }
}

/// The parts between commas that are not escaped.
fn split_terms(selector: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (i, c) in selector.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&selector[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&selector[start..]);
    terms
}

fn unescape(value: &str) -> Result<String, String> {
    let sequence =
        |words: &str| Err(format!("invalid field selector: invalid escape sequence: {words}"));
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return sequence(&format!("\\{c}")),
                None => return sequence("\\"),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}
