//! The `JSONPath` dialect of printer columns, as kubectl and the API server understand it.
//!
//! It is not quite RFC 9535: a dot inside a quoted key separates fields unless it is escaped, and
//! a key that is missing is no error but simply gives nothing.

use std::cmp::Ordering;

use serde_json::Value;

/// A path that was read, ready to be followed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Every entry of an array, or every value of an object.
    All,
    Slice(Slice),
    Filter(Filter),
}

/// Entries of an array by number; negative numbers count from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    from: i64,
    /// None for a single entry.
    to: Option<i64>,
    step: i64,
}

/// Entries of an array of which something is true.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    /// None asks only whether the left side is there.
    compared: Option<(Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The value makes the question meaningless: a field of a number, the tenth of three entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanswerable;

impl JsonPath {
    /// Reads a path; none when it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let mut steps = Vec::new();
        reader.steps(&mut steps)?;
        (reader.at == text.len()).then_some(Self(steps))
    }

    /// What the path leads to, from `root`.
    pub(crate) fn find<'a>(&self, root: &'a Value) -> Result<Vec<&'a Value>, Unanswerable> {
        let mut found = vec![root];
        for step in &self.0 {
            let mut next = Vec::new();
            for value in found {
                step.follow(value, &mut next)?;
            }
            found = next;
        }
        Ok(found)
    }
}

impl Step {
    fn follow<'a>(&self, value: &'a Value, out: &mut Vec<&'a Value>) -> Result<(), Unanswerable> {
        match (self, value) {
            (Self::Field(name), Value::Object(fields)) => out.extend(fields.get(name)),
            (Self::All, Value::Object(fields)) => out.extend(fields.values()),
            (Self::All, Value::Array(entries)) => out.extend(entries),
            // A field of a scalar or a list is as missing as one that an object lacks.
            (Self::Field(_) | Self::All, _) | (_, Value::Null) => {}
            (Self::Slice(slice), Value::Array(entries)) => slice.follow(entries, out)?,
            (Self::Filter(filter), Value::Array(entries)) => {
                for entry in entries {
                    if filter.matches(entry)? {
                        out.push(entry);
                    }
                }
            }
            (Self::Slice(_) | Self::Filter(_), _) => return Err(Unanswerable),
        }
        Ok(())
    }
}

impl Slice {
    fn follow<'a>(
        &self,
        entries: &'a [Value],
        out: &mut Vec<&'a Value>,
    ) -> Result<(), Unanswerable> {
        let length = entries.len() as i64;
        let from_start = |at: i64| if at < 0 { at + length } else { at };
        let from = from_start(self.from);
        let Some(to) = self.to else {
            let entry = usize::try_from(from).ok().and_then(|from| entries.get(from));
            out.push(entry.ok_or(Unanswerable)?);
            return Ok(());
        };
        let to = from_start(to).min(length);
        if from < 0 || self.step < 1 {
            return Err(Unanswerable);
        }
        let mut at = from;
        while at < to {
            out.push(&entries[at as usize]);
            at += self.step;
        }
        Ok(())
    }
}

impl Filter {
    fn matches(&self, entry: &Value) -> Result<bool, Unanswerable> {
        let left = self.left.values(entry)?;
        let Some((comparison, right)) = &self.compared else { return Ok(!left.is_empty()) };
        let right = right.values(entry)?;
        match (&left[..], &right[..]) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => comparison.holds(left, right),
            _ => Err(Unanswerable),
        }
    }
}

impl Operand {
    fn values<'a>(&'a self, entry: &'a Value) -> Result<Vec<&'a Value>, Unanswerable> {
        match self {
            Self::Path(path) => path.find(entry),
            Self::Literal(value) => Ok(vec![value]),
        }
    }
}

impl Comparison {
    fn parse(sign: &str) -> Option<Self> {
        Some(match sign {
            "==" => Self::Equal,
            "!=" => Self::Different,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    fn holds(self, left: &Value, right: &Value) -> Result<bool, Unanswerable> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                let (left, right) = (left.as_f64(), right.as_f64());
                left.partial_cmp(&right).ok_or(Unanswerable)?
            }
            _ => return Err(Unanswerable),
        };
        Ok(match self {
            Self::Equal => order == Ordering::Equal,
            Self::Different => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        })
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn steps(&mut self, steps: &mut Vec<Step>) -> Option<()> {
        while let Some(next) = self.peek() {
            self.at += next.len_utf8();
            match next {
                ' ' | '@' | '$' => {}
                '.' => steps.push(self.field()?),
                '[' => self.brackets(steps)?,
                _ => return None,
            }
        }
        Some(())
    }

    fn field(&mut self) -> Option<Step> {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            match next {
                '.' | '[' | ']' | '$' | '@' | '{' | '}' | ' ' => break,
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek()?;
                    self.at += escaped.len_utf8();
                    name.push(escaped);
                }
                _ => {
                    self.at += next.len_utf8();
                    name.push(next);
                }
            }
        }
        match name.as_str() {
            "" => None,
            "*" => Some(Step::All),
            _ => Some(Step::Field(name)),
        }
    }

    /// What stands between brackets; the opening one was read.
    fn brackets(&mut self, steps: &mut Vec<Step>) -> Option<()> {
        let inside = self.until_closed()?.trim();
        if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
            steps.push(Step::Filter(parse_filter(filter)?));
        } else if inside == "*" {
            steps.push(Step::All);
        } else if let Some(key) = between(inside, '\'') {
            // The dots of a quoted key separate fields like any others.
            steps.extend(JsonPath::parse(&format!(".{key}"))?.0);
        } else {
            steps.push(Step::Slice(parse_slice(inside)?));
        }
        Some(())
    }

    /// The text up to the bracket that closes, which is skipped.
    fn until_closed(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let (mut depth, mut quote) = (0, None);
        for (at, next) in rest.char_indices() {
            match (quote, next) {
                (Some(open), _) if open == next => quote = None,
                (None, '\'' | '"') => quote = Some(next),
                (None, '[') => depth += 1,
                (None, ']') if depth == 0 => {
                    self.at += at + 1;
                    return Some(&rest[..at]);
                }
                (None, ']') => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
}

fn between(text: &str, quote: char) -> Option<&str> {
    text.strip_prefix(quote)?.strip_suffix(quote)
}

fn parse_slice(text: &str) -> Option<Slice> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |part: &str, without: i64| {
        if part.is_empty() { Some(without) } else { part.parse().ok() }
    };
    match parts[..] {
        [only] => Some(Slice { from: only.parse().ok()?, to: None, step: 1 }),
        [from, to] => {
            Some(Slice { from: number(from, 0)?, to: Some(number(to, i64::MAX)?), step: 1 })
        }
        [from, to, step] => Some(Slice {
            from: number(from, 0)?,
            to: Some(number(to, i64::MAX)?),
            step: number(step, 1)?,
        }),
        _ => None,
    }
}

fn parse_filter(text: &str) -> Option<Filter> {
    let is_sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let Some(start) = text.find(is_sign) else {
        return Some(Filter { left: parse_operand(text)?, compared: None });
    };
    let rest = &text[start..];
    let length = rest.find(|c| !is_sign(c))?;
    let comparison = Comparison::parse(&rest[..length])?;
    let right = parse_operand(&rest[length..])?;
    Some(Filter { left: parse_operand(&text[..start])?, compared: Some((comparison, right)) })
}

fn parse_operand(text: &str) -> Option<Operand> {
    let text = text.trim();
    if text.starts_with(['@', '.', '$']) {
        return JsonPath::parse(text).map(Operand::Path);
    }
    if let Some(words) = between(text, '\'').or_else(|| between(text, '"')) {
        return Some(Operand::Literal(Value::from(words)));
    }
    let literal: Value = serde_json::from_str(text).ok()?;
    (literal.is_boolean() || literal.is_number()).then_some(Operand::Literal(literal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> String {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "lab"}},
            "spec": {"size": 7, "list": ["x", "yy", "z"], "map": {"p": 1, "q": 2}},
            "status": {"conditions": [
                {"type": "Synced", "status": "False", "n": 1},
                {"type": "Ready", "status": "True", "n": 2},
                {"n": 3},
            ]},
        });
        let Some(path) = JsonPath::parse(path) else { return "not a path".to_owned() };
        match path.find(&object) {
            Ok(values) => values.into_iter().cloned().collect::<Value>().to_string(),
            Err(Unanswerable) => "unanswerable".to_owned(),
        }
    }

    #[test]
    fn paths_lead_to_values() {
        let cases = [
            (".spec.size", "[7]"),
            ("$.spec.size", "[7]"),
            (".spec.missing.deeper", "[]"),
            (".spec.size.deeper", "[]"),
            (".spec.list[0]", r#"["x"]"#),
            (".spec.list[-1]", r#"["z"]"#),
            (".spec.list[1:]", r#"["yy","z"]"#),
            (".spec.list[0:3:2]", r#"["x","z"]"#),
            (".spec.list[9]", "unanswerable"),
            (".spec.size[0]", "unanswerable"),
            (".spec.list[*]", r#"["x","yy","z"]"#),
            (".spec.map.*", "[1,2]"),
            (".spec['size']", "[7]"),
            (r".metadata.labels.a\.b/c", r#"["lab"]"#),
            (r".metadata.labels['a\.b/c']", r#"["lab"]"#),
            (".metadata.labels['a.b/c']", "[]"),
            (r#".status.conditions[?(@.type=="Ready")].status"#, r#"["True"]"#),
            (r".status.conditions[?(@.type == 'Ready')].status", r#"["True"]"#),
            (r#".status.conditions[?(@.type!="Ready")].status"#, r#"["False"]"#),
            (".status.conditions[?(@.n>=2)].n", "[2,3]"),
            (".status.conditions[?(@.type)].n", "[1,2]"),
            (r#".status.conditions[?(@.n=="Ready")].n"#, "unanswerable"),
            ("spec.size", "not a path"),
            (r#".spec["size"]"#, "not a path"),
            (".spec.", "not a path"),
            (".spec[", "not a path"),
            (".spec[?(@.x=)]", "not a path"),
        ];
        for (path, expected) in cases {
            assert_eq!(found(path), expected, "{path}");
        }
    }
}
