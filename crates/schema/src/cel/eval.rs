//! Evaluating expressions.

use std::{borrow::Cow, cell::Cell, collections::HashMap, rc::Rc};

use regex::Regex;

use super::{
    expr::{Expr, Kind, Literal, Loop, LoopKind},
    library,
    value::{Failure, Fields, List, Outcome, Val},
};
use crate::regexes;

/// The regular expressions that are written in an expression, compiled.
pub(super) type Regexes = HashMap<String, Result<Regex, String>>;

/// What an expression is told that does not come to an end.
pub(super) const TOO_COSTLY: &str = "operation cancelled: actual cost limit exceeded";

/// A variable, and those around it. A variable may stand for a failure: it only fails what uses it.
pub(super) struct Scope<'s, 'a> {
    pub(super) name: &'s str,
    pub(super) value: &'s Outcome<'a>,
    pub(super) outer: Option<&'s Scope<'s, 'a>>,
}

/// What evaluation needs beside the expression.
#[derive(Clone, Copy)]
pub(super) struct Context<'s, 'a> {
    pub(super) regexes: &'s Regexes,
    pub(super) scope: Option<&'s Scope<'s, 'a>>,
    /// How many more parts may be evaluated.
    pub(super) budget: &'s Cell<u64>,
}

impl<'a> Context<'_, 'a> {
    /// Runs `with` on a compiled regular expression, compiling it if it was not written literally.
    pub(super) fn regex<T>(
        &self,
        pattern: &str,
        with: impl FnOnce(&Regex) -> T,
    ) -> Result<T, Failure> {
        let compiled;
        let regex = match self.regexes.get(pattern) {
            Some(regex) => regex,
            None => {
                compiled = regexes::compile(pattern);
                &compiled
            }
        };
        match regex {
            Ok(regex) => Ok(with(regex)),
            Err(error) => Failure::new(error.clone()),
        }
    }

    /// The value of an expression.
    pub(super) fn eval(&self, expr: &'a Expr) -> Outcome<'a> {
        match self.budget.get().checked_sub(1) {
            Some(left) => self.budget.set(left),
            None => return Failure::new(TOO_COSTLY),
        }
        match &expr.kind {
            Kind::Literal(literal) => Ok(constant(literal)),
            Kind::Ident(name) => self.ident(name),
            Kind::Select { operand, field, optional } => {
                let operand = self.eval(operand)?;
                if *optional { optional_select(&operand, field) } else { select(&operand, field) }
            }
            Kind::Has { operand, field } => match self.eval(operand)? {
                Val::Map(fields) => match fields.get(field) {
                    Some(value) => value.map(|_| Val::Bool(true)),
                    None => Ok(Val::Bool(false)),
                },
                Val::Optional(None) => Ok(Val::Bool(false)),
                Val::Optional(Some(inner)) => match &*inner {
                    Val::Map(fields) => Ok(Val::Bool(fields.get(field).is_some())),
                    _ => Failure::overload(),
                },
                _ => Failure::overload(),
            },
            Kind::List(entries) => {
                let mut items = Vec::with_capacity(entries.len());
                for (entry, optional) in entries {
                    match (self.eval(entry)?, optional) {
                        (Val::Optional(inner), true) => {
                            items.extend(inner.map(|inner| Val::clone(&inner)));
                        }
                        (value, _) => items.push(value),
                    }
                }
                Ok(Val::list(items))
            }
            Kind::Map(entries) => self.map_literal(entries),
            Kind::Call { function, target, args } => self.call(function, target.as_deref(), args),
            Kind::Loop(inner) => self.run_loop(inner),
            Kind::OptionalMap { target, variable, body, flat } => match self.eval(target)? {
                Val::Optional(None) => Ok(Val::Optional(None)),
                Val::Optional(Some(inner)) => {
                    let value = Ok(Val::clone(&inner));
                    let made = self.with(variable, &value).eval(body)?;
                    Ok(if *flat { made } else { Val::some(made) })
                }
                _ => Failure::overload(),
            },
        }
    }

    /// The same context with one more variable.
    fn with<'s>(&'s self, name: &'s str, value: &'s Outcome<'a>) -> Inner<'s, 'a> {
        let scope = Scope { name, value, outer: self.scope };
        Inner { regexes: self.regexes, scope, budget: self.budget }
    }

    fn ident(&self, name: &str) -> Outcome<'a> {
        let mut scope = self.scope;
        while let Some(variable) = scope {
            if variable.name == name {
                return variable.value.clone();
            }
            scope = variable.outer;
        }
        for known in
            ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"]
        {
            if known == name {
                return Ok(Val::Type(known));
            }
        }
        Failure::new(format!("no such attribute(s): {name}"))
    }

    fn map_literal(&self, entries: &'a [(Expr, Expr, bool)]) -> Outcome<'a> {
        let mut made: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value, optional) in entries {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            match (value, optional) {
                (Val::Optional(inner), true) => {
                    made.extend(inner.map(|inner| (key, Val::clone(&inner))));
                }
                (value, _) => made.push((key, value)),
            }
        }
        Ok(Val::Map(Fields::Made(Rc::new(made))))
    }

    fn call(&self, function: &str, target: Option<&'a Expr>, args: &'a [Expr]) -> Outcome<'a> {
        match (function, args) {
            ("_&&_", [left, right]) => return self.logical(left, right, false),
            ("_||_", [left, right]) => return self.logical(left, right, true),
            ("_?_:_", [condition, yes, no]) => {
                return match self.eval(condition)? {
                    Val::Bool(true) => self.eval(yes),
                    Val::Bool(false) => self.eval(no),
                    _ => Failure::overload(),
                };
            }
            ("or", [other]) if target.is_some() => {
                let first = self.eval(target.unwrap_or(other))?;
                return match first {
                    Val::Optional(None) => self.eval(other),
                    first => Ok(first),
                };
            }
            ("orValue", [other]) if target.is_some() => {
                return match self.eval(target.unwrap_or(other))? {
                    Val::Optional(None) => self.eval(other),
                    Val::Optional(Some(inner)) => Ok(Val::clone(&inner)),
                    _ => Failure::overload(),
                };
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for arg in target.into_iter().chain(args) {
            values.push(self.eval(arg)?);
        }
        library::call(self, function, target.is_some(), &values)
    }

    /// `&&` and `||`: one side decides even if the other fails.
    fn logical(&self, left: &'a Expr, right: &'a Expr, decisive: bool) -> Outcome<'a> {
        let first = self.eval(left);
        if matches!(first, Ok(Val::Bool(flag)) if flag == decisive) {
            return Ok(Val::Bool(decisive));
        }
        let second = self.eval(right);
        if matches!(second, Ok(Val::Bool(flag)) if flag == decisive) {
            return Ok(Val::Bool(decisive));
        }
        match (first?, second?) {
            (Val::Bool(_), Val::Bool(_)) => Ok(Val::Bool(!decisive)),
            _ => Failure::overload(),
        }
    }

    fn run_loop(&self, inner: &'a Loop) -> Outcome<'a> {
        let range = self.eval(&inner.range)?;
        let mut sink = Sink::new(inner.what);
        match &range {
            Val::List(list) => {
                for i in 0..list.len() {
                    let value = list.at(i);
                    let stop = if inner.second.is_some() {
                        self.step(inner, &Ok(Val::Int(i as i64)), Some(value), &mut sink)?
                    } else {
                        self.step(inner, &value, None, &mut sink)?
                    };
                    if stop {
                        break;
                    }
                }
            }
            Val::Map(fields) => {
                for key in fields.keys() {
                    let value = inner.second.as_ref().and_then(|_| fields.get_val(&key));
                    if self.step(inner, &Ok(key), value, &mut sink)? {
                        break;
                    }
                }
            }
            _ => return Failure::overload(),
        }
        sink.finish()
    }

    /// Looks at one entry; true when no other can change the result.
    fn step(
        &self,
        inner: &'a Loop,
        first: &Outcome<'a>,
        second: Option<Outcome<'a>>,
        sink: &mut Sink<'a>,
    ) -> Result<bool, Failure> {
        let one = self.with(&inner.variable, first);
        let one = one.context();
        let second = second.unwrap_or(Ok(Val::Null));
        let two = one.with(inner.second.as_deref().unwrap_or("@none"), &second);
        let context = two.context();
        if let Some(filter) = &inner.filter {
            match context.eval(filter)? {
                Val::Bool(true) => {}
                Val::Bool(false) => return Ok(false),
                _ => return Failure::overload(),
            }
        }
        sink.take(first.clone(), context.eval(&inner.body))
    }
}

/// A context with one more variable, which it owns.
struct Inner<'s, 'a> {
    regexes: &'s Regexes,
    scope: Scope<'s, 'a>,
    budget: &'s Cell<u64>,
}

impl<'a> Inner<'_, 'a> {
    fn context(&self) -> Context<'_, 'a> {
        Context { regexes: self.regexes, scope: Some(&self.scope), budget: self.budget }
    }

    fn eval(&self, expr: &'a Expr) -> Outcome<'a> {
        self.context().eval(expr)
    }
}

/// What a loop has gathered so far.
struct Sink<'a> {
    what: LoopKind,
    failure: Option<Failure>,
    decided: bool,
    count: usize,
    keys: Vec<Val<'a>>,
    values: Vec<Val<'a>>,
}

impl<'a> Sink<'a> {
    fn new(what: LoopKind) -> Self {
        let (keys, values) = (Vec::new(), Vec::new());
        Self { what, failure: None, decided: false, count: 0, keys, values }
    }

    /// Takes what was made of an entry.
    fn take(&mut self, entry: Outcome<'a>, made: Outcome<'a>) -> Result<bool, Failure> {
        match self.what {
            LoopKind::All | LoopKind::Exists => match made {
                Ok(Val::Bool(flag)) => {
                    self.decided = flag == (self.what == LoopKind::Exists);
                    return Ok(self.decided);
                }
                Ok(_) => self.failure = self.failure.take().or(Failure::overload::<()>().err()),
                Err(failure) => self.failure = self.failure.take().or(Some(failure)),
            },
            LoopKind::ExistsOne => match made? {
                Val::Bool(flag) => self.count += usize::from(flag),
                _ => return Failure::overload(),
            },
            LoopKind::Filter => match made? {
                Val::Bool(true) => self.values.push(entry?),
                Val::Bool(false) => {}
                _ => return Failure::overload(),
            },
            LoopKind::Map => self.values.push(made?),
            LoopKind::TransformMap | LoopKind::SortBy => {
                self.keys.push(entry?);
                self.values.push(made?);
            }
            LoopKind::TransformMapEntry => {
                let Val::Map(fields) = made? else { return Failure::overload() };
                for key in fields.keys() {
                    if let Some(value) = fields.get_val(&key) {
                        self.values.push(value?);
                        self.keys.push(key);
                    }
                }
            }
        }
        Ok(false)
    }

    fn finish(self) -> Outcome<'a> {
        match self.what {
            LoopKind::All | LoopKind::Exists => {
                let exists = self.what == LoopKind::Exists;
                match self.failure {
                    _ if self.decided => Ok(Val::Bool(exists)),
                    Some(failure) => Err(failure),
                    None => Ok(Val::Bool(!exists)),
                }
            }
            LoopKind::ExistsOne => Ok(Val::Bool(self.count == 1)),
            LoopKind::Map | LoopKind::Filter => Ok(Val::list(self.values)),
            LoopKind::TransformMap | LoopKind::TransformMapEntry => {
                let entries = self.keys.into_iter().zip(self.values).collect();
                Ok(Val::Map(Fields::Made(Rc::new(entries))))
            }
            LoopKind::SortBy => library::sort_by(self.keys, self.values),
        }
    }
}

fn constant(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(flag) => Val::Bool(*flag),
        Literal::Int(number) => Val::Int(*number),
        Literal::Uint(number) => Val::Uint(*number),
        Literal::Double(number) => Val::Double(*number),
        Literal::Text(text) => Val::Text(Cow::Borrowed(text)),
        Literal::Bytes(bytes) => Val::Bytes(Rc::from(bytes.as_slice())),
    }
}

fn select<'a>(operand: &Val<'a>, field: &str) -> Outcome<'a> {
    match operand {
        Val::Map(fields) => {
            fields.get(field).unwrap_or_else(|| Failure::new(format!("no such key: {field}")))
        }
        Val::Optional(_) => optional_select(operand, field),
        _ => Failure::overload(),
    }
}

fn optional_select<'a>(operand: &Val<'a>, field: &str) -> Outcome<'a> {
    match operand {
        Val::Map(fields) => match fields.get(field) {
            None => Ok(Val::Optional(None)),
            Some(value) => value.map(Val::some),
        },
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => optional_select(inner, field),
        _ => Failure::overload(),
    }
}

/// The entry of a list or map at an index or key; nothing when there is none.
pub(super) fn index<'a>(operand: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Failure> {
    match operand {
        Val::List(list) => list_index(list, key),
        Val::Map(fields) => fields.get_val(key).transpose(),
        _ => Failure::overload(),
    }
}

fn list_index<'a>(list: &List<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Failure> {
    let place = match key {
        Val::Int(place) => usize::try_from(*place).ok(),
        Val::Uint(place) => usize::try_from(*place).ok(),
        Val::Double(place) if place.fract() == 0.0 && *place >= 0.0 => Some(*place as usize),
        other => return Failure::new(format!("unsupported index: {}", other.show())),
    };
    match place.filter(|&place| place < list.len()) {
        Some(place) => list.at(place).map(Some),
        None => Ok(None),
    }
}
