//! Finding mistakes in expressions before they are evaluated.

use super::{
    escape::escape,
    expr::{Expr, Kind, Literal, Loop, LoopKind},
    functions,
    source::Issue,
    types::Ty,
};
use crate::{regexes, time};

/// What is known about an expression before it is evaluated.
pub(super) struct Checked {
    pub(super) ty: Ty,
    pub(super) uses_old_self: bool,
    pub(super) issues: Vec<Issue>,
}

/// Checks an expression about `self` and `oldSelf`.
pub(super) fn check(expr: &Expr, this: &Ty, old: &Ty) -> Checked {
    let variables = vec![("self".to_owned(), this.clone()), ("oldSelf".to_owned(), old.clone())];
    let mut checker = Checker { variables, uses_old_self: false, issues: Vec::new() };
    let ty = checker.check(expr);
    Checked { ty, uses_old_self: checker.uses_old_self, issues: checker.issues }
}

struct Checker {
    variables: Vec<(String, Ty)>,
    uses_old_self: bool,
    issues: Vec<Issue>,
}

impl Checker {
    /// Notes a mistake; what is wrong once fits everywhere else.
    fn wrong(&mut self, id: u64, words: String) -> Ty {
        self.issues.push(Issue::new(id, words));
        Ty::Dyn
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Ty {
        self.wrong(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn check(&mut self, expr: &Expr) -> Ty {
        match &expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => self.ident(expr.id, name),
            Kind::Select { operand, field, optional } => {
                let operand = self.check(operand);
                let ty = self.field(expr.id, &operand, field);
                match (optional, ty) {
                    (true, Ty::Optional(of)) => Ty::Optional(of),
                    (true, ty) => Ty::Optional(Box::new(ty)),
                    (false, ty) => ty,
                }
            }
            Kind::Has { operand, field } => {
                let operand = self.check(operand);
                self.field(expr.id, &operand, field);
                Ty::Bool
            }
            Kind::List(entries) => {
                let entries = entries.iter().map(|(entry, optional)| (entry, *optional));
                Ty::List(Box::new(self.alike(entries)))
            }
            Kind::Map(entries) => {
                let keys = self.alike(entries.iter().map(|(key, _, _)| (key, false)));
                let values = entries.iter().map(|(_, value, optional)| (value, *optional));
                let values = self.alike(values);
                Ty::Map(Box::new(keys), Box::new(values))
            }
            Kind::Call { function, target, args } => {
                self.call(expr.id, function, target.as_deref(), args)
            }
            Kind::Loop(inner) => self.run_loop(expr.id, inner),
            Kind::OptionalMap { target, variable, body, flat } => {
                let of = match self.check(target) {
                    Ty::Optional(of) => *of,
                    _ => Ty::Dyn,
                };
                let body = self.with(variable, of, |checker| checker.check(body));
                match body {
                    Ty::Optional(of) if *flat => Ty::Optional(of),
                    other => Ty::Optional(Box::new(other)),
                }
            }
        }
    }

    fn with<T>(&mut self, variable: &str, ty: Ty, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.variables.push((variable.to_owned(), ty));
        let result = inside(self);
        self.variables.pop();
        result
    }

    fn ident(&mut self, id: u64, name: &str) -> Ty {
        if let Some((place, (_, ty))) =
            self.variables.iter().enumerate().rev().find(|(_, (known, _))| known == name)
        {
            self.uses_old_self |= place == 1;
            return ty.clone();
        }
        let of = match name {
            "bool" => Ty::Bool,
            "bytes" => Ty::Bytes,
            "double" => Ty::Double,
            "int" => Ty::Int,
            "list" => Ty::List(Box::new(Ty::Dyn)),
            "map" => Ty::Map(Box::new(Ty::Dyn), Box::new(Ty::Dyn)),
            "null_type" => Ty::Null,
            "string" => Ty::Text,
            "type" => Ty::Type(Box::new(Ty::Dyn)),
            "uint" => Ty::Uint,
            _ => return self.undeclared(id, name),
        };
        Ty::Type(Box::new(of))
    }

    fn field(&mut self, id: u64, operand: &Ty, field: &str) -> Ty {
        match operand {
            Ty::Dyn | Ty::Param(_) => Ty::Dyn,
            Ty::Map(_, values) => Ty::clone(values),
            Ty::Optional(of) => {
                let ty = self.field(id, of, field);
                Ty::Optional(Box::new(ty))
            }
            Ty::Object(schema) => {
                let known = schema.properties.iter().find_map(|(name, property)| {
                    (escape(name).as_deref() == Some(field)).then(|| Ty::of(property)).flatten()
                });
                match known {
                    Some(ty) => ty,
                    None => self.wrong(id, format!("undefined field '{field}'")),
                }
            }
            other => {
                let words = format!("type '{other}' does not support field selection");
                self.wrong(id, words)
            }
        }
    }

    /// The one type of entries that must all be of one type.
    fn alike<'e>(&mut self, entries: impl Iterator<Item = (&'e Expr, bool)>) -> Ty {
        let mut common: Option<Ty> = None;
        for (entry, optional) in entries {
            let ty = match (optional, self.check(entry)) {
                (true, Ty::Optional(of)) => *of,
                (_, ty) => ty,
            };
            common = Some(match common {
                None => ty,
                Some(common) => {
                    if !ty.fits(&common, &mut std::collections::BTreeMap::new()) {
                        let words = format!("expected type '{common}' but found '{ty}'");
                        self.wrong(entry.id, words);
                    }
                    common.joined(&ty)
                }
            });
        }
        common.unwrap_or(Ty::Param('A'))
    }

    fn call(&mut self, id: u64, function: &str, target: Option<&Expr>, args: &[Expr]) -> Ty {
        let types: Vec<Ty> = target
            .into_iter()
            .chain(args)
            .map(|arg| match &arg.kind {
                // What is formatted may be of different types.
                Kind::List(entries) if function == "format" => {
                    for (entry, _) in entries {
                        self.check(entry);
                    }
                    Ty::List(Box::new(Ty::Dyn))
                }
                _ => self.check(arg),
            })
            .collect();
        let Some(overloads) = functions::overloads(function) else {
            return self.undeclared(id, function);
        };
        self.literals(function, args);
        let method = target.is_some();
        let mut results = overloads.iter().filter_map(|known| known.result(method, &types));
        let Some(first) = results.next() else {
            let shown =
                |types: &[Ty]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let applied = match (&types[..], method) {
                ([target, args @ ..], true) => format!("{target}.({})", shown(args)),
                (args, _) => format!("({})", shown(args)),
            };
            let words =
                format!("found no matching overload for '{function}' applied to '{applied}'");
            return self.wrong(id, words);
        };
        let same = |ty: Ty| ty.to_string() == first.to_string();
        if results.all(same) { first } else { Ty::Dyn }
    }

    /// Literals that can only fail are told early.
    fn literals(&mut self, function: &str, args: &[Expr]) {
        let Some(Expr { id, kind: Kind::Literal(Literal::Text(text)) }) = args.last() else {
            return;
        };
        let fine = match function {
            "duration" => time::parse_go_duration(text).is_some(),
            "timestamp" => text.parse::<jiff::Timestamp>().is_ok(),
            "matches" => regexes::compile(text).is_ok(),
            _ => true,
        };
        if !fine {
            self.wrong(*id, format!("invalid {function} argument"));
        }
    }

    fn run_loop(&mut self, id: u64, inner: &Loop) -> Ty {
        let range = self.check(&inner.range);
        let (first, second) = match &range {
            Ty::List(of) if inner.second.is_some() => (Ty::Int, Ty::clone(of)),
            Ty::List(of) => (Ty::clone(of), Ty::Dyn),
            Ty::Map(keys, values) => (Ty::clone(keys), Ty::clone(values)),
            Ty::Dyn | Ty::Param(_) => (Ty::Dyn, Ty::Dyn),
            other => {
                let words = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be \
                     list, map, or dynamic)"
                );
                self.wrong(inner.range.id, words);
                (Ty::Dyn, Ty::Dyn)
            }
        };
        let inside = |checker: &mut Self| {
            let made = Ty::List(Box::new(first.clone()));
            if let Some(filter) = &inner.filter {
                checker.condition(filter, Some((id, &made)));
            }
            match inner.what {
                LoopKind::All | LoopKind::Exists => checker.condition(&inner.body, None),
                LoopKind::ExistsOne => checker.condition(&inner.body, Some((id, &Ty::Int))),
                LoopKind::Filter => checker.condition(&inner.body, Some((id, &made))),
                _ => checker.check(&inner.body),
            }
        };
        let body = self.with(&inner.variable, first.clone(), |checker| match &inner.second {
            Some(name) => checker.with(name, second, inside),
            None => inside(checker),
        });
        match inner.what {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Ty::Bool,
            LoopKind::Map => Ty::List(Box::new(body)),
            LoopKind::Filter => Ty::List(Box::new(first)),
            LoopKind::TransformMap => Ty::Map(Box::new(first), Box::new(body)),
            LoopKind::TransformMapEntry => body,
            LoopKind::SortBy => range,
        }
    }

    /// A condition within a macro, which must be a bool. If it chooses what is made, the macro is at
    /// fault, with what it makes.
    fn condition(&mut self, expr: &Expr, chooses: Option<(u64, &Ty)>) -> Ty {
        let ty = self.check(expr);
        if !ty.fits(&Ty::Bool, &mut std::collections::BTreeMap::new()) {
            match chooses {
                None => {
                    self.wrong(expr.id, format!("expected type 'bool' but found '{ty}'"));
                }
                Some((id, made)) => {
                    let applied = format!("({ty}, {made}, {made})");
                    self.wrong(
                        id,
                        format!("found no matching overload for '_?_:_' applied to '{applied}'"),
                    );
                }
            }
        }
        ty
    }
}

fn literal_type(literal: &Literal) -> Ty {
    match literal {
        Literal::Null => Ty::Null,
        Literal::Bool(_) => Ty::Bool,
        Literal::Int(_) => Ty::Int,
        Literal::Uint(_) => Ty::Uint,
        Literal::Double(_) => Ty::Double,
        Literal::Text(_) => Ty::Text,
        Literal::Bytes(_) => Ty::Bytes,
    }
}
