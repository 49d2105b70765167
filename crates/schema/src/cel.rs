//! Rules in the Common Expression Language (`x-kubernetes-validations`).
//!
//! The `cel` crate reads expressions. They are checked and evaluated here, because values have the
//! types of their schema, sets and maps are compared as such, and errors must read like the API
//! server's.

mod check;
mod convert;
mod escape;
mod eval;
mod expr;
mod field_path;
mod functions;
mod kube;
mod library;
mod semver;
mod source;
mod strings;
mod types;
mod value;

use std::{cell::Cell, sync::Arc};

use serde_json::Value;

pub(crate) use field_path::normalize as normalize_field_path;

use crate::{
    error::{ErrorKind, FieldError},
    regexes,
    schema::{Rule, Schema, Type},
};
use eval::{Context, Regexes, Scope, TOO_COSTLY};
use expr::{Expr, Kind, Literal};
use types::Ty;
use value::{Failure, Outcome, Val};

/// The longest message that an expression may make, in bytes.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// How many parts of an expression may be evaluated, those of loops each time: about what the API
/// server allows a rule to cost.
const BUDGET: u64 = 1_000_000;

/// A rule, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) rule: Rule,
    /// None for a rule without text; the error is why it cannot be evaluated.
    program: Result<Option<Program>, String>,
    message: Option<Result<Program, String>>,
    pub(crate) uses_old_self: bool,
    /// Where the error is told, below the rule's own place; empty for the place itself.
    field_path: String,
}

/// An expression, ready to be evaluated.
#[derive(Debug)]
struct Program {
    expr: Expr,
    regexes: Regexes,
}

impl CompiledRule {
    /// Compiles the rules of a schema. Rules on values without a type are not evaluated.
    pub(crate) fn compile_all(schema: &Schema, rule_schema: &Arc<Schema>) -> Vec<Self> {
        if schema.rules.is_empty() {
            return Vec::new();
        }
        let Some(this) = Ty::of(rule_schema) else { return Vec::new() };
        schema.rules.iter().map(|rule| Self::compile(rule, &this, schema)).collect()
    }

    fn compile(rule: &Rule, this: &Ty, schema: &Schema) -> Self {
        let old = if rule.optional_old_self {
            Ty::Optional(Box::new(this.clone()))
        } else {
            this.clone()
        };
        let mut uses_old_self = false;
        let program = if rule.rule.trim().is_empty() {
            Ok(None)
        } else {
            compile_expression(&rule.rule, this, &old)
                .map_err(|error| match error {
                    Unusable::Wrong(error) => format!("compilation failed: {error}"),
                    Unusable::Fails(error) => format!("program instantiation failed: {error}"),
                })
                .and_then(|(program, ty, uses)| {
                    uses_old_self = uses;
                    if matches!(ty, Ty::Bool) {
                        Ok(Some(program))
                    } else {
                        Err("cel expression must evaluate to a bool".to_owned())
                    }
                })
        };
        let message = rule.message_expression.as_deref().map(|text| {
            compile_expression(text, this, &old)
                .map_err(|error| match error {
                    Unusable::Wrong(error) => {
                        format!("messageExpression compilation failed: {error}")
                    }
                    Unusable::Fails(error) => {
                        format!("messageExpression instantiation failed: {error}")
                    }
                })
                .and_then(|(program, ty, _)| {
                    if matches!(ty, Ty::Text) {
                        Ok(program)
                    } else {
                        Err("messageExpression must evaluate to a string".to_owned())
                    }
                })
        });
        let field_path =
            rule.field_path.as_deref().and_then(|path| normalize_field_path(path, schema).ok());
        Self {
            rule: rule.clone(),
            program,
            message,
            uses_old_self,
            field_path: field_path.unwrap_or_default(),
        }
    }

    /// Why the rule cannot be evaluated.
    pub(crate) fn error(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// Why its message cannot be made.
    pub(crate) fn message_error(&self) -> Option<&str> {
        self.message.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// What a value does wrong according to the rule; `field` writes its path.
    pub(crate) fn evaluate(
        &self,
        value: &Value,
        old: Option<&Value>,
        schema: &Schema,
        field: impl Fn() -> String,
    ) -> Option<FieldError> {
        let kind = schema.kind_word();
        let program = match &self.program {
            Ok(Some(program)) => program,
            Ok(None) => return None,
            Err(error) => {
                return Some(FieldError::invalid(
                    field(),
                    kind,
                    format!("rule compile error: {error}"),
                ));
            }
        };
        let optional = self.rule.optional_old_self;
        if self.uses_old_self && old.is_none() && !optional {
            return None;
        }
        let this = value::typed(value, schema);
        let before = old.map(|old| value::typed(old, schema));
        let as_optional = match &before {
            None => Ok(Val::Optional(None)),
            Some(before) => before.clone().map(Val::some),
        };
        let before_plain = before.unwrap_or_else(|| Failure::new("no such attribute(s): oldSelf"));
        let seen = if optional { &as_optional } else { &before_plain };
        match program.run(&this, seen) {
            Ok(Val::Bool(true)) => None,
            Ok(_) => {
                let path = self.path_of_error(field());
                let detail = self.message(&this, &before_plain);
                Some(self.refuse(path, value, schema, detail))
            }
            Err(Failure(error)) => {
                let rule = self.name();
                let words = if error.starts_with("no such overload") {
                    format!(
                        "'{error}': call arguments did not match a supported operator, function \
                         or macro signature for rule: {rule}"
                    )
                } else if error == TOO_COSTLY {
                    format!(
                        "'{error}': no further validation rules will be run due to call cost \
                         exceeds limit for rule: {rule}"
                    )
                } else {
                    format!("{error} evaluating rule: {rule}")
                };
                Some(FieldError::invalid(field(), kind, words))
            }
        }
    }

    fn path_of_error(&self, field: String) -> String {
        match (self.field_path.as_str(), field.as_str()) {
            ("", _) => field,
            (path, "<nil>") => path.to_owned(),
            (path, field) if path.starts_with('[') => format!("{field}{path}"),
            (path, field) => format!("{field}.{path}"),
        }
    }

    /// The rule in errors: its message, or its text.
    fn name(&self) -> &str {
        self.rule.message.as_deref().unwrap_or(&self.rule.rule).trim()
    }

    fn message(&self, this: &Outcome<'_>, old: &Outcome<'_>) -> String {
        if let Some(Ok(program)) = &self.message
            && let Ok(Val::Text(text)) = program.run(this, old)
        {
            let text = text.trim();
            if !text.is_empty() && text.len() <= MESSAGE_LIMIT && !text.contains('\n') {
                return text.to_owned();
            }
        }
        match &self.rule.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", self.name()),
        }
    }

    fn refuse(&self, path: String, value: &Value, schema: &Schema, detail: String) -> FieldError {
        // Objects and lists are not shown: they may be long.
        let shown = match schema.kind {
            Some(Type::Object | Type::Array) => None,
            _ => Some(value.clone()),
        };
        match self.rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
            Some("FieldValueRequired") => FieldError::required(path, detail),
            Some("FieldValueDuplicate") => FieldError::new(ErrorKind::Duplicate, path, shown, ""),
            _ => FieldError::new(ErrorKind::Invalid, path, shown, detail),
        }
    }
}

impl Program {
    fn run<'a>(&'a self, this: &Outcome<'a>, old: &Outcome<'a>) -> Outcome<'a> {
        let outer = Scope { name: "oldSelf", value: old, outer: None };
        let scope = Scope { name: "self", value: this, outer: Some(&outer) };
        let budget = Cell::new(BUDGET);
        Context { regexes: &self.regexes, scope: Some(&scope), budget: &budget }.eval(&self.expr)
    }
}

/// Why an expression cannot be used.
enum Unusable {
    /// It is not well formed.
    Wrong(String),
    /// A part of it that depends on nothing fails always.
    Fails(String),
}

fn compile_expression(text: &str, this: &Ty, old: &Ty) -> Result<(Program, Ty, bool), Unusable> {
    let (expr, source) = expr::parse(text).map_err(Unusable::Wrong)?;
    let checked = check::check(&expr, this, old);
    if !checked.issues.is_empty() {
        return Err(Unusable::Wrong(source.show_issues(&checked.issues)));
    }
    let mut regexes = Regexes::new();
    prepare(&expr, &mut regexes).map_err(|Failure(error)| Unusable::Fails(error))?;
    Ok((Program { expr, regexes }, checked.ty, checked.uses_old_self))
}

/// Compiles the regular expressions that are written in an expression, and tries the conversions of
/// literals.
fn prepare(expr: &Expr, regexes: &mut Regexes) -> Result<(), Failure> {
    let mut inner: Vec<&Expr> = Vec::new();
    match &expr.kind {
        Kind::Literal(_) | Kind::Ident(_) => {}
        Kind::Select { operand, .. } | Kind::Has { operand, .. } => inner.push(operand),
        Kind::List(entries) => inner.extend(entries.iter().map(|(entry, _)| entry)),
        Kind::Map(entries) => {
            inner.extend(entries.iter().flat_map(|(key, value, _)| [key, value]));
        }
        Kind::Call { function, target, args } => {
            let place = usize::from(target.is_none());
            if matches!(function.as_str(), "matches" | "find" | "findAll")
                && let Some(Expr { kind: Kind::Literal(Literal::Text(pattern)), .. }) =
                    args.get(place)
            {
                regexes.insert(pattern.clone(), regexes::compile(pattern));
            }
            if let ("int" | "uint" | "double" | "bool", None, [arg]) =
                (function.as_str(), target, args.as_slice())
                && let Kind::Literal(Literal::Text(text)) = &arg.kind
                && let Some(result) = convert::call(function, &[Val::text(text.as_str())])
            {
                result?;
            }
            inner.extend(target.as_deref().into_iter().chain(args));
        }
        Kind::Loop(inside) => {
            inner.extend([&inside.range, &inside.body]);
            inner.extend(&inside.filter);
        }
        Kind::OptionalMap { target, body, .. } => inner.extend([target.as_ref(), body.as_ref()]),
    }
    inner.into_iter().try_for_each(|part| prepare(part, regexes))
}
